"""What a call tells of lengths and sizes: its arguments have to agree on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.api.described import Described, DescribedTensor, Fixed, Rule, Sized, Varying
from ragged.data import Lengths, RaggedArray
from ragged.data.lengths import checked_lengths
from ragged.data.read import is_array
from ragged.errors import DataError

Array = npt.NDArray[Any]


@dataclass(slots=True)
class Given:
    """What a call tells of lengths: numbers, and arrays of lengths; each with who said so first.

    `computed` are the lengths of an argument that have to be what the prelude computes.
    """

    sizes: dict[str, tuple[int, str]] = field(default_factory=dict)
    lengths: dict[str, tuple[Array, str]] = field(default_factory=dict)
    computed: list[tuple[str, Array, str]] = field(default_factory=list)


def read_lengths(
    name: str, described: Described, found: Mapping[str, RaggedArray | Array], arrays: Mapping[str, object]
) -> Given:
    """Return what the arguments of a call of the function `name` tell of lengths; all that is in its key is checked.

    `found` are the arguments as `Reader` returned them, `arrays` all that was given.

    Raises:
        DataError: an array is unknown, of another dtype or shape, or disagrees with another one.
    """
    given = Given()
    for tensor in described.inputs:
        _read(name, tensor, found[tensor.name], given)
    for key, value in arrays.items():
        if key not in found:
            _read_named(name, key, value, described, given)
    return given


def _read(name: str, tensor: DescribedTensor, own: RaggedArray | Array, given: Given) -> None:
    what = f"{name}: '{tensor.name}'"
    if isinstance(own, RaggedArray):
        extents, values = own.extents, own.values
        if len(extents) == len(tensor.padding) and own.padding != tensor.padding:
            raise DataError(
                f"{what} is stored with padding {own.padding}, and the function reads it with {tensor.padding}",
                fix=f"with_padding({tensor.padding})",
            )
    else:
        extents, values = own.shape, own
    if values.dtype != tensor.dtype.numpy:
        raise DataError(
            f"{what} holds {values.dtype}, not {tensor.dtype.value}",
            because="the compiled code reads it as it stands in memory, and nothing is rounded unasked",
            fix=f"astype({tensor.dtype.value!r})",
        )
    if len(extents) != len(tensor.extents):
        raise DataError(f"{what} has {len(extents)} dimensions, not {len(tensor.extents)}")
    for position, (extent, rule) in enumerate(zip(extents, tensor.extents, strict=True)):
        _agree(what, tensor, position, extent, rule, given)


def _agree(
    what: str, tensor: DescribedTensor, position: int, extent: int | Lengths, rule: Rule, given: Given
) -> None:
    """Note a dimension's extent, or refuse it if something else says otherwise."""
    dim = f"dimension '{tensor.dims[position]}'"
    match rule:
        case Fixed(extent=wanted):
            if extent != wanted:
                raise DataError(f"{what} extends {_shown(extent)} in {dim}, not {wanted}")
        case Sized(size=size):
            if isinstance(extent, Lengths):
                raise DataError(f"{what} varies in {dim}, which has one extent")
            known = given.sizes.setdefault(size, (extent, what))
            if known[0] != extent:
                raise DataError(f"{what} extends {extent} in {dim}, and {known[1]} has {size} = {known[0]}")
        case Varying(over=over, array=name, given=is_given):
            values = _lengths(what, dim, extent, over, given, tensor)
            if not is_given:
                given.computed.append((name, values, f"{what} in {dim}"))
                return
            first = given.lengths.setdefault(name, (values, what))
            if first[0] is not values and not np.array_equal(first[0], values):
                raise _differ(what, dim, values, *first)


def _lengths(
    what: str, dim: str, extent: int | Lengths, over: tuple[int, ...], given: Given, tensor: DescribedTensor
) -> Array:
    """Return a dimension's lengths over the dimensions `over`; one extent everywhere counts as well."""
    if not over and not isinstance(extent, Lengths):
        return np.array([extent], np.int32)
    if isinstance(extent, Lengths):
        if extent.over == over:
            return extent.values
        raise DataError(f"{what} varies in {dim} over dimensions {extent.over}, and not over {over}")
    if over == (0,):
        first = tensor.extents[0]
        count = (
            first.extent
            if isinstance(first, Fixed)
            else given.sizes[first.size][0]
            if isinstance(first, Sized)
            else 0
        )
        return np.full(count, extent, np.int32)
    raise DataError(f"{what} has one extent in {dim}, which varies")


def _differ(what: str, dim: str, values: Array, known: Array, who: str) -> DataError:
    if len(values) != len(known):
        return DataError(f"{what} has {len(values)} lengths in {dim}, and {who} has {len(known)}")
    row = int(np.argmax(values != known))
    return DataError(
        f"{what} disagrees with {who} on the lengths of {dim}",
        example=f"row {row} is {int(values[row])} long here and {int(known[row])} there",
    )


def _read_named(name: str, key: str, value: Any, described: Described, given: Given) -> None:
    """Read a size or lengths that are given by name."""
    what = f"{name}: '{key}'"
    if key in described.sizes and isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if value < 0:
            raise DataError(f"{what} is {value}, and no extent is negative")
        known = given.sizes.setdefault(key, (int(value), what))
        if known[0] != value:
            raise DataError(f"{what} is {value}, and {known[1]} has {key} = {known[0]}")
    elif key in described.lengths:
        if not is_array(value) and not isinstance(value, list | tuple):
            raise DataError(f"{what} is no array of lengths", fix="a 1-D array of integers")
        with about(what):
            values, _ = checked_lengths(value)
        first = given.lengths.setdefault(key, (values, what))
        if not np.array_equal(first[0], values):
            raise _differ(what, "these lengths", values, *first)
    else:
        raise DataError(f"{name} takes no '{key}'")


def _shown(extent: int | Lengths) -> str:
    return "variable lengths" if isinstance(extent, Lengths) else str(extent)


@contextmanager
def about(what: str) -> Iterator[None]:
    """Name an argument in what is wrong with it."""
    try:
        yield
    except DataError as error:
        raise DataError(
            f"{what}: {error.what.removeprefix('ragged.array: ')}",
            because=error.because,
            example=error.example,
            fix=error.fix,
        ) from None
