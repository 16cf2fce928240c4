"""Every expression of a model with the variables in scope and the guards around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from cortex.ra.expr import ChildReduce, DenseReduce, Expr, IndexVar, NodeReduce, Read, Where, operands
from cortex.ra.node import ChildVar, NodeVar
from cortex.ra.tensor import Body, Compute, IfThenElse

Guard: TypeAlias = tuple[Expr, bool]
"""A condition, and its value wherever the guarded expression is evaluated."""


@dataclass(frozen=True, slots=True)
class ExprSite:
    """An expression in a compute, the variables in scope there, and the guards around it.

    In a reduction over the nodes of a `structure`, `node` is one of these.
    """

    owner: Body
    expr: Expr
    node: NodeVar
    children: tuple[ChildVar, ...]
    indices: tuple[IndexVar, ...]
    guards: tuple[Guard, ...] = ()
    structure: NodeVar | None = None


def sites(body: Body) -> tuple[ExprSite, ...]:
    """Return each expression of a compute, outermost first; the compute keeps them."""
    try:
        return body._sites
    except AttributeError:
        found = tuple(_under(_outermost(body)))
        object.__setattr__(body, "_sites", found)
        return found


def _outermost(body: Body) -> ExprSite:
    match body:
        case Compute(node=node, child=child, indices=indices, body=expr):
            return ExprSite(body, expr, node, () if child is None else (child,), indices)
        case IfThenElse(node=node, condition=condition):
            return ExprSite(body, condition, node, (), ())


def all_reads(bodies: Iterable[Body]) -> Iterator[tuple[ExprSite, Read]]:
    """Yield each read of some computes with its site, in order."""
    return ((site, site.expr) for body in bodies for site in sites(body) if isinstance(site.expr, Read))


def _under(site: ExprSite) -> Iterator[ExprSite]:
    yield site
    match site.expr:
        case Where(condition=condition, if_true=if_true, if_false=if_false):
            yield from _under(replace(site, expr=condition))
            yield from _under(replace(site, expr=if_true, guards=(*site.guards, (condition, True))))
            yield from _under(replace(site, expr=if_false, guards=(*site.guards, (condition, False))))
        case DenseReduce(index=index, body=body):
            yield from _under(replace(site, expr=body, indices=(*site.indices, index)))
        case ChildReduce(child=child, body=body):
            yield from _under(replace(site, expr=body, children=(*site.children, child)))
        case NodeReduce(structure=structure, node=node, body=body):
            yield from _under(replace(site, expr=body, node=node, structure=structure))
        case expr:
            for operand in operands(expr):
                yield from _under(replace(site, expr=operand))
