"""inline: compute the elements of a temporary where they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragged.analysis.access_range import is_covered, iteration_of, spans
from ragged.analysis.accesses import BufferAccess, UseKind, accesses, common_depth
from ragged.analysis.buffers import Pruner, check_alone, check_known, check_temporary
from ragged.analysis.invariance import find_change
from ragged.arith.bindings import Bindings, bindings, is_fixed
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Expr, Load, Role, Var
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten, substitute
from ragged.ir.sites import Site
from ragged.ir.stmt import Alloc, Block, For, Reduce, Stmt, Store
from ragged.ir.walk import loads, mentions


def inline(program: Program, buffer: Buffer) -> Rewritten:
    """Replace each load of a temporary by the stored expression, and remove the temporary.

    before::

        for i in serial(256):
            lh[i] = h[left(node), i]
        for i_1 in serial(256):
            h[node, i_1] = tanh(lh[i_1] + x[node, i_1])

    after `inline(program, lh)`::

        for i_1 in serial(256):
            h[node, i_1] = tanh(h[left(node), i_1] + x[node, i_1])

    The temporary is a workspace or local, and one statement stores it, with indices that determine the iteration. The
    expression is recomputed for each load, with the same rounding: results keep their bits.

    Raises:
        ScheduleError: the buffer is no temporary, or more than one statement writes it, or a reduction does; it is not
            sure that a load finds what that statement stored in these loops, or in which iteration; what the stored
            value is made of may have changed by the time that it is read.
    """
    check_known(program, buffer, "inline")
    check_alone(program, buffer, "inline")
    name = f"inline: cannot put the value of '{buffer.name}' where it is read"
    check_temporary(name, buffer)
    found = accesses(program, buffer)
    inlining = _Inlining(name, program, buffer, bindings(program), _store(name, found))
    values = {}
    for read in (use for use in found if use.kind is UseKind.READ):
        value = inlining.value(read)
        change = find_change(program, inlining.store, read, value)
        if change is not None:
            raise inlining.refusal(read, change.because, change.example)
        values[id(read.site.stmt), read.indices] = value
    buffers = tuple(other for other in program.buffers if other is not buffer)
    rewriter = _Inline(old=buffer, values=values)
    return rewriter.program(program, buffers=buffers)


def _store(name: str, found: Sequence[BufferAccess]) -> BufferAccess:
    """Return the only use that writes."""
    writes = [use for use in found if use.writes]
    if len(writes) == 1 and writes[0].kind is UseKind.STORE:
        return writes[0]
    labels = [use.site.stmt.label.name for use in writes if isinstance(use.site.stmt, Store | Reduce)]
    raise ScheduleError(
        name,
        because=f"{len(writes)} statements write it ({', '.join(labels) or 'none'}), and one store alone has to",
        fix="inline what is stored elementwise, once",
    )


@dataclass(frozen=True, slots=True)
class _Inlining:
    """What is asked for, and the store that goes."""

    name: str
    program: Program
    buffer: Buffer
    known: Bindings
    store: BufferAccess

    def refusal(self, read: BufferAccess, because: str, example: str | None = None) -> ScheduleError:
        at = expr_text(Load(self.buffer, read.indices))
        return ScheduleError(self.name, because=f"{at}: {because}", example=example)

    def value(self, read: BufferAccess) -> Expr:
        """Return what `read` finds, in what is in scope there."""
        if not is_covered(self.program, self.known, self.store, read):
            raise self.refusal(read, "it is not sure that the store came before, in the same loops")
        depth = common_depth(self.store.site, read.site)
        reached = spans(self.store, depth, self.known)
        assert reached is not None, "covered"
        iteration: dict[Var, Expr] = {}
        for each, index in zip(reached, read.indices, strict=True):
            if each.parts and not is_fixed(self.known.expand(index)):
                raise self.refusal(read, "what its index is made of may have changed before it is read")
            iteration.update(iteration_of(each, index, self.known))
        stmt, inner = self.store.site.stmt, self.store.site.around[depth:]
        assert isinstance(stmt, Store)
        value = Site(self.store.site.stage, stmt, inner).expand(stmt.value)
        for outer in inner:
            if isinstance(outer, For) and outer.var not in iteration and mentions(value, (outer.var,)):
                raise self.refusal(read, f"the value is that of the last iteration of '{outer.var.name}'")
        here = {outer.buffer for outer in read.site.around[:depth] if isinstance(outer, Alloc)}
        for part in loads(value):
            if part.buffer.role is Role.LOCAL and part.buffer not in here:
                raise self.refusal(
                    read, f"the value is made of '{part.buffer.name}', which lives in the store's loops"
                )
        return substitute(value, iteration)


@dataclass
class _Inline(Pruner):
    old: Buffer = field(kw_only=True)
    values: Mapping[tuple[int, tuple[Expr, ...]], Expr] = field(kw_only=True)
    _current: Stmt = field(default_factory=Block, init=False)

    def expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer is self.old:
            return self.expr(self.values[id(self._current), expr.indices])  # an index may read it as well
        return super().expr(expr)

    def stmt(self, stmt: Stmt) -> Stmt:
        self._current = stmt  # its own expressions are rewritten before the statements in it
        match stmt:
            case Store(buffer=buffer) if buffer is self.old:
                return Block()
            case Alloc(buffer=buffer, body=body) if buffer is self.old:
                return self.stmt(body)
            case _:
                return super().stmt(stmt)
