"""Other payloads for a batch that has been linearized: the arrays of its structures stay as they are.

The checks are the native linearizer's; and where the numbering of nodes follows from a payload, it must follow from the
other as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cortex.ilir.plan import Payload, Plan
from cortex.linearize import faults
from cortex.linearize.faults import Place
from cortex.linearize.tensors import payload_rows

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int32]


def exchanged(
    plan: Plan,
    num_inner: int,
    payloads: dict[str, Array],
    rows: Ints,
    row_begin: Ints,
    given: Mapping[str, object],
) -> dict[str, Array]:
    """Return payloads by node id, those of `given` from arrays in the order of the rows; the others are `Linearized`'s.

    Raises:
        DataError: the linearizer would refuse the array, or number the nodes otherwise.
    """
    made = dict(payloads)
    for name, value in given.items():
        payload = plan.payload(name)
        if payload is None:
            raise faults.unknown_payload(name, plan)
        if payloads[name].ndim <= len(payload.shape):  # borrowed: others would not stand where these do
            raise faults.other_shape(name, payloads[name].shape, (len(rows), *payload.shape))
        array = payload_rows("with_payloads", name, value)
        if len(array) != len(rows):
            raise faults.exchanged_rows(name, len(array), len(rows))

        def place(row: int) -> Place:
            structure = int(np.searchsorted(row_begin, row, "right")) - 1
            return Place(structure, row - int(row_begin[structure]), f"row {row} of the batch")

        _check_values(payload, array, rows, num_inner, place)
        _check_numbering(plan, payload, payloads[name], array, rows, place)
        made[name] = np.empty((len(rows), *payload.shape), payload.dtype.numpy)
        made[name][rows] = array
    return made


def _check_values(
    payload: Payload, array: Array, rows: Ints, num_inner: int, place: Callable[[int], Place]
) -> None:
    """Refuse an array of another dtype or shape, and integers that the payload cannot hold."""
    whole = Place(0, None, "")
    kind, is_int = array.dtype.kind, payload.dtype.is_int
    if kind not in ("iu" if is_int else "f") or not (is_int or array.itemsize == payload.dtype.bytes):
        raise faults.wrong_dtype(whole, payload, array)
    if array.shape[1:] != payload.shape:
        raise faults.wrong_shape(whole, payload, array.shape[1:], array)
    if not is_int or not array.size:
        return
    limits = np.iinfo(payload.dtype.value)
    low, high = payload.range or (limits.min, limits.max + 1)
    if low <= array.min() and array.max() < high:
        return
    for row, *inside in np.argwhere((array < limits.min) | (array > limits.max)).tolist():
        raise faults.overflow(place(row), payload, int(array[row, *inside]))
    outside = (array < low) | (array >= high)
    required = np.where(rows >= num_inner, payload.required.at(True), payload.required.at(False))
    outside &= required.reshape(-1, *(1 for _ in payload.shape)) | (array != payload.default)
    for row, *inside in np.argwhere(outside).tolist():
        raise faults.out_of_range(place(row), payload, int(array[row, *inside]))


def _check_numbering(
    plan: Plan, payload: Payload, before: Array, after: Array, rows: Ints, place: Callable[[int], Place]
) -> None:
    """Refuse a payload that other nodes carry, where kernels read which do, or by which nodes are of other classes.

    `before` is by node id, `after` in the order of the rows.
    """
    conditions = (condition for each in plan.classes for condition in each.conditions)
    tests: dict[str, Callable[[Any], Any]] = {
        str(condition): condition.holds for condition in conditions if condition.payload == payload.name
    }
    if payload.name in plan.carriers:
        tests[f"{payload.name}[n] >= 0"] = lambda values: values >= 0
    for text, holds in tests.items():
        was = holds(before)[rows]
        for row in np.flatnonzero(was != holds(after)).tolist():
            raise faults.renumbered(place(row), payload, int(before[rows[row]]), int(after[row]), text)
