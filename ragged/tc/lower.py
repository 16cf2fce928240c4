"""From an analysed function to the tensors of the Ragged API, which lowers them to the one IR.

Each version is a tensor, stored from 0 on: an index is its lower bound plus the index of a loop. A version that only
one statement reads, at that statement's own indices, is computed inside of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragged.api.dims import LengthFn, RaggedDim, number, size
from ragged.api.reductions import Scoped, narrow_identity, normal_form
from ragged.api.tensors import Axis, Kind, RaggedTensor, Reduction, TensorDim
from ragged.api.values import Value, ValueSource
from ragged.api.wide_operands import with_wide_operands
from ragged.arith.affine import affine
from ragged.arith.fold import FoldedSubstitution, plus
from ragged.ir import expr as ir
from ragged.ir.dtype import DType
from ragged.ir.ops import Combiner
from ragged.ir.rewrite import substitute
from ragged.ir.walk import variables
from ragged.tc.analyse import AnalysedFunction
from ragged.tc.checked import CheckedStatement, IndexRange, LengthParameter, TensorVersion
from ragged.tc.inlined import InlinedVersions, inlined_versions
from ragged.tc.names import ProgramNames
from ragged.tc.ranges import difference, extent_of
from ragged.tc.reduction_order import holds_columns, order_reduction
from ragged.tc.types import computed, converted


@dataclass(frozen=True, slots=True)
class LoweredFunction:
    """The tensors of a function, and their names in the compiled function.

    `names` maps outputs, `inputs` parameters and outputs that a call gives, `scalars` integer parameters, `sizes` size
    names, `lengths` parameters that are lengths. The first one of each pair of `attached` is computed in the rows of
    the second one; `columns` are reduced in blocks of their last dimension.
    """

    outputs: tuple[RaggedTensor, ...]
    names: Mapping[str, str]
    inputs: Mapping[str, str]
    scalars: Mapping[str, str]
    sizes: Mapping[str, str]
    lengths: Mapping[str, str]
    attached: tuple[tuple[RaggedTensor, RaggedTensor], ...]
    columns: tuple[RaggedTensor, ...]


def stored(type_: str) -> DType:
    """Return the element type that a type is stored as."""
    return DType(type_)


def lower(
    analysed: AnalysedFunction,
    sizes: Mapping[str, int],
    parameters: Iterable[str] = (),
    split: Mapping[str, int] | None = None,
) -> LoweredFunction:
    """Return the tensors of a function for fixed `sizes` and `parameters` that are bound when it is compiled.

    Reductions of tensors that `split` names are of partial results of so many iterations.
    """
    return _FunctionLowering(analysed, dict(sizes), frozenset(parameters), dict(split or {})).lowered()


@dataclass
class _FunctionLowering:
    analysed: AnalysedFunction
    fixed: dict[str, int]
    parameters: frozenset[str]
    split: dict[str, int]
    names: ProgramNames = field(default_factory=ProgramNames)
    tensors: dict[TensorVersion, RaggedTensor] = field(default_factory=dict)
    values: dict[ir.Var, ir.Expr] = field(default_factory=dict)
    lengths: dict[ir.Function, LengthFn] = field(default_factory=dict)
    inlined: InlinedVersions = field(default_factory=InlinedVersions)
    attached: list[tuple[RaggedTensor, RaggedTensor]] = field(default_factory=list)
    columns: list[RaggedTensor] = field(default_factory=list)
    widened: dict[ir.Expr, RaggedTensor] = field(default_factory=dict)

    def lowered(self) -> LoweredFunction:
        function = self.analysed.function
        sizes = {name: self.value(name, var, size) for name, var in function.sizes.items()}
        scalars = {name: self.value(name, var, number) for name, var in function.scalars.items()}
        for lengths in function.lengths.values():
            self.lengths[lengths.function] = self.length_fn(lengths)
        inputs: dict[str, str] = {}
        for group in (function.parameters, function.initial):
            for name, version in group.items():
                kind = Kind.PARAMETER if name in self.parameters else Kind.INPUT
                own = f"{name}_in" if name in function.outputs else name
                self.tensors[version] = self.given(own, version, kind)
                inputs[name] = self.tensors[version].name
        self.inlined = inlined_versions(self.analysed)
        for statement in function.statements:
            if statement.target not in self.inlined.found:
                self.tensors[statement.target] = self.computed(statement)
        readers = [(self.tensors[version], reader.target) for version, reader in self.inlined.readers.items()]
        self.attached += [(part, self.tensors[reader]) for part, reader in readers if not holds_columns(part)]
        return LoweredFunction(
            tuple(self.tensors[version] for version in function.outputs.values()),
            {name: self.tensors[version].name for name, version in function.outputs.items()},
            inputs,
            scalars,
            sizes,
            {
                lengths.function.name: self.lengths[lengths.function].name
                for lengths in function.lengths.values()
            },
            tuple(self.attached),
            tuple(each for each in self.columns if all(each is not part for part, _ in self.attached)),
        )

    def value(self, name: str, var: ir.Var, declare: Callable[[str], Value]) -> str:
        own = self.names.fresh(name)
        self.values[var] = ir.Const(self.fixed[name]) if name in self.fixed else declare(own).expr
        return own

    def length_fn(self, lengths: LengthParameter) -> LengthFn:
        own = self.names.fresh(lengths.function.name)
        names = [f"{own}_{position}" for position in range(lengths.version.rank)]
        dims = self.dims(lengths.version.domain or (), names)
        extents = tuple(each.extent for each in dims)
        return LengthFn(own, tuple(each.dim for each in dims), replace(lengths.function, name=own), extents)

    def placed(self, expr: ir.Expr) -> ir.Expr:
        """Substitute sizes in an expression."""
        return FoldedSubstitution(values=self.values).expr(expr)

    def given(self, name: str, version: TensorVersion, kind: Kind) -> RaggedTensor:
        own = self.names.fresh(name)
        names = [f"{own}_{position}" for position in range(version.rank)]
        return RaggedTensor(
            own, kind, stored(version.type), self.dims(version.domain or (), names), at=version.at
        )

    def dims(self, domain: Sequence[IndexRange], names: Sequence[str]) -> tuple[TensorDim, ...]:
        """Return the dimensions of a domain, each with an extent of those before it."""
        found: list[TensorDim] = []
        places: list[ir.Expr] = []
        for name, each in zip(names, domain, strict=True):
            own, var = each.at(places), ir.Var(name)
            found.append(TensorDim(RaggedDim(name, var, ir.Dim(name)), self.extent(own, {})))
            places.append(plus(ir.Ref(var), own.lower))
        return tuple(found)

    def computed(self, statement: CheckedStatement) -> RaggedTensor:
        """Return the tensor that a statement writes."""
        version = statement.target
        assert version.domain is not None, "all domains are known"
        own = self.names.fresh(version.name)
        dims = self.dims(version.domain, [var.name for var in statement.indices])
        indices = tuple(ir.Var(var.name) for var in statement.indices)
        at: dict[ir.Var, ir.Expr] = {}
        for var, new, each in zip(statement.indices, indices, version.domain, strict=True):
            at[var] = plus(ir.Ref(new), each.at(at.values()).lower)
        value = self.written(statement, at)
        dtype = stored(version.type)
        if value.dtype is not dtype:
            value = Value(ir.Cast(dtype, value.expr), value.sources)
        body = normal_form(own, value, tuple(map(Scoped, dims, indices)))
        tensor = RaggedTensor(own, Kind.COMPUTED, dtype, dims, indices, body, version.at)
        if self.analysed.function.varies:
            return tensor  # the default schedule of ragged operators decides
        order = order_reduction(tensor, self.split.get(version.name), self.tensors.values(), self.names.fresh)
        self.attached += [(part, order.tensor) for part in order.in_rows]
        self.columns += order.columns
        return tensor

    def written(self, statement: CheckedStatement, at: Mapping[ir.Var, ir.Expr]) -> Value:
        """Return the value of a statement's target at the indices `at`: outside of its ranges, the value before it."""
        dtype = computed(statement.target.type)
        inside = None if statement.inside is None else self.expr(statement.inside, at).expr
        previous = self.before(statement, statement.previous, at, dtype)
        value = self.right_side(statement, at, inside, previous, dtype)
        if previous is not None and not statement.reduced:
            assert statement.combiner is not None, "'=' starts from nothing"
            joined = ir.Binary(statement.combiner.op, previous.expr, value.expr, statement.at)
            value = Value(joined, {**value.sources, **previous.sources})
        earlier = self.before(statement, statement.earlier, at, dtype)
        if inside is None or earlier is None or (previous is not None and statement.reduced):
            return value
        chosen = ir.Select(inside, value.expr, earlier.expr, statement.at)
        return Value(chosen, {**value.sources, **earlier.sources})

    def before(
        self,
        statement: CheckedStatement,
        version: TensorVersion | None,
        at: Mapping[ir.Var, ir.Expr],
        dtype: DType,
    ) -> Value | None:
        """Return the value at the indices `at` of the version before a statement."""
        if version is None:
            return None
        load = ir.Load(version.buffer, tuple(at[var] for var in statement.indices), statement.at)
        found = self.expr(load, {})
        return Value(converted(found.expr, dtype), found.sources)

    def right_side(
        self,
        statement: CheckedStatement,
        at: Mapping[ir.Var, ir.Expr],
        inside: ir.Expr | None,
        previous: Value | None,
        dtype: DType,
    ) -> Value:
        """Return the value of the right side, reduced; where `inside` does not hold it is not evaluated."""
        if not statement.reduced:
            value = self.expr(statement.value, at)
            return Value(converted(value.expr, dtype), value.sources)
        assert statement.combiner is not None, "'=' has no reduction"
        axes, own = [], dict(at)
        for var in statement.reduced:
            index_range = statement.ranges[var]
            axes.append(Axis(ir.Var(var.name), self.extent(index_range, own)))
            own[var] = plus(ir.Ref(axes[-1].var), substitute(index_range.lower, own))
        value = self.expr(statement.value, own)
        body = Value(converted(value.expr, dtype), value.sources)
        if statement.combiner is Combiner.SUM and not self.analysed.function.varies:
            body = with_wide_operands(
                body, variables(*own.values()), axes[-1].var, self.widened, self.names.fresh
            )
        if inside is not None:
            unused = _neutral(statement.combiner, previous, dtype)
            body = Value(
                ir.Select(inside, body.expr, unused.expr, statement.at), {**body.sources, **unused.sources}
            )
        buffer = ir.Buffer(statement.combiner.value, dtype, (), ir.Role.WORKSPACE)
        identity = narrow_identity(statement.combiner, stored(statement.target.type))
        start = Value(identity) if previous is None and identity is not None else previous
        made = Reduction(statement.combiner, tuple(axes), body, buffer, statement.at, start)
        return Value(ir.Load(buffer, (), statement.at), {buffer: made})

    def extent(self, own: IndexRange, at: Mapping[ir.Var, ir.Expr]) -> Value:
        """Return the extent of a range at the indices `at`; a number where it is one."""
        found = self.expr(extent_of(own), at)
        form = affine(found.expr)
        return found if form.terms else Value(ir.Const(form.constant))

    def expr(self, expr: ir.Expr, at: Mapping[ir.Var, ir.Expr]) -> Value:
        """Return an expression over the tensors of the API, at the indices `at`."""
        lowering = _ExprLowering(self, {**self.values, **{var: self.placed(own) for var, own in at.items()}})
        return Value(lowering.expr(expr), lowering.sources)


