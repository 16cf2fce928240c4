"""GRU over sequences: TreeGRU where each node has one predecessor (Cho et al. 2014)."""

from __future__ import annotations

from cortex import ra
from cortex.models.gru_cell import gru_cell
from cortex.models.inputs import projections
from cortex.models.states import child_at


def gru(hidden: int, embed: int | None = None, vocab: int | None = None, input: str = "word") -> ra.Model:
    """Return the GRU, over sequences.

    r, z = σ(W x + U h' + b), g = tanh(W x + U (r h') + b); h = z h' + (1 - z) g, where h' is the state of the step
    before, zero at the first step.

    Parameters: emb (vocab, embed) for input="word"; W_g (hidden, embed) unless input="projected"; U_g (hidden,
    hidden) and b_g (hidden,) for g in r, z, g. Payloads: word, or x (embed,), or x_g (hidden,) for each g.
    Output: h (hidden,). `ModelError` if an extent that `input` needs is missing.

    Example:
        >>> model = gru(hidden=256, embed=256, input="vector")
    """
    Wx = projections(input, "rzg", hidden, embed, vocab)
    h_ph = ra.placeholder((ra.N, hidden), name="h_ph", default=0.0)
    h = gru_cell(child_at(h_ph, 0, "h_before"), Wx, hidden)
    return ra.recursion_op({"h": (h_ph, h)}, structure=ra.Sequence())
