"""Statements as Python functions that run them to their end."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from ragged.errors import InternalError
from ragged.ir.expr import Buffer
from ragged.ir.interpret import arithmetic
from ragged.ir.interpret.evaluate import Evaluator, view_of
from ragged.ir.interpret.faults import CheckFailed, NotWritable, Undefined
from ragged.ir.interpret.memory import Frame, TouchedElements
from ragged.ir.interpret.team import Run, TeamExecutor
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Block,
    Check,
    For,
    If,
    Let,
    LoopKind,
    Prefetch,
    Reduce,
    Stmt,
    Store,
)


@dataclass(slots=True)
class Executor:
    """Turns statements into functions; `order` chooses among the orders that a program leaves open."""

    evaluator: Evaluator
    order: random.Random
    writable: Callable[[Buffer], bool]

    def run(self, stmt: Stmt) -> Run:
        """Return a function that runs `stmt` to its end."""
        match stmt:
            case Store():
                return self._store(stmt)
            case Reduce():
                return self._reduce(stmt)
            case Check():
                return self._check(stmt)
            case Prefetch(label=label, value=value):
                read = self.evaluator.placed(f"prefetch {label.name}", value)

                def run_prefetch(frame: Frame) -> None:
                    read(frame)

                return run_prefetch
            case Barrier(label=label):
                raise InternalError(f"barrier '{label.name}' stands where no team walks together")
            case For(kind=LoopKind.PARALLEL):
                return self._parallel(stmt)
            case For(kind=LoopKind.TEAM):
                return TeamExecutor(self.evaluator, self.order, self.run).team(stmt)
            case For(kind=LoopKind.THREADS):
                return TeamExecutor(self.evaluator, self.order, self.run).threads(stmt)
            case For():
                return self._serial(stmt)
            case Let(var=var, value=value, body=body):
                evaluate, inner = self.evaluator.placed(f"let {var.name}", value), self.run(body)

                def run_let(frame: Frame) -> None:
                    frame.vars[var] = evaluate(frame)
                    inner(frame)
                    del frame.vars[var]

                return run_let
            case Alloc(body=body):
                allocate, inner = self.evaluator.allocation(stmt.buffer), self.run(body)

                def run_alloc(frame: Frame) -> None:
                    allocate(frame)
                    inner(frame)
                    del frame.views[stmt.buffer]

                return run_alloc
            case If(condition=condition, then=then, orelse=orelse):
                test = self.evaluator.placed("if", condition)
                yes, no = self.run(then), self.run(orelse or Block())
                return lambda frame: yes(frame) if test(frame) else no(frame)
            case Block(body=body):
                parts = [self.run(part) for part in body]

                def run_block(frame: Frame) -> None:
                    for part in parts:
                        part(frame)

                return run_block
            case _:
                assert_never(stmt)

    def _store(self, stmt: Store) -> Run:
        self._require_writable(stmt)
        indices, value = self.evaluator.indices(stmt.indices), self.evaluator.compile(stmt.value)
        buffer, place = stmt.buffer, stmt.label.name

        def run(frame: Frame) -> None:
            frame.place = place
            frame.write(view_of(frame, buffer), indices(frame), value(frame))

        return run

    def _reduce(self, stmt: Reduce) -> Run:
        self._require_writable(stmt)
        indices, value = self.evaluator.indices(stmt.indices), self.evaluator.compile(stmt.value)
        buffer, place, dtype = stmt.buffer, stmt.label.name, stmt.buffer.dtype
        combine, (low, high) = arithmetic.combine(stmt.combiner, dtype), arithmetic.limits(dtype)
        scalar = arithmetic.scalar(dtype)

        def run(frame: Frame) -> None:
            frame.place = place
            view, element = view_of(frame, buffer), indices(frame)
            result = combine(scalar(frame.read(view, element)), value(frame))
            if dtype.is_int and not low <= result < high:
                raise frame.overflow(result, dtype)
            frame.write(view, element, result)

        return run

    def _require_writable(self, stmt: Store | Reduce) -> None:
        if stmt.value.dtype is not stmt.buffer.dtype:
            raise InternalError(
                f"'{stmt.label.name}' puts {stmt.value.dtype.value} into '{stmt.buffer.name}'"
            )
        if not self.writable(stmt.buffer):
            raise NotWritable(f"'{stmt.label.name}' writes '{stmt.buffer.name}', which is not its to write")

    def _check(self, stmt: Check) -> Run:
        condition = self.evaluator.placed(stmt.label.name, stmt.condition)
        witness = self.evaluator.indices(stmt.witness)

        def run(frame: Frame) -> None:
            if not condition(frame):
                raise CheckFailed(stmt.label, stmt.message, witness(frame))

        return run

    def _serial(self, loop: For) -> Run:
        extent, body, var = self.evaluator.extent(loop), self.run(loop.body), loop.var

        def run(frame: Frame) -> None:
            for iteration in range(extent(frame)):
                frame.vars[var] = iteration
                body(frame)
            frame.vars.pop(var, None)

        return run

    def _parallel(self, loop: For) -> Run:
        extent, body, var = self.evaluator.extent(loop), self.run(loop.body), loop.var

        def run(frame: Frame) -> None:
            iterations = list(range(extent(frame)))
            self.order.shuffle(iterations)
            region, undefined = TouchedElements(f"iteration {var.name} ="), None
            for iteration in iterations:
                inner = frame.inside(region, iteration)
                inner.vars[var] = iteration
                try:
                    body(inner)
                except Undefined as fault:  # what another iteration writes is a race, which says more
                    undefined = undefined or fault
            if undefined is not None:
                raise undefined

        return run
