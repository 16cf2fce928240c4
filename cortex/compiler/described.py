"""What a compiled function has to know of its model, as data: no tensor or expression of the Recursive API is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from cortex.compiler.spin_time import operations_of
from cortex.ilir.plan import Plan
from cortex.ra.schedule import Schedule
from ragged.errors import InternalError
from ragged.ir.dtype import DType
from ragged.ir.expr import Buffer, Const
from ragged.ir.program import Program


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a parameter has to be."""

    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Described:
    """A scheduled model: what it asks of structures and parameters, its outputs, and the texts that `show` prints.

    `finite` are the parameters that must hold numbers alone; `operations` is about how many are done for a node;
    `table_bytes` are those of tables over what nodes carry.
    """

    plan: Plan
    parameters: dict[str, Parameter]
    finite: tuple[str, ...]
    outputs: tuple[str, ...]
    operations: int
    table_bytes: int
    model: str
    schedule: str

    def __post_init__(self) -> None:
        unknown = set(self.finite) - set(self.parameters)
        if unknown:
            raise InternalError(f"'{min(unknown)}' is to be finite and is no parameter")
        plan, most = self.plan, 2**31 - 1
        sizes = (plan.unrolled, *(prod(payload.shape) for payload in plan.payloads))
        values = (condition.value for each in plan.classes for condition in each.conditions)
        ranges = (each for payload in plan.payloads for each in (payload.default, *(payload.range or ())))
        counts = (plan.min_children, plan.max_children or 0, *plan.positions)
        if max(sizes) > most or any(abs(each) >= 2**62 for each in (*counts, *values, *ranges)):
            raise InternalError("a number of the plan is too large")


def describe(
    schedule: Schedule,
    program: Program,
    notes: Iterable[str] = (),
    *,
    roots_alone: bool = False,
    whole_heights: bool = False,
) -> Described:
    """Return the description of a schedule's model; `program` is what it is lowered to, `notes` go before the log.

    `roots_alone` is as for `Schedule.lower`; with `whole_heights` batches are as wide as the structures have them.
    """
    model = schedule.model
    parameters = {
        name: Parameter(tensor.dtype, tuple(extent for extent in tensor.shape if isinstance(extent, int)))
        for name, tensor in model.inputs.items()
    }
    plan = schedule.plan(roots_alone=roots_alone)
    return Described(
        replace(plan, widest=None) if whole_heights else plan,
        parameters,
        tuple(sorted(schedule.finite)),
        tuple(model.results),
        operations_of(program),
        sum(_bytes(buffer) for buffer in program.buffers if buffer.name in schedule.tables),
        repr(model),
        "\n".join((*notes, *filter(None, (schedule.log(), schedule.offer)))),
    )


def _bytes(buffer: Buffer) -> int:
    extents = (int(extent.value) for extent in buffer.shape if isinstance(extent, Const))
    return prod(extents) * buffer.dtype.bytes
