"""Faults in lengths themselves."""

from __future__ import annotations

from ragged.errors import DataError

_COUNTED = "a length is the number of elements of a row"


def lengths_no_integers(ndim: int, dtype: object) -> DataError:
    """Lengths of a wrong dtype or shape."""
    return DataError(
        f"ragged.array: the lengths are a {ndim}-D array of dtype {dtype}",
        because=_COUNTED,
        fix="give a list or a 1-D array of integers, one for each row",
    )


def negative_length(row: int, length: int) -> DataError:
    """A length below zero."""
    return DataError(
        f"ragged.array: the length of row {row} is {length}",
        because=_COUNTED,
        fix="give 0 for a row without elements",
    )


def length_overflow(row: int, length: int, limit: int) -> DataError:
    """A length that 32 bits do not hold."""
    return DataError(
        f"ragged.array: the length of row {row} is {length:,}",
        because=f"lengths are 32-bit integers: {limit:,} at most",
    )


def lengths_sum(total: int, rows: int, padded: tuple[int, ...] | None) -> DataError:
    """Packed rows of another number than the lengths say; `padded` is the shape if it may be a padded array."""
    return DataError(
        f"ragged.array: the lengths sum to {total}, and there are {rows} rows",
        because="packed rows stand one after another without gaps",
        fix="give as many rows as the lengths sum to"
        if padded is None
        else f"padded=True, if the array of shape {padded} is one padded row for each length",
    )


def lengths_rows(lengths: int, rows: int) -> DataError:
    """A padded array of more or fewer rows than there are lengths."""
    return DataError(
        f"ragged.array: {lengths} lengths for {rows} padded rows",
        because="length i says how many elements of row i are data",
        fix="give one length for each row",
    )


def over_order(over: tuple[int, ...]) -> DataError:
    """Dimensions that lengths cannot be over."""
    return DataError(
        f"Lengths: over is {over}",
        because="it names the outer dimensions that the extent depends on by position, ascending, at least one",
        fix="give an int as the extent if it depends on none" if not over else "over=(0,), or (0, 1)",
    )
