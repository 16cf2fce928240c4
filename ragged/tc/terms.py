"""Sums of several products, one product after another: each is a nest of its own, which a schedule can tile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from ragged.api.tensors import Axis, Kind, RaggedTensor, Reduction
from ragged.api.values import Value, select
from ragged.ir import expr as ir
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.rewrite import substitute
from ragged.ir.walk import mentions, subexpressions


@dataclass(frozen=True, slots=True)
class _Product:
    """A product that a sum adds, where `condition` holds; None: everywhere."""

    product: ir.Expr
    condition: ir.Expr | None = None


def sum_by_terms(result: RaggedTensor, name: Callable[[str], str]) -> None:
    """Have a tensor add sums of products, one product after another, in the place of a sum of what they add up to.

    before::

        f(t) = sum(R, r: x[r, t] * v[r] + (x[r, t - 4] * w[r] if t - 4 >= 0 else 0))

    after::

        f_1(t) = sum(R, r: x[r, t] * v[r])
        f_2(t) = sum(R, r: (x[r, t - 4] if t - 4 >= 0 else 0) * w[r])
        f(t) = f_1[t] + f_2[t] if t - 4 >= 0 else f_1[t]

    Without a condition f goes on from f_1. Nothing is changed where something else than products of two elements is
    added, or under a condition that the axes are in, or that keeps both elements in bounds. `name` gives names.
    """
    body = result.body
    if not isinstance(body, Reduction) or body.combiner is not Combiner.SUM or not body.body.dtype.is_float:
        return
    axes = [axis.var for axis in body.axes]
    terms = [_term(part, axes) for part in _added(body.body.expr)]
    found = [term for term in terms if term is not None]
    if len(found) < len(terms) or (len(found) == 1 and found[0].condition is None):
        return
    total, last = body.init, found[-1]
    for term in found:
        if term is last and term.condition is None:
            result.body = _sum_of(body, term.product, total)
            return
        made = _read(result, body, term.product, total if term.condition is None else None, name)
        if term.condition is None:
            total = made
            continue
        before = Value(ir.Const(0.0, body.body.dtype)) if total is None else total
        total = select(_of(body, term.condition), made if total is None else total + made, before)
    result.body = total


def _read(
    result: RaggedTensor, body: Reduction, product: ir.Expr, init: Value | None, name: Callable[[str], str]
) -> Value:
    """Return the element of a new tensor, a sum of one product, at the indices of the result."""
    indices = tuple(ir.Var(each.name) for each in result.indices)
    own: dict[ir.Var, ir.Expr] = dict(zip(result.indices, map(ir.Ref, indices), strict=True))
    start = None if init is None else Value(substitute(init.expr, own), init.sources)
    made = RaggedTensor(
        name(f"{result.name}_term"),
        Kind.COMPUTED,
        result.dtype,
        result.dims,
        indices,
        _sum_of(body, product, start, own),
        result.at,
    )
    return Value(ir.Load(made.buffer, tuple(map(ir.Ref, result.indices))), {made.buffer: made})


def _sum_of(
    body: Reduction, product: ir.Expr, init: Value | None, own: Mapping[ir.Var, ir.Expr] | None = None
) -> Reduction:
    """Return the sum of a product over the axes of a reduction, with `own` for its other indices."""
    axes = tuple(Axis(ir.Var(axis.var.name), axis.extent) for axis in body.axes)
    new = {old.var: ir.Ref(axis.var) for old, axis in zip(body.axes, axes, strict=True)}
    buffer = ir.Buffer(body.combiner.value, body.body.dtype, (), ir.Role.WORKSPACE)
    value = _of(body, substitute(product, {**(own or {}), **new}))
    return Reduction(body.combiner, axes, value, buffer, body.at, init)


def _of(body: Reduction, expr: ir.Expr) -> Value:
    """Return an expression of a reduction's body, with what it reads."""
    return Value(expr, body.body.sources).trimmed()


def _added(expr: ir.Expr) -> Iterator[ir.Expr]:
    """Yield the terms of a sum."""
    if isinstance(expr, ir.Binary) and expr.op is BinaryOp.ADD:
        yield from _added(expr.lhs)
        yield from _added(expr.rhs)
    else:
        yield expr


def _term(expr: ir.Expr, axes: Collection[ir.Var]) -> _Product | None:
    """Return a term of a sum over axes, None if it is no product of two elements, or depends on another condition."""
    match expr:
        case ir.Binary(op=BinaryOp.MUL, lhs=ir.Load(), rhs=ir.Load()):
            return _Product(expr)
        case ir.Select(
            condition=condition,
            if_true=ir.Binary(op=BinaryOp.MUL, lhs=ir.Load() as lhs, rhs=ir.Load() as rhs) as product,
            if_false=ir.Const(value=0) as zero,
        ) if not mentions(condition, axes):
            asked = _symbols(condition)
            depends = [
                not asked.isdisjoint(_symbols(*load.indices, *load.buffer.shape)) for load in (lhs, rhs)
            ]
            if depends.count(True) != 1:
                return None
            a, b = (
                ir.Select(condition, load, zero, load.at) if own else load
                for load, own in zip((lhs, rhs), depends, strict=True)
            )
            return _Product(ir.Binary(BinaryOp.MUL, a, b, product.at), condition)
        case _:
            return None


def _symbols(*exprs: ir.Expr) -> set[object]:
    """Return the variables, buffers and functions in expressions."""
    found: set[object] = set()
    for part in (part for expr in exprs for part in subexpressions(expr)):
        match part:
            case ir.Ref(var=var):
                found.add(var)
            case ir.Load(buffer=buffer):
                found.add(buffer)
            case ir.Call(function=function):
                found.add(function)
            case _:
                pass
    return found
