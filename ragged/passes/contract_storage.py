"""Give a temporary the storage of one iteration where no other iteration reads it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod

from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Role, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import Alloc, Barrier, For, If, Let, LoopKind, Reduce, Stmt, Store
from ragged.ir.walk import children, expressions, statements, subexpressions

STACK_BYTES = 16 * 1024
"""The largest temporary that is allocated in the loop (bytes); a larger one gets storage for the whole call."""


def contract_storage(program: Program) -> Rewritten:
    """Return the program with each workspace that is used within one iteration given the storage of one.

    before::

        lh: workspace(float32[num_nodes, 256])
        with kernel:
            for s in parallel(4):
                for n in parallel(batch_length(b), N):
                    node = batch_begin(b) + n
                    for i in serial(64):
                        lh[node, s * 64 + i] = h[left(node), s * 64 + i]
                    for i in serial(64):
                        h[node, s * 64 + i] = tanh(lh[node, s * 64 + i] + rh[node, s * 64 + i])

    after::

        with kernel:
            for s in parallel(4):
                for n in parallel(batch_length(b), N):
                    node = batch_begin(b) + n
                    lh = local(float32[64])
                    for i in serial(64):
                        lh[i] = h[left(node), s * 64 + i]
                    for i in serial(64):
                        h[node, s * 64 + i] = tanh(lh[i] + rh[node, s * 64 + i])

    One dimension goes: the first at which every access is at a variable that is bound where all accesses stand below,
    or once for each of several nests; in each, the first access writes. Of another dimension what is kept is the slice
    that all accesses of a nest are in. Large temporaries stay workspaces and are contracted only under serial loops,
    whose iterations may share them; in a team's loop each worker has storage of its own,
    `workspace(float32[workers, ...])`, if no barrier stands in a nest, where another worker might take over. Comes
    after lowering and before code generation.
    """
    for buffer in program.buffers:
        if buffer.role is Role.WORKSPACE and buffer.shape:
            program = _contract(program, buffer)
    return Rewriter().finish(program, program)


def _contract(program: Program, buffer: Buffer) -> Program:
    """Drop one of `buffer`'s dimensions in every stage, or return the program as it is."""
    for dimension in range(len(buffer.shape)):
        homes: dict[Var, Slices] = {}
        for stage in program.stages:
            found = _homes(stage.body, buffer, dimension)
            if found is None:
                break
            homes |= found
        else:
            return _dropped(program, buffer, dimension, homes)
    return program


def _dropped(program: Program, buffer: Buffer, dimension: int, homes: Mapping[Var, Slices]) -> Program:
    contract = partial(_Contract, old=buffer, dropped=dimension)
    sizes = [_bytes(_without(buffer, dimension, slices)) for slices in homes.values()]
    if all(size is not None and size <= STACK_BYTES for size in sizes):
        local = {
            var: replace(_without(buffer, dimension, slices), role=Role.LOCAL, align=64)
            for var, slices in homes.items()
        }
        rewriter = contract(homes=homes, local=local)
        rest = tuple(other for other in program.buffers if other is not buffer)
        return _rewritten(program, rewriter, rest)
    shapes = {_without(buffer, dimension, slices).shape for slices in homes.values()}
    if len(shapes) > 1:
        return program
    smaller = _without(buffer, dimension, next(iter(homes.values()), ()))
    if all(_serial(stage.body, buffer) for stage in program.stages):
        rewriter = contract(homes=homes, new=smaller)
    elif (team := _team_of(program, buffer, set(homes))) is not None:
        smaller = replace(smaller, shape=(team.extent, *smaller.shape), dims=(None, *smaller.dims), order=())
        rewriter = contract(homes=homes, new=smaller, worker=(Ref(team.var),))
    else:
        return program
    return _rewritten(program, rewriter, tuple(smaller if o is buffer else o for o in program.buffers))


def _without(buffer: Buffer, dimension: int, slices: Slices) -> Buffer:
    slices = slices or tuple(Slice(None, extent) for extent in buffer.shape)
    kept = [d for d in range(len(buffer.shape)) if d != dimension]
    shape, dims = tuple(slices[d].extent for d in kept), tuple(buffer.dims[d] for d in kept)
    return replace(buffer, shape=shape, dims=dims, order=())


