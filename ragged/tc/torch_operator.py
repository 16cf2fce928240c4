"""Functions as operators of PyTorch: its compiler sees their shapes, and its autograd their gradients."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np

from ragged.data.like import to_tensor
from ragged.data.parameters import as_numpy
from ragged.ir.expr import Binary, Cast, Const, Expr, Ref, Select, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.tc.callable import TcCallable
from ragged.tc.checked import CheckedFunction, IndexRange
from ragged.tc.errors import TcError, refuse_call
from ragged.tc.ranges import extent_of
from ragged.tc.sizes import check_rank
from ragged.tc.types import is_float

_NAMESPACE = "ragged_tc"
_operators: dict[str, Any] = {}
_lock = threading.RLock()
_BINARY: Mapping[BinaryOp, Callable[[Any, Any], Any]] = {
    BinaryOp.ADD: operator.add, BinaryOp.SUB: operator.sub, BinaryOp.MUL: operator.mul,
    BinaryOp.FLOORDIV: operator.floordiv, BinaryOp.MOD: operator.mod, BinaryOp.EQ: operator.eq,
    BinaryOp.NE: operator.ne, BinaryOp.LT: operator.lt, BinaryOp.LE: operator.le, BinaryOp.GT: operator.gt,
    BinaryOp.GE: operator.ge, BinaryOp.AND: lambda a, b: bool(a) and bool(b),
    BinaryOp.OR: lambda a, b: bool(a) or bool(b),
}  # fmt: skip
Reverse: TypeAlias = Callable[[tuple[str, ...], tuple[str, ...]], tuple[Sequence[str], Any]]
"""The operator of the gradients by parameters, given the names of those and of outputs, and its arguments' names."""


def torch_operator(
    function: TcCallable,
    checked: CheckedFunction,
    bound: Mapping[str, object],
    reverse: Reverse,
    options: str,
) -> Any:
    """Return a function as an operator of `torch.library`; `bound` are the parameters that calls do not give.

    Functions of one text and of the same `options`, a digest, are one operator, of one name in all processes:
    PyTorch's compiler keeps names on disk.

    Raises:
        TcError: an output is read before it is written, or there is no parameter to take a size from ("check").
    """
    import torch

    for name in checked.initial:
        because, fix = "operators return new tensors", f"'{name}' among the parameters"
        raise _refuse(checked, f"'{name}' is read before it is written", because, fix)
    names = [each.name for each in checked.definition.parameters if each.name not in bound]
    if not set(names) & checked.parameters.keys():
        raise _refuse(checked, "it takes no tensor", "PyTorch chooses operators by their arguments")
    arguments = ", ".join(f"{'SymInt' if name in checked.scalars else 'Tensor'} {name}" for name in names)
    results = ", ".join("Tensor" for _ in checked.outputs)
    schema = f"({arguments}) -> {results if len(checked.outputs) == 1 else f'({results})'}"

    def run(*given: Any) -> Any:
        found = function(*(as_numpy(each) if isinstance(each, torch.Tensor) else each for each in given))
        values = found.values() if isinstance(found, dict) else (found,)
        return _plain([to_tensor(torch, np.asarray(each)) for each in values])

    def fake(*given: Any) -> Any:
        like = next(each for each in given if isinstance(each, torch.Tensor))
        for name, each in zip(names, given, strict=True):
            if name in checked.parameters and each.dtype is not getattr(torch, checked.parameters[name].type):
                type_ = checked.parameters[name].type
                raise refuse_call(checked, f"is given '{name}' of {each.dtype}, not {type_}")
        sizes = _sizes(checked, dict(zip(names, given, strict=True)), bound)
        shapes = [[_extent(own, sizes) for own in each.domain or ()] for each in checked.outputs.values()]
        types = [getattr(torch, version.type) for version in checked.outputs.values()]
        return _plain(
            [like.new_empty(shape, dtype=dtype) for shape, dtype in zip(shapes, types, strict=True)]
        )

    with _lock:
        text = f"{function}{options}"
        own = f"{_NAMESPACE}::{checked.name}_{sha256(text.encode()).hexdigest()[:12]}"
        if own not in _operators:
            made = torch.library.custom_op(own, run, mutates_args=(), device_types="cpu", schema=schema)
            made.register_fake(fake)
            if any(is_float(each.type) for each in checked.outputs.values()):
                _register_gradient(made, checked, names, reverse)
            _operators[own] = made
        return _operators[own]


def _refuse(checked: CheckedFunction, what: str, because: str, fix: str | None = None) -> TcError:
    message = f"'{checked.name}' is no operator of PyTorch: {what}"
    return TcError("check", message, at=checked.definition.at, because=because, fix=fix)


def _plain(values: Sequence[Any]) -> Any:
    return tuple(values) if len(values) != 1 else values[0]


