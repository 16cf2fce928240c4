"""Faults in extents and padding."""

from __future__ import annotations

from ragged.errors import DataError

_EXTENTS = "extents are one int or Lengths for each dimension, outermost first, and the outermost is an int"


def extents_none() -> DataError:
    """No dimension."""
    return DataError(
        "ragged.array: there are no extents", because=_EXTENTS, fix="extents=(1,) for one element"
    )


def extent_invalid(dim: int, extent: object) -> DataError:
    """An extent that is none."""
    return DataError(
        f"ragged.array: the extent of dimension {dim} is {short(extent)}",
        because=_EXTENTS,
        fix="Lengths(over=(0,), values=...), if it varies with dimension 0"
        if dim
        else "give the number of rows",
    )


def over_inner(dim: int, over: tuple[int, ...]) -> DataError:
    """Lengths over what is not further out."""
    return DataError(
        f"ragged.array: the lengths of dimension {dim} are over {over}",
        because=f"an extent depends on outer dimensions: 0 to {dim - 1}",
        fix="order the dimensions such that each comes after those that its extent depends on",
    )


def table_size(dim: int, over: tuple[int, ...], lengths: int, indices: int) -> DataError:
    """A table of lengths of the wrong size."""
    dims = f"dimension {over[0]} has" if len(over) == 1 else f"dimensions {over} have"
    return DataError(
        f"ragged.array: dimension {dim} has {lengths} lengths, and {dims} {indices} indices",
        because="there is a length for each index of the dimensions that it depends on, in row-major order",
    )


def storage_size(dim: str, needed: int, given: int) -> DataError:
    """Values of another number than the extents say."""
    return DataError(
        f"ragged.array: {given} values are given, and extents {dim} need {needed}",
        because="the values are all elements in row-major order, each extent rounded up to its padding",
        fix="give the extents and the padding that the values are stored with",
    )


def too_large(elements: float) -> DataError:
    """More elements than can be counted."""
    return DataError(
        f"ragged.array: the extents make {elements:.3g} elements",
        because="bytes are counted in 64-bit integers",
    )


def padding_invalid(padding: object, dims: int) -> DataError:
    """Padding that is none."""
    return DataError(
        f"ragged.array: padding is {short(padding)}",
        because=f"it is one multiple of at least 1 for each of the {dims} dimensions",
        fix=f"padding={(1,) * dims} stores no padding",
    )


def short(value: object) -> str:
    """Return what is printed of a caller's object: at most 60 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 60 else f"{text[:57]}..."