def _rewritten(program: Program, rewriter: Rewriter, buffers: tuple[Buffer, ...]) -> Program:
    stages = tuple(replace(stage, body=rewriter.stmt(stage.body)) for stage in program.stages)
    return replace(program, buffers=buffers, stages=stages)


@dataclass(frozen=True, slots=True)
class Slice:
    """What a nest uses of a dimension: `extent` places from `base` on, or from the first where there is none."""

    base: Expr | None
    extent: Expr

    def place(self, index: Expr) -> Expr:
        """Return an index as a place in the slice."""
        if self.base is None:
            return index
        assert isinstance(index, Binary)
        return index.rhs


Slices = tuple[Slice, ...]
"""What a nest uses of each dimension of a buffer."""


def _homes(body: Stmt, buffer: Buffer, dimension: int) -> dict[Var, Slices] | None:
    """Return the variables at which `buffer` is accessed in a dimension, with the slices of the others; or None.

    Each is bound once, above all of its accesses, and writes before it reads.
    """
    homes: set[Var] = set()
    for indices in _accesses(body, buffer):
        index = indices[dimension]
        if not isinstance(index, Ref):
            return None
        homes.add(index.var)
    found: dict[Var, Slices] = {}
    for var in homes:
        scope = _scope(body, var)
        if scope is None:
            return None
        found[var] = _slices(scope, buffer)
        if not _writes_first(scope, buffer, dimension, found[var]):
            return None
    return found


def _slices(scope: Stmt, buffer: Buffer) -> Slices:
    """Return the slice of each dimension that all accesses in `scope` are in."""
    loops = {stmt.var: stmt.extent for stmt in statements(scope) if isinstance(stmt, For)}
    lets = {stmt.var for stmt in statements(scope) if isinstance(stmt, Let)}
    found: list[Slice] = []
    for dimension, extent in enumerate(buffer.shape):
        seen = {_slice(indices[dimension], loops, lets) for indices in _accesses(scope, buffer)}
        one = seen.pop() if len(seen) == 1 else None
        found.append(one if one is not None else Slice(None, extent))
    return tuple(found)


def _slice(index: Expr, loops: Mapping[Var, Expr], lets: Collection[Var]) -> Slice | None:
    """Return the slice that `base + variable` runs through, where the base is the same in all of the scope."""
    match index:
        case Binary(op=BinaryOp.ADD, lhs=base, rhs=Ref(var=var)) if isinstance(loops.get(var), Const):
            parts = list(subexpressions(base))
            inner = any(isinstance(part, Ref) and (part.var in loops or part.var in lets) for part in parts)
            return None if inner or any(isinstance(part, Load) for part in parts) else Slice(base, loops[var])
        case _:
            return None


def _scope(body: Stmt, var: Var) -> Stmt | None:
    """Return what stands under the loop or let that binds `var`."""
    for stmt in statements(body):
        if isinstance(stmt, For | Let) and stmt.var is var:
            return stmt.body
    return None


def _accesses(body: Stmt, buffer: Buffer) -> Iterator[tuple[Expr, ...]]:
    for stmt in statements(body):
        if isinstance(stmt, Store | Reduce) and stmt.buffer is buffer:
            yield stmt.indices
        for expr in expressions(stmt):
            for inner in subexpressions(expr):
                if isinstance(inner, Load) and inner.buffer is buffer:
                    yield inner.indices


def _writes_first(scope: Stmt, buffer: Buffer, dimension: int, slices: Slices) -> bool:
    """True if the first access in the text is a store of its own nest, covering what later statements read.

    A nest is taken to cover the buffer if the store's remaining indices are its loops' variables over the whole
    slices and no condition stands over it.
    """
    others = [(d, each) for d, each in enumerate(slices) if d != dimension]
    return _first(scope, buffer, others, {}) is True


