"""Printing declarations: functions with their facts, and buffers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from ragged.ir.dtype import INDEX, DType
from ragged.ir.expr import Buffer, Call, Function, Ref, Scope
from ragged.ir.facts import (
    Descends,
    Fact,
    Follows,
    Injective,
    Layered,
    Monotone,
    Owner,
    PrefixSum,
    Range,
    Tiling,
    Uniform,
)
from ragged.ir.text.expr_out import Level, show, subscript
from ragged.ir.text.names import Names

DEFAULT_ALIGN = 64


def subject(fact: Fact) -> Function:
    """Return the function that a fact is about: it is written where that one is declared."""
    match fact:
        case Range() | Monotone() | Injective() | Uniform():
            return fact.function
        case PrefixSum(offset=offset):
            return offset
        case Owner(owner=owner):
            return owner
        case Tiling(begin=begin):
            return begin
        case Follows(pointer=pointer) | Descends(pointer=pointer):
            return pointer
        case Layered(top=top):
            return top
        case _:
            assert_never(fact)


def facts_by_function(functions: Iterable[Function], facts: Iterable[Fact]) -> dict[Function, list[Fact]]:
    """Return each declared function's facts, in their order."""
    found: dict[Function, list[Fact]] = {function: [] for function in functions}
    for fact in facts:
        found.setdefault(subject(fact), []).append(fact)
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
    """Return a fact as it stands in the declaration of its subject, whose parameters are named."""
    match fact:
        case Range(function=function, lower=lower, upper=upper):
            value = show(names, Call(function, tuple(Ref(param.var) for param in function.params)))
            return f"{show(names, lower, Level.SUM)} <= {value} < {show(names, upper, Level.SUM)}"
        case Monotone(strict=strict):
            return "monotone(strict=True)" if strict else "monotone()"
        case Injective():
            return "injective()"
        case PrefixSum(length=length):
            return f"prefix_sum({names.value(length)})"
        case Owner(offset=offset):
            return f"owner({names.value(offset)})"
        case Tiling(length=length, first=first, total=total):
            return f"tiling({names.value(length)}, {show(names, first)}, {show(names, total)})"
        case Follows(begin=begin, length=length, via=via, optional=optional):
            between = "" if via is None else f", via={names.value(via)}"
            nowhere = ", optional=True" if optional else ""
            return f"follows({names.value(begin)}, {names.value(length)}{between}{nowhere})"
        case Uniform(function=function, op=op, value=value, begin=begin, length=length):
            here = Call(function, tuple(Ref(param.var) for param in function.params))
            holds = f"{show(names, here)} {op.value} {show(names, value, Level.SUM)}"
            return f"uniform({names.value(begin)}, {names.value(length)}, {holds})"
        case Layered(begin=begin, group=group, height=height, layers=layers):
            given = ", ".join(names.value(each) for each in (begin, group, height))
            return f"layered({given}, {layers})"
        case Descends(group=group, height=height, layers=layers, via=via, optional=optional):
            between = "" if via is None else f", via={names.value(via)}"
            nowhere = ", optional=True" if optional else ""
            return f"descends({names.value(group)}, {names.value(height)}, {layers}{between}{nowhere})"
        case _:
            assert_never(fact)


def buffer_text(names: Names, buffer: Buffer) -> str:
    """Return what a buffer is: its role, dtype, shape, and what differs from the default."""
    parts = [f"{buffer.dtype.value}[{subscript(names, buffer.shape)}]"]
    if any(dim is not None for dim in buffer.dims):
        parts.append(f"dims={_tuple([names.dim(dim) for dim in buffer.dims])}")
    if buffer.scope is not Scope.GLOBAL:
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
