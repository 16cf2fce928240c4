"""A program with the primitives that were applied to it, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from ragged.analysis.buffers import all_buffers
from ragged.errors import Location, ScheduleError
from ragged.ir.expr import Buffer, Expr, Function, Var
from ragged.ir.fact import Fact
from ragged.ir.program import Program
from ragged.ir.rewrite import Forwarding, Rewriter, Rewritten, labels_of, loops_of
from ragged.ir.rule_record import Refusal, RuleRecord
from ragged.ir.stmt import Label
from ragged.ir.verify import verify
from ragged.passes.assume import assume
from ragged.prove import recording
from ragged.schedule.names import index_text, read_index

P = ParamSpec("P")
T = TypeVar("T")

_RECORDED: ContextVar[list[LoopSchedule] | None] = ContextVar("_RECORDED", default=None)


@contextmanager
def recorded_schedules() -> Iterator[list[LoopSchedule]]:
    """Collect the schedules that are made inside the `with`, each of which then keeps the program after each step."""
    schedules: list[LoopSchedule] = []
    token = _RECORDED.set(schedules)
    try:
        yield schedules
    finally:
        _RECORDED.reset(token)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A schedule as it was at one time."""

    program: Program
    forwardings: tuple[Forwarding, ...]
    log: tuple[str, ...]
    assumed: frozenset[Fact]


