"""What operators are given: ragged arrays of any dimensions, and the tensors that they are declared as."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, TypeGuard

import ragged
from ragged import Lengths, RaggedArray
from ragged.api.dims import RaggedDim
from ragged.api.tensors import DimLike
from ragged.data.read import is_integer
from ragged.errors import DataError, Location, ModelError

Extent: TypeAlias = int | tuple[int, ...] | None
"""Of a dimension: a number, the outer dimensions that it varies over, or None for the batch, of any size."""
_FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True, slots=True)
class Form:
    """The dimensions of an array, and all that compiled code knows of them: every length may be another one."""

    extents: tuple[Extent, ...]

    @property
    def variable(self) -> tuple[int, ...]:
        """The dimensions that vary."""
        return tuple(k for k, extent in enumerate(self.extents) if isinstance(extent, tuple))

    @property
    def dense(self) -> int:
        """Where the dense dimensions after the last variable one begin."""
        return max(self.variable, default=0) + 1

    def declared(self) -> list[tuple[RaggedDim, Any]]:
        """Declare the dimensions and their extents, lengths of their own for each variable one."""
        found: list[tuple[RaggedDim, Any]] = []
        for place, extent in enumerate(self.extents):
            own = ragged.dim(f"d{place}")
            match extent:
                case None:
                    found.append((own, ragged.size("rows")))
                case int():
                    found.append((own, extent))
                case over:
                    outer = tuple(found[k][0] for k in over)
                    found.append((own, ragged.length_fn(f"n{place}", over=outer)(*outer)))
        return found


def float_type(value: object) -> str:
    """Return the type of an array's elements, of which an operator's program is then; "float32" if it is no float.

    Floats of 16 bits are widened to float32 where they are read, and results are rounded where they are stored.
    """
    return _float_name(getattr(value, "dtype", None))


@cache
def _float_name(dtype: Hashable) -> str:
    """Return the name of a type of floats of any library: NumPy makes it anew each time, a fifth of a small call."""
    name = str(getattr(dtype, "name", dtype)).removeprefix("torch.")
    return name if name in _FLOATS else "float32"


def as_ragged(what: str, value: object, dims: int | None = None) -> RaggedArray:
    """Return what a caller gives as a ragged array without padding; with `dims`, of so many dimensions.

    Raises:
        DataError: it has no rows, no dimension that varies, or another number of dimensions.
    """
    made = value if isinstance(value, RaggedArray) else ragged.array(value)
    if dims is not None and made.ndim != dims:
        raise DataError(f"{what} has {made.ndim} dimensions, not {dims}")
    if made.ndim == 1:
        raise DataError(f"{what} has one dimension, and none that varies", fix="a NumPy function will do")
    return made.packed()


def form_of(x: RaggedArray) -> Form:
    """Return the dimensions of an array; one with rows of equal length counts as variable in dimension 1."""
    found: list[Extent] = [None]
    for extent in x.extents[1:]:
        found.append(extent.over if isinstance(extent, Lengths) else extent)
    if not any(isinstance(extent, tuple) for extent in found):
        found[1] = (0,)
    return Form(tuple(found))


def axis_of(what: str, axis: object, form: Form) -> int:
    """Return a dimension counted from the front.

    Raises:
        DataError: there is none, it is the outermost, or others depend on it.
    """
    if not is_integer(axis) or not -len(form.extents) <= axis < len(form.extents):
        raise DataError(f"{what}: there is no dimension {axis} of {len(form.extents)}")
    place = int(axis) % len(form.extents)
    inner = [k for k in form.variable if place in form.extents[k]]  # type: ignore[operator]
    if inner or place == 0:
        raise DataError(
            f"{what}: dimension {place} is no row of its own",
            because="it is the batch"
            if place == 0
            else f"how far dimension {inner[0]} extends depends on it",
        )
    return place


def without(dims: Sequence[DimLike], place: int) -> list[DimLike]:
    """Return dimensions less one."""
    return [each for k, each in enumerate(dims) if k != place]


def is_from(value: object, least: int) -> TypeGuard[int]:
    """Return whether a value is an integer of `least` or more."""
    return is_integer(value) and value >= least


def count_of(what: str, value: object, least: int = 0) -> int:
    """Return a number of features, heads or layers; `ModelError` if it is none, or less than `least`."""
    if not is_from(value, least):
        raise ModelError(
            f"{what}={value!r}",
            at=Location.capture(),
            because=f"it is how many there are, an integer from {least} up",
        )
    return int(value)


def width_of(what: str, x: RaggedArray) -> int:
    """Return the extent of the last dimension, a number; `DataError` if it varies."""
    extent = x.extents[-1]
    if isinstance(extent, Lengths):
        raise DataError(f"{what} varies in its last dimension, and rows of so many features are needed")
    return extent
