"""From an analysed function to the tensors of the Ragged API, which lowers them to the one IR.

Each version is a tensor, stored from 0 on: an index is its lower bound plus the index of a loop. A version that only
one statement reads, at that statement's own indices, is computed inside of it.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, count

from ragged.api.dims import RaggedDim, size
from ragged.api.reductions import Scoped, normal_form
from ragged.api.tensors import Axis, Kind, RaggedTensor, Reduction, TensorDim
from ragged.api.values import Value, ValueSource
from ragged.arith.affine import affine
from ragged.arith.fold import FoldedSubstitution, plus
from ragged.ir import expr as ir
from ragged.ir.dtype import DType
from ragged.ir.elementwise import FUNCTIONS
from ragged.ir.ops import Combiner
from ragged.ir.walk import subexpressions
from ragged.tc.analyse import AnalysedFunction
from ragged.tc.checked import CheckedStatement, IndexRange, TensorVersion
from ragged.tc.lanes import has_columns, reduce_in_lanes, split_reduction
from ragged.tc.ranges import difference, extent_of
from ragged.tc.terms import sum_by_terms
from ragged.tc.types import computed, converted

_OWN = ("abs", "check", "facts", "fma", "max", "min", "sum", "workers")
_RESERVED = frozenset((*keyword.kwlist, *FUNCTIONS, *_OWN))
"""Reserved names in the text of programs."""


@dataclass(frozen=True, slots=True)
class LoweredFunction:
    """The tensors of a function, and their names in the compiled function.

    `inputs` maps parameters and outputs that a call gives, `scalars` integer parameters, and `sizes` size names.
    The first one of each pair of `attached` is computed in the rows of the second one; `columns` are reduced in blocks
    of their last dimension.
    """

    outputs: tuple[RaggedTensor, ...]
    inputs: Mapping[str, str]
    scalars: Mapping[str, str]
    sizes: Mapping[str, str]
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
    taken: set[str] = field(default_factory=set)
    tensors: dict[TensorVersion, RaggedTensor] = field(default_factory=dict)
    values: dict[ir.Var, ir.Expr] = field(default_factory=dict)
    inline: dict[TensorVersion, CheckedStatement] = field(default_factory=dict)
    attached: list[tuple[RaggedTensor, RaggedTensor]] = field(default_factory=list)
    columns: list[RaggedTensor] = field(default_factory=list)

    def lowered(self) -> LoweredFunction:
        function = self.analysed.function
        sizes = {name: self.value(name, var) for name, var in function.sizes.items()}
        scalars = {name: self.value(name, var) for name, var in function.scalars.items()}
        inputs: dict[str, str] = {}
        for group in (function.parameters, function.initial):
            for name, version in group.items():
                kind = Kind.PARAMETER if name in self.parameters else Kind.INPUT
                own = f"{name}_in" if name in function.outputs else name
                self.tensors[version] = self.given(own, version, kind)
                inputs[name] = self.tensors[version].name
        self.inline = inlined_versions(self.analysed)
        for statement in function.statements:
            if statement.target not in self.inline:
                self.tensors[statement.target] = self.computed(statement)
        return LoweredFunction(
            tuple(self.tensors[version] for version in function.outputs.values()),
            inputs,
            scalars,
            sizes,
            tuple(self.attached),
            tuple(self.columns),
        )

    def name(self, wanted: str) -> str:
        """Return a fresh name, and note it as used."""
        base = f"{wanted}_" if wanted in _RESERVED else wanted
        found = next(
            each for each in chain((base,), (f"{base}_{k}" for k in count(2))) if each not in self.taken
        )
        self.taken.add(found)
        return found

    def value(self, name: str, var: ir.Var) -> str:
        own = self.name(name)
        self.values[var] = ir.Const(self.fixed[name]) if name in self.fixed else size(own).expr
        return own

    def placed(self, expr: ir.Expr) -> ir.Expr:
        """Substitute sizes in an expression."""
        return FoldedSubstitution(values=self.values).expr(expr)

    def given(self, name: str, version: TensorVersion, kind: Kind) -> RaggedTensor:
        domain = version.domain or ()
        own = self.name(name)
        dims = tuple(self.dim(f"{own}_{position}", each) for position, each in enumerate(domain))
        return RaggedTensor(own, kind, stored(version.type), dims, at=version.at)

    def dim(self, name: str, own: IndexRange) -> TensorDim:
        return TensorDim(RaggedDim(name, ir.Var(name), ir.Dim(name)), Value(self.placed(extent_of(own))))

    def computed(self, statement: CheckedStatement) -> RaggedTensor:
        """Return the tensor that a statement writes."""
        version = statement.target
        assert version.domain is not None, "all domains are known"
        own = self.name(version.name)
        dims = tuple(
            self.dim(var.name, each) for var, each in zip(statement.indices, version.domain, strict=True)
        )
        indices = tuple(ir.Var(var.name) for var in statement.indices)
        at = {
            var: plus(ir.Ref(new), each.lower)
            for var, new, each in zip(statement.indices, indices, version.domain, strict=True)
        }
        value = self.written(statement, at)
        dtype = stored(version.type)
        if value.dtype is not dtype:
            value = Value(ir.Cast(dtype, value.expr), value.sources)
        body = normal_form(own, value, tuple(map(Scoped, dims, indices)))
        tensor = RaggedTensor(own, Kind.COMPUTED, dtype, dims, indices, body, version.at)
        size = self.split.get(version.name) if isinstance(body, Reduction) else None
        if size is None:
            sum_by_terms(tensor, self.name)
        reduced = tensor if size is None else split_reduction(tensor, size, self.name)
        lanes = reduce_in_lanes(reduced, self.name, in_parts=size is not None)
        self.attached += [(part, reduced) for part in lanes]
        self.columns += [reduced] if has_columns(reduced) else []
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
            axes.append(Axis(ir.Var(var.name), Value(self.placed(extent_of(statement.ranges[var])))))
            own[var] = plus(ir.Ref(axes[-1].var), statement.ranges[var].lower)
        value = self.expr(statement.value, own)
        body = Value(converted(value.expr, dtype), value.sources)
        if inside is not None:
            neutral = _neutral(statement.combiner, previous, dtype)
            body = Value(
                ir.Select(inside, body.expr, neutral.expr, statement.at), {**body.sources, **neutral.sources}
            )
        buffer = ir.Buffer(statement.combiner.value, dtype, (), ir.Role.WORKSPACE)
        made = Reduction(statement.combiner, tuple(axes), body, buffer, statement.at, previous)
        return Value(ir.Load(buffer, (), statement.at), {buffer: made})

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
        if not isinstance(expr, ir.Load):
            return super().expr(expr)
        version = self.function.analysed.function.versions[expr.buffer]
        places = [self.expr(index) for index in expr.indices]
        inlined = self.function.inline.get(version)
        if inlined is not None:
            value = self.function.written(inlined, dict(zip(inlined.indices, places, strict=True)))
            self.sources |= value.sources
            dtype, kept = computed(version.type), stored(version.type)
            return value.expr if kept is dtype else ir.Cast(dtype, ir.Cast(kept, value.expr))
        tensor = self.function.tensors[version]
        assert version.domain is not None, "all domains are known"
        indices = tuple(
            _normal(difference(place, self.function.placed(own.lower)))
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


def inlined_versions(analysed: AnalysedFunction) -> dict[TensorVersion, CheckedStatement]:
    """Return the versions that are computed where they are read: temporaries with one reader, at its own indices.

    Reductions are not: the default schedule tiles one that is a nest of its own.
    """
    function = analysed.function
    readers: dict[TensorVersion, set[CheckedStatement]] = {}
    plain: dict[TensorVersion, bool] = {}
    for statement in function.statements:
        own = tuple(map(ir.Ref, statement.indices))
        for part in subexpressions(statement.value):
            if isinstance(part, ir.Load):
                version = function.versions[part.buffer]
                readers.setdefault(version, set()).add(statement)
                whole = not statement.reduced and part.indices == own
                plain[version] = plain.get(version, True) and whole
        for version in filter(None, (statement.previous, statement.earlier if statement.partial else None)):
            readers.setdefault(version, set()).add(statement)
            plain[version] = plain.get(version, True) and not statement.partial
    outputs, found = set(function.outputs.values()), {}
    for statement in function.statements:
        target = statement.target
        if target in outputs or len(readers.get(target, ())) != 1 or not plain[target]:
            continue
        if statement.partial or statement.reduced:
            continue
        (reader,) = readers[target]
        if reader.target.domain == target.domain:
            found[target] = statement
    return found
