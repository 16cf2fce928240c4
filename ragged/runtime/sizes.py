"""Shapes of arrays as Python functions of a call's arguments, generated once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from ragged.errors import InternalError
from ragged.ir.expr import Binary, Call, Cast, Const, Expr, Fma, Function, Load, Ref, Select, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.walk import subexpressions

Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shapes:
    """Shapes as a function: `compute(*values)` takes the values of `functions`, sizes as ints and arrays as arrays."""

    functions: tuple[Function, ...]
    compute: Callable[..., tuple[Shape, ...]]


@dataclass(frozen=True, slots=True)
class CallShapes:
    """`compute(*values)` maps values of `functions` to the outputs' shapes and the bytes of each workspace."""

    functions: tuple[Function, ...]
    compute: Callable[..., tuple[tuple[Shape, ...], tuple[int, ...]]]


def call_shapes(
    outputs: Sequence[tuple[Expr, ...]],
    workspaces: Sequence[tuple[tuple[Expr, ...], int]],
    bound: Mapping[Function, Any],
    align: int,
) -> CallShapes:
    """Return the shapes of a call as a function without loops.

    `outputs` are shapes; `workspaces` are shapes and the bytes of an element, each rounded up to `align` bytes. `bound`
    are functions' values that never change. Raises as `shapes_of` does.
    """
    names = _names([*outputs, *(shape for shape, _ in workspaces)])
    free = [function for function in names if function not in bound]
    found: dict[str, str] = {}
    sizes = []
    for shape, item in workspaces:
        size = " * ".join([*(_text(extent, names, {}) for extent in shape), str(item)])
        if size not in found:  # what several workspaces take is computed once
            found[size] = f"s{len(found)}"
            sizes.append(f"({found[size]} := -(-{size} // {align}) * {align})")
        else:
            sizes.append(found[size])
    parameters = ", ".join(names[function] for function in free)
    text = f"lambda {parameters}: ({_rows(outputs, names)}, {_tuple(sizes)})"
    return CallShapes(tuple(free), _evaluated(text, {names[f]: bound[f] for f in names if f in bound}))


def shapes_of(shapes: Sequence[tuple[Expr, ...]]) -> Shapes:
    """Return the function that computes `shapes`, without loops.

    Raises `InternalError` for a shape that is not made of sizes and functions' values.
    """
    names = _names(shapes)
    text = f"lambda {', '.join(names.values())}: {_rows(shapes, names)}"
    return Shapes(tuple(names), _evaluated(text, {}))


def _names(shapes: Sequence[tuple[Expr, ...]]) -> dict[Function, str]:
    """Return a name for each function that shapes are made of."""
    used = dict.fromkeys(function for shape in shapes for extent in shape for function in _functions(extent))
    return {function: f"f{i}" for i, function in enumerate(used)}


def _rows(shapes: Sequence[tuple[Expr, ...]], names: Mapping[Function, str]) -> str:
    return _tuple(_tuple(_text(extent, names, {}) for extent in shape) for shape in shapes)


def _tuple(items: Iterable[str]) -> str:
    return "(" + "".join(f"{item}, " for item in items) + ")"


def _evaluated(text: str, values: Mapping[str, Any]) -> Callable[..., Any]:
    builtins: dict[str, Any] = {"min": min, "max": max, "int": int, "floordiv": _floordiv, "mod": _mod}
    result: Callable[..., Any] = eval(text, {"__builtins__": builtins, **values})  # the text is our own
    return result


def _floordiv(a: int, b: int) -> int:
    return a // b if b else 0


def _mod(a: int, b: int) -> int:
    return a % b if b else a


def _functions(expr: Expr) -> list[Function]:
    """Return the sizes and arrays that `expr` needs."""
    calls = [part.function for part in subexpressions(expr) if isinstance(part, Call)]
    inner = (used for function in calls if function.body is not None for used in _functions(function.body))
    return [*(function for function in calls if function.body is None), *inner]


def _text(expr: Expr, names: Mapping[Function, str], values: Mapping[Var, str]) -> str:
    def text(inner: Expr) -> str:
        return _text(inner, names, values)

    match expr:
        case Const(value=value):
            return repr(value)
        case Ref(var=var) if var in values:
            return values[var]
        case Call(function=function, args=args):
            return _call(function, [text(arg) for arg in args], names)
        case Unary(op=UnaryOp.NEG | UnaryOp.NOT as op, operand=operand):
            return f"({op.value} {text(operand)})"
        case Binary(op=BinaryOp.MIN | BinaryOp.MAX as op, lhs=lhs, rhs=rhs):
            return f"{op.value}({text(lhs)}, {text(rhs)})"
        case Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD as op, lhs=lhs, rhs=rhs) if not isinstance(
            rhs, Const
        ):
            return f"{op.name.lower()}({text(lhs)}, {text(rhs)})"
        case Binary(op=op, lhs=lhs, rhs=rhs) if op is not BinaryOp.DIV:
            return f"({text(lhs)} {op.value} {text(rhs)})"
        case Select(condition=condition, if_true=if_true, if_false=if_false):
            return f"({text(if_true)} if {text(condition)} else {text(if_false)})"
        case Cast(dtype=dtype, operand=operand) if dtype.is_int:
            return text(operand)
        case Ref() | Load() | Unary() | Binary() | Fma() | Cast():
            raise InternalError(f"a shape is made of more than sizes and functions' values: {expr}")
        case _:
            assert_never(expr)


def _call(function: Function, args: list[str], names: Mapping[Function, str]) -> str:
    if function.body is not None:
        return _text(function.body, names, dict(zip((p.var for p in function.params), args, strict=True)))
    return f"int({names[function]}[{', '.join(args)}])" if args else names[function]
