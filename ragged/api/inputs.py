"""Reading the arguments of a call, and the lengths and sizes that follow from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ragged.api.signature import Derived, Fixed, RaggedSignature, Sized, TensorSpec, Varying
from ragged.compiled.sizes import Affine, Known, SizeEquation, solve_sizes
from ragged.data import Lengths, RaggedArray, array
from ragged.data.faults.given import conversion
from ragged.data.lengths import checked_lengths
from ragged.data.read import IN_PLACE, is_array, is_integer, read_array
from ragged.errors import DataError, InternalError

Array = npt.NDArray[Any]
Key: TypeAlias = tuple[object, ...]
"""A call's arguments without the elements of arrays: calls with equal keys share their lengths and tables."""


class InputReader:
    """Reads the arguments of calls, and their key; lengths are checked once for each key."""

    __slots__ = ("_inputs", "_name", "_names")

    def __init__(self, signature: RaggedSignature) -> None:
        self._name = signature.name
        self._inputs = tuple((tensor.name, tensor.varies) for tensor in signature.inputs)
        self._names = frozenset(name for name, _ in self._inputs)

    def __call__(self, arrays: Mapping[str, object]) -> tuple[Key, list[RaggedArray | Array], object]:
        """Return a call's key, its arguments in order as ragged or NumPy arrays that kernels can read, and an argument.

        That one is the first dense one which is no NumPy array, None without any: results are of its kind.

        Raises:
            DataError: an argument is missing, or is no array.
        """
        key: list[object] = []
        found: list[RaggedArray | Array] = []
        like: object = None
        for name, varies in self._inputs:
            value = arrays.get(name)
            if varies:
                if not isinstance(value, RaggedArray):
                    value = _ragged(f"{self._name}: '{name}'", self._required(name, value))
                key += (value.values.dtype, value.padding)
                key += [each if type(each) is int else _content(each) for each in value.extents]
            else:
                if type(value) is not np.ndarray or value.flags.num & IN_PLACE != IN_PLACE:
                    if like is None and not isinstance(value, np.ndarray):
                        like = value
                    value = _dense(f"{self._name}: '{name}'", self._required(name, value))
                key += (value.dtype, value.shape)
            found.append(value)
        if len(arrays) > len(found):
            key += [_named(name, value) for name, value in arrays.items() if name not in self._names]
        return tuple(key), found, like

    def _required(self, name: str, value: object) -> object:
        if value is None:
            raise DataError(f"{self._name}: '{name}' is not given", fix=f"{self._name}({name}=...)")
        return value


def _ragged(what: str, value: object) -> RaggedArray:
    with naming(what):
        return array(value)


def _content(extent: int | Lengths) -> object:
    return (extent.over, extent.values.tobytes()) if isinstance(extent, Lengths) else extent


def _named(name: str, value: object) -> object:
    """Return the key of a size or lengths given by name; other objects are equal only to themselves."""
    if isinstance(value, int | np.integer):
        return name, type(value), value
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return name, value.dtype, value.shape, value.tobytes()
    return name, object()


def _dense(what: str, value: object) -> Array:
    if isinstance(value, RaggedArray):
        raise DataError(f"{what} has no dimension that varies, and a ragged array is given")
    if not is_array(value):
        raise DataError(f"{what} is of type {type(value).__name__}, and an array is needed")
    return np.require(read_array(what, value), requirements=["C", "A"])


@dataclass(slots=True)
class InputLengths:
    """Sizes and lengths of a call's inputs, each with the argument that gave it first.

    `equations` are extents that are affine expressions of sizes. `computed` are lengths of arguments that must equal
    those that the prelude computes.
    """

    sizes: dict[str, tuple[int, str]] = field(default_factory=dict)
    lengths: dict[str, tuple[Array, str]] = field(default_factory=dict)
    equations: list[SizeEquation] = field(default_factory=list)
    computed: list[tuple[str, Array, str]] = field(default_factory=list)


def read_lengths(
    signature: RaggedSignature,
    found: Sequence[RaggedArray | Array],
    arrays: Mapping[str, object],
    bound: Known,
) -> InputLengths:
    """Return the lengths and sizes of a call's arguments, checked against each other.

    `found` are the arguments that `InputReader` returned, `arrays` those that the caller gave, `bound` the sizes that
    parameters have.

    Raises:
        DataError: an array is unknown, of another dtype or shape, or disagrees with another one.
    """
    inputs = InputLengths(dict(bound))
    for tensor, own in zip(signature.inputs, found, strict=True):
        _read(signature.name, tensor, own, arrays[tensor.name], inputs)
    if len(arrays) > len(found):
        names = {tensor.name for tensor in signature.inputs}
        for key, value in arrays.items():
            if key not in names:
                _read_named(signature, key, value, inputs)
    solve_sizes(inputs.equations, inputs.sizes)
    return inputs


