"""compute_at: compute a temporary in a loop that reads it, as much of it as an iteration reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.buffers import Pruner, check_alone, check_known, check_temporary
from ragged.analysis.producer import ProducerNest, ProducerRegion, producer_nest, regions_of
from ragged.analysis.regions import check_barriers, check_lanes
from ragged.arith.fold import FoldedSubstitution, plus
from ragged.ir.expr import Buffer, Const, Expr, Ref, Role, Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.stmt import Alloc, Block, For, LoopKind, Stmt, block
from ragged.transform.locate import loop_site


def compute_at(program: Program, buffer: Buffer, loop: Var) -> Rewritten:
    """Move the nest that computes a temporary into a loop that reads it, where it computes the region that is read.

    The region follows from the reads (CoRa, section 5.2): it goes from the first to the last element that an iteration
    of the loop may read, within what the nest computed. What several iterations read each of them computes.

    before::

        for t in parallel(n + 2):
            p[t] = 2.0 * x[t]
        for b in parallel((n + 15) // 16):
            for i in serial(min(16, n - b * 16)):
                y[b * 16 + i] = p[b * 16 + i] + p[b * 16 + i + 2]

    after `compute_at(program, p, b)`::

        for b in parallel((n + 15) // 16):
            p_part = local(float32[18])
            for t in serial(min(16, n - b * 16) + 2):
                p_part[t] = 2.0 * x[b * 16 + t]
            for i in serial(min(16, n - b * 16)):
                y[b * 16 + i] = p_part[i] + p_part[i + 2]

    The nest may be a reduction. Elements keep their bits.

    Raises:
        ScheduleError: the buffer is no temporary, or is read elsewhere; the nest computes something else as well, or
            only under a condition; it is not sure that a read finds what the nest stored; what the nest reads may be
            another by then; or a region has no largest size, or reads have no known distance.
    """
    place = loop_site(program, loop, "compute_at")
    check_known(program, buffer, "compute_at")
    check_alone(program, buffer, "compute_at")
    name = f"compute_at: cannot compute '{buffer.name}' in loop '{loop.name}'"
    check_temporary(name, buffer)
    check_lanes(name, place)
    check_barriers(name, place)
    nest = producer_nest(name, program, buffer, place)
    regions = regions_of(nest)
    kept = [each for each in regions if each.size is not None]
    shape = tuple(Const(each.size) for each in kept if each.size is not None)
    dims = tuple(each.loop.dim for each in kept)
    local = Buffer(f"{buffer.name}_part", buffer.dtype, shape, Role.LOCAL, dims)
    rewriter = _Move(nest=nest, regions=regions, local=local)
    buffers = tuple(each for each in program.buffers if each is not buffer and each not in nest.private)
    return rewriter.program(program, buffers=buffers)


@dataclass
class _Move(Pruner):
    """Puts the nest, over its regions, at the start of the loop's body; reads find there what it stores."""

    nest: ProducerNest = field(kw_only=True)
    regions: Sequence[ProducerRegion] = field(kw_only=True)
    local: Buffer = field(kw_only=True)

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        """Return where the region has an element of the temporary."""
        if buffer is not self.nest.buffer:
            return super().access(buffer, indices)
        iteration = self.nest.iteration(indices)
        kept = (each for each in self.regions if each.size is not None)
        places = (self.nest.known.affine(iteration[each.loop.var]).plus(each.lower, -1) for each in kept)
        return self.local, tuple(each.expr for each in places)

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement."""
        if stmt is self.nest.stmt:
            return Block()
        if isinstance(stmt, Alloc) and stmt.buffer is self.nest.buffer:
            return self.stmt(stmt.body)
        if stmt is self.nest.place.stmt:
            assert isinstance(stmt, For)
            moved = _OverRegions(
                values={each.loop.var: _computed(each) for each in self.regions},
                old=self.nest.buffer,
                local=self.local,
                regions={each.loop.var: each for each in self.regions},
                elements={each: _element(each) for each in self.nest.private},
                private=self.nest.private,
            )
            return replace(
                stmt, body=Alloc(self.local, block(moved.stmt(self.nest.stmt), self.stmt(stmt.body)))
            )
        return super().stmt(stmt)


def _computed(region: ProducerRegion) -> Expr:
    """Return the iteration of the old loop that one of a region stands for."""
    return region.begin if region.size is None else plus(region.begin, Ref(region.loop.var))


@dataclass
class _OverRegions(FoldedSubstitution):
    """Makes the nest's loops run over regions."""

    old: Buffer = field(kw_only=True)
    local: Buffer = field(kw_only=True)
    regions: Mapping[Var, ProducerRegion] = field(kw_only=True)
    elements: Mapping[Buffer, Buffer] = field(kw_only=True)
    private: Mapping[Buffer, Var] = field(kw_only=True)

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        """Return where an element is stored."""
        if buffer in self.elements:
            return self.elements[buffer], ()
        if buffer is not self.old:
            return super().access(buffer, indices)
        kept = (each for each in self.regions.values() if each.size is not None)
        return self.local, tuple(plus(each.offset, Ref(each.loop.var)) for each in kept)

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement."""
        if not isinstance(stmt, For):
            return super().stmt(stmt)
        body = self.stmt(stmt.body)
        for buffer, loop in self.private.items():
            body = Alloc(self.elements[buffer], body) if loop is stmt.var else body
        region = self.regions.get(stmt.var)
        if region is None:
            return replace(stmt, extent=self.expr(stmt.extent), body=body)
        return (
            body
            if region.size is None
            else replace(stmt, extent=region.count, kind=LoopKind.SERIAL, body=body)
        )


def _element(buffer: Buffer) -> Buffer:
    """Return a local buffer for one element."""
    return Buffer(buffer.name, buffer.dtype, (), Role.LOCAL)
