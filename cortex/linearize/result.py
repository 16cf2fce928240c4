"""The result of linearizing: the arrays that a kernel reads, and the order of the caller's nodes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cortex.ilir.plan import Plan
from cortex.linearize.exchange import exchanged
from cortex.linearize.faults import nothing_to_replace
from cortex.linearize.lengths import check_lengths, check_order
from cortex.linearize.storage import check_storage

Ints = npt.NDArray[np.int32]
_ORDER = ("root_begin", "rows", "row_begin", "row_keys")
"""The fields that say of which node each row of an output is."""


class NodeOrder(NamedTuple):
    """The order of the caller's nodes, which results need; arrays as in `Linearized`."""

    num_structures: int
    roots: Ints
    root_begin: Ints
    rows: Ints
    row_begin: Ints
    row_keys: list[object] | Ints

    def keys_between(self, begin: int, end: int) -> list[object]:
        """Return the keys of the rows from begin to end."""
        keys = self.row_keys[begin:end]
        return keys if isinstance(keys, list) else keys.tolist()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Linearized:
    """A batch of structures as arrays: C-contiguous, owned by it, and changed by no later call.

    The payloads of what `Linearizer.borrow` returns may be the caller's memory: read-only, of one dimension, with
    anything between the nodes' values, and kept alive by the batch.

    Node ids follow Appendix B of the CORTEX paper: by falling height, batch, class, structure, post-order row (where
    storage is recycled, by when nodes are needed last before the structure). So leaves have the highest ids
    (`n >= num_inner`), a child's id is above its parent's, and the nodes of one height are consecutive.
    docs/reference/linearized.md describes each array. The sizes and arrays of `cortex.ilir.index_arrays` are
    attributes:
    `batch_begin`, `child`, `left`, all int32 but `begin_of_x` (int64). Beside them:

    payloads[name] (num_nodes, *shape) by node id; rows (num_nodes,), the node id of each post-order row; root_begin and
    row_begin (num_structures + 1,); row_keys, for each row the caller's node, token, label or number: a list, or an
    array where all are numbers.
    """

    plan: Plan
    num_structures: int
    _arrays: dict[str, Any]
    payloads: dict[str, npt.NDArray[Any]]
    root_begin: Ints
    rows: Ints
    row_begin: Ints
    row_keys: list[object] | Ints

    def __post_init__(self) -> None:
        """Refuse arrays and sizes that do not fit; the native linearizer makes arrays that fit, and skips this."""
        check_lengths(self.plan, self._arrays, self.payloads)
        check_storage(self.plan, self._arrays)
        order = {name: getattr(self, name) for name in _ORDER}
        check_order(self.num_nodes, self.num_structures, self.roots, order)

    def __getattr__(self, name: str) -> Any:
        """Return the size or array of that name."""
        if not name.startswith("_"):
            arrays = self._arrays
            if name in arrays:
                return arrays[name]
        raise AttributeError(f"this batch has no {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self._arrays]

    @property
    def arrays(self) -> Mapping[str, Any]:
        """The sizes and arrays by name."""
        return MappingProxyType(self._arrays)

    def replace(self, **changed: Any) -> Linearized:
        """Return a copy with other arrays, or `payloads` by name; `DataError` if they do not fit."""
        known = (*self._arrays, "payloads", *_ORDER)
        for name in changed:
            if name not in known:
                raise nothing_to_replace(name, known)
        own = {name: changed.pop(name) for name in [*changed] if name in self._arrays}
        return replace(self, _arrays={**self._arrays, **own}, **changed)

    def with_payloads(self, /, **payloads: object) -> Linearized:
        """Return a batch of the same structures, of which the nodes carry other payloads; all other arrays are shared.

        Args:
            payloads: arrays, torch tensors or lists by the model's names, (num_nodes, *shape): structure by structure,
                each in post-order, as `out.nodes(name)`. Row r is of the node `keys[r]`. Of a `Forest` these are its
                nodes' numbers: `batch.with_payloads(word=word[batch.row_keys])`, where `word` has its order. Steps of
                sequences keep theirs. A payload that is not named stays. They are copied.

        Raises:
            DataError: the linearizer would refuse it; or would number the nodes otherwise, because other nodes carry
                it, or nodes are of other classes by it, where the plan distinguishes these.

        Example::

            grid = fn.linearize(forest)
            for image in images:
                fn(grid.with_payloads(x=image[grid.row_keys]))
        """
        batch = copy(self)  # not `replace`, which checks the structures' arrays again
        made = exchanged(self.plan, self.num_inner, self.payloads, self.rows, self.row_begin, payloads)
        object.__setattr__(batch, "payloads", made)
        return batch

    @property
    def keys(self) -> list[object]:
        """For each row the caller's node, token, label or number."""
        keys = self.row_keys
        return keys[:] if isinstance(keys, list) else keys.tolist()

    def __repr__(self) -> str:
        """Return how much there is of everything; the arrays are attributes."""
        counts = f"{self.num_structures} structures, {self.num_nodes} nodes, {self.num_edges} edges"
        return f"Linearized({counts}, {self.num_batches} levels)"
