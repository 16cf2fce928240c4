"""What may stand between the brackets of `x[...]`."""

from __future__ import annotations

from operator import index
from types import EllipsisType

import numpy as np

from ragged.data import faults

Index = tuple[int | slice, ...]
WHOLE = slice(None)
_FARTHEST = 2**62
"""A bound and a step beyond any extent, with which 64-bit integers are computed."""


def full_index(given: object, ndim: int) -> Index:
    """Return one index for each dimension; `DataError` for what is none."""
    items = given if isinstance(given, tuple) else (given,)
    parts = [_checked(item) for item in items]
    dots = [place for place, part in enumerate(parts) if part is ...]
    number = len(parts) - len(dots)
    if number > ndim:
        raise faults.index_count(number, ndim)
    if len(dots) > 1:
        raise faults.index_kind(given)
    place = dots[0] if dots else len(parts)
    whole = [WHOLE] * (ndim - number)
    found = [*parts[:place], *whole, *parts[place + 1 :]]
    return tuple(part for part in found if not isinstance(part, EllipsisType))


def _checked(item: object) -> int | slice | EllipsisType:
    match item:
        case bool():
            raise faults.index_kind(item)
        case int() | np.integer():
            return int(item)
        case slice():
            return _checked_slice(item)
        case EllipsisType():
            return item
        case _:
            raise faults.index_kind(item)


def _checked_slice(item: slice) -> slice:
    try:
        bounds = [None if bound is None else index(bound) for bound in (item.start, item.stop, item.step)]
    except TypeError as error:
        raise faults.index_kind(item) from error
    if bounds[2] == 0:
        raise faults.step_zero()
    return slice(*(None if bound is None else max(-_FARTHEST, min(bound, _FARTHEST)) for bound in bounds))


def in_range(item: int, number: int) -> int:
    """Return an index of the outermost dimension, which has `number`, counted from its beginning."""
    if not -number <= item < number:
        raise faults.out_of_range(0, item, number, ())
    return item % number