def _first(
    stmt: Stmt, buffer: Buffer, slices: Sequence[tuple[int, Slice]], loops: Mapping[Var, Expr]
) -> bool | None:
    """Return True or False for the first access below `stmt`, None if there is none."""
    for expr in expressions(stmt):
        if any(isinstance(inner, Load) and inner.buffer is buffer for inner in subexpressions(expr)):
            return False
    if isinstance(stmt, Store) and stmt.buffer is buffer:
        places = [(each.place(stmt.indices[d]), each.extent) for d, each in slices]
        own = {place.var for place, _ in places if isinstance(place, Ref)}
        covers = all(isinstance(place, Ref) and loops.get(place.var) == extent for place, extent in places)
        return covers and len(own) == len(places)
    if isinstance(stmt, Reduce) and stmt.buffer is buffer:
        return False
    if isinstance(stmt, For):
        loops = {**loops, stmt.var: stmt.extent}
    for child in children(stmt):
        found = _first(child, buffer, slices, loops)
        if found is not None:
            return found and not isinstance(stmt, If)
    return None


def _serial(body: Stmt, buffer: Buffer) -> bool:
    """True if no loop that runs iterations at once stands over an access."""
    for stmt in statements(body):
        concurrent = isinstance(stmt, For) and stmt.kind in (LoopKind.PARALLEL, LoopKind.TEAM)
        if concurrent and any(True for _ in _accesses(stmt, buffer)):
            return False
    return True


def _team_of(program: Program, buffer: Buffer, homes: set[Var]) -> For | None:
    """Return the team's loop over all accesses of `buffer`, if no worker goes on with what another one wrote."""
    found: list[For] = []
    for stage in program.stages:
        for stmt in statements(stage.body):
            concurrent = isinstance(stmt, For) and stmt.kind in (LoopKind.PARALLEL, LoopKind.TEAM)
            if isinstance(stmt, For) and concurrent and any(True for _ in _accesses(stmt, buffer)):
                found.append(stmt)
            bound = isinstance(stmt, For | Let) and stmt.var in homes
            if bound and any(isinstance(inner, Barrier) for inner in statements(stmt)):
                return None
    if len(found) != 1 or found[0].kind is not LoopKind.TEAM:
        return None
    inside = {stmt.var for stmt in statements(found[0].body) if isinstance(stmt, For | Let)}
    return found[0] if homes <= inside else None


def _bytes(buffer: Buffer) -> int | None:
    """Return the buffer's size, or None if it is not known."""
    extents = [extent.value for extent in buffer.shape if isinstance(extent, Const)]
    if len(extents) != len(buffer.shape):
        return None
    return int(prod(extents)) * buffer.dtype.bytes


@dataclass
class _Contract(Rewriter):
    """Drops one index of `old`: what is left is `new`, or the one in `local` of the home that it is in.

    A local one is allocated under its home. `worker` is what stands in front of the other indices where each worker has
    storage of its own.
    """

    old: Buffer = field(kw_only=True)
    dropped: int = field(kw_only=True)
    homes: Mapping[Var, Slices] = field(kw_only=True)
    new: Buffer | None = None
    local: Mapping[Var, Buffer] = field(default_factory=dict)
    worker: tuple[Expr, ...] = ()

    def expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer is self.old:
            return Load(self.target(expr.indices), self.place(expr.indices), expr.at)
        return super().expr(expr)

    def home(self, indices: tuple[Expr, ...]) -> Var:
        home = indices[self.dropped]
        assert isinstance(home, Ref)
        return home.var

    def target(self, indices: tuple[Expr, ...]) -> Buffer:
        if self.new is not None:
            return self.new
        return self.local[self.home(indices)]

    def place(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return what is left of the indices of an access."""
        slices = self.homes[self.home(indices)]
        kept = (slices[d].place(index) for d, index in enumerate(indices) if d != self.dropped)
        return self.exprs((*self.worker, *kept))

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, For | Let) and stmt.var in self.local:
            inner = super().stmt(stmt)
            assert isinstance(inner, For | Let)
            return replace(inner, body=Alloc(self.local[stmt.var], inner.body))
        if isinstance(stmt, Store | Reduce) and stmt.buffer is self.old:
            moved = super().stmt(replace(stmt, indices=()))
            assert isinstance(moved, Store | Reduce)
            return replace(moved, buffer=self.target(stmt.indices), indices=self.place(stmt.indices))
        return super().stmt(stmt)
