"""Options of `cortex.compile`: those of the loop schedule, and those of the recursion schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from cortex.compiler.scheduled_loops import ScheduledLoops
from cortex.ra.base import ModelTensor
from cortex.ra.model import Model
from cortex.ra.schedule import RecursionSchedule, default_schedule
from ragged.auto import options as loops
from ragged.errors import ScheduleError, UserError


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecursionOptions(loops.ScheduleOptions):
    """Options of a model's schedules: those of `ragged.auto.options.ScheduleOptions` for loops, and four for recursion.

    Attributes:
        hoist_inputs: whether contractions of inputs are computed before the recursion, as by
            `ra.Schedule.hoist_inputs`.
        refactor: names of operators that each node computes for its parent, as by `ra.Schedule.refactor`. Moving a
            contraction over a sum of children changes the order of a sum; no other option changes a bit of a result.
        unroll: levels of descendants in one step, as by `ra.Schedule.unroll`.
        max_batch_nodes: the most inner nodes of a level, as in `ra.Schedule.dynamic_batch`. None: 96 or more, as many
            as a core's second cache holds the results of. A GPU's levels are whole heights.

    Example::

        fn = cortex.compile(model, params, options=cortex.RecursionOptions(tile=(6, 4)))
    """

    hoist_inputs: bool = field(
        default=True, metadata={"why": "products over all nodes have full tiles, and no level waits for them"}
    )
    refactor: tuple[str, ...] = field(
        default=(),
        metadata={
            "why": "a product for each node is more work than one for the sum of its children, and a barrier more"
        },
    )
    unroll: int = field(
        default=0,
        metadata={
            "why": "a node below the top of a step loads the weights for itself, the largest term of its cost"
        },
    )
    max_batch_nodes: int | None = field(
        default=None, metadata={"why": "what is computed at the nodes of a level stays in a cache"}
    )

    def __post_init__(self) -> None:
        """Refuse values of the wrong type or range."""
        loops.ScheduleOptions.__post_init__(self)
        if type(self.hoist_inputs) is not bool:
            raise UserError(f"options: hoist_inputs={self.hoist_inputs!r} is neither True nor False")
        if type(self.unroll) is not int or self.unroll < 0:
            raise UserError(f"options: unroll={self.unroll!r} is not a number from 0 up")
        if self.max_batch_nodes is not None and (
            type(self.max_batch_nodes) is not int or self.max_batch_nodes < 1
        ):
            raise UserError(f"options: max_batch_nodes={self.max_batch_nodes!r} is not a number from 1 up")
        if type(self.refactor) is not tuple or not all(isinstance(name, str) for name in self.refactor):
            raise UserError(f"options: refactor={self.refactor!r} is not a tuple of operators' names")

    @property
    def of_loops(self) -> loops.ScheduleOptions:
        """The options of the loop schedule."""
        return loops.ScheduleOptions(
            **{each.name: getattr(self, each.name) for each in fields(loops.ScheduleOptions)}
        )

    def of_recursion(self) -> Iterator[str]:
        """Yield a comment for each option of the recursion schedule that is not the default."""
        about_loops = set(self.of_loops.notes())
        yield from (note for note in self.notes() if note not in about_loops)


DEFAULT = RecursionOptions()
"""The default of `cortex.compile`."""


def scheduled(
    model: Model | RecursionSchedule, options: RecursionOptions, table_bytes: int = 0
) -> RecursionSchedule:
    """Return the recursion schedule of a model under the options, with tables of up to `table_bytes`; keep a given one.

    Raises:
        ScheduleError: a schedule is given together with options of the recursion; an operator to refactor is not the
            model's; or the schedule refuses a step.
    """
    if isinstance(model, RecursionSchedule):
        for note in options.of_recursion():
            raise ScheduleError(
                f"compile: {note.removeprefix('# ').partition(' is set')[0]} is given beside a schedule",
                because="the schedule fixes how the recursion runs",
                fix="call the primitive on the schedule, or compile the model",
            )
        return model
    schedule = default_schedule(
        model, table_bytes, hoist_inputs=options.hoist_inputs, max_batch_nodes=options.max_batch_nodes
    )
    for name in options.refactor:
        schedule.refactor(_operator(model, name))
    if options.unroll:
        schedule.unroll(options.unroll)
    return schedule


def check_schedule(
    model: object,
    given: ScheduledLoops | None,
    options: RecursionOptions,
    keep: str,
    schedule: object,
    precision: str,
) -> None:
    """Refuse what `compile` cannot compile, and arguments that do not fit loops that are given, or `schedule`."""
    if not isinstance(model, Model | RecursionSchedule):
        if callable(getattr(model, "state_dict", None)):
            raise UserError(
                f"compile: a {type(model).__name__} of PyTorch is no model",
                because="what runs at a node, and which nodes it reads, is written in the Recursive API",
                fix="write the cell as in docs/tutorial/cell.md, and give module.state_dict() as parameters; or take a "
                "cell of cortex.models, with cortex.from_torch(module.state_dict(), model)",
            )
        if isinstance(model, str) or callable(model):
            raise UserError(
                f"compile: {model!r} is no model",
                fix="call what builds one: cortex.compile(cortex.models.tree_rnn(hidden=8, embed=6, vocab=10), params)",
            )
        raise UserError(
            f"compile: {type(model).__name__} is neither a model nor a schedule of one",
            because="a program alone does not say what structures the model takes, nor its parameters",
            fix="cortex.compile(cortex.loop_schedule(s), params), where s is an ra.Schedule",
        )
    if not isinstance(options, RecursionOptions):
        raise UserError(
            f"compile: options={options!r} are no RecursionOptions",
            fix="options=cortex.RecursionOptions(reduction_unroll=2)",
        )
    if schedule not in ("default", None):
        raise UserError(f"compile: schedule={schedule!r} is neither 'default' nor None")
    if given is not None and given.keep != keep:
        raise ScheduleError(
            f"compile: keep={keep!r} with loops for keep={given.keep!r}",
            because="what is kept decides what the loops write",
            fix=f"keep={given.keep!r}, or cortex.loop_schedule(s, keep={keep!r})",
        )
    if schedule is None and (options.of_loops != loops.DEFAULT or precision != "float32"):
        raise ScheduleError(
            "compile: options or a precision with schedule=None",
            because="they are those of the default schedule",
            fix="schedule='default', or the primitives themselves",
        )


def _operator(model: Model, name: str) -> ModelTensor:
    for tensor, own in model.names.items():
        if own == name and tensor in model.computes:
            return tensor
    names = ", ".join(model.names[tensor] for tensor in model.computes)
    raise ScheduleError(f"compile: refactor names {name!r}", because=f"the model computes {names}")