def _register_gradient(made: Any, checked: CheckedFunction, names: Sequence[str], reverse: Reverse) -> None:
    """Have autograd call the operator of the gradients by those arguments that need one."""
    import torch

    floats = [
        name for name in names if name in checked.parameters and is_float(checked.parameters[name].type)
    ]
    given_outputs = tuple(name for name in checked.outputs if name not in checked.parameters)

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        needs = dict(zip(names, ctx.needs_input_grad, strict=False))
        ctx.wrt = tuple(name for name in floats if needs[name])
        outputs = output if isinstance(output, tuple) else (output,)
        values = {**dict(zip(checked.outputs, outputs, strict=True)), **dict(zip(names, inputs, strict=True))}
        ctx.names, ctx.operator = reverse(ctx.wrt, given_outputs)
        ctx.numbers = {each: values[each] for each in ctx.names if each in checked.scalars}
        ctx.tensors = [each for each in ctx.names if each in values and each not in checked.scalars]
        ctx.save_for_backward(*(values[each] for each in ctx.tensors))
        ctx.shapes = {name: values[name].shape for name in ctx.wrt}

    def backward(ctx: Any, *given: Any) -> tuple[Any, ...]:
        values = {**dict(zip(ctx.tensors, ctx.saved_tensors, strict=True)), **ctx.numbers}
        taken = [
            each for each, own in zip(given, checked.outputs.values(), strict=True) if is_float(own.type)
        ]
        if not any(each.numel() for each in taken):  # sizes may be too small for the ranges of sums
            zeros = {
                name: taken[0].new_zeros(shape, dtype=getattr(torch, checked.parameters[name].type))
                for name, shape in ctx.shapes.items()
            }
            return tuple(zeros.get(name) for name in names)
        values |= dict(zip(ctx.names[-len(taken) :], taken, strict=True))
        found = ctx.operator(*(values[each] for each in ctx.names))
        gradients = dict(zip(ctx.wrt, found if isinstance(found, tuple) else (found,), strict=True))
        return tuple(gradients.get(name) for name in names)

    made.register_autograd(backward, setup_context=setup)


def _sizes(checked: CheckedFunction, given: Mapping[str, Any], bound: Mapping[str, Any]) -> dict[Var, Any]:
    """Return sizes and scalars from tensors, symbolic ones as well; extents that differ are refused."""
    import torch

    sizes = {var: given[name] for name, var in checked.scalars.items() if name in given}
    declared: list[tuple[str, int, Expr, Any]] = []
    for name, version in checked.parameters.items():
        shape = (bound[name] if name in bound else given[name]).shape
        check_rank(checked, version, shape)
        for position, (own, extent) in enumerate(zip(version.domain or (), shape, strict=True)):
            if isinstance(own.upper, Ref) and own.upper.var not in sizes:
                sizes[own.upper.var] = extent
            else:
                declared.append((name, position, own.upper, extent))
    for name, position, wanted, extent in declared:  # of sizes that a later parameter may have
        torch._check(extent == _value(wanted, sizes), lambda n=name, p=position: f"'{n}' in dimension {p}")
    return sizes


def _extent(own: IndexRange, sizes: Mapping[Var, Any]) -> Any:
    """Return the extent of a result along a dimension: 0 where sizes are too small for any element."""
    import torch

    return torch.sym_max(_value(extent_of(own), sizes), 0)


def _value(expr: Expr, sizes: Mapping[Var, Any]) -> Any:
    """Return the value of an expression of sizes, symbolic ones of PyTorch's as well."""
    import torch

    match expr:
        case Const(value=value):
            return value
        case Ref(var=var):
            return sizes[var]
        case Cast(operand=operand):
            return _value(operand, sizes)
        case Unary(op=UnaryOp.NEG, operand=operand):
            return -_value(operand, sizes)
        case Unary(op=UnaryOp.NOT, operand=operand):
            return not _value(operand, sizes)
        case Unary(op=UnaryOp.ABS, operand=operand):
            return abs(_value(operand, sizes))
        case Binary(op=BinaryOp.MIN, lhs=lhs, rhs=rhs):
            return torch.sym_min(_value(lhs, sizes), _value(rhs, sizes))
        case Binary(op=BinaryOp.MAX, lhs=lhs, rhs=rhs):
            return torch.sym_max(_value(lhs, sizes), _value(rhs, sizes))
        case Binary(op=op, lhs=lhs, rhs=rhs):
            return _BINARY[op](_value(lhs, sizes), _value(rhs, sizes))
        case Select(condition=condition, if_true=if_true, if_false=if_false):
            return _value(if_true if _value(condition, sizes) else if_false, sizes)
        case _:
            raise AssertionError(expr)
