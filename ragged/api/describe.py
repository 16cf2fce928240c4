"""From the tensors of a program to their description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from ragged.api.described import Described, DescribedTensor, Fixed, Rule, Sized, Varying
from ragged.api.functions_of import Functions
from ragged.api.program import Decisions
from ragged.api.tensors import Kind, Tensor
from ragged.arith.fold import times
from ragged.ir.expr import Call, Const, Expr, Ref, Var
from ragged.ir.walk import variables
from ragged.layout.packed import Layout, packed
from ragged.layout.prelude import table_name


def describe(
    tensors: Sequence[Tensor],
    outputs: Sequence[Tensor],
    layouts: Mapping[Tensor, Layout],
    functions: Functions,
    decisions: Decisions,
) -> Described:
    """Return the description of a program's tensors; the tables that it takes are asked for."""

    def of(chosen: Iterable[Tensor]) -> tuple[DescribedTensor, ...]:
        return tuple(_described(tensor, layouts[tensor], functions, decisions) for tensor in chosen)

    return Described(
        of(tensor for tensor in tensors if tensor.kind is Kind.INPUT),
        of(tensor for tensor in tensors if tensor.kind is Kind.PARAMETER),
        of(outputs),
        tuple(functions.sizes),
        tuple(table.name for table in functions.lengths.values()),
    )


def _described(tensor: Tensor, layout: Layout, functions: Functions, decisions: Decisions) -> DescribedTensor:
    declared = [(each.dim.var, functions.expr(each.extent.expr)) for each in tensor.dims]
    dims = layout.dims or declared
    multiples = decisions.storage if not layout.dims else {}
    return DescribedTensor(
        tensor.name,
        tensor.dtype,
        tuple(var.name for var, _ in dims),
        tuple(_rule(dims, position, functions) for position in range(len(dims))),
        tuple(multiples.get((tensor, position), 1) for position in range(len(dims))),
    )


def _rule(dims: Sequence[tuple[Var, Expr]], position: int, functions: Functions) -> Rule:
    """Return the rule of a dimension; asks for a table where it takes one."""
    extent = dims[position][1]
    match extent:
        case Const(value=value):
            return Fixed(int(value))
        case Call(function=function, args=()) if function.is_size:
            return Sized(function.name)
        case _:
            pass
    over = _over(dims, position)
    given = _given(extent, [dims[place][0] for place in over], functions)
    if given is not None:
        return Varying(over, given, given=True)
    domain = [dims[place] for place in over]
    layout = packed(domain, functions.tables)
    one: Expr = Const(1)
    count = reduce(times, layout.shape, one)
    table = functions.tables.values(domain, extent, count)
    return Varying(over, table_name(table), given=False)


def _over(dims: Sequence[tuple[Var, Expr]], position: int) -> tuple[int, ...]:
    """Return the dimensions that an extent depends on, and those that theirs do."""
    used: set[Var] = set()
    for place in range(position, -1, -1):
        if place == position or dims[place][0] in used:
            used |= variables(dims[place][1])
    return tuple(place for place in range(position) if dims[place][0] in used)


def _given(extent: Expr, over: list[Var], functions: Functions) -> str | None:
    """Return the name of the array of lengths that an extent is, as a call gives it; None if it is computed."""
    if not isinstance(extent, Call) or extent.args != tuple(map(Ref, over)):
        return None
    for length, table in functions.lengths.items():
        if functions.known[length.function] is extent.function:
            return table.name
    return None