def _read(
    name: str, tensor: TensorSpec, own: RaggedArray | Array, given: object, inputs: InputLengths
) -> None:
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
            fix=conversion(given, tensor.dtype.value),
        )
    if len(extents) != len(tensor.extents):
        raise DataError(f"{what} has {len(extents)} dimensions, not {len(tensor.extents)}")
    for position in range(len(extents)):
        _agree(what, tensor, position, extents, inputs)


def _agree(
    what: str, tensor: TensorSpec, position: int, extents: Sequence[int | Lengths], inputs: InputLengths
) -> None:
    """Note a dimension's extent, or refuse it if something else says otherwise."""
    extent, dim = extents[position], f"dimension '{tensor.dims[position]}'"
    match tensor.extents[position]:
        case Fixed(extent=wanted):
            if extent != wanted:
                raise DataError(f"{what} extends {_shown(extent)} in {dim}, not {wanted}")
        case Sized(size=size):
            if isinstance(extent, Lengths):
                raise DataError(f"{what} varies in {dim}, which has one extent")
            known = inputs.sizes.setdefault(size, (extent, what))
            if known[0] != extent:
                raise DataError(f"{what} extends {extent} in {dim}, and {known[1]} has {size} = {known[0]}")
        case Affine() as affine:
            if isinstance(extent, Lengths):
                raise DataError(f"{what} varies in {dim}, which has one extent")
            inputs.equations.append(SizeEquation(affine, extent, what, dim))
        case Derived():
            raise InternalError(f"{what} has no rule in {dim}")
        case Varying(over=over, array=name, given=is_given):
            values = _lengths(what, dim, extent, over, extents[0])
            if not is_given:
                inputs.computed.append((name, values, f"{what} in {dim}"))
                return
            first = inputs.lengths.setdefault(name, (values, what))
            if first[0] is not values and not np.array_equal(first[0], values):
                raise _differ(what, dim, values, *first)


def _lengths(
    what: str,
    dim: str,
    extent: int | Lengths,
    over: tuple[int, ...],
    rows: int | Lengths,
) -> Array:
    """Return a dimension's lengths over the dimensions `over`; one extent everywhere counts as well."""
    if not over and not isinstance(extent, Lengths):
        return np.array([extent], np.int64)
    if isinstance(extent, Lengths):
        if extent.over == over:
            return extent.values
        raise DataError(f"{what} varies in {dim} over dimensions {extent.over}, and not over {over}")
    if over == (0,) and isinstance(rows, int):
        return np.full(rows, extent, np.int32)
    raise DataError(f"{what} has one extent in {dim}, which varies")


def _differ(what: str, dim: str | None, values: Array, known: Array, other: str) -> DataError:
    if len(values) != len(known):
        where = "" if dim is None else f" in {dim}"
        return DataError(f"{what} has {len(values)} lengths{where}, and {other} has {len(known)}")
    row = int(np.argmax(values != known))
    return DataError(
        f"{what} disagrees with {other} on the lengths{'' if dim is None else f' of {dim}'}",
        example=f"row {row} is {int(values[row])} long here and {int(known[row])} there",
    )


def _extents(signature: RaggedSignature) -> set[str]:
    """Return the sizes that extents of arguments are made of, or extents of results; others are plain numbers."""
    tensors = (*signature.inputs, *signature.outputs)
    found = {rule.size for each in tensors for rule in each.extents if isinstance(rule, Sized)}
    sums = (rule for each in signature.inputs for rule in each.extents if isinstance(rule, Affine))
    return found | {size for rule in sums for size, _ in rule.terms}


def _read_named(signature: RaggedSignature, key: str, value: Any, inputs: InputLengths) -> None:
    """Read a size or lengths that are given by name."""
    what = f"{signature.name}: '{key}'"
    if key in signature.sizes:
        if not is_integer(value) or not -(2**63) <= value < 2**63:
            raise DataError(f"{what} is {value!r}, and a size is an integer of 64 bits")
        if value >= 2**60 and key not in signature.numbers:
            raise DataError(f"{what} is {value}, and a size is below 2^60")
        if value < 0 and (key not in signature.numbers or key in _extents(signature)):
            raise DataError(f"{what} is {value}, and no size is negative")
        known = inputs.sizes.setdefault(key, (int(value), what))
        if known[0] != value:
            raise DataError(f"{what} is {value}, and {known[1]} has {key} = {known[0]}")
    elif key in signature.lengths:
        if not is_array(value) and not isinstance(value, list | tuple):
            raise DataError(f"{what} is no array of lengths", fix="a 1-D array of integers")
        with naming(what):
            values, _ = checked_lengths(value)
        first = inputs.lengths.setdefault(key, (values, what))
        if not np.array_equal(first[0], values):
            raise _differ(what, None, values, *first)
    else:
        raise DataError(f"{signature.name} takes no '{key}'")


def _shown(extent: int | Lengths) -> str:
    return "variable lengths" if isinstance(extent, Lengths) else str(extent)


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Name the argument in errors about it."""
    try:
        yield
    except DataError as error:
        raise DataError(
            f"{what}: {error.what.removeprefix('ragged.array: ')}",
            because=error.because,
            example=error.example,
            fix=error.fix,
        ) from None
