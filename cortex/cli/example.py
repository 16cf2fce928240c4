"""The running example of the CORTEX paper (Figure 1, Listing 1), and the loops that it becomes (Listing 2)."""

from __future__ import annotations

from cortex import models, ra


def listing() -> str:
    """Return the example's ILIR: batched by height, with loops of their own for leaves and for inner nodes."""
    model = models.tree_sum(hidden=256, vocab=10_000)
    s = ra.Schedule(model)
    s.dynamic_batch()
    s.specialize_if_else(model.outputs["h"][1])
    return str(s.lower())
