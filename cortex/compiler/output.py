"""What a compiled model gives back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cortex.linearize import Linearized

Array = npt.NDArray[Any]


class Output:
    """The results of one call. It owns its memory: no later call changes it.

    `out["h"]` is an array (roots, ...) with a row for each root, structure by structure in the order given; a tree has
    one. `out.nodes("h")` is a list with an array (nodes, ...) for each structure, rows in post-order.
    """

    def __init__(self, arrays: Mapping[str, Array], linearized: Linearized, *, keep_nodes: bool) -> None:
        self._linearized = linearized
        self._roots = {name: array[linearized.roots] for name, array in arrays.items()}
        self._arrays = dict(arrays) if keep_nodes else None

    def __getitem__(self, name: str) -> Array:
        """Return the rows of the roots: (roots, ...), float32. Raises KeyError for a name that is no output."""
        return self._roots[name]

    def __iter__(self) -> Any:
        """Iterate over the names of the outputs."""
        return iter(self._roots)

    def __len__(self) -> int:
        """The number of structures."""
        return self._linearized.num_structures

    def nodes(self, name: str) -> list[Array]:
        """Return, for each structure, the rows of all its nodes in post-order: (nodes, ...), float32, new arrays.

        Raises:
            KeyError: `name` is no output, or the function was compiled with `keep="roots"`.
        """
        if self._arrays is None:
            raise KeyError(f"{name}: the function was compiled with keep='roots', which keeps no other nodes")
        rows = self._arrays[name][self._linearized.rows]
        return np.split(rows, self._linearized.row_begin[1:-1]) if len(self) else []

    def keys(self, structure: int) -> list[object]:
        """Return the caller's node, key or token behind each row of `nodes(...)[structure]`."""
        begin, end = self._linearized.row_begin[structure : structure + 2]
        return self._linearized.keys[begin:end]

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}: {array.shape}" for name, array in self._roots.items())
        return f"Output({len(self)} structures, {shapes})"
