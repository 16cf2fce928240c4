"""The range of nodes of each class in a batch, as functions with facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cortex.ilir.classes import NodeClass
from cortex.ilir.plan import Plan
from ragged.ir.build import add, sub
from ragged.ir.expr import Call, Const, Expr, Function, Param, Ref, Source, Var
from ragged.ir.fact import Fact
from ragged.ir.facts import Range
from ragged.ir.ops import BinaryOp
from ragged.ir.pointer_facts import Uniform


@dataclass(frozen=True, slots=True)
class ClassRange:
    """The nodes of one class: `length(b)` of batch b, from `begin(b)` on.

    They follow each other in the order of classes; the last class has what is left of a batch.
    """

    begin: Function
    length: Function

    def all(self) -> tuple[Function, ...]:
        """Return the functions, in the order of a program's arguments."""
        return (self.begin, self.length)


def class_ranges(begin: Function, length: Function, lengths: Sequence[Function]) -> tuple[ClassRange, ...]:
    """Return the range of each class in a batch; `lengths` are those of all classes but the last."""
    found: list[ClassRange] = []
    for number in range(len(lengths) + 1):
        domain, batch = _batch(begin)
        start: Expr = Call(begin, (batch,))
        if found:
            start = add(Call(found[-1].begin, (batch,)), Call(found[-1].length, (batch,)))
        here = Function(f"class_begin_{number}", domain, Source.EXPRESSION, start)
        if number == len(lengths):  # the last class has what is left of a batch
            domain, batch = _batch(begin)
            left = _left(here, begin, length, batch)
            lengths = [*lengths, Function(f"class_length_{number}", domain, Source.EXPRESSION, left)]
        found.append(ClassRange(here, lengths[number]))
    return tuple(found)


def _batch(begin: Function) -> tuple[tuple[Param], Expr]:
    """Return the parameter of a function of batches, which no other function binds, and a reference to it."""
    batch = Var("b")
    return (Param(batch, begin.params[0].extent),), Ref(batch)


def _left(here: Function, begin: Function, length: Function, batch: Expr) -> Expr:
    """Return how many nodes of a batch come from `here` on."""
    return sub(add(Call(begin, (batch,)), Call(length, (batch,))), Call(here, (batch,)))


def class_facts(
    plan: Plan,
    ranges: Sequence[ClassRange],
    batches: tuple[Function, Function],
    subject: Callable[[str | None], Function],
    positions: Mapping[int, Function],
) -> Iterator[Fact]:
    """Yield the facts of `ranges`: they lie in their batches, and the conditions of a class hold of its nodes.

    `batches` are the begin and the length of batches. `subject` maps the payload of a condition to its function, and
    None to the number of children.
    """
    for each, nodes in zip(plan.classes, ranges, strict=True):
        if nodes.length.body is None:
            left = _left(nodes.begin, *batches, Ref(nodes.length.params[0].var))
            yield Range(nodes.length, Const(0), add(left, 1))
        for asked in each.conditions:
            yield Uniform.of(subject(asked.payload), asked.op, Const(asked.value), nodes.begin, nodes.length)
        if _has_all_children(plan, each):
            for position, pointer in positions.items():
                if plan.min_children <= position < (plan.most_children or 0):
                    yield Uniform.of(pointer, BinaryOp.GE, Const(0), nodes.begin, nodes.length)


def _has_all_children(plan: Plan, each: NodeClass) -> bool:
    """Return whether the nodes of a class have as many children as a node may, so that none is missing."""
    most = plan.most_children
    at_least = (c.value for c in each.conditions if c.payload is None and c.op in (BinaryOp.EQ, BinaryOp.GE))
    return most is not None and max(at_least, default=0) >= most
