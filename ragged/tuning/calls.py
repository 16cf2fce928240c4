"""The calls that are timed: arrays drawn for shapes, or those that a caller gives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ragged.api.signature import Fixed, RaggedSignature, Rule, Sized, TensorSpec
from ragged.auto.shapes import Shape
from ragged.compiled.sizes import Affine
from ragged.data import Lengths, RaggedArray
from ragged.errors import UserError
from ragged.tuning.records import digest

MOST_SHAPES = 5
"""The most shapes that are timed."""


def representatives(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """Return at most five shapes that stand for all: the medians, by size, of parts of about the same weight.

    Each has the weight of its part.
    """
    ordered = sorted(shapes, key=lambda shape: (math.prod(size for _, size in shape.sizes), shape.sizes))
    if len(ordered) <= MOST_SHAPES:
        return tuple(ordered)
    ends = np.cumsum([shape.weight for shape in ordered])
    middles = (np.arange(MOST_SHAPES) + 0.5) / MOST_SHAPES * ends[-1]
    places = sorted(set(np.searchsorted(ends, middles).tolist()))
    nearest = [min(places, key=lambda place: abs(place - own)) for own in range(len(ordered))]
    weights = {place: 0.0 for place in places}
    for shape, place in zip(ordered, nearest, strict=True):
        weights[place] += shape.weight
    return tuple(Shape(ordered[place].sizes, weights[place]) for place in places)


def with_sizes(shapes: Sequence[Shape], known: Mapping[str, int]) -> tuple[Shape, ...]:
    """Return shapes with the sizes that are `known` in the place of theirs: each once, with the weights of all."""
    weights: dict[tuple[tuple[str, int], ...], float] = {}
    for shape in shapes or (Shape(()),):
        sizes = tuple(sorted({**dict(shape.sizes), **known}.items()))
        weights[sizes] = weights.get(sizes, 0.0) + shape.weight
    return tuple(Shape(sizes, weight) for sizes, weight in weights.items())


def drawn_call(signature: RaggedSignature, shape: Shape, seed: int) -> dict[str, Any]:
    """Return the arguments of a call with the sizes of a shape: numbers drawn with deviation 1.

    Raises:
        UserError: an argument is no dense array of floats of known sizes.
    """
    random, sizes = np.random.default_rng(seed), dict(shape.sizes)
    found: dict[str, Any] = {each.name: _drawn(signature, each, sizes, random) for each in signature.inputs}
    solved = {name for tensor in signature.inputs for rule in tensor.extents for name in _sizes_of(rule)}
    return found | {name: sizes[name] for name in signature.sizes if name not in solved and name in sizes}


def shapes_text(calls: Sequence[Mapping[str, object]]) -> str:
    """Return a hash of the shapes of calls that are given."""
    shapes = [sorted((name, _shape(value)) for name, value in call.items()) for call in calls]
    return digest(repr(shapes))


def _shape(value: Any) -> object:
    """Return the extents of an argument, of a list those of its items, or a size itself."""
    if isinstance(value, RaggedArray):
        return [each.values.tolist() if isinstance(each, Lengths) else each for each in value.extents]
    if isinstance(value, list | tuple):
        return list(map(_shape, value))
    return tuple(value.shape) if hasattr(value, "shape") else value


def _drawn(
    signature: RaggedSignature, tensor: TensorSpec, sizes: Mapping[str, int], random: np.random.Generator
) -> Any:
    extents = [_extent(rule, sizes) for rule in tensor.extents]
    if None in extents or not tensor.dtype.is_float:
        raise UserError(
            f"tune: no values can be drawn for '{tensor.name}' of {signature.name}",
            because="it is no dense array of floats, or `shapes` does not give all of its sizes",
            fix="calls=[{...}]: the arguments of calls to time",
        )
    shape = tuple(extent for extent in extents if extent is not None)
    try:
        return random.standard_normal(shape, np.float32).astype(tensor.dtype.numpy)
    except (MemoryError, ValueError) as error:
        raise UserError(
            f"tune: no values can be drawn for '{tensor.name}' of {signature.name} of the shape {shape}",
            because=str(error),
        ) from None


def _extent(rule: Rule, sizes: Mapping[str, int]) -> int | None:
    match rule:
        case Fixed(extent=extent):
            return extent
        case Sized(size=size):
            return sizes.get(size)
        case Affine() if all(name in sizes for name, _ in rule.terms):
            return rule.at(sizes)
        case _:
            return None


def _sizes_of(rule: Rule) -> list[str]:
    match rule:
        case Sized(size=size):
            return [size]
        case Affine(terms=terms):
            return [name for name, _ in terms]
        case _:
            return []
