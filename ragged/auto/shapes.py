"""The shapes that a program is planned for: sizes by name, and how often each combination occurs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice, product
from math import inf
from numbers import Real
from typing import TypeAlias

from ragged.arith.affine import affine
from ragged.errors import UserError
from ragged.ir.expr import Call, Expr

ShapesLike: TypeAlias = (
    "Mapping[str, int | Iterable[int] | Mapping[int, float]] | Iterable[Mapping[str, int] | Shape] | None"
)
"""For each size by name a number, the numbers it takes, or how often it takes each; or a list of shapes."""

_MOST = 100_000
_WEIGHTS = "how often each size occurs, above 0 for one of them: shapes={'T': {5: 0.9, 24: 0.1}}"
_OTHER_EXTENT = "lengths, or quotients and products of sizes, decide it"


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes by name, and how often they occur relative to others."""

    sizes: tuple[tuple[str, int], ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class SizeSum:
    """An extent: `constant` plus `sizes[name]` times each size; `sizes` is None for another extent."""

    sizes: dict[str, int] | None
    constant: int = 0

    @classmethod
    def of(cls, extent: Expr) -> SizeSum:
        """Return the sum that an expression is."""
        form, sizes = affine(extent), {}
        for term, many in form.terms.items():
            if not (isinstance(term, Call) and term.function.is_size):
                return cls(None)
            sizes[term.function.name] = many
        return cls(sizes, form.constant)

    def at(self, sizes: Mapping[str, int], loop: str) -> int:
        """Return the extent of the loop at these sizes; raises `UserError` if it is no sum of sizes."""
        if self.sizes is None:
            raise UserError(f"plan: the extent of '{loop}' is no sum of sizes", because=_OTHER_EXTENT)
        return self.constant + sum(many * sizes[name] for name, many in self.sizes.items())

    def __str__(self) -> str:
        """Return the sum as it is written, "all" if there is none."""
        terms = [name if many == 1 else f"{many} * {name}" for name, many in (self.sizes or {}).items()]
        if self.constant or self.sizes == {}:
            terms.append(str(self.constant))
        return " + ".join(terms) or "all"


def read_shapes(given: ShapesLike) -> tuple[Shape, ...]:
    """Return the shapes that a caller lists; of several sizes by name, each with each of the others.

    Raises:
        UserError: a size is no integer from 0 to 2^60, a weight is no finite number from 0 up, or there are more than
            100,000 shapes.

    >>> read_shapes({"T": {5: 0.75, 24: 0.25}})
    (Shape(sizes=(('T', 5),), weight=0.75), Shape(sizes=(('T', 24),), weight=0.25))
    """
    if given is None:
        return ()
    if isinstance(given, Mapping):
        axes = [
            [(name, value, weight) for value, weight in _weights(name, each)] for name, each in given.items()
        ]
        total = 1
        for axis in axes:
            total *= len(axis)
        if total > _MOST:
            raise _too_many(f"{total} shapes")
        return tuple(_shape(choice) for choice in product(*axes)) if axes else ()
    shapes = []
    for each in given:
        if isinstance(each, Shape):
            shapes.append(each)
            continue
        if not isinstance(each, Mapping):
            raise UserError(f"shapes: {each!r} is no shape", fix="a dict of sizes by name: {'T': 5}")
        shapes.append(_shape([(name, _size(name, value), 1.0) for name, value in each.items()]))
    return tuple(shapes)


def extents(shapes: Iterable[Shape], extent: Expr) -> dict[int, float] | None:
    """Return how often an extent has each value from 1 up.

    None if it has none, or is not an affine expression of the shapes' sizes.
    """
    found: dict[int, float] = {}
    for shape in shapes:
        value = value_of(extent, dict(shape.sizes))
        if value is None:
            return None
        if value > 0 < shape.weight:
            found[value] = found.get(value, 0.0) + shape.weight
    return found or None


def value_of(extent: Expr, sizes: Mapping[str, int]) -> int | None:
    """Return the value of an affine expression of sizes; None if a size is not given, or it is another expression."""
    form = affine(extent)
    total = form.constant
    for term, coefficient in form.terms.items():
        if not (isinstance(term, Call) and term.function.is_size and term.function.name in sizes):
            return None
        total += coefficient * sizes[term.function.name]
    return total


def _shape(choice: Iterable[tuple[str, int, float]]) -> Shape:
    weight = 1.0
    sizes = []
    for name, value, often in choice:
        weight *= often
        sizes.append((name, value))
    return Shape(tuple(sizes), weight)


def _weights(name: str, given: int | Iterable[int] | Mapping[int, float]) -> list[tuple[int, float]]:
    if isinstance(given, Mapping):
        pairs = [(_size(name, value), _weight(name, weight)) for value, weight in given.items()]
    elif isinstance(given, Iterable):
        pairs = [(_size(name, value), 1.0) for value in islice(given, _MOST + 1)]
        if len(pairs) > _MOST:
            raise _too_many(f"more than {_MOST} sizes of '{name}'")
    else:
        pairs = [(_size(name, given), 1.0)]
    if not pairs:
        raise UserError(f"shapes: no size of '{name}' is given", fix="leave it out, or shapes={'T': [5, 24]}")
    if not any(weight for _, weight in pairs):
        raise UserError(f"shapes: all weights of '{name}' are 0", fix=_WEIGHTS)
    return pairs


def _too_many(what: str) -> UserError:
    return UserError(f"shapes: {what} are too many", fix=f"{_MOST} or fewer: list those that count")


def _weight(name: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, Real) or not 0 <= float(given) < inf:
        raise UserError(f"shapes: {given!r} is no weight of a size of '{name}'", fix=_WEIGHTS)
    return float(given)


def _size(name: str, value: object) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= value.__index__() < 2**60:
        raise UserError(
            f"shapes: {value!r} is no size of '{name}'",
            fix="integers from 0 to 2^60: shapes={'T': range(1, 129)}, {'T': [5, 24]} or {'T': {5: 0.9, 24: 0.1}}",
        )
    return int(value.__index__())
