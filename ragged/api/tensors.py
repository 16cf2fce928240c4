"""Tensors of the Ragged API: inputs, parameters, and what is computed for each index."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from typing import Any, TypeAlias

from ragged.api.dims import LengthFn, RaggedDim, extent_of
from ragged.api.values import FLOAT, Value, ValueLike, as_float, as_index, lift
from ragged.errors import Location, ModelError
from ragged.ir import expr as ir
from ragged.ir.dtype import INDEX, DType
from ragged.ir.ops import Combiner
from ragged.ir.rewrite import Rewriter, substitute
from ragged.ir.walk import subexpressions


class Kind(Enum):
    """Where a tensor's values come from: the call, the parameters that are bound, or a computation."""

    INPUT = "input"
    PARAMETER = "parameter"
    COMPUTED = "computed"


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """A loop of a reduction, 0 <= var < extent."""

    var: ir.Var
    extent: Value


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """`body` combined over `axes`, outermost first, in their order. `buffer` stands for it in expressions."""

    combiner: Combiner
    axes: tuple[Axis, ...]
    body: Value
    buffer: ir.Buffer
    at: Location | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TensorDim:
    """A dimension of a tensor and how far it extends, a function of outer dimensions."""

    dim: RaggedDim
    extent: Value
    tensor: RaggedTensor | None = None
    position: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop of the nest that computes a tensor; those of a reduction come after those over the dimensions."""

    tensor: RaggedTensor
    position: int

    @property
    def name(self) -> str:
        """What the loop is called."""
        return self.tensor.loop_vars[self.position].name


@dataclass(slots=True, eq=False)
class RaggedTensor:
    """A tensor: named dimensions, the type of its elements, and what computes them.

    `indices` are the variables that stand for its indices in `body`. `part` says that it is a reduction inside of
    another one's expression, in whose rows it is computed. Reading a tensor at indices gives a value.
    """

    name: str
    kind: Kind
    dtype: DType
    dims: tuple[TensorDim, ...]
    indices: tuple[ir.Var, ...] = ()
    body: Value | Reduction | None = None
    at: Location | None = field(default=None, repr=False)
    part: bool = False
    buffer: ir.Buffer = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.dims = tuple(TensorDim(d.dim, d.extent, self, place) for place, d in enumerate(self.dims))
        shape = tuple(each.extent.expr for each in self.dims)
        self.buffer = ir.Buffer(self.name, self.dtype, shape, ir.Role.WORKSPACE)

    def __getitem__(self, indices: ValueLike | tuple[ValueLike, ...]) -> Value:
        """Return the element at `indices`, integers, one for each dimension."""
        given = indices if isinstance(indices, tuple) else (indices,)
        if len(given) != len(self.dims):
            raise ModelError(
                f"'{self.name}' has {len(self.dims)} dimensions and is read at {len(given)} indices",
                at=Location.capture(),
            )
        values = [as_index(each, f"an index of '{self.name}'") for each in given]
        sources = {key: source for value in values for key, source in value.sources.items()}
        load: ir.Expr = ir.Load(self.buffer, tuple(value.expr for value in values), Location.capture())
        if self.dtype.is_int and self.dtype is not INDEX:
            load = ir.Cast(INDEX, load)
        return Value(load, {**sources, self.buffer: self})

    @property
    def loop_vars(self) -> tuple[ir.Var, ...]:
        """The variables of its nest: its indices, and the axes of its reduction."""
        axes = self.body.axes if isinstance(self.body, Reduction) else ()
        return (*self.indices, *(axis.var for axis in axes))

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops of its nest: over its dimensions, then those of its reduction."""
        return tuple(Loop(self, place) for place in range(len(self.loop_vars)))

    @property
    def expressions(self) -> tuple[Value, ...]:
        """All that computing it evaluates: its extents, and its body."""
        extents = tuple(each.extent for each in self.dims)
        match self.body:
            case Reduction(axes=axes, body=body):
                return (*extents, *(axis.extent for axis in axes), body)
            case Value() as body:
                return (*extents, body)
            case None:
                return extents


Source: TypeAlias = RaggedTensor | Reduction | LengthFn
DimLike: TypeAlias = TensorDim | tuple[RaggedDim, ValueLike]


def input_tensor(name: str, dims: Sequence[DimLike], dtype: str | DType = "float32") -> RaggedTensor:
    """Declare a tensor that each call is given under `name`.

    Args:
        name: the keyword that calls give it by.
        dims: a (dimension, extent) for each of its dimensions, outermost first. An extent is a number, a `size`, or
            an expression of integers over outer dimensions and `length_fn`s of them.
        dtype: "float32", or "int32" or "int64" for integers.

    Example:
        >>> A = input_tensor("A", [(batch, size("B")), (length, n(batch)), (wide, 512)])
    """
    return _declared("input_tensor", Kind.INPUT, name, dims, dtype)


