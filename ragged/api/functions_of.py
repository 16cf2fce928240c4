"""Length functions and sizes of a program, with the domains that its tensors give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragged.api.dims import LengthFn, RaggedDim
from ragged.api.tensors import RaggedTensor
from ragged.api.values import Value
from ragged.errors import ModelError
from ragged.ir.expr import Call, Const, Expr, Function, Param, Ref, Source, Var
from ragged.ir.facts import Range
from ragged.ir.rewrite import Rewriter, substitute
from ragged.layout.packed import packed
from ragged.layout.tables import PreludeTables

_MOST = 2**31
"""Exclusive upper bound of lengths, which are int32."""


@dataclass
class Functions(Rewriter):
    """Replaces declared functions by functions with domains.

    `lengths` maps declared length functions to the arrays that calls give; `sizes` are sizes by name. A length over
    several dimensions is one packed array, read by a function `<name>_at` through the offsets in `tables`.
    """

    tables: PreludeTables = field(kw_only=True)
    tensors: Sequence[RaggedTensor] = field(kw_only=True)
    sizes: dict[str, Function] = field(default_factory=dict)
    lengths: dict[LengthFn, Function] = field(default_factory=dict)
    known: dict[Function, Function] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for tensor in self.tensors:
            for value in tensor.expressions:
                for source in value.sources.values():
                    if isinstance(source, LengthFn):
                        self.declare(source)

    def expr(self, expr: Expr) -> Expr:
        """Rewrite an expression of the API as one of the program."""
        return self.call(super().expr(expr))

    def call(self, expr: Expr) -> Expr:
        """Return a call of a declared function as a call of the function with a domain; other expressions unchanged."""
        if not isinstance(expr, Call):
            return expr
        if expr.function.source in (Source.CALL, Source.NUMBER):
            return Call(self.size(expr.function), expr.args, expr.at)
        return Call(self.known.get(expr.function, expr.function), expr.args, expr.at)

    def size(self, size: Function) -> Function:
        """Return the size of that name."""
        found = self.sizes.setdefault(size.name, size)
        if found is size and size not in self.tables.functions:
            self.tables.functions.append(size)
        return found

    def declare(self, length: LengthFn) -> None:
        """Give a length function its domain, the extents of its dimensions."""
        if length.function in self.known:
            return
        variables = tuple(Var(dim.name) for dim in length.over)
        own: dict[Var, Expr] = {dim.var: Ref(var) for dim, var in zip(length.over, variables, strict=True)}
        extents = length.extents or [self.extent(length, dim) for dim in length.over]
        dims = [(var, self.placed(each, own)) for var, each in zip(variables, extents, strict=True)]
        params = tuple(Param(var, extent) for var, extent in dims)
        layout = packed(dims, self.tables)
        if layout.first == len(dims):  # a rectangle of lengths
            function = Function(length.name, params, Source.INPUT)
            given = function
        else:
            place, count = layout.row
            table = Function(length.name, (Param(Var("p"), count),), Source.INPUT)
            self.tables.functions.append(table)
            given = table
            function = Function(f"{length.name}_at", params, Source.EXPRESSION, Call(table, (place,)))
        self.lengths[length] = given
        self.tables.facts.append(Range(given, Const(0), Const(_MOST)))
        self.tables.functions.append(function)
        self.known[length.function] = function

    def extent(self, length: LengthFn, dim: RaggedDim) -> Value:
        """Return the extent of a dimension in the first tensor that has it."""
        for tensor in self.tensors:
            for each in tensor.dims:
                if each.dim is dim:
                    return each.extent
        raise ModelError(
            f"length_fn '{length.name}' is over '{dim.name}', and no tensor has that dimension",
            fix=f"an input_tensor with dims [({dim.name}, ragged.size('...')), ...]",
        )

    def placed(self, extent: Value, own: Mapping[Var, Expr]) -> Expr:
        """Return an extent at the indices `own`."""
        for source in extent.sources.values():
            if isinstance(source, LengthFn):
                self.declare(source)
        return substitute(self.expr(extent.expr), own)
