"""Interpret teams of concurrent workers, or blocks of threads, that synchronize at barriers.

A statement with a barrier becomes a generator that yields at each one; the interpreter switches between workers
only at barriers. Between two barriers any conflict is a race in every order, and without a conflict the order does
not matter. The threads of a block are interleaved in the same way; a block arrives at a barrier of the team when
all of its threads have.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from ragged.errors import InternalError
from ragged.ir.interpret.evaluate import Evaluator
from ragged.ir.interpret.faults import BarrierDivergence, Undefined
from ragged.ir.interpret.memory import Frame, TouchedElements
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    BarrierScope,
    Block,
    Check,
    For,
    If,
    Label,
    Let,
    LoopKind,
    Prefetch,
    Reduce,
    Stmt,
    Store,
)
from ragged.ir.walk import children

Run: TypeAlias = Callable[[Frame], None]
Steps: TypeAlias = Callable[[Frame], Iterator[Barrier]]


@dataclass(slots=True)
class TeamExecutor:
    """Turns loops of teams and threads into functions; `run` does it for statements without barriers."""

    evaluator: Evaluator
    order: random.Random
    run: Callable[[Stmt], Run]

    def team(self, loop: For) -> Run:
        """Return a function that runs a TEAM loop: one worker for each iteration."""
        return self._to_the_end(self._meeting(loop, "worker", BarrierScope.TEAM))

    def threads(self, loop: For) -> Run:
        """Return a function that runs a THREADS loop without a barrier of the team: one thread for each iteration."""
        return self._to_the_end(self._meeting(loop, "thread", BarrierScope.BLOCK))

    def _to_the_end(self, steps: Steps) -> Run:
        def run(frame: Frame) -> None:
            for barrier in steps(frame):
                raise InternalError(
                    f"barrier '{barrier.label.name}' is outside the loop that it synchronizes"
                )

        return run

    def _meeting(self, loop: For, noun: str, scope: BarrierScope) -> Steps:
        """Return a generator function that runs a loop's iterations at once; it yields barriers of a wider scope."""
        extent, body, var = self.evaluator.extent(loop), self._steps(loop.body), loop.var

        def steps(frame: Frame) -> Iterator[Barrier]:
            region = TouchedElements(noun)
            members: list[tuple[int, Iterator[Barrier]]] = []
            for member in range(extent(frame)):
                inner = frame.inside(region, member)
                inner.vars[var] = member
                members.append((member, body(inner)))
            while (barrier := self._advance(members, noun)) is not None:
                region.touched.clear()
                if barrier.scope is not scope:
                    yield barrier

        return steps

    def _advance(self, members: list[tuple[int, Iterator[Barrier]]], noun: str) -> Barrier | None:
        """Run every member to its next barrier, and return it: the same for all. None if all have ended."""
        self.order.shuffle(members)
        undefined: Undefined | None = None
        reached: dict[int, Barrier | None] = {}
        for member, steps in members:
            try:
                reached[member] = next(steps, None)
            except Undefined as fault:  # what another one writes is a race, which says more
                undefined = undefined or fault
        if undefined is not None:
            raise undefined
        labels = {member: None if met is None else met.label for member, met in reached.items()}
        if len(set(labels.values())) > 1:
            members_text = "team's workers" if noun == "worker" else "block's threads"
            raise BarrierDivergence(f"the {members_text} diverge at a barrier", example=_where(labels, noun))
        return next(iter(reached.values()), None)

    def _steps(self, stmt: Stmt) -> Steps:
        """Return a generator function that runs `stmt` and yields the label of each barrier it meets."""
        if not has_barrier(stmt):
            run = self.run(stmt)

            def steps_run(frame: Frame) -> Iterator[Barrier]:
                run(frame)
                yield from ()

            return steps_run
        match stmt:
            case Barrier():
                return lambda frame: iter((stmt,))
            case For(kind=LoopKind.PARALLEL, var=var):
                raise InternalError(f"a barrier stands in the parallel loop '{var.name}'")
            case For(kind=LoopKind.THREADS):
                return self._meeting(stmt, "thread", BarrierScope.BLOCK)
            case For():
                return self._serial_steps(stmt)
            case Let(var=var, value=value, body=body):
                evaluate, inner = self.evaluator.placed(f"let {var.name}", value), self._steps(body)

                def steps_let(frame: Frame) -> Iterator[Barrier]:
                    frame.vars[var] = evaluate(frame)
                    yield from inner(frame)
                    del frame.vars[var]

                return steps_let
            case Alloc(body=body):
                allocate, inner = self.evaluator.allocation(stmt.buffer), self._steps(body)

                def steps_alloc(frame: Frame) -> Iterator[Barrier]:
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

                def steps_block(frame: Frame) -> Iterator[Barrier]:
                    for part in parts:
                        yield from part(frame)

                return steps_block
            case Store() | Reduce() | Check() | Prefetch():
                raise InternalError("a statement without a barrier was taken for one with")
            case _:
                assert_never(stmt)

    def _serial_steps(self, loop: For) -> Steps:
        extent, body, var = self.evaluator.extent(loop), self._steps(loop.body), loop.var

        def steps(frame: Frame) -> Iterator[Barrier]:
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


def _where(reached: dict[int, Label | None], noun: str) -> str:
    return ", ".join(
        f"{noun} {member} is at {'the end' if label is None else repr(label.name)}"
        for member, label in sorted(reached.items(), key=lambda item: item[0])
    )
