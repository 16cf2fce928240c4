"""The signature of a compiled recursive model, as data without expressions of the Recursive API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from cortex.ilir.plan import Plan
from cortex.linearize.options import check_payloads
from cortex.ra.schedule import RecursionSchedule
from ragged.compiled.operations import operations_per_iteration
from ragged.compiled.signature import Parameter, Signature
from ragged.ir.buffer_size import bytes_of
from ragged.ir.program import Program
from ragged.ir.rule_record import RuleRecord, rules_to_json
from ragged.runtime.executable import Executable

_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveSignature(Signature):
    """The structures that a model takes, its parameters and outputs, and options of the linearizer and of results.

    `heads` are those of `outputs` that have a row for each root only, `after` those with a row for each structure.
    `operations` is about how many operations the kernel does for a node, `table_bytes` those of tables over payloads.
    """

    plan: Plan
    outputs: tuple[str, ...]
    operations: int
    table_bytes: int
    keep_nodes: bool
    children: str | tuple[str, ...] | None
    payloads: dict[str, str] | None = None
    heads: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def output_names(self) -> frozenset[str]:
        """The names of the outputs."""
        return frozenset(self.outputs)

    def options(self) -> dict[str, object]:
        """Return the options of `compile` that alternatives of one saved function have in common, by name."""
        keep = "nodes" if self.keep_nodes else "roots"
        own = {"keep": keep, "children": self.children, "payloads": self.payloads}
        return Signature.options(self) | own

    def faults(self, executable: Executable) -> Iterator[str]:
        """Yield why this is not the signature of the code."""
        yield from Signature.faults(self, executable)
        plan = self.plan
        sizes = (plan.unrolled, *(prod(payload.shape) for payload in plan.payloads))
        values = (condition.value for each in plan.classes for condition in each.conditions)
        ranges = (each for payload in plan.payloads for each in (payload.default, *(payload.range or ())))
        counts = (plan.min_children, plan.max_children or 0, *plan.positions)
        if max(sizes) > _LARGEST or any(abs(each) >= 2**62 for each in (*counts, *values, *ranges)):
            yield "a number of the plan is too large"


def signature_of(
    schedule: RecursionSchedule,
    program: Program,
    notes: Iterable[str] = (),
    rules: Iterable[RuleRecord] = (),
    *,
    precision: str,
    keep_nodes: bool,
    children: str | tuple[str, ...] | None,
    payloads: Mapping[str, str] | None,
) -> RecursiveSignature:
    """Return the signature of a schedule's model; `program` is what it is lowered to.

    `notes` go before the schedule's log, `rules` before those of the loops.
    """
    model = schedule.model
    plan = schedule.plan(roots_alone=not keep_nodes)
    return RecursiveSignature(
        name="the model",
        parameters={
            name: Parameter(tensor.dtype, tuple(extent for extent in tensor.shape if isinstance(extent, int)))
            for name, tensor in model.inputs.items()
        },
        finite=tuple(sorted(schedule.finite)),
        precision=precision,
        texts={
            "ra": repr(model),
            "schedule": "\n".join((*notes, *filter(None, (schedule.log(), schedule.offer)))),
            "decisions": rules_to_json(rules),
        },
        plan=plan,
        outputs=(*model.results, *model.heads, *model.after),
        operations=operations_per_iteration(program.kernel),
        table_bytes=sum(bytes_of(buffer) for buffer in program.buffers if buffer.name in schedule.tables),
        keep_nodes=keep_nodes,
        children=children,
        payloads=check_payloads(payloads, plan),
        heads=tuple(model.heads),
        after=tuple(model.after),
    )
