"""Printing declarations: functions with their facts, and buffers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING

from ragged.errors import InternalError
from ragged.ir.dtype import INDEX, DType
from ragged.ir.expr import Buffer, Call, Expr, Function, Ref
from ragged.ir.fact import Fact
from ragged.ir.facts import Range
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.text.expr_out import Level, show, subscript
from ragged.ir.text.names import Names

DEFAULT_ALIGN = 64


def facts_by_function(functions: Iterable[Function], facts: Iterable[Fact]) -> dict[Function, list[Fact]]:
    """Return each declared function's facts, in their order."""
    found: dict[Function, list[Fact]] = {function: [] for function in functions}
    for fact in facts:
        found.setdefault(fact.subject, []).append(fact)
    return found


def function_text(names: Names, function: Function, facts: list[Fact]) -> str:
    """Return the line that declares `function` and states what is known of it."""
    with names.scope(*(param.var for param in function.params)):
        parts = [f"{names.value(p.var)} < {show(names, p.extent, Level.SUM)}" for p in function.params]
        if function.body is not None:
            parts.append(show(names, function.body))
        if function.dtype is not INDEX:
            parts.append(f"dtype={function.dtype.value}")
        if function.storage is not DType.INT32:
            parts.append(f"storage={function.storage.value}")
        stated = ", ".join(fact_text(names, fact) for fact in facts)
    known = f" = facts({stated})" if facts else ""
    return f"{names.value(function)}: {function.source.value}({', '.join(parts)}){known}"


def fact_text(names: Names, fact: Fact) -> str:
    """Return the text of a fact in the declaration of its subject, which names the parameters.

    A field with a default is written with its name, and only where it differs.
    """
    if isinstance(fact, Range):
        value = show(names, Call(fact.function, tuple(Ref(param.var) for param in fact.function.params)))
        return f"{show(names, fact.lower, Level.SUM)} <= {value} < {show(names, fact.upper, Level.SUM)}"
    parts = []
    for each in fact.declared()[1:]:
        value = getattr(fact, each.name)
        if each.default is MISSING:
            parts.append(_field_text(names, value))
        elif value != each.default:
            parts.append(f"{each.name}={_field_text(names, value)}")
    return f"{type(fact).kind()}({', '.join(parts)})"


def _field_text(names: Names, value: object) -> str:
    match value:
        case Function():
            return names.value(value)
        case bool() | int():
            return str(value)
        case _ if isinstance(value, Expr):
            return show(names, value)
        case _:
            raise InternalError(f"a fact has a field of {type(value).__name__}")


def buffer_text(names: Names, buffer: Buffer) -> str:
    """Return what a buffer is: its role, dtype, shape, and what differs from the default."""
    parts = [f"{buffer.dtype.value}[{subscript(names, buffer.shape)}]"]
    if any(dim is not None for dim in buffer.dims):
        parts.append(f"dims={_tuple([names.dim(dim) for dim in buffer.dims])}")
    if buffer.scope is not MemoryScope.GLOBAL:
        parts.append(f"scope={buffer.scope.value}")
    if buffer.order != tuple(range(len(buffer.shape))):
        parts.append(f"order={_tuple([str(position) for position in buffer.order])}")
    if buffer.align != DEFAULT_ALIGN:
        parts.append(f"align={buffer.align}")
    if buffer.aliases is not None:
        parts.append(f"aliases={names.value(buffer.aliases)}")
    return f"{buffer.role.value}({', '.join(parts)})"


def _tuple(parts: list[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
