"""What `cortex.compile` chooses for a model, about its recursion and its loops, where its user does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from cortex.ra.base import ModelTensor
from cortex.ra.model import Model
from cortex.ra.schedule import RecursionSchedule, default_schedule
from ragged.auto import choices as loops
from ragged.errors import ScheduleError, UserError


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Choices(loops.Choices):
    """The choices about a model: those of `ragged.auto.choices.Choices` about its loops, and four about its recursion.

    Attributes:
        hoist_inputs: whether products of inputs are computed before the recursion, as in `ra.Schedule.hoist_inputs`.
        refactor: names of operators that each node computes for its parent, as in `ra.Schedule.refactor`; of a product
            with a sum over children it changes the order. No other choice changes a bit of a result.
        unroll: how many levels of descendants a node takes along in one step, as in `ra.Schedule.unroll`.
        widest: the most inner nodes of a batch, as in `ra.Schedule.dynamic_batch`; None is as many as a cache has room
            for what is computed at them, 96 at least. A GPU takes whole heights.

    Example::

        fn = cortex.compile(model, params, choices=cortex.Choices(tile=(6, 4)))
    """

    hoist_inputs: bool = field(
        default=True, metadata={"why": "products over all nodes have full tiles, and no batch waits for them"}
    )
    refactor: tuple[str, ...] = field(
        default=(),
        metadata={"why": "a product for each node is more work than one for the sum of its children"},
    )
    unroll: int = field(
        default=0, metadata={"why": "nodes of one height share what they load of the weights"}
    )
    widest: int | None = field(
        default=None, metadata={"why": "what is computed at the nodes of a batch stays in a cache"}
    )

    def __post_init__(self) -> None:
        """Refuse what is no choice."""
        loops.Choices.__post_init__(self)
        if type(self.hoist_inputs) is not bool:
            raise UserError(f"choices: hoist_inputs={self.hoist_inputs!r} is neither True nor False")
        if type(self.unroll) is not int or self.unroll < 0:
            raise UserError(f"choices: unroll={self.unroll!r} is not a number from 0 up")
        if self.widest is not None and (type(self.widest) is not int or self.widest < 1):
            raise UserError(f"choices: widest={self.widest!r} is not a number from 1 up")
        if type(self.refactor) is not tuple or not all(isinstance(name, str) for name in self.refactor):
            raise UserError(f"choices: refactor={self.refactor!r} is not a tuple of operators' names")

    @property
    def of_loops(self) -> loops.Choices:
        """The choices about loops alone."""
        return loops.Choices(**{each.name: getattr(self, each.name) for each in fields(loops.Choices)})

    def of_recursion(self) -> Iterator[str]:
        """Yield a comment for each choice about the recursion that is not the default."""
        about_loops = set(self.of_loops.notes())
        yield from (note for note in self.notes() if note not in about_loops)


DEFAULT = Choices()
"""What `cortex.compile` goes by where nobody chooses."""


def scheduled(model: Model | RecursionSchedule, choices: Choices, table_bytes: int = 0) -> RecursionSchedule:
    """Return the schedule of a model's recursion as chosen, its tables within `table_bytes`; one given is that already.

    Raises:
        ScheduleError: there is a schedule, and choices about the recursion besides; an operator to refactor is not the
            model's; or the schedule refuses a step.
    """
    if isinstance(model, RecursionSchedule):
        for note in choices.of_recursion():
            raise ScheduleError(
                f"compile: {note.removeprefix('# ').partition(' is chosen')[0]} is chosen beside a schedule",
                because="the schedule says already how the recursion runs",
                fix="make the choice on the schedule, or give the model",
            )
        return model
    schedule = default_schedule(model, table_bytes, hoist_inputs=choices.hoist_inputs, widest=choices.widest)
    for name in choices.refactor:
        schedule.refactor(_operator(model, name))
    if choices.unroll:
        schedule.unroll(choices.unroll)
    return schedule


def _operator(model: Model, name: str) -> ModelTensor:
    for tensor, own in model.names.items():
        if own == name and tensor in model.computes:
            return tensor
    names = ", ".join(model.names[tensor] for tensor in model.computes)
    raise ScheduleError(f"compile: refactor names {name!r}", because=f"the model computes {names}")
