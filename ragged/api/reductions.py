"""Reductions, and the normal form of a body: no reduction inside an expression, but a tensor of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from ragged.api.dims import RaggedDim, extent_of
from ragged.api.tensors import Axis, Kind, PartPlace, RaggedTensor, Reduction, TensorDim
from ragged.api.values import Value, ValueLike, agree, as_number, check_integers
from ragged.errors import Location, ModelError
from ragged.ir import expr as ir
from ragged.ir.dtype import INDEX, DType
from ragged.ir.ops import Combiner
from ragged.ir.rewrite import Rewriter, substitute
from ragged.ir.walk import subexpressions


@dataclass(frozen=True, slots=True)
class Scoped:
    """A dimension in scope and the variable that stands for the index along it."""

    dim: TensorDim
    index: ir.Var


def reduction(
    combiner: Combiner,
    extent: ValueLike | tuple[ValueLike, ...],
    function: Callable[..., ValueLike],
    init: ValueLike | None = None,
) -> Value:
    """Return `function` combined over its arguments, from zero up to the extents, the first one outermost.

    A dimension stands for its extent in the tensors that are read along it. The result starts from `init`.
    """
    at, what = Location.capture(), f"ragged.{combiner.value}"
    extents = extent if isinstance(extent, tuple) else (extent,)
    indices = [ir.Var(name) for name in parameter_names(what, function, len(extents), at)]
    body = as_number(function(*(Value(ir.Ref(index)) for index in indices)))
    if init is not None:
        body, start = agree(body, as_number(init))
    else:
        start = None
    axes = tuple(
        Axis(
            index,
            _extent_along(each, index, body, what) if isinstance(each, RaggedDim) else extent_of(each, what),
        )
        for index, each in zip(indices, extents, strict=True)
    )
    buffer = ir.Buffer(combiner.value, body.dtype, (), ir.Role.WORKSPACE)
    made = Reduction(combiner, axes, body, buffer, at, start)
    return Value(ir.Load(made.buffer, (), at), {made.buffer: made})


def started_in(value: Value, dtype: DType) -> Value:
    """Return the value that a tensor of a type stores; a minimum or maximum of integers starts in that type.

    Of no elements it is the largest or least number of the type: that of the wider one it is computed in is none of it.
    """
    source = value.sources.get(value.expr.buffer) if isinstance(value.expr, ir.Load) else None
    if not isinstance(source, Reduction) or source.init is not None:
        return value
    start = narrow_identity(source.combiner, dtype)
    if start is None or source.buffer.dtype.is_float:
        return value
    made = replace(source, init=Value(start))
    return Value(value.expr, {made.buffer: made})


def narrow_identity(combiner: Combiner, dtype: DType) -> ir.Const | None:
    """Return what a minimum or a maximum starts from in integers narrower than they are computed in; None of others."""
    narrow = dtype.is_int and dtype.bytes < INDEX.bytes
    if combiner not in (Combiner.MIN, Combiner.MAX) or not narrow:
        return None
    return ir.Const(combiner.identity_of(dtype))


def _extent_along(dim: RaggedDim, index: ir.Var, body: Value, what: str) -> Value:
    """Return the extent of a dimension in the tensors that a reduction's body reads at its index there."""
    found: dict[str, Value] = {}
    names: dict[str, str] = {}
    for tensor, load in _reads(body):
        for each, place in zip(tensor.dims, load.indices, strict=True):
            if each.dim is dim and isinstance(place, ir.Ref) and place.var is index:
                around = dict(zip((d.dim.var for d in tensor.dims), load.indices, strict=True))
                extent = Value(substitute(each.extent.expr, around), each.extent.sources)
                found.setdefault(extent.text(), extent)
                names.setdefault(extent.text(), tensor.name)
    if len(found) == 1:
        return found.popitem()[1]
    if not found:
        raise ModelError(
            f"{what}: no tensor is read along '{dim.name}' at '{index.name}', so how far it runs is not known",
            at=Location.capture(),
            fix=f"read a tensor at {index.name} in that dimension, or give the extent: a number, or a size",
        )
    (one, first), (other, second), *_ = ((extent, names[extent]) for extent in found)
    raise ModelError(
        f"{what}: '{dim.name}' extends {one} in '{first}' and {other} in '{second}'", at=Location.capture()
    )


def _reads(value: Value) -> Iterator[tuple[RaggedTensor, ir.Load]]:
    """Yield the reads of tensors in a value, and in the bodies of the reductions in it."""
    for part in subexpressions(value.expr):
        source = value.sources.get(part.buffer) if isinstance(part, ir.Load) else None
        if isinstance(source, RaggedTensor) and isinstance(part, ir.Load):
            yield source, part
        elif isinstance(source, Reduction):
            yield from _reads(source.body)


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


def normal_form(name: str, value: Value, scope: tuple[Scoped, ...]) -> Value | Reduction:
    """Return a body in which no reduction stands inside an expression: a tensor of its own holds its values.

    Raises `ModelError` for an integer that is no int64.
    """
    direct = value.sources.get(value.expr.buffer) if isinstance(value.expr, ir.Load) else None
    if not isinstance(direct, Reduction):
        return _hoisted(name, value, scope)
    axes, body = list(direct.axes), direct.body
    while isinstance(body.expr, ir.Load):  # a sum of sums is one sum, over both axes
        inner = body.sources.get(body.expr.buffer)
        if (
            not isinstance(inner, Reduction)
            or inner.combiner is not direct.combiner
            or inner.init is not None
        ):
            break
        axes, body = [*axes, *inner.axes], inner.body
    around = (*scope, *_scoped(axes, scope))
    inside = _hoisted(name, body, around)
    init = None if direct.init is None else _hoisted(f"{name}_init", direct.init, scope)
    return Reduction(direct.combiner, tuple(axes), inside, direct.buffer, direct.at, init)


def _hoisted(name: str, value: Value, scope: tuple[Scoped, ...]) -> Value:
    check_integers(f"compute '{name}'", value.expr)
    sources = dict(value.sources)
    moved: dict[ir.Buffer, ir.Expr] = {}
    for buffer, source in value.sources.items():
        if not isinstance(source, Reduction) or not isinstance(buffer, ir.Buffer):
            continue
        needed = _needed(source, scope)
        body = normal_form(
            f"{name}_{source.combiner.value}", Value(ir.Load(buffer, ()), {buffer: source}), needed
        )
        indices = tuple(each.index for each in needed)
        made = RaggedTensor(
            f"{name}_{source.combiner.value}",
            Kind.COMPUTED,
            source.buffer.dtype,
            tuple(each.dim for each in needed),
            indices,
            body,
            source.at,
            part=PartPlace.ROWS,
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
    started = () if source.init is None else (source.init,)
    for value in (*(axis.extent for axis in source.axes), *started, source.body):
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