def parameter(name: str, dims: Sequence[DimLike], dtype: str | DType = "float32") -> RaggedTensor:
    """Declare a tensor that is bound once, when the function is compiled, under `name`; its extents are numbers.

    The compiler may keep it in another layout.

    Example:
        >>> W = parameter("W", [(out, 512), (inner, 512)])
    """
    made = _declared("parameter", Kind.PARAMETER, name, dims, dtype)
    for each in made.dims:
        if not isinstance(each.extent.expr, ir.Const):
            raise ModelError(
                f"parameter '{name}': extent {each.extent.text()} of '{each.dim.name}' is not known before a call",
                at=made.at,
                fix="declare an input_tensor, or a number",
            )
    return made


def compute(name: str, dims: Sequence[DimLike], function: Callable[..., ValueLike]) -> RaggedTensor:
    """Compute a value for each index.

    Args:
        name: how the tensor is called in listings, and among the outputs.
        dims: its dimensions, as for `input_tensor`; those of another tensor may be given as they are.
        function: called once, with an index for each dimension; returns the value there.

    Example:
        >>> B = compute("B", A.dims, lambda b, t, w: 2 * A[b, t, w])
    """
    at = Location.capture()
    what = f"compute '{name}'"
    own = _dims(what, dims, at)
    names = parameter_names(what, function, len(own), at)
    indices = tuple(map(ir.Var, names))
    given = function(*(Value(ir.Ref(index)) for index in indices))
    value = lift(given)
    value = value if isinstance(given, Value) and value.dtype is INDEX else as_float(value)
    scope = tuple(Scoped(each, index) for each, index in zip(own, indices, strict=True))
    body = _normal(name, value, scope)
    dtype = body.body.dtype if isinstance(body, Reduction) else body.dtype
    return RaggedTensor(name, Kind.COMPUTED, dtype, own, indices, body, at)


@dataclass(frozen=True, slots=True)
class Scoped:
    """A dimension in scope and the variable that stands for the index along it."""

    dim: TensorDim
    index: ir.Var


def reduction(
    combiner: Combiner, extent: ValueLike | tuple[ValueLike, ...], function: Callable[..., ValueLike]
) -> Value:
    """Return `function` combined over its arguments, from zero up to the extents, the first one outermost."""
    at, what = Location.capture(), f"ragged.{combiner.value}"
    extents = extent if isinstance(extent, tuple) else (extent,)
    names = parameter_names(what, function, len(extents), at)
    axes = tuple(Axis(ir.Var(name), extent_of(each, what)) for name, each in zip(names, extents, strict=True))
    body = as_float(function(*(Value(ir.Ref(axis.var)) for axis in axes)))
    made = Reduction(combiner, axes, body, ir.Buffer(combiner.value, FLOAT, (), ir.Role.WORKSPACE), at)
    return Value(ir.Load(made.buffer, (), at), {made.buffer: made})


def parameter_names(what: str, function: Callable[..., Any], number: int, at: Location | None) -> list[str]:
    """Return what a function calls its arguments; `ModelError` unless it takes so many."""
    named = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    if any(p.kind is p.VAR_POSITIONAL for p in named):
        fixed = [p.name for p in named if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        fresh = (f"i{place}" for place in count())
        return [*fixed, *(next(fresh) for _ in range(number - len(fixed)))]
    if len(named) != number:
        raise ModelError(
            f"{what}: the function takes {len(named)} arguments and is given {number} indices",
            at=at,
            fix=f"lambda {', '.join('ijklmnop'[:number])}: ...",
        )
    return [p.name for p in named]


def _declared(what: str, kind: Kind, name: str, dims: Sequence[DimLike], dtype: str | DType) -> RaggedTensor:
    at = Location.capture()
    if not str(name).isidentifier():
        raise ModelError(f"{what}: {name!r} is no name", at=at, fix="a name that a call can give it by")
    stored = dtype if isinstance(dtype, DType) else next((d for d in DType if d.value == str(dtype)), None)
    if stored not in (DType.FLOAT32, DType.INT32, DType.INT64):
        raise ModelError(f"{what} '{name}': dtype {dtype!r} is none of float32, int32, int64", at=at)
    return RaggedTensor(name, kind, stored, _dims(f"{what} '{name}'", dims, at), at=at)


def _dims(what: str, dims: Sequence[DimLike], at: Location | None) -> tuple[TensorDim, ...]:
    """Return dimensions as they are declared; each extent may use those before it."""
    found: list[TensorDim] = []
    for each in dims:
        pair: Any = (each.dim, each.extent) if isinstance(each, TensorDim) else each
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], RaggedDim):
            raise ModelError(
                f"{what}: {each!r} is no dimension with its extent",
                at=at,
                fix="(ragged.dim('len'), n(batch))",
            )
        known, extent = {other.dim.var for other in found}, extent_of(pair[1], what)
        for part in subexpressions(extent.expr):
            if isinstance(part, ir.Ref) and part.var not in known:
                raise ModelError(
                    f"{what}: extent {extent.text()} of '{pair[0].name}' depends on '{part.var.name}'",
                    at=at,
                    because="an extent is a function of the dimensions before it",
                    fix=f"put '{part.var.name}' before '{pair[0].name}'",
                )
        if pair[0].var in known:
            raise ModelError(f"{what}: dimension '{pair[0].name}' stands in it twice", at=at)
        found.append(TensorDim(pair[0], extent))
    return tuple(found)


