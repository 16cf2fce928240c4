"""Faults in what a ragged array is made from."""

from __future__ import annotations

from typing import Any

from ragged.data.faults.layout import short
from ragged.errors import MASK_IGNORED, DataError


def readable(value: object) -> str:
    """What to give in place of an object that NumPy could not read, for `fix`."""
    tensor: Any = value
    if type(value).__module__.partition(".")[0] != "torch" or not hasattr(value, "layout"):
        return "give a NumPy array"
    if tensor.is_meta:
        return "give a tensor with data: one on the device 'meta' has none"
    if str(tensor.layout) != "torch.strided":
        return "give `tensor.to_dense()`"
    if tensor.is_conj() or tensor.is_neg():
        return "give `tensor.resolve_conj().resolve_neg()`"
    foreign = str(tensor.dtype).startswith(("torch.bfloat16", "torch.float8", "torch.float4"))
    return "give `tensor.float()`" if foreign else "give `tensor.detach().cpu()`"


def conversion(given: object, dtype: str) -> str:
    """Return how to convert an array, or a list of arrays, to a dtype, as its library spells it, for `fix`."""
    first = given[0] if isinstance(given, list | tuple) and given else given
    of_torch = type(first).__module__.partition(".")[0] == "torch"
    return f"to(torch.{dtype})" if of_torch else f"astype({dtype!r})"


def unreadable(what: str, value: object, error: BaseException) -> DataError:
    """An object that NumPy could not read."""
    return DataError(
        f"ragged.array: {what} cannot be read as an array: it is {_a(type(value).__name__)}",
        because=str(error).partition("\n")[0] or type(error).__name__,
        fix=readable(value),
    )


def masked(what: str) -> DataError:
    """A masked array of NumPy."""
    return DataError(
        f"ragged.array: {what} is a masked array of NumPy",
        because=MASK_IGNORED,
        fix="give its data, `array.data`; of padded rows with `mask=~array.mask`, or what `array.filled(0)` returns",
    )


def wrong_dtype(what: str, dtype: object) -> DataError:
    """Elements that are no numbers."""
    return DataError(
        f"ragged.array: {what} of dtype {dtype}",
        because="elements are booleans, integers or floating-point numbers that NumPy has, or bfloat16",
        fix="convert it with .astype, or .float() of a torch tensor",
    )


def no_rows(what: str) -> DataError:
    """Something without rows where rows are expected."""
    return DataError(
        f"ragged.array: {what}",
        because="a ragged array is made of a list of arrays, packed rows with lengths=, padded rows with "
        "padded=True or mask=, nested lists, a jagged tensor, an Awkward array, or values with extents=",
        fix="give a list of arrays, or say lengths=",
    )


def row_shape(row: int, shape: tuple[int, ...], first: tuple[int, ...]) -> DataError:
    """A row with elements of another shape than those of the first."""
    return DataError(
        f"ragged.array: row {row} has shape {shape}, and row 0 has {first}",
        because="rows differ in their first dimension alone, or are square matrices",
        fix="give rows of one trailing shape; a row without elements is numpy.zeros((0, ...))",
    )


def row_scalar(what: str) -> DataError:
    """A number where rows are expected."""
    return DataError(
        f"ragged.array: {what} has no dimension",
        because="a row is an array of at least one dimension, its length",
        fix="reshape it to (1,) if it is a row of one element",
    )


def row_dtype(row: int, dtype: object, first: object) -> DataError:
    """A row of another dtype than the first."""
    return DataError(
        f"ragged.array: row {row} is of dtype {dtype}, and row 0 of {first}",
        because="a ragged array has one dtype",
        fix=f"convert the rows with .astype, or say dtype='{first}'",
    )


def list_level(path: str, value: object, first: str, expected: str) -> DataError:
    """An element of a nested list that is none, or not `expected` as the element `first` is, if that is not ""."""
    other = f", and {first} is {_a(expected)}" if first else ""
    return DataError(
        f"ragged.array: {path} is {_a(type(value).__name__)}{other}",
        because="elements of one depth are all lists, all arrays or all numbers",
        example=short(value),
    )


def several_meanings(names: list[str]) -> DataError:
    """Options that exclude each other."""
    return DataError(
        f"ragged.array: {' and '.join(names)} are given together",
        because="each says in its own way where rows end",
        fix="give one of them",
    )


def padded_no_rows(shape: tuple[int, ...]) -> DataError:
    """A padded array of too few dimensions."""
    return DataError(
        f"ragged.array: the padded array has shape {shape}",
        because="it is (rows, longest row, ...)",
    )


def padded_lengths(row: int, length: int, longest: int) -> DataError:
    """A length beyond a padded row."""
    return DataError(
        f"ragged.array: the length of row {row} is {length}, and padded rows hold {longest}",
        because="length i says how many elements of row i are data",
    )


def mask_no_table(shape: tuple[int, ...], dtype: object, needed: tuple[int, ...]) -> DataError:
    """A mask of a wrong shape or dtype."""
    return DataError(
        f"ragged.array: the mask has shape {shape} and dtype {dtype}",
        because=f"it says of each of {needed} elements whether it is data: True or False",
        fix="mask.astype(bool), or mask.bool() of a torch tensor, of the padded array's first two dimensions",
    )


def mask_no_prefix(row: int, column: int) -> DataError:
    """A mask of something else than the beginnings of rows."""
    return DataError(
        f"ragged.array: the mask is no prefix in row {row}",
        because="a row of a ragged array is its first elements, so a mask's row is True ... True False ... False",
        example=f"mask[{row}, {column - 1}] is False and mask[{row}, {column}] is True",
        fix="give ~mask if it is True for padding; else move each row's data to its beginning",
    )


def jagged_dimension(dim: int, shape: str) -> DataError:
    """A nested tensor that is jagged elsewhere than in dimension 1."""
    return DataError(
        f"ragged.array: dimension {dim} of the nested tensor varies: {shape}",
        because="the values of such a tensor are not packed rows",
        fix="tensor.transpose(1, d).contiguous(), so that dimension 1 varies; or give list(tensor.unbind())",
    )


def awkward_layout(kind: str, depth: int) -> DataError:
    """A part of an Awkward array that is neither lists nor numbers."""
    return DataError(
        f"ragged.array: the Awkward array has {_a(kind)} at depth {depth}",
        because="a ragged array holds lists of numbers: no options, records, unions or strings",
        fix="awkward.fill_none or awkward.drop_none for options; give fields one by one",
    )


def awkward_positions() -> DataError:
    """An Awkward array that is not in this process's memory."""
    return DataError(
        "ragged.array: the Awkward array is not in the memory of the CPU",
        because="its elements are read through NumPy",
        fix="awkward.to_backend(array, 'cpu')",
    )


def _a(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "aeiouAEIOU" else f"a {noun}"
