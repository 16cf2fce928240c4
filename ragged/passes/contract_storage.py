"""Give a temporary the storage of one iteration where no other iteration reads it."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial

from ragged.analysis.allocation_scopes import home_of, homes
from ragged.analysis.buffers import sharing
from ragged.analysis.first_writes import Slice, Slices, binders_of
from ragged.ir.buffer_size import bytes_of, constant_shape
from ragged.ir.expr import Buffer, Expr, Load, Ref, Role, Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import CONCURRENT, Alloc, Barrier, For, Let, LoopKind, Stmt
from ragged.ir.walk import statements, subexpressions, touches

MAX_LOCAL_BYTES = 16 * 1024
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

    One dimension is removed: the first that every access indexes by a variable bound around all accesses, or around
    those of each of several nests; in each nest the first access must be a write. Another dimension shrinks to the
    slice that a nest accesses. Large temporaries remain workspaces and are contracted only under serial loops,
    so that iterations can share them; in a team loop each worker has its part of `workspace(float32[workers, ...])`,
    unless a nest has a barrier, after which another worker may continue. Runs after lowering and before code
    generation.
    """
    for buffer in program.buffers:
        if buffer.role is Role.WORKSPACE and buffer.shape and sharing(program, buffer) is None:
            program = _contract(program, buffer)
    return Rewriter().finish(program, program)


def _contract(program: Program, buffer: Buffer) -> Program:
    """Drop one of `buffer`'s dimensions in every stage, or return the program as it is."""
    for dimension in range(len(buffer.shape)):
        at_home: dict[Var, Slices] = {}
        for stage in program.stages:
            found = homes(stage.body, buffer, dimension)
            if found is None:
                break
            at_home |= found
        else:
            return _dropped(program, buffer, dimension, at_home)
    return program


def _dropped(program: Program, buffer: Buffer, dimension: int, at_home: Mapping[Var, Slices]) -> Program:
    binders = {var: number for stage in program.stages for var, number in binders_of(stage.body).items()}
    contract = partial(_Contract, old=buffer, dropped=dimension, binders=binders)
    without = [_without(buffer, dimension, slices) for slices in at_home.values()]
    if all(constant_shape(each) is not None and bytes_of(each) <= MAX_LOCAL_BYTES for each in without):
        local = {
            var: replace(_without(buffer, dimension, slices), role=Role.LOCAL, align=64)
            for var, slices in at_home.items()
        }
        rewriter = contract(homes=at_home, local=local)
        rest = tuple(other for other in program.buffers if other is not buffer)
        return _rewritten(program, rewriter, rest)
    if len({each.shape for each in without}) > 1:
        return program
    smaller = _without(buffer, dimension, next(iter(at_home.values()), ()))
    if not _concurrent(program, buffer, set(at_home)):
        rewriter = contract(homes=at_home, new=smaller)
    elif (team := _team_of(program, buffer, set(at_home))) is not None:
        smaller = smaller.stacked(team.extent)
        rewriter = contract(homes=at_home, new=smaller, worker=(Ref(team.var),))
    else:
        return program
    return _rewritten(program, rewriter, tuple(smaller if o is buffer else o for o in program.buffers))


def _without(buffer: Buffer, dimension: int, slices: Slices) -> Buffer:
    slices = slices or tuple(Slice(None, extent) for extent in buffer.shape)
    kept = [d for d in range(len(buffer.shape)) if d != dimension]
    shape, dims = tuple(slices[d].extent for d in kept), tuple(buffer.dims[d] for d in kept)
    return replace(buffer, shape=shape, dims=dims, order=buffer.order_of(kept))


def _rewritten(program: Program, rewriter: Rewriter, buffers: tuple[Buffer, ...]) -> Program:
    stages = tuple(replace(stage, body=rewriter.stmt(stage.body)) for stage in program.stages)
    return replace(program, buffers=buffers, stages=stages)


def _concurrent(program: Program, buffer: Buffer, homes: Set[Var]) -> list[For]:
    """Return the loops over accesses of `buffer` that run iterations with several homes at once.

    The iterations of a loop in a home share its storage, as they did.
    """
    found = (stmt for stage in program.stages for stmt in statements(stage.body) if touches(stmt, buffer))
    loops = (stmt for stmt in found if isinstance(stmt, For) and stmt.kind in CONCURRENT)
    return [
        loop
        for loop in loops
        if any(isinstance(inner, For | Let) and inner.var in homes for inner in statements(loop))
    ]


def _team_of(program: Program, buffer: Buffer, homes: Set[Var]) -> For | None:
    """Return the team's loop over all accesses of `buffer`, if no worker goes on with what another one wrote.

    Its size has to be known where buffers are declared.
    """
    for stage in program.stages:
        for stmt in statements(stage.body):
            bound = isinstance(stmt, For | Let) and stmt.var in homes
            if bound and any(isinstance(inner, Barrier) for inner in statements(stmt)):
                return None
    found = _concurrent(program, buffer, homes)
    if len(found) != 1 or found[0].kind is not LoopKind.TEAM:
        return None
    inside = {stmt.var for stmt in statements(found[0].body) if isinstance(stmt, For | Let)}
    told = not any(isinstance(part, Ref | Load) for part in subexpressions(found[0].extent))
    return found[0] if told and homes <= inside else None


@dataclass
class _Contract(Rewriter):
    """Drops one index of `old`: what is left is `new`, or the one in `local` of the home that it is in.

    A local one is allocated under its home. `worker` is what stands in front of the other indices where each worker has
    storage of its own.
    """

    old: Buffer = field(kw_only=True)
    dropped: int = field(kw_only=True)
    homes: Mapping[Var, Slices] = field(kw_only=True)
    binders: Mapping[Var, int] = field(kw_only=True)
    new: Buffer | None = None
    local: Mapping[Var, Buffer] = field(default_factory=dict)
    worker: tuple[Expr, ...] = ()

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        if buffer is self.old:
            return self.target(indices), self.place(indices)
        return super().access(buffer, indices)

    def home(self, indices: tuple[Expr, ...]) -> Var:
        home = home_of(indices[self.dropped], self.binders)
        assert home is not None
        return home

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
        if not touches(stmt, self.old):
            return stmt  # no home either: under each there is an access
        if isinstance(stmt, For | Let) and stmt.var in self.local:
            inner = super().stmt(stmt)
            assert isinstance(inner, For | Let)
            return replace(inner, body=Alloc(self.local[stmt.var], inner.body))
        return super().stmt(stmt)
