"""Operands of products in the type that products are computed in: converted once, not in each product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ragged.api.program import is_product, reads
from ragged.api.tensors import Kind, RaggedTensor
from ragged.api.values import Value, ValueSource
from ragged.arith.affine import growth
from ragged.arith.fold import ZERO
from ragged.ir.expr import Binary, Buffer, Cast, Expr, Function, Load, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.walk import loads, variables


def widen_operands(result: RaggedTensor) -> None:
    """Have a tensor read operands of products converted once.

    Of what a call or a parameter gives: a schedule may compute others in any loop.
    """
    body = result.body
    if not is_product(body):
        return
    if all(source.kind is not Kind.COMPUTED for source in reads(result)):
        loops = frozenset(result.loop_vars)
        axis = body.axes[-1].var
        result.body = replace(body, body=with_wide_operands(body.body, loops, axis, {}, str))


def with_wide_operands(
    value: Value,
    loops: frozenset[Var],
    axis: Var,
    widened: dict[Expr, RaggedTensor],
    fresh_name: Callable[[str], str],
) -> Value:
    """Return a product with both operands read from tensors that hold them converted; any other value as it is.

    That takes both operands to be converted elements of tensors, at indices that are not read from data, and to be read
    again in other iterations of `loops`; and integers not to be contiguous along the innermost `axis` both, where LLVM
    converts and adds them in vectors. `widened` has the tensors by first elements, and gets those that are made.

    before::

        c(m,n) +=! float32(a(m,k)) * float32(b(k,n))

    after::

        a_wide(m,k) = float32(a(m,k))
        b_wide(k,n) = float32(b(k,n))
        c(m,n) +=! a_wide(m,k) * b_wide(k,n)
    """
    match value.expr:
        case Binary(op=BinaryOp.MUL, lhs=lhs, rhs=rhs) if all(
            _is_converted(each) and not loops <= variables(each) for each in (lhs, rhs)
        ) and (value.dtype.is_float or not all(_is_along(each, axis) for each in (lhs, rhs))):
            sources = dict(value.sources)
            found = [_read(each, sources, widened, fresh_name) for each in (lhs, rhs)]
            return Value(replace(value.expr, lhs=found[0], rhs=found[1]), sources)
        case _:
            return value


def _is_converted(operand: Expr) -> bool:
    """Return whether an operand is an element of a tensor, not read at data, in another type."""
    element = _element(operand)
    return isinstance(operand, Cast) and element is not None and not any(loads(*element.indices))


def _is_along(operand: Expr, axis: Var) -> bool:
    element = _element(operand)
    return element is not None and growth(element.indices[-1], axis) == 1


def _element(operand: Expr) -> Load | None:
    while isinstance(operand, Cast):
        operand = operand.operand
    return operand if isinstance(operand, Load) else None


def _read(
    operand: Expr,
    sources: dict[Buffer | Function, ValueSource],
    widened: dict[Expr, RaggedTensor],
    fresh_name: Callable[[str], str],
) -> Expr:
    """Return the element of a tensor of converted elements that an operand is."""
    element = _element(operand)
    assert element is not None, "it is one"
    tensor = sources[element.buffer]
    assert isinstance(tensor, RaggedTensor)

    key = _at(operand, (ZERO,) * len(tensor.dims))
    if key not in widened:
        own, indices = fresh_name(f"{tensor.name}_wide"), tuple(Var(each.dim.name) for each in tensor.dims)
        body = Value(_at(operand, tuple(map(Ref, indices))), {tensor.buffer: tensor})
        widened[key] = RaggedTensor(own, Kind.COMPUTED, operand.dtype, tensor.dims, indices, body, tensor.at)
    wide = widened[key]
    sources[wide.buffer] = wide
    return Load(wide.buffer, element.indices, operand.at)


def _at(operand: Expr, indices: tuple[Expr, ...]) -> Expr:
    """Return an operand, a converted element, at other indices."""
    if isinstance(operand, Cast):
        return replace(operand, operand=_at(operand.operand, indices))
    assert isinstance(operand, Load), "it is an element"
    return replace(operand, indices=indices)
