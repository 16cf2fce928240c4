"""The parts of batches that the nodes of one class are, as functions with facts."""

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

_LENGTH = "class_length_"


@dataclass(frozen=True, slots=True)
class Parts:
    """The nodes of one class: `length(b)` of batch b, from `begin(b)` on.

    They follow each other in the order of classes; the last class has what is left of a batch.
    """

    begin: Function
    length: Function

    def all(self) -> tuple[Function, ...]:
        """Return the functions, in the order of a program's arguments."""
        return (self.begin, self.length)


def class_parts(plan: Plan, begin: Function, length: Function) -> tuple[Parts, ...]:
    """Return the parts of each of a plan's classes; `begin` and `length` are those of all batches."""
    found: list[Parts] = []
    for number in range(len(plan.classes)):
        here = _begin(number, begin, found[-1] if found else None)
        left = len(plan.classes) - 1 - number
        found.append(Parts(here, _length(number, here, begin, length, last=not left)))
    return tuple(found)


def _begin(number: int, begin: Function, before: Parts | None) -> Function:
    domain, batch = _domain(begin)
    start: Expr = Call(begin, (batch,))
    if before is not None:
        start = add(Call(before.begin, (batch,)), Call(before.length, (batch,)))
    return Function(f"class_begin_{number}", domain, Source.EXPRESSION, start)


def _length(number: int, here: Function, begin: Function, length: Function, *, last: bool) -> Function:
    domain, batch = _domain(begin)
    if not last:
        return Function(f"{_LENGTH}{number}", domain, Source.STRUCTURE)
    return Function(f"{_LENGTH}{number}", domain, Source.EXPRESSION, _left(here, begin, length, batch))


def _left(here: Function, begin: Function, length: Function, batch: Expr) -> Expr:
    """Return how many nodes of a batch come from `here` on."""
    return sub(add(Call(begin, (batch,)), Call(length, (batch,))), Call(here, (batch,)))


def _domain(begin: Function) -> tuple[tuple[Param], Expr]:
    batch = Var("b")
    return (Param(batch, begin.params[0].extent),), Ref(batch)


def class_facts(
    plan: Plan,
    parts: Sequence[Parts],
    batches: tuple[Function, Function],
    subject: Callable[[str | None], Function],
    positions: Mapping[int, Function],
) -> Iterator[Fact]:
    """Yield what is known of the parts: that they lie in their batches, and what their nodes have in common.

    `batches` are where batches begin and how long they are, `subject` is what a class asks for: an integer payload by
    its name, or for None the number of children.
    """
    for each, part in zip(plan.classes, parts, strict=True):
        if part.length.body is None:
            left = _left(part.begin, *batches, Ref(part.length.params[0].var))
            yield Range(part.length, Const(0), add(left, 1))
        for asked in each.conditions:
            yield Uniform.of(subject(asked.payload), asked.op, Const(asked.value), part.begin, part.length)
        if _has_all_children(plan, each):
            for position, pointer in positions.items():
                if plan.min_children <= position < (plan.most_children or 0):
                    yield Uniform.of(pointer, BinaryOp.GE, Const(0), part.begin, part.length)


def _has_all_children(plan: Plan, each: NodeClass) -> bool:
    """Return whether the nodes of a class have as many children as a node may, so that none is missing."""
    most = plan.most_children
    at_least = (c.value for c in each.conditions if c.payload is None and c.op in (BinaryOp.EQ, BinaryOp.GE))
    return most is not None and max(at_least, default=0) >= most


def class_length_of(function: Function) -> int | None:
    """Return the class whose part of each batch `function` gives the length of, as an array, or None."""
    if function.source is not Source.STRUCTURE or not function.name.startswith(_LENGTH):
        return None
    return int(function.name.removeprefix(_LENGTH))
