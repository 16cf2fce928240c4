"""Which primitive of a recursion's schedule is legal for which model.

The table of docs/reference/recursion_primitives.md.

A subject is a model of the library with one kind of input, over one kind of structure: each model is made anew over
the kinds that it was not written for. A trial is a primitive at one of the places that it can be asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from cortex import ra
from ragged.errors import ModelError, ScheduleError
from tests.support.library import library

KINDS: dict[str, ra.Structure] = {"Tree": ra.Tree(), "Dag": ra.Dag(), "Sequence": ra.Sequence()}
PRIMITIVES = (
    "dynamic_batch",
    "specialize_if_else",
    "specialize",
    "specialize_leaves",
    "hoist_constants",
    "hoist_inputs",
    "tabulate",
    "unroll",
    "refactor",
    "compute_once",
)


CONDITIONS = ("ra.isleaf(n)", "ra.num_children(n) == 2", "word[n] >= 0")
"""What `specialize` is asked for."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A primitive, the tensor or condition that it is asked for at if it takes one, and its refusal if any."""

    primitive: str
    at: str | None
    refusal: ScheduleError | None


@dataclass(frozen=True, slots=True)
class Subject:
    """A model over a kind of structure, or why there is none; `input` is empty where a model has but one."""

    name: str
    input: str
    kind: str
    model: ra.Model | ModelError

    @property
    def id(self) -> str:
        return " ".join(filter(None, (self.name, self.input, self.kind)))


@cache
def subjects() -> tuple[Subject, ...]:
    """Return every model of the library with every kind of input over every kind of structure."""
    return tuple(
        Subject(*_split(name), kind, _over(model, structure))
        for name, model in library().items()
        for kind, structure in KINDS.items()
    )


def _split(name: str) -> tuple[str, str]:
    model, _, kind = name.partition(", ")
    return model, kind


def _over(model: ra.Model, structure: ra.Structure) -> ra.Model | ModelError:
    """Return a model over another kind of structure; over its own it stays as it is."""
    if type(model.structure) is type(structure):
        return model
    try:
        return ra.recursion_op(model.outputs, structure=structure)
    except ModelError as error:
        return error


def trials(model: ra.Model) -> list[Trial]:
    """Try every primitive at every place, each on a schedule of its own."""
    return [Trial(name, at, refusal(model, name, at)) for name in PRIMITIVES for at in places(model, name)]


def places(model: ra.Model, primitive: str) -> Iterator[str | None]:
    if primitive in ("specialize_if_else", "tabulate", "refactor", "compute_once"):
        yield from (model.name(body) for body in model.computes)
    elif primitive == "specialize":
        yield from (asked for asked in CONDITIONS if "word" in model.payloads or "word" not in asked)
    else:
        yield None


def refusal(model: ra.Model, primitive: str, at: str | None) -> ScheduleError | None:
    schedule = ra.Schedule(model)
    try:
        take(schedule, model, primitive, at)
    except ScheduleError as error:
        return error
    return None


def take(schedule: ra.Schedule, model: ra.Model, primitive: str, at: str | None) -> None:
    """Take a step on a schedule of `model`, at the tensor that it calls `at`.

    To unroll, nodes are batched first; before constants are hoisted, leaves are specialized, which have most of them.
    """
    if primitive == "specialize":
        assert at is not None
        known = {"ra": ra, "word": model.payloads.get("word")}
        schedule.specialize(eval(f"lambda n: {at}", known))
    elif primitive == "hoist_constants":
        if "s.specialize_leaves()" not in schedule.log():
            schedule.specialize_leaves()
        schedule.hoist_constants()
    elif primitive == "unroll":
        if not schedule.batched:
            schedule.dynamic_batch()
        schedule.unroll(1)
    elif at is None:
        getattr(schedule, primitive)()
    else:
        getattr(schedule, primitive)(next(body for body in model.computes if model.name(body) == at))