# --- reductions inside expressions ---------------------------------------------------------------------------


def _normal(name: str, value: Value, scope: tuple[Scoped, ...]) -> Value | Reduction:
    """Return a body in which no reduction stands inside an expression: a tensor of its own holds its values."""
    direct = value.sources.get(value.expr.buffer) if isinstance(value.expr, ir.Load) else None
    if not isinstance(direct, Reduction):
        return _hoisted(name, value, scope)
    axes, body = list(direct.axes), direct.body
    while isinstance(body.expr, ir.Load):  # a sum of sums is one sum, over both axes
        inner = body.sources.get(body.expr.buffer)
        if not isinstance(inner, Reduction) or inner.combiner is not direct.combiner:
            break
        axes, body = [*axes, *inner.axes], inner.body
    around = (*scope, *_scoped(axes, scope))
    return Reduction(direct.combiner, tuple(axes), _hoisted(name, body, around), direct.buffer, direct.at)


def _hoisted(name: str, value: Value, scope: tuple[Scoped, ...]) -> Value:
    sources = dict(value.sources)
    moved: dict[ir.Buffer, ir.Expr] = {}
    for buffer, source in value.sources.items():
        if not isinstance(source, Reduction) or not isinstance(buffer, ir.Buffer):
            continue
        needed = _needed(source, scope)
        body = _normal(
            f"{name}_{source.combiner.value}", Value(ir.Load(buffer, ()), {buffer: source}), needed
        )
        indices = tuple(each.index for each in needed)
        made = RaggedTensor(
            f"{name}_{source.combiner.value}",
            Kind.COMPUTED,
            FLOAT,
            tuple(each.dim for each in needed),
            indices,
            body,
            source.at,
            part=True,
        )
        del sources[buffer]
        sources[made.buffer] = made
        moved[buffer] = ir.Load(made.buffer, tuple(map(ir.Ref, indices)), source.at)
    return Value(_Moved(moved).expr(value.expr), sources) if moved else value


def _needed(source: Reduction, scope: tuple[Scoped, ...]) -> tuple[Scoped, ...]:
    """Return the dimensions that a reduction's value depends on, and those that their extents do."""
    used = set(_free(source))
    needed: list[Scoped] = []
    for each in reversed(scope):
        if each.index in used or each.dim.dim.var in used:
            needed.insert(0, each)
            used |= {p.var for p in subexpressions(each.dim.extent.expr) if isinstance(p, ir.Ref)}
    return tuple(needed)


def _free(source: Reduction) -> Iterator[ir.Var]:
    for value in (*(axis.extent for axis in source.axes), source.body):
        for part in subexpressions(value.expr):
            if isinstance(part, ir.Ref):
                yield part.var
        for inner in value.sources.values():
            if isinstance(inner, Reduction):
                yield from _free(inner)


def _scoped(axes: Sequence[Axis], scope: tuple[Scoped, ...]) -> Iterator[Scoped]:
    """Yield the axes of a reduction as dimensions of what stands inside it."""
    known = {each.index: ir.Ref(each.dim.dim.var) for each in scope}
    for axis in axes:
        own = RaggedDim(axis.var.name, ir.Var(axis.var.name), ir.Dim(axis.var.name))
        extent = Value(substitute(axis.extent.expr, known), axis.extent.sources)
        known[axis.var] = ir.Ref(own.var)
        yield Scoped(TensorDim(own, extent), axis.var)


class _Moved(Rewriter):
    """Puts expressions in place of what stands for reductions."""

    def __init__(self, moved: dict[ir.Buffer, ir.Expr]) -> None:
        super().__init__()
        self.moved = moved

    def expr(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Load) and expr.buffer in self.moved:
            return self.moved[expr.buffer]
        return super().expr(expr)
