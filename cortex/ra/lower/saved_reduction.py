"""Reductions with a nest of their own: where their values are kept, and the axes that these depend on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cortex.ra import expr as ra
from cortex.ra.node import ChildVar
from cortex.ra.sites import Guard
from ragged.ir.expr import Buffer

Axis = ra.IndexVar | ChildVar
Guards = tuple[Guard, ...]
"""Conditions around an expression, each with the value under which it is evaluated."""


@dataclass(frozen=True, slots=True, eq=False)
class SavedReduction:
    """The buffer of a reduction's value: one for each of `axes`, computed where `guards` hold.

    A reduction that depends on several children at once is `nested`: recomputed inside the loops of the reduction that
    reads it. One in a loop over children that does not depend on the child is computed before that loop, at nodes with
    children only: `inner`.
    """

    buffer: Buffer
    axes: tuple[Axis, ...]
    guards: Guards = ()
    nested: bool = False
    inner: bool = False

    @property
    def is_guarded_as_one(self) -> bool:
        """Whether it has elements, for all of which the guards are the same."""
        asked = {axis for condition, _ in self.guards for axis in free_axes(condition)}
        return bool(self.axes) and not self.inner and asked.isdisjoint(self.axes)

    def serves(self, guards: Guards, *, inner: bool) -> bool:
        """Return whether the value is available wherever `guards` hold, in a loop over children if `inner`."""
        if self.inner and not inner:
            return False
        return len(self.guards) <= len(guards) and all(
            own[0] is other[0] and own[1] is other[1] for own, other in zip(self.guards, guards, strict=False)
        )


def within(scope: tuple[Axis, ...], reduction: ra.Reduction) -> tuple[Axis, ...]:
    """Return the axes in the body of a reduction; the nodes of a structure are none."""
    match reduction:
        case ra.ChildReduce(child=child):
            return (*scope, child)
        case ra.DenseReduce(index=index):
            return (*scope, index)
        case ra.NodeReduce():
            return scope


def free_axes(expr: ra.Expr) -> Iterator[Axis]:
    """Yield the axes that an expression's value depends on, except those that it binds."""
    match expr:
        case ra.IndexVar():
            yield expr
        case ra.DenseReduce() | ra.ChildReduce() | ra.NodeReduce():
            bound = within((), expr)
            yield from (axis for axis in free_axes(expr.body) if all(axis is not each for each in bound))
        case ra.IsLeaf(node=node) | ra.NumChildren(node=node):
            yield from (node,) if isinstance(node, ChildVar) else ()
        case ra.Read(indices=indices):
            for index in indices:
                if isinstance(index, ChildVar):
                    yield index
                elif isinstance(index, ra.Expr):
                    yield from free_axes(index)
        case _:
            for operand in ra.operands(expr):
                yield from free_axes(operand)


def used_axes(reduction: ra.Reduction, scope: Sequence[Axis], guards: Guards) -> tuple[tuple[Axis, ...], int]:
    """Return the axes in scope that a reduction or a guard around it depends on, and how many are over children.

    A child comes first, so that all edges can be rows of one loop; what depends on several is kept for none.
    """
    used = set(free_axes(reduction)).union(*(free_axes(condition) for condition, _ in guards))
    children = [each for each in scope if each in used and isinstance(each, ChildVar)]
    dense = [each for each in scope if each in used and not isinstance(each, ChildVar)]
    return (() if len(children) > 1 else (*children, *dense)), len(children)


def inner_axes(
    saved: SavedReduction, nested: Sequence[tuple[ra.Reduction, SavedReduction]]
) -> tuple[Axis, ...]:
    """Return the dense axes that neither a guard nor what is `nested` in the reduction's loop depends on.

    Their loops are inside the reduction's, so that this is computed once for all. Where nothing is nested there are
    none: which loops are innermost is a schedule's choice.
    """
    around: list[ra.Expr] = [part for part, _ in nested]
    around += [condition for each in (saved, *(inner for _, inner in nested)) for condition, _ in each.guards]
    used = {axis for part in around for axis in free_axes(part)}
    return tuple(axis for axis in saved.axes if isinstance(axis, ra.IndexVar) and nested and axis not in used)
