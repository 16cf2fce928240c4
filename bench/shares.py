"""What each worker of a compiled program has to do between barriers: its statements are counted, none is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragged.compiled.operations import flops
from ragged.ir.elementwise import Elementwise
from ragged.ir.expr import Buffer, Call, Role, Unary, Var
from ragged.ir.interpret.evaluate import Evaluator
from ragged.ir.interpret.memory import Frame
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.program import Program
from ragged.ir.stmt import Barrier, For, If, Let, LoopKind, Reduce, Stmt, Store, lanes_at_most
from ragged.ir.walk import children, expressions, loads, statements, subexpressions, variables

Weights: TypeAlias = NDArray[np.float64]
"""Instructions, then the bytes of each buffer that are accessed."""
Count: TypeAlias = Callable[[Frame, Weights], Weights]
"""Adds a statement to what was counted since the last barrier, and returns what was counted since the last one."""


@dataclass(frozen=True, slots=True)
class Phase:
    """The work between two barriers: the instructions of the busiest worker and of all, and the bytes of their arrays.

    An instruction is on a whole vector; an elementwise function counts as the multiply-adds that take as long.
    """

    busiest: float
    total: float
    touched: float


@dataclass(frozen=True, slots=True)
class Shares:
    """The phases of a kernel of so many workers, in turn; `touched` are the bytes that all of it accesses."""

    workers: int
    phases: tuple[Phase, ...]
    touched: float

    @property
    def total(self) -> float:
        """The instructions of all workers in all phases."""
        return sum(each.total for each in self.phases)

    @property
    def imbalance(self) -> float:
        """The instructions of each phase's busiest worker over the mean of all workers: 1 is a perfect share."""
        busiest = sum(each.busiest for each in self.phases)
        return busiest * self.workers / self.total if self.total else 1.0


def count_shares(program: Program, values: Mapping[str, Any], workers: int) -> Shares:
    """Return what so many workers do in a kernel, if its functions have these `values` by name.

    Each has the share that the program's own loops give it. Of an array a phase touches as many bytes as it accesses,
    and each once: those of one row of a table that is read at a few rows, and all of a parameter.
    """
    sizes = {each: int(values[each.name]) for each in program.sizes() if each.name in values}
    tables = {each: np.asarray(values[each.name]) for each in program.arrays() if each.name in values}
    for loop in statements(program.kernel):
        if isinstance(loop, For) and loop.kind is LoopKind.TEAM:
            assert isinstance(loop.extent, Call)
            sizes[loop.extent.function] = workers
    evaluator = Evaluator(sizes, tables)
    buffers = [buffer for buffer in program.buffers if buffer.role is not Role.LOCAL]
    counter = _Counter(evaluator, buffers)
    count = counter.count(program.kernel, 1)
    found = np.array([counter.phases(count, worker) for worker in range(workers)])
    shapes = (evaluator.indices(buffer.shape)(Frame({}, {})) for buffer in buffers)
    limits = [
        buffer.dtype.bytes * float(np.prod(shape)) for buffer, shape in zip(buffers, shapes, strict=True)
    ]
    work, accessed = found[:, :, 0], found[:, :, 1:].sum(axis=0)
    touched = np.minimum(accessed, limits).sum(axis=1)
    phases = zip(work.max(axis=0).tolist(), work.sum(axis=0).tolist(), touched.tolist(), strict=True)
    once = float(np.minimum(accessed.sum(axis=0), limits).sum())
    return Shares(workers, tuple(Phase(*each) for each in phases), once)


