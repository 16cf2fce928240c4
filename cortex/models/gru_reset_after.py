"""The GRU of torch.nn, over sequences: the reset gate is applied after the product with the state."""

from __future__ import annotations

from cortex import ra
from cortex.models.inputs import projections
from cortex.models.states import child_at, gate


def gru_reset_after(
    hidden: int, embed: int | None = None, vocab: int | None = None, input: str = "word"
) -> ra.Model:
    """Return the GRU that torch.nn.GRU computes, over sequences.

    r, z = σ(W x + U h' + b), g = tanh(W x + b + r (U h' + d)); h = z h' + (1 - z) g, where h' is the state of the step
    before, zero at the first step. `models.gru` applies r to h' before the product.

    Parameters: emb (vocab, embed) for input="word"; W_g (hidden, embed) unless input="projected"; U_g (hidden,
    hidden) and b_g (hidden,) for g in r, z, g, and d_g (hidden,). Payloads: word, or x (embed,), or x_g (hidden,) for
    each g. Output: h (hidden,). `ModelError` if an extent that `input` needs is missing.

    Example:
        >>> model = gru_reset_after(hidden=256, embed=256, input="vector")
    """
    shape = (ra.N, hidden)
    Wx = projections(input, "rzg", hidden, embed, vocab)
    h_ph = ra.placeholder(shape, name="h_ph", default=0.0)
    before = child_at(h_ph, 0, "h_before")
    r_, z_ = (gate(g, Wx[g], before, hidden) for g in "rz")
    b, d = ra.input_tensor("b_g", (hidden,)), ra.input_tensor("d_g", (hidden,))
    Uh = ra.linear(before, ra.input_tensor("U_g", (hidden, hidden)), name="Uh_g")
    g_ = ra.compute(
        shape, lambda n, i: ra.tanh(Wx["g"][n, i] + b[i] + r_[n, i] * (Uh[n, i] + d[i])), name="gate_g"
    )
    h = ra.compute(shape, lambda n, i: z_[n, i] * before[n, i] + (1.0 - z_[n, i]) * g_[n, i], name="h")
    return ra.recursion_op({"h": (h_ph, h)}, structure=ra.Sequence())
