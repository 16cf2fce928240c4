"""Give a temporary the storage of one iteration where no other iteration reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod

from ragged.ir.expr import Buffer, Const, Expr, Load, Ref, Role, Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import Alloc, Barrier, For, If, Let, LoopKind, Reduce, Stmt, Store
from ragged.ir.walk import children, expressions, statements, subexpressions

STACK_BYTES = 16 * 1024
"""The largest temporary that is allocated in the loop (bytes); a larger one gets storage for the whole call."""


def contract_storage(program: Program) -> Rewritten:
    """Return the program with each workspace's leading dimension dropped where every access is at one variable.

    before::

        lh: workspace(float32[num_nodes, 256])
        with kernel:
            for n in serial(batch_length(b), N):
                node = batch_begin(b) + n
                for i in serial(256):
                    lh[node, i] = h[left(node), i]
                for i in serial(256):
                    h[node, i] = tanh(lh[node, i] + rh[node, i])

    after::

        with kernel:
            for n in serial(batch_length(b), N):
                node = batch_begin(b) + n
                lh = local(float32[256])
                for i in serial(256):
                    lh[i] = h[left(node), i]
                for i in serial(256):
                    h[node, i] = tanh(lh[i] + rh[node, i])

    The variable is bound where all accesses stand below, or once for each of several nests; in each, the
    first access writes. Large temporaries stay workspaces and are contracted only under serial loops, whose
    iterations may share them; in a team's loop each worker has storage of its own, `workspace(float32[workers, ...])`,
    if no barrier stands in a nest, where another worker might take over. Comes after lowering and before code
    generation.
    """
    for buffer in program.buffers:
        if buffer.role is Role.WORKSPACE and buffer.shape:
            program = _contract(program, buffer)
    return Rewriter().finish(program, program)


def _contract(program: Program, buffer: Buffer) -> Program:
    """Contract `buffer`'s first dimension in every stage, or return the program as it is."""
    homes: set[Var] = set()
    for stage in program.stages:
        found = _homes(stage.body, buffer)
        if found is None:
            return program
        homes |= found
    smaller = replace(buffer, shape=buffer.shape[1:], dims=buffer.dims[1:], order=())
    local = _bytes(smaller)
    if local is not None and local <= STACK_BYTES:
        rewriter = _Contract(
            old=buffer, new=replace(smaller, role=Role.LOCAL, align=64), homes=homes, local=True
        )
        rest = tuple(other for other in program.buffers if other is not buffer)
    elif all(_serial(stage.body, buffer) for stage in program.stages):
        rewriter = _Contract(old=buffer, new=smaller, homes=homes, local=False)
        rest = tuple(smaller if other is buffer else other for other in program.buffers)
    elif (team := _team_of(program, buffer, homes)) is not None:
        each = replace(smaller, shape=(team.extent, *smaller.shape), dims=(None, *smaller.dims), order=())
        rewriter = _Contract(old=buffer, new=each, homes=homes, local=False, worker=(Ref(team.var),))
        rest = tuple(each if other is buffer else other for other in program.buffers)
    else:
        return program
    stages = tuple(replace(stage, body=rewriter.stmt(stage.body)) for stage in program.stages)
    return replace(program, buffers=rest, stages=stages)


def _homes(body: Stmt, buffer: Buffer) -> set[Var] | None:
    """Return the variables at which `buffer` is accessed, each bound once above all of its accesses, or None."""
    homes: set[Var] = set()
    for indices in _accesses(body, buffer):
        if not indices or not isinstance(indices[0], Ref):
            return None
        homes.add(indices[0].var)
    for var in homes:
        scope = _scope(body, var)
        if scope is None or not _writes_first(scope, buffer):
            return None
    return homes


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


def _writes_first(scope: Stmt, buffer: Buffer) -> bool:
    """True if the first access in the text is a store of its own nest, covering what later statements read.

    A nest is taken to cover the buffer if the store's remaining indices are its loops' variables over the whole
    extents and no condition stands over it.
    """
    loops: dict[Var, Expr] = {}
    return _first(scope, buffer, loops) is True


def _first(stmt: Stmt, buffer: Buffer, loops: dict[Var, Expr]) -> bool | None:
    """Return True or False for the first access below `stmt`, None if there is none."""
    for expr in expressions(stmt):
        if any(isinstance(inner, Load) and inner.buffer is buffer for inner in subexpressions(expr)):
            return False
    if isinstance(stmt, Store) and stmt.buffer is buffer:
        covered = zip(stmt.indices[1:], buffer.shape[1:], strict=True)
        return all(isinstance(i, Ref) and loops.get(i.var) == extent for i, extent in covered)
    if isinstance(stmt, Reduce) and stmt.buffer is buffer:
        return False
    if isinstance(stmt, For):
        loops = {**loops, stmt.var: stmt.extent}
    for child in children(stmt):
        found = _first(child, buffer, loops)
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
    """Drops the first index of `old`, now `new`; a local one is allocated under each variable of `homes`.

    `worker` is what stands in place of the index where each worker has storage of its own.
    """

    old: Buffer = field(kw_only=True)
    new: Buffer = field(kw_only=True)
    homes: set[Var] = field(kw_only=True)
    local: bool = field(kw_only=True)
    worker: tuple[Expr, ...] = ()
    current: Buffer | None = None

    def expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer is self.old:
            return Load(self.target(), self.exprs((*self.worker, *expr.indices[1:])), expr.at)
        return super().expr(expr)

    def target(self) -> Buffer:
        return self.new if self.current is None else self.current

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, For | Let) and stmt.var in self.homes and self.local:
            self.current = replace(self.new)
            inner = super().stmt(stmt)
            assert isinstance(inner, For | Let)
            inner = replace(inner, body=Alloc(self.current, inner.body))
            self.current = None
            return inner
        if isinstance(stmt, Store | Reduce) and stmt.buffer is self.old:
            stmt = replace(stmt, buffer=self.target(), indices=(*self.worker, *stmt.indices[1:]))
        return super().stmt(stmt)
