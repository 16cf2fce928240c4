"""How many nodes may have parts where what they leave for their parents is kept no longer than it is needed."""

from __future__ import annotations

from math import prod

from cortex.ra.model import Model

_ROOM = 1 << 20
"""The bytes that a row for each node may take, where rows of nodes that nobody needs any more could be fewer."""


def most_apart(model: Model) -> int:
    """Return for how many nodes all rows have room.

    Who has a part of the structures does not know which rows the others need no more, so each node has its own.
    """
    row = sum(
        prod(extent for extent in state.shape if isinstance(extent, int)) * state.dtype.bytes
        for state, _ in model.outputs.values()
    )
    return _ROOM // max(1, row)
