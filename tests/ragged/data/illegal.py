"""One illegal input for each message, by the name of the function that writes it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import awkward
import numpy as np
import torch

import ragged
from ragged.data import Lengths, RaggedArray

ROWS = np.zeros((5, 2), np.float32)
PADDED = np.zeros((2, 3, 4), np.float32)
N = Lengths((0,), [2, 3])


class Broken:
    """Looks like an array, and cannot be read as one."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise RuntimeError("can't convert a tensor on another device")


class Unprintable:
    """Cannot be shown in a message."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


class OnDevice:
    """What of an Awkward array on a GPU can be had without one."""

    layout = SimpleNamespace(backend=SimpleNamespace(name="cuda"))


OnDevice.__module__ = "awkward.highlevel"


def jagged_inside():
    """Matrices (3, 2) and (3, 1): the values are their columns."""
    return torch.nested.nested_tensor_from_jagged(torch.zeros(3, 3), torch.tensor([0, 2, 3]), jagged_dim=2)


def sample() -> RaggedArray:
    return ragged.array(ROWS, lengths=[2, 0, 3])


def mask(*rows):
    return np.array(rows, bool)


def scores() -> RaggedArray:
    return RaggedArray(np.zeros(13), (2, N, N))


CASES: dict[str, Callable[[], object]] = {
    # lengths
    "negative_length": lambda: ragged.array(ROWS, lengths=[2, -1, 4]),
    "negative_length.narrow": lambda: ragged.array(ROWS, lengths=np.array([5, -1], np.int8)),
    "length_overflow": lambda: ragged.array(ROWS, lengths=[2, 2**31]),
    "length_overflow.unsigned": lambda: ragged.array(ROWS, lengths=np.array([2**64 - 1], np.uint64)),
    "length_overflow.padding": lambda: RaggedArray.empty((2, Lengths((0,), [2**31 - 2, 1])), padding=(1, 4)),
    "lengths_no_integers": lambda: ragged.array(ROWS, lengths=[2.0, 3.0]),
    "lengths_no_integers.table": lambda: ragged.array(ROWS, lengths=[[2, 3]]),
    "lengths_sum": lambda: ragged.array(ROWS, lengths=[2, 2]),
    "lengths_sum.padded": lambda: ragged.array(PADDED, lengths=[3, 2]),
    "lengths_rows": lambda: ragged.array(PADDED, lengths=[1, 2, 3], padded=True),
    "over_order": lambda: Lengths((1, 0), [1]),
    "over_order.none": lambda: Lengths((), [1]),
    # rows, lists and arrays of others
    "unreadable": lambda: ragged.array(Broken()),
    "unreadable.lengths": lambda: ragged.array(ROWS, lengths=[[1], [2, 3]]),
    "unreadable.gradient": lambda: ragged.array(torch.zeros(2, 2, requires_grad=True)),
    "unreadable.meta": lambda: ragged.array(torch.zeros(2, 2, device="meta")),
    "unreadable.sparse": lambda: ragged.array(torch.eye(2).to_sparse()),
    "unreadable.conjugated": lambda: ragged.array(torch.zeros(2, 2, dtype=torch.complex64).conj()),
    "unreadable.row": lambda: ragged.array([[np.zeros(2)], [np.zeros(1), Broken()]]),
    "masked": lambda: ragged.array([np.ma.array(ROWS, mask=ROWS == 0)]),
    "wrong_dtype": lambda: ragged.array(np.zeros((2, 3), complex)),
    "wrong_dtype.asked": lambda: RaggedArray.zeros((2, N), dtype="S3"),
    "wrong_dtype.unknown": lambda: ragged.array([[1]], dtype="float33"),
    "wrong_dtype.large": lambda: ragged.array([[2**70], []]),
    "no_rows": lambda: ragged.array({1, 2}),
    "no_rows.flat": lambda: ragged.array(np.zeros(3)),
    "no_rows.padded": lambda: ragged.array(PADDED, padded=True),
    "row_shape": lambda: ragged.array([np.zeros((2, 3)), np.zeros((0, 3)), np.zeros((2, 4))]),
    "row_shape.dims": lambda: ragged.array([np.zeros((2, 3)), np.zeros(3)]),
    "row_scalar": lambda: ragged.array([np.array(1.0), np.array(2.0)]),
    "row_scalar.packed": lambda: ragged.array(np.array(1.0), lengths=[1]),
    "row_dtype": lambda: ragged.array([np.zeros(2, np.float32), np.zeros(1, np.float32), np.zeros(3)]),
    "list_level": lambda: ragged.array([[1, 2], [3, [4]]]),
    "list_level.rows": lambda: ragged.array([[1, 2], 3]),
    "list_level.text": lambda: ragged.array([[1], [2, "three"]]),
    "list_level.alone": lambda: ragged.array([None]),
    "list_level.array": lambda: ragged.array([np.zeros((2, 3)), []]),
    "list_level.unprintable": lambda: ragged.array([[[1]], [[], [Unprintable()]]]),
    "several_meanings": lambda: ragged.array(PADDED, lengths=[1, 2], mask=mask([1, 1, 1], [1, 0, 0])),
    "several_meanings.extents": lambda: ragged.array(ROWS, lengths=[2, 3], extents=(5, 2)),
    "padded_no_rows": lambda: ragged.array(np.zeros(3), lengths=[1], padded=True),
    "padded_lengths": lambda: ragged.array(PADDED, lengths=[3, 4], padded=True),
    "mask_no_table": lambda: ragged.array(PADDED, mask=mask([1, 1], [1, 0])),
    "mask_no_table.integers": lambda: ragged.array(PADDED, mask=np.ones((2, 3), int)),
    "mask_no_prefix": lambda: ragged.array(PADDED, mask=mask([1, 1, 0], [1, 0, 1])),
    "mask_no_prefix.inverse": lambda: ragged.array(PADDED, mask=mask([0, 1, 1], [0, 0, 0])),
    "jagged_dimension": lambda: ragged.array(jagged_inside()),
    "awkward_layout": lambda: ragged.array(awkward.Array([[1, None], []])),
    "awkward_layout.text": lambda: ragged.array(awkward.Array(["one", "two"])),
    "awkward_positions": lambda: ragged.array(OnDevice()),
    # extents and padding
    "extents_none": lambda: RaggedArray.zeros(()),
    "extent_invalid": lambda: RaggedArray.zeros((2, -3)),
    "extent_invalid.outermost": lambda: RaggedArray.zeros((N, 2)),
    "extent_invalid.kind": lambda: RaggedArray.zeros((2, 3.5)),
    "over_inner": lambda: RaggedArray.zeros((2, Lengths((1,), [2, 3]))),
    "table_size": lambda: RaggedArray.zeros((3, N)),
    "table_size.several": lambda: RaggedArray.zeros((2, N, Lengths((0, 1), [1, 2, 3, 4]))),
    "storage_size": lambda: RaggedArray(np.zeros(4), (2, N)),
    "too_large": lambda: RaggedArray.empty((2, N, 2**40, 2**40)),
    "too_large.dense": lambda: RaggedArray.zeros((2**40, 2**30)),
    "padding_invalid": lambda: sample().with_padding((1, 4)),
    "padding_invalid.zero": lambda: sample().with_padding((1, 0, 1)),
    "padding_invalid.kind": lambda: sample().with_padding((1, "4", 1)),
    # use
    "out_of_range": lambda: sample()[3],
    "out_of_range.inner": lambda: sample()[:, 1],
    "out_of_range.several": lambda: ragged.array([[[1], [2]], [[3, 4], []]])[..., 0],
    "index_kind": lambda: sample()[[0, 1]],
    "index_kind.flag": lambda: sample()[True],
    "index_kind.slice": lambda: sample()["a":],
    "index_kind.dots": lambda: sample()[..., 0, ...],
    "index_count": lambda: sample()[0, 0, 0, 0],
    "step_zero": lambda: sample()[::0],
    "no_dimension": lambda: sample().offsets(3),
    "no_lengths": lambda: RaggedArray.zeros((2, 3)).lengths,
    "no_lengths.several": lambda: scores().lengths,
    "not_rectangular": lambda: np.asarray(sample()),
    "not_rectangular.dlpack": lambda: np.from_dlpack(sample()),
    "no_awkward_dtype": lambda: sample().astype("bfloat16").to_awkward(),
    "not_jagged": lambda: scores().to_torch(),
    "other_dimensions": lambda: sample() == scores()[0:1, 0],
    "other_extent": lambda: ragged.array([[1], [2, 3]]) == ragged.array([[1], [2]]),
    "not_an_operand": lambda: sample() == [1, 2],
    "not_an_operand.equal": lambda: sample().equal(ROWS),
    "not_an_output": lambda: np.add(sample(), 1, out=sample()[:1]),
    "not_elementwise": lambda: np.sum(sample()),
    "not_broadcast": lambda: sample() * np.ones((3, 2), np.float32),
    "truth": lambda: bool(sample()),
}
