"""Check the shapes of the arrays of a linearized batch, which a caller may have replaced.

Each kernel's prelude checks the values that proofs rely on; it reads arrays of the lengths that the sizes give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cortex.ilir.index_arrays import IndexKind, index_arrays
from cortex.ilir.plan import Plan
from cortex.linearize import faults

Shape = tuple[int, ...]
Values = Mapping[str, Any]


def check_lengths(plan: Plan, arrays: Values, payloads: Mapping[str, npt.NDArray[Any]]) -> None:
    """Raise `DataError` if an array or a payload of a batch is of another shape than its sizes say."""
    for name, found, wanted in _shapes(plan, arrays, payloads):
        if found != wanted:
            raise faults.other_shape(name, found, wanted)


def _shapes(
    plan: Plan, arrays: Values, payloads: Mapping[str, npt.NDArray[Any]]
) -> Iterator[tuple[str, Shape | None, Shape]]:
    """Yield each array's name, its shape (None where it is missing) and the one that it has to have."""
    for array in index_arrays(plan):
        value = arrays.get(array.name)
        yield array.name, None if value is None else np.shape(value), array.shape(arrays)
        if array.kind is IndexKind.PAYLOAD_SIZE and array.payload is not None:
            yield (
                f"memory of {array.payload}",
                None if array.payload not in payloads else payloads[array.payload].reshape(-1).shape,
                (arrays[array.name],),
            )
    for payload in plan.payloads:
        given = payloads.get(payload.name)
        yield payload.name, None if given is None else given.shape, (arrays["num_nodes"], *payload.shape)


def check_order(nodes: int, structures: int, roots: npt.NDArray[Any], order: Values) -> None:
    """Raise `DataError` unless each row of results is of a node, and structures have the rows one after another.

    `order` has `root_begin`, `rows`, `row_begin` and `row_keys`, as in `Linearized`.
    """
    for name, places, wanted in (
        ("roots", roots, (len(roots),)),
        ("rows", order["rows"], (nodes,)),
        ("root_begin", order["root_begin"], (structures + 1,)),
        ("row_begin", order["row_begin"], (structures + 1,)),
    ):
        if not isinstance(places, np.ndarray) or places.dtype.kind not in "iu":
            raise faults.order_broken(name, "is no array of integers")
        if places.shape != wanted:
            raise faults.other_shape(name, places.shape, wanted)
    for name, places in (("roots", roots), ("rows", order["rows"])):
        outside = np.flatnonzero((places < 0) | (places >= nodes))
        if outside.size:
            raise faults.order_broken(name, f"has the node {places[outside[0]]}, of {nodes}")
    for name, end in (("root_begin", len(roots)), ("row_begin", nodes)):
        begin = order[name]
        if begin[0] != 0 or begin[-1] != end or (np.diff(begin) < 0).any():
            raise faults.order_broken(name, f"does not go from 0 up to {end}")
    keys = order["row_keys"]
    if not isinstance(keys, list | np.ndarray) or len(keys) != nodes:
        raise faults.order_broken("row_keys", f"is no list of {nodes} keys")
