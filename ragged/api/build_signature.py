"""From the tensors of a program to the signature of its function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from ragged.api.dims import affine_sizes
from ragged.api.functions_of import Functions
from ragged.api.program import ScheduleDecisions
from ragged.api.signature import Derived, Fixed, RaggedSignature, Rule, Sized, TensorSpec, Varying
from ragged.api.tensors import Kind, RaggedTensor
from ragged.arith.fold import times
from ragged.compiled.signature import Parameter
from ragged.compiled.sizes import Affine
from ragged.ir.expr import Call, Const, Expr, Ref, Var
from ragged.ir.walk import variables
from ragged.layout.packed import PackedLayout, packed
from ragged.layout.prelude import table_name


def build_signature(
    name: str,
    tensors: Sequence[RaggedTensor],
    outputs: Sequence[RaggedTensor],
    layouts: Mapping[RaggedTensor, PackedLayout],
    functions: Functions,
    decisions: ScheduleDecisions,
) -> RaggedSignature:
    """Return the signature of a program without texts; the tables that it needs are requested from `functions`."""

    def specs(chosen: Iterable[RaggedTensor]) -> tuple[TensorSpec, ...]:
        return tuple(_spec(tensor, layouts[tensor], functions, decisions) for tensor in chosen)

    def parameter(tensor: RaggedTensor) -> Parameter:
        shape: list[int | Affine] = []
        for each in tensor.dims:
            form = affine_sizes(functions.expr(each.extent.expr))
            assert form is not None, "a parameter's extents are numbers and sizes"
            shape.append(form if form.terms else form.constant)
        return Parameter(tensor.dtype, tuple(shape))

    return RaggedSignature(
        name=name,
        parameters={each.name: parameter(each) for each in tensors if each.kind is Kind.PARAMETER},
        texts={},
        inputs=specs(tensor for tensor in tensors if tensor.kind is Kind.INPUT),
        outputs=specs(outputs),
        sizes=tuple(functions.sizes),
        numbers=tuple(name for name, each in functions.sizes.items() if not each.is_natural),
        lengths=tuple(table.name for table in functions.lengths.values()),
    )


def _spec(
    tensor: RaggedTensor, layout: PackedLayout, functions: Functions, decisions: ScheduleDecisions
) -> TensorSpec:
    declared = [(each.dim.var, functions.expr(each.extent.expr)) for each in tensor.dims]
    dims = layout.dims or declared
    multiples = decisions.storage if not layout.dims else {}
    dense = tensor.kind is Kind.COMPUTED and not any(_over(dims, place) for place in range(len(dims)))
    return TensorSpec(
        tensor.name,
        tensor.dtype,
        tuple(var.name for var, _ in dims),
        tuple(_rule(dims, position, functions, derived=dense) for position in range(len(dims))),
        tuple(multiples.get((tensor, position), 1) for position in range(len(dims))),
    )


def _rule(dims: Sequence[tuple[Var, Expr]], position: int, functions: Functions, *, derived: bool) -> Rule:
    """Return the rule of a dimension, of a dense result if `derived`; requests a table where it needs one."""
    extent = dims[position][1]
    match extent:
        case Const(value=value):
            return Fixed(int(value))
        case Call(function=function, args=()) if function.is_size:
            return Sized(function.name)
        case _:
            form = affine_sizes(extent)
            if form is not None:
                return form
            if derived:
                return Derived()
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