class _ExprLowering(FoldedSubstitution):
    """Replaces reads of versions by reads of tensors, which begin at 0, or by what an inlined version computes."""

    def __init__(self, function: _FunctionLowering, values: dict[ir.Var, ir.Expr]) -> None:
        super().__init__(values=values)
        self.function = function
        self.sources: dict[ir.Buffer | ir.Function, ValueSource] = {}

    def expr(self, expr: ir.Expr) -> ir.Expr:
        """Rewrite an expression."""
        if isinstance(expr, ir.Call):
            length = self.function.lengths.get(expr.function)
            if length is None:
                return super().expr(expr)  # a size
            self.sources[length.function] = length
            return ir.Call(length.function, tuple(map(self.expr, expr.args)), expr.at)
        if not isinstance(expr, ir.Load):
            return super().expr(expr)
        version = self.function.analysed.function.versions[expr.buffer]
        places = [self.expr(index) for index in expr.indices]
        inlined = self.function.inlined.found.get(version)
        if inlined is not None:
            value = self.function.written(inlined, dict(zip(inlined.indices, places, strict=True)))
            self.sources |= value.sources
            dtype, kept = computed(version.type), stored(version.type)
            return value.expr if kept is dtype else ir.Cast(dtype, ir.Cast(kept, value.expr))
        tensor = self.function.tensors[version]
        assert version.domain is not None, "all domains are known"
        indices = tuple(
            _normal(difference(place, self.function.placed(own.at(places).lower)))
            for place, own in zip(places, version.domain, strict=True)
        )
        self.sources[tensor.buffer] = tensor
        return converted(ir.Load(tensor.buffer, indices, expr.at), computed(version.type))


def _normal(index: ir.Expr) -> ir.Expr:
    """Return an index as a sum of multiples where it is one, so that equal indices look equal."""
    return index if isinstance(index, ir.Ref | ir.Const) else affine(index).expr


def _neutral(combiner: Combiner, previous: Value | None, dtype: DType) -> Value:
    """Return the neutral element of a reduction; of a minimum or a maximum, its initial value."""
    if combiner in (Combiner.MIN, Combiner.MAX) and previous is not None:
        return previous
    number = 1 if combiner is Combiner.PROD else 0
    return Value(converted(ir.Const(number), dtype))
