"""The results of a call."""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping
from operator import attrgetter, index
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from cortex.linearize import Linearized
from cortex.linearize.result import Ints, NodeOrder

Array = npt.NDArray[Any]

_NODE_ORDER = attrgetter(*NodeOrder._fields)


class Output(Mapping[str, Array]):
    """The results of one call, a mapping from the outputs' names. It owns its memory: no later call changes it.

    `out["h"]` is an array (roots, ...) with a row for each root, structure by structure in the order given; a tree has
    one. `out.nodes("h")` is a list with an array (nodes, ...) for each structure, rows in post-order. `dict(out)` and
    `{**out}` hold the roots' arrays; `len(out)` is the number of outputs, `out.num_structures` that of structures.
    `out.heads` are the names of those that the model computes at roots alone, `out.structures` of those that it
    computes of whole structures: (structures, ...), with a row for each.
    """

    __slots__ = ("_arrays", "_order_values", "_roots", "heads", "structures")
    __eq__ = object.__eq__  # two mappings of arrays have no truth value
    __hash__ = object.__hash__

    def __init__(
        self,
        arrays: Mapping[str, Array],
        linearized: Linearized,
        *,
        keep_nodes: bool,
        heads: tuple[str, ...] = (),
        structures: tuple[str, ...] = (),
    ) -> None:
        """Take ownership of `arrays`, with a row for each node by id if `keep_nodes`, and otherwise for each root.

        Those of `heads` always have a row for each root, and those of `structures` for each structure.
        """
        self._order_values = _NODE_ORDER(linearized)  # not the batch, which may borrow the caller's arrays
        self._arrays = arrays if keep_nodes else None
        # With all nodes kept, roots are gathered on demand.
        self._roots: dict[str, Array | None] = (
            {name: arrays[name] if name in (*heads, *structures) else None for name in arrays}
            if keep_nodes
            else dict(arrays)
        )
        self.heads, self.structures = heads, structures

    def __getitem__(self, name: str) -> Array:
        """Return the rows of the roots, (roots, ...), or of `structures`, float32, the same array each time.

        Raises KeyError for a name that is no output.
        """
        self._check(name)
        rows = self._roots[name]
        if rows is None:
            assert self._arrays is not None
            rows = self._roots[name] = _rows_of(self._arrays[name], self._order.roots)
        return rows

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the outputs."""
        return iter(self._roots)

    def __len__(self) -> int:
        """The number of outputs."""
        return len(self._roots)

    @property
    def num_structures(self) -> int:
        """The number of structures."""
        return self._order.num_structures

    @property
    def root_begin(self) -> Ints:
        """The first root's row of each structure, and the number of rows: (structures + 1,), int32."""
        return self._order.root_begin

    @property
    def structure_of(self) -> Ints:
        """The structure of each root's row: (roots,), int32."""
        counts = np.diff(self._order.root_begin)
        return np.repeat(np.arange(len(counts), dtype=np.int32), counts)

    def roots(self, name: str) -> list[Array]:
        """Return, for each structure, the rows of its roots: (roots, ...), float32, views of `out[name]`.

        Of what is computed of structures it is the structure's row, (1, ...).
        """
        if name in self.structures:
            return np.split(self[name], self.num_structures) if self.num_structures else []
        return np.split(self[name], self.root_begin[1:-1]) if self.num_structures else []

    def nodes(self, name: str) -> list[Array]:
        """Return, for each structure, the rows of all its nodes in post-order: (nodes, ...), float32, new arrays.

        Raises:
            KeyError: `name` is no output, or is computed at roots alone, or the function was compiled with
                `keep="roots"`.
        """
        if self._arrays is None:
            raise KeyError(f"{name}: the function was compiled with keep='roots', which keeps no other nodes")
        self._check(name)
        for names, where in ((self.heads, "at roots alone"), (self.structures, "of whole structures")):
            if name in names:
                raise KeyError(f"{name}: the model computes it {where}: out[{name!r}] has a row for each")
        rows = _rows_of(self._arrays[name], self._order.rows)
        return np.split(rows, self._order.row_begin[1:-1]) if self.num_structures else []

    @overload
    def keys(self) -> KeysView[str]: ...

    @overload
    def keys(self, structure: int) -> list[object]: ...

    def keys(self, structure: int | None = None) -> KeysView[str] | list[object]:
        """Return the outputs' names; or the caller's node, key or token behind each row of `nodes(...)[structure]`.

        Raises `IndexError` for a structure that is not in the batch, `TypeError` for what is no integer.
        """
        if structure is None:
            return self._roots.keys()
        structure = index(structure)
        if not 0 <= structure < self.num_structures:
            raise IndexError(f"there is no structure {structure}: the output has {self.num_structures}")
        order = self._order
        return order.keys_between(*order.row_begin[structure : structure + 2])

    def _check(self, name: str) -> None:
        if name not in self._roots:
            raise KeyError(f"{name!r} is no output: there is {', '.join(map(repr, self._roots))}")

    @property
    def _order(self) -> NodeOrder:
        return NodeOrder(*self._order_values)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}: {self[name].shape}" for name in self)
        return f"Output({self.num_structures} structures, {shapes})"


def _rows_of(array: Array, rows: Array) -> Array:
    """Return rows of an array, a copy."""
    if not array.flags.c_contiguous:  # `take` would first copy all of it
        return array[rows]
    # "clip": indices are in range, and NumPy's default mode buffers the result.
    return array.take(rows, 0, mode="clip")