@dataclass(slots=True)
class _Counter:
    evaluator: Evaluator
    buffers: list[Buffer]
    _worker: int = 0
    _done: list[Weights] = field(default_factory=list)
    _deciding: dict[int, frozenset[Var]] = field(default_factory=dict)

    def phases(self, count: Count, worker: int) -> list[Weights]:
        """Return what a worker does in each phase of what `count` counts."""
        self._worker, self._done = worker, []
        last = count(Frame({}, {}), self._none())
        return [*self._done, last]

    def count(self, stmt: Stmt, lanes: int) -> Count:
        """Return what counts a statement in loops of so many vector lanes."""
        match stmt:
            case Store() | Reduce():
                own = self._weights(stmt, lanes)
                return lambda frame, since: since + own
            case Barrier():
                return self._meet
            case For(kind=LoopKind.TEAM, var=var, body=body):
                return self._binding(var, lambda frame: self._worker, self.count(body, lanes))
            case For(kind=LoopKind.VECTORIZED, body=body):
                return self.count(body, lanes_at_most(stmt) or 1)
            case For():
                return self._loop(stmt, lanes)
            case Let(var=var, value=value, body=body):
                inner = self.count(body, lanes)
                needed = var in self._decides(body)
                return self._binding(var, self.evaluator.compile(value), inner) if needed else inner
            case If(condition=condition, then=then, orelse=orelse):
                test, yes = self.evaluator.compile(condition), self.count(then, lanes)
                no = None if orelse is None else self.count(orelse, lanes)

                def choose(frame: Frame, since: Weights) -> Weights:
                    if test(frame):
                        return yes(frame, since)
                    return since if no is None else no(frame, since)

                return choose
            case _:
                parts = [self.count(part, lanes) for part in children(stmt)]

                def each(frame: Frame, since: Weights) -> Weights:
                    for part in parts:
                        since = part(frame, since)
                    return since

                return each

    def _loop(self, loop: For, lanes: int) -> Count:
        """Count iterations one after another if barriers are inside or they decide what is done, else multiply."""
        extent, body, var = self.evaluator.compile(loop.extent), self.count(loop.body, lanes), loop.var
        if var not in self._decides(loop.body) and not _has_barrier(loop.body):
            return lambda frame, since: since + max(0, extent(frame)) * body(frame, self._none())

        def iterate(frame: Frame, since: Weights) -> Weights:
            for iteration in range(extent(frame)):
                frame.vars[var] = iteration
                since = body(frame, since)
            return since

        return iterate

    def _binding(self, var: Var, value: Callable[[Frame], Any], body: Count) -> Count:
        def bind(frame: Frame, since: Weights) -> Weights:
            frame.vars[var] = value(frame)
            return body(frame, since)

        return bind

    def _meet(self, frame: Frame, since: Weights) -> Weights:
        self._done.append(since)
        return self._none()

    def _none(self) -> Weights:
        return np.zeros(1 + len(self.buffers))

    def _weights(self, stmt: Store | Reduce, lanes: int) -> Weights:
        found = self._none()
        parts = [part for expr in expressions(stmt) for part in subexpressions(expr)]
        slow = sum(
            part.op.cost for part in parts if isinstance(part, Unary) and isinstance(part.op, Elementwise)
        )
        found[0] = flops(stmt) + slow + (stmt.buffer.scope is not MemoryScope.REGISTER)
        accessed = {stmt.buffer, *(load.buffer for load in loads(*expressions(stmt)))}
        for place, buffer in enumerate(self.buffers, 1):
            if buffer in accessed:
                found[place] = lanes * buffer.dtype.bytes
        return found

    def _decides(self, stmt: Stmt) -> frozenset[Var]:
        """Return the variables on which it depends how often something in a statement is done."""
        if id(stmt) not in self._deciding:
            found = frozenset[Var]().union(*map(self._decides, children(stmt)))
            match stmt:
                case For(var=var, extent=extent):
                    found = found - {var} | variables(extent)
                case Let(var=var, value=value) if var in found:
                    found = found - {var} | variables(value)
                case If(condition=condition):
                    found |= variables(condition)
                case _:
                    pass  # nothing of its own decides
            self._deciding[id(stmt)] = found
        return self._deciding[id(stmt)]


def _has_barrier(stmt: Stmt) -> bool:
    return any(isinstance(inner, Barrier) for inner in statements(stmt))
