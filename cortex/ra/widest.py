"""How many nodes a batch has at most where nobody says so: what is computed at them is to stay in a cache."""

from __future__ import annotations

from math import prod

from cortex.ra.model import Model

CACHE = 1 << 22
"""The bytes of two cores' second caches."""
NODES = 384
"""So many nodes are whole tiles of up to 16 rows for up to four cores, and work enough to wait for each other after."""


def widest_batch(model: Model) -> int:
    """Return the multiple of `NODES`, one of them at least, of which all that is computed fits in the cache."""
    extents = ([e for e in compute.shape if isinstance(e, int)] for compute in model.computes)
    bytes_of_node = sum(
        prod(own) * compute.dtype.bytes for own, compute in zip(extents, model.computes, strict=True)
    )
    return NODES * max(1, CACHE // (NODES * max(1, bytes_of_node)))
