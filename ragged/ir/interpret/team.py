"""Teams: workers that run at once and meet at barriers.

A statement with a barrier becomes a generator that stops at each one, so that workers can take turns. They
change places at barriers alone: between two barriers a conflict is a race in whatever order they run, and
without a conflict the order does not matter.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from ragged.errors import InternalError
from ragged.ir.interpret.evaluate import Evaluator
from ragged.ir.interpret.faults import BarrierDivergence, Undefined
from ragged.ir.interpret.memory import Frame, Region
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Block,
    Check,
    For,
    If,
    Intrinsic,
    Label,
    Let,
    LoopKind,
    Reduce,
    Stmt,
    Store,
)
from ragged.ir.walk import children

Run: TypeAlias = Callable[[Frame], None]
Steps: TypeAlias = Callable[[Frame], Iterator[Label]]


@dataclass(slots=True)
class TeamExecutor:
    """Turns team loops into functions; `run` does it for statements without barriers."""

    evaluator: Evaluator
    order: random.Random
    run: Callable[[Stmt], Run]

    def team(self, loop: For) -> Run:
        """Return a function that runs a TEAM loop: one worker for each iteration."""
        extent, body, var = self.evaluator.extent(loop), self._steps(loop.body), loop.var

        def run(frame: Frame) -> None:
            region = Region("worker")
            team: list[tuple[int, Iterator[Label]]] = []
            for worker in range(extent(frame)):
                inner = frame.inside(region, worker)
                inner.vars[var] = worker
                team.append((worker, body(inner)))
            while self._advance(team):
                region.touched.clear()

        return run

    def _advance(self, team: list[tuple[int, Iterator[Label]]]) -> bool:
        """Run every worker to its next barrier, the same for all; return False if all have ended."""
        self.order.shuffle(team)
        undefined: Undefined | None = None
        reached: dict[int, Label | None] = {}
        for worker, steps in team:
            try:
                reached[worker] = next(steps, None)
            except Undefined as fault:  # what another worker writes is a race, which says more
                undefined = undefined or fault
        if undefined is not None:
            raise undefined
        if len(set(reached.values())) > 1:
            raise BarrierDivergence("the team's workers part at a barrier", example=_where(reached))
        return any(label is not None for label in reached.values())

    def _steps(self, stmt: Stmt) -> Steps:
        """Return a generator function that runs `stmt` and yields the label of each barrier it meets."""
        if not has_barrier(stmt):
            run = self.run(stmt)

            def steps_run(frame: Frame) -> Iterator[Label]:
                run(frame)
                yield from ()

            return steps_run
        match stmt:
            case Barrier(label=label):
                # Which workers make a block is not modelled: a block's barrier is one of the whole team.
                return lambda frame: iter((label,))
            case For(kind=LoopKind.PARALLEL, var=var):
                raise InternalError(f"a barrier stands in the parallel loop '{var.name}'")
            case For():
                return self._serial_steps(stmt)
            case Let(var=var, value=value, body=body):
                evaluate, inner = self.evaluator.placed(f"let {var.name}", value), self._steps(body)

                def steps_let(frame: Frame) -> Iterator[Label]:
                    frame.vars[var] = evaluate(frame)
                    yield from inner(frame)
                    del frame.vars[var]

                return steps_let
            case Alloc(body=body):
                allocate, inner = self.evaluator.allocation(stmt.buffer), self._steps(body)

                def steps_alloc(frame: Frame) -> Iterator[Label]:
                    allocate(frame)
                    yield from inner(frame)
                    del frame.views[stmt.buffer]

                return steps_alloc
            case If(condition=condition, then=then, orelse=orelse):
                test = self.evaluator.placed("if", condition)
                yes, no = self._steps(then), self._steps(orelse or Block())
                return lambda frame: yes(frame) if test(frame) else no(frame)
            case Block(body=body):
                parts = [self._steps(part) for part in body]

                def steps_block(frame: Frame) -> Iterator[Label]:
                    for part in parts:
                        yield from part(frame)

                return steps_block
            case Store() | Reduce() | Check() | Intrinsic():
                raise InternalError("a statement without a barrier was taken for one with")
            case _:
                assert_never(stmt)

    def _serial_steps(self, loop: For) -> Steps:
        extent, body, var = self.evaluator.extent(loop), self._steps(loop.body), loop.var

        def steps(frame: Frame) -> Iterator[Label]:
            for iteration in range(extent(frame)):
                frame.vars[var] = iteration
                yield from body(frame)
            frame.vars.pop(var, None)

        return steps


def has_barrier(stmt: Stmt) -> bool:
    """Return True if `stmt` has a barrier of the team around it; a team inside it has its own."""
    if isinstance(stmt, Barrier):
        return True
    if isinstance(stmt, For) and stmt.kind is LoopKind.TEAM:
        return False
    return any(has_barrier(child) for child in children(stmt))


def _where(reached: dict[int, Label | None]) -> str:
    return ", ".join(
        f"worker {worker} is at {'the end' if label is None else repr(label.name)}"
        for worker, label in sorted(reached.items(), key=lambda item: item[0])
    )
