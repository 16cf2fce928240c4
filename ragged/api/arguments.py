"""Reading the arguments of a call: what they hold, and the lengths and sizes that they agree on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.api.described import Described, DescribedTensor, Fixed, Rule, Sized, Varying
from ragged.data import Lengths, RaggedArray, array
from ragged.data.read import is_array, read_array
from ragged.errors import DataError

Array = npt.NDArray[Any]


@dataclass(slots=True)
class Given:
    """What a call gives: the elements of each tensor, numbers, and arrays of lengths; each with who said so first.

    `computed` are the lengths of an argument that have to be what the prelude computes.
    """

    values: dict[str, Array] = field(default_factory=dict)
    sizes: dict[str, tuple[int, str]] = field(default_factory=dict)
    lengths: dict[str, tuple[Array, str]] = field(default_factory=dict)
    computed: list[tuple[str, Array, str]] = field(default_factory=list)

    def key(self) -> tuple[object, ...]:
        """Return what a prelude's results depend on."""
        sizes = [(name, size) for name, (size, _) in self.sizes.items()]
        lengths = [(name, values.tobytes()) for name, (values, _) in self.lengths.items()]
        computed = [(name, values.tobytes()) for name, values, _ in self.computed]
        return (*sizes, *lengths, *computed)


def read_inputs(name: str, described: Described, arrays: Mapping[str, object]) -> Given:
    """Return what a call of the function `name` gives.

    Raises:
        DataError: an array is missing or unknown, of another dtype or shape, or disagrees with another one.
    """
    given = Given()
    rest = dict(arrays)
    for tensor in described.inputs:
        if tensor.name not in rest:
            raise DataError(f"{name}: '{tensor.name}' is not given", fix=f"{name}({tensor.name}=...)")
        _read(name, tensor, rest.pop(tensor.name), given)
    for key, value in rest.items():
        _read_named(name, key, value, described, given)
    return given


def _read(name: str, tensor: DescribedTensor, value: object, given: Given) -> None:
    what = f"{name}: '{tensor.name}'"
    if any(isinstance(rule, Varying) for rule in tensor.extents):
        own = value if isinstance(value, RaggedArray) else array(value)
        extents, values = own.extents, own.values
        if len(extents) == len(tensor.padding) and own.padding != tensor.padding:
            raise DataError(
                f"{what} is stored with padding {own.padding}, and the function reads it with {tensor.padding}",
                fix=f"with_padding({tensor.padding})",
            )
    else:
        dense = _dense(what, value)
        extents, values = dense.shape, dense
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
    given.values[tensor.name] = values


def _dense(what: str, value: object) -> Array:
    if isinstance(value, RaggedArray):
        raise DataError(f"{what} has no dimension that varies, and a ragged array is given")
    if not is_array(value):
        raise DataError(f"{what} is of type {type(value).__name__}, and an array is needed")
    return np.ascontiguousarray(read_array(what, value))


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


def _read_named(name: str, key: str, value: object, described: Described, given: Given) -> None:
    """Read a size or lengths that are given by name."""
    what = f"{name}: '{key}'"
    if key in described.sizes and isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        known = given.sizes.setdefault(key, (int(value), what))
        if known[0] != value:
            raise DataError(f"{what} is {value}, and {known[1]} has {key} = {known[0]}")
    elif key in described.lengths:
        values = np.ascontiguousarray(value)
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise DataError(f"{what} is no array of lengths", fix="a 1-D array of integers")
        values = values.astype(np.int32)
        first = given.lengths.setdefault(key, (values, what))
        if not np.array_equal(first[0], values):
            raise _differ(what, "these lengths", values, *first)
    else:
        raise DataError(f"{name} takes no '{key}'")


def _shown(extent: int | Lengths) -> str:
    return "variable lengths" if isinstance(extent, Lengths) else str(extent)
