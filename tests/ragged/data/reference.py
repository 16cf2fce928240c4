"""Ragged arrays as dictionaries from indices to elements, by loops over every index: what NumPy's is compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from ragged.data import Lengths, RaggedArray


def indices(extents: tuple, dims: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every index of the dimensions `dims`, in row-major order."""
    found: list[tuple[int, ...]] = [()]
    for place, dim in enumerate(dims):
        outer = dims[:place]
        found = [
            (*i, j) for i in found for j in range(extent(extents, dim, dict(zip(outer, i, strict=True))))
        ]
    return found


def extent(extents: tuple, dim: int, at: dict[int, int]) -> int:
    """The extent of `dim` where the outer indices are `at`; its largest if they do not determine it."""
    given = extents[dim]
    if isinstance(given, int):
        return given
    if not set(given.over) <= set(at):
        return max(given.values.tolist(), default=0)
    return int(given.values[indices(extents, given.over).index(tuple(at[outer] for outer in given.over))])


def stored(extents: tuple, padding: tuple[int, ...]) -> tuple:
    """The extents of storage."""
    needed = {dim for given in extents if isinstance(given, Lengths) for dim in given.over}
    found: list[Any] = []
    for dim, (given, multiple) in enumerate(zip(extents, padding, strict=True)):
        if dim in needed:
            found.append(given)
        elif isinstance(given, int):
            found.append(given + -given % multiple)
        else:
            found.append(Lengths(given.over, [n + -n % multiple for n in given.values.tolist()]))
    return tuple(found)


def every(given: tuple) -> tuple[int, ...]:
    return tuple(range(len(given)))


def elements(array: RaggedArray) -> dict[tuple[int, ...], Any]:
    """The elements of `array` by index, padding left out."""
    extents, storage = array.extents, stored(array.extents, array.padding)
    by_place = dict(zip(indices(storage, every(storage)), array.values.tolist(), strict=True))
    return {index: by_place[index] for index in indices(extents, every(extents))}


def nested(array: RaggedArray) -> Any:
    """The elements of `array` as nested lists."""
    values = elements(array)

    def level(index: tuple[int, ...]) -> Any:
        if len(index) == array.ndim:
            return values[index]
        number = extent(array.extents, len(index), dict(enumerate(index)))
        return [level((*index, i)) for i in range(number)]

    return level(())


def picked(lists: Any, index: tuple[int | slice, ...]) -> Any:
    """What an index selects of nested lists."""
    if not index:
        return lists
    first, *rest = index
    if isinstance(first, slice):
        return [picked(part, tuple(rest)) for part in lists[first]]
    return picked(lists[first], tuple(rest))


@st.composite
def extents_of(draw: st.DrawFn) -> tuple:
    """Extents of 0 to 3, each fixed or over any set of outer dimensions."""
    found: list[Any] = [draw(st.integers(0, 3))]
    for dim in range(1, draw(st.integers(1, 4))):
        over = tuple(sorted(draw(st.sets(st.integers(0, dim - 1), max_size=3))))
        if over:
            number = len(indices(tuple(found), over))
            found.append(Lengths(over, draw(st.lists(st.integers(0, 3), min_size=number, max_size=number))))
        else:
            found.append(draw(st.integers(0, 3)))
    return tuple(found)


@st.composite
def arrays(draw: st.DrawFn, padded: bool = True) -> RaggedArray:
    """Arrays of stored elements that are all different, those of the padding too."""
    extents = draw(extents_of())
    multiples = st.integers(1, 3) if padded else st.just(1)
    padding = draw(st.tuples(*[multiples] * len(extents)))
    array = RaggedArray.empty(extents, np.int64, padding)
    array.values[...] = np.arange(1, array.values.size + 1)
    return array


def indices_into(array: RaggedArray) -> st.SearchStrategy[tuple[int | slice, ...]]:
    """Integers and slices for some of the dimensions."""
    bound = st.none() | st.integers(-4, 4)
    step = st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3])
    one = st.integers(-2, 2) | st.just(0) | st.builds(slice, bound, bound, step) | st.just(slice(None))
    return st.lists(one, min_size=1, max_size=array.ndim).map(tuple)
