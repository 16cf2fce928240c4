"""Child-sum TreeLSTM (Tai, Socher, Manning 2015, equations 2 to 8)."""

from __future__ import annotations

from cortex import ra
from cortex.models.inputs import projections
from cortex.models.states import child_sum, gate


def tree_lstm(
    hidden: int, embed: int | None = None, vocab: int | None = None, input: str = "word"
) -> ra.Model:
    """Return the child-sum TreeLSTM, over trees of any arity.

    i, o = σ(W x + U h~ + b), u = tanh(W x + U h~ + b), f_k = σ(W x + U h_k + b) for each child k;
    c = i u + Σ_k f_k c_k, h = o tanh(c), where h~ = Σ_k h_k.

    Parameters: emb (vocab, embed) for input="word"; W_g (hidden, embed) unless input="projected"; U_g (hidden,
    hidden) and b_g (hidden,) for g in i, o, u, f. Payloads: word, or x (embed,), or x_g (hidden,) for each g.
    Outputs: h and c (hidden,). `ModelError` if an extent that `input` needs is missing.

    Example:
        >>> model = tree_lstm(hidden=256, embed=300, vocab=20_000)
    """
    N, K, H = ra.N, ra.K, hidden
    Wx = projections(input, "iouf", hidden, embed, vocab)
    h_ph, c_ph = ra.placeholder((N, H), name="h_ph"), ra.placeholder((N, H), name="c_ph")
    hs = child_sum(h_ph, "hs")
    i_, o_, u_ = (gate(g, Wx[g], hs, H) for g in "iou")
    U, b = ra.input_tensor("U_f", (H, H)), ra.input_tensor("b_f", (H,))
    Uh = ra.compute((N, K, H), lambda n, k, i: ra.sum(H, lambda j: U[i, j] * h_ph[k, j]), name="Uh_f")
    f_ = ra.compute((N, K, H), lambda n, k, i: ra.sigmoid(Wx["f"][n, i] + Uh[n, k, i] + b[i]), name="gate_f")
    fc = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: f_[n, k, i] * c_ph[k, i]), name="fc")
    c = ra.compute((N, H), lambda n, i: i_[n, i] * u_[n, i] + fc[n, i], name="c")
    h = ra.compute((N, H), lambda n, i: o_[n, i] * ra.tanh(c[n, i]), name="h")
    return ra.recursion_op({"h": (h_ph, h), "c": (c_ph, c)}, structure=ra.Tree())