class LoopSchedule:
    """Applies primitives to a program and keeps the log of them.

    Loops are named by their variables, statements by their labels: `loop` and `statement` find them by name. A
    refused primitive leaves the schedule as it was. A step may be legal because of facts about data: `checked` returns
    the program with a prelude that checks these facts. Every step's program is verified, unless
    `trusted` is set by a caller that verifies the last one.

    Example::

        s = LoopSchedule(program)
        i = s.loop("i")
        outer, inner = s.apply(split, i, 16).loops[i]
        s.apply(vectorize, inner)
        print(s.program, s.log())
    """

    def __init__(self, program: Program, *, trusted: bool = False) -> None:
        self._trusted = trusted
        if not trusted:
            verify(program)
        self.program = program
        self._forwardings = [Rewriter().finish(program, program).forwarding]
        self._log: list[str] = []
        self._refusals: list[Refusal] = []
        recorded = _RECORDED.get()
        self._programs: list[Program] | None = None if recorded is None else []
        if recorded is not None:
            recorded.append(self)
        self._assumed: frozenset[Fact] = frozenset()

    @property
    def forwarding(self) -> Forwarding:
        """What became of the loops and statements of the program that was given."""
        first, *later = self._forwardings
        return first.then(*later)

    def loop(self, name: str, nth: int | None = None) -> Var:
        """Return the loop of that name; the `nth` of them, from zero in the order of the text, where there are several.

        Raises:
            ScheduleError: there is none, or more than one and `nth` is not given.
        """
        return _choose("loop", name, nth, [var for var in loops_of(self.program) if var.name == name])

    def statement(self, name: str, nth: int | None = None) -> Label:
        """Return the label of that name; arguments and errors are those of `loop`."""
        return _choose(
            "statement", name, nth, [label for label in labels_of(self.program) if label.name == name]
        )

    def buffer(self, name: str, nth: int | None = None) -> Buffer:
        """Return the buffer of that name, declared or local; arguments and errors are those of `loop`."""
        return _choose(
            "buffer", name, nth, [buffer for buffer in all_buffers(self.program) if buffer.name == name]
        )

    def function(self, name: str) -> Function:
        """Return the function of that name; `ScheduleError` if the program has none."""
        return _choose("function", name, None, [each for each in self.program.functions if each.name == name])

    def index(self, text: str, at: Var) -> Expr:
        """Return the index that `text` says in Python's syntax, over what is known where the loop `at` stands.

        The loop's own variable may stand in it too, for primitives that ask what is of one iteration.

        Raises:
            ScheduleError: there is no such loop, `text` is no expression, or it names what is not known there.

        Example::

            s.apply(cut, k, s.index("length(n) // 8 * 8", k))
        """
        return read_index(self.program, at, text)

    def apply(
        self, primitive: Callable[Concatenate[Program, P], Rewritten], *args: P.args, **kwargs: P.kwargs
    ) -> Forwarding:
        """Apply a primitive to the program and return what became of its loops and statements.

        Raises:
            ScheduleError: the primitive refuses; the schedule is as it was.
        """
        given = (*args, *kwargs.values())
        at = next((value for value in given if isinstance(value, Var)), None)

        def code() -> str:
            named = (f"{key}={self._text(value, at)}" for key, value in kwargs.items())
            texts = (self._text(value, at) for value in args)
            return f"s.apply({', '.join([primitive.__name__, *texts, *named])})"

        try:
            with recording() as facts:
                rewritten = primitive(self.program, *args, **kwargs)
        except ScheduleError as error:
            step = primitive.__name__
            if self._trusted:
                with suppress(ScheduleError):  # it may name what is not in the program
                    step = code()
            self.refuse(step, error)
            raise ScheduleError(
                error.what,
                at=error.at or Location.capture(),
                because=error.because,
                example=error.example,
                fix=error.fix,
            ) from None
        if not self._trusted:
            verify(rewritten.program)
        self._log.append(code())
        self.program = rewritten.program
        if self._programs is not None:
            self._programs.append(self.program)
        self._assumed |= facts
        self._forwardings.append(rewritten.forwarding)
        return rewritten.forwarding

    def checked(self) -> Program:
        """Return the program with a prelude that checks what the proofs of all steps assumed of data."""
        return assume(self.program, self._assumed)

    def checkpoint(self) -> Checkpoint:
        """Return what `restore` goes back to."""
        return Checkpoint(self.program, tuple(self._forwardings), tuple(self._log), self._assumed)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take back every step since `checkpoint`."""
        self.program = checkpoint.program
        self._forwardings = list(checkpoint.forwardings)
        self._log = list(checkpoint.log)
        if self._programs is not None:
            del self._programs[len(self._log) :]
        self._assumed = checkpoint.assumed

    @contextmanager
    def attempt(self, step: str | None = None) -> Iterator[None]:
        """Take back the steps inside the `with` if a primitive refuses, and go on after it.

        The refusal is recorded by the primitive's step; if `step` is given, as one of that.
        """
        before = self.checkpoint()
        try:
            yield
        except ScheduleError as refusal:
            self.restore(before)
            if step is not None:
                self.refuse(step, refusal)

    def refuse(self, step: str, error: ScheduleError) -> None:
        """Record a refusal of `step`, unless `apply` has recorded the error already; `restore` keeps it."""
        refusal = Refusal.of(step, error)
        if not self._refusals or self._refusals[-1].reason != refusal.reason:
            self._refusals.append(refusal)

    def counts(self) -> tuple[int, int]:
        """Return the numbers of steps and refusals so far."""
        return len(self._log), len(self._refusals)

    def record(self, rule: str, because: str, steps: int = 0, refusals: int = 0) -> RuleRecord:
        """Return what a rule did since there were so many steps and refusals."""
        return RuleRecord(rule, because, tuple(self._log[steps:]), tuple(self._refusals[refusals:]))

    def log(self) -> str:
        """Return the steps as code that takes them again on a new schedule `s` of the same program."""
        return "\n".join(self._log)

    def rewritings(self) -> tuple[tuple[Program, Forwarding], ...]:
        """Return the program after each step and what became of the one before; only in `recorded_schedules`."""
        return tuple(zip(self._programs or (), self._forwardings[1:], strict=True))

    def steps(self) -> tuple[tuple[str, Program], ...]:
        """Return each step as code, and the program after it; only of a schedule in `recorded_schedules`."""
        return tuple(zip(self._log, self._programs or (), strict=True))

    def _text(self, value: object, at: Var | None) -> str:
        """Return an argument as code; an index is one of the place of the loop `at`."""
        match value:
            case Var():
                return self._named(
                    "loop", value, [var for var in loops_of(self.program) if var.name == value.name]
                )
            case Label():
                same = [label for label in labels_of(self.program) if label.name == value.name]
                return self._named("statement", value, same)
            case Buffer():
                named = [buffer for buffer in all_buffers(self.program) if buffer.name == value.name]
                return self._named("buffer", value, named)
            case Function():
                return f"s.function({value.name!r})"
            case _ if at is not None and isinstance(value, Expr):
                return f"s.index({index_text(self.program, at, value)!r}, {self._text(at, None)})"
            case tuple() | list():
                near = next((each for each in value if isinstance(each, Var)), at)
                inner = ", ".join(self._text(each, near) for each in value)
                return f"({inner},)" if len(value) == 1 else f"({inner})"
            case _:
                return str(value) if hasattr(value, "value") else repr(value)

    @staticmethod
    def _named(kind: str, value: Var | Label | Buffer, same: list[Var] | list[Label] | list[Buffer]) -> str:
        places = [i for i, each in enumerate(same) if each is value]
        if len(same) == 1 or not places:  # none: a refused step may name what an earlier one replaced
            return f"s.{kind}({value.name!r})"
        return f"s.{kind}({value.name!r}, {places[0]})"


def _choose(kind: str, name: str, nth: int | None, found: list[T]) -> T:
    if not found or (nth is not None and not 0 <= nth < len(found)):
        raise ScheduleError(
            f"the program has no {kind} '{name}'" + (f" number {nth}" if nth is not None else ""),
            because="it was never there, or an earlier step put others in its place",
            fix=f"print the program: a {kind} is called what stands there",
        )
    if nth is None and len(found) > 1:
        raise ScheduleError(
            f"{len(found)} {kind}s are called '{name}'",
            because="a name alone does not say which",
            fix=f"{kind}({name!r}, 0) is the first in the text",
        )
    return found[nth or 0]
