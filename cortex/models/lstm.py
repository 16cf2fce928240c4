"""LSTM over sequences: TreeLSTM where each node has one predecessor (Hochreiter, Schmidhuber 1997)."""

from __future__ import annotations

from cortex import ra
from cortex.models.inputs import projections
from cortex.models.states import child_at, gate


def lstm(hidden: int, embed: int | None = None, vocab: int | None = None, input: str = "word") -> ra.Model:
    """Return the LSTM, over sequences.

    i, o, f = σ(W x + U h' + b), u = tanh(W x + U h' + b); c = i u + f c', h = o tanh(c), where h' and c' are the states
    of the step before, zero at the first step.

    Parameters: emb (vocab, embed) for input="word"; W_g (hidden, embed) unless input="projected"; U_g (hidden,
    hidden) and b_g (hidden,) for g in i, o, u, f. Payloads: word, or x (embed,), or x_g (hidden,) for each g.
    Outputs: h and c (hidden,). `ModelError` if an extent that `input` needs is missing.

    Example:
        >>> model = lstm(hidden=256, embed=256, input="vector")
    """
    N, H = ra.N, hidden
    Wx = projections(input, "iouf", hidden, embed, vocab)
    h_ph = ra.placeholder((N, H), name="h_ph", default=0.0)
    c_ph = ra.placeholder((N, H), name="c_ph")
    before = child_at(h_ph, 0, "h_before")
    i_, o_, u_, f_ = (gate(g, Wx[g], before, H) for g in "iouf")
    # The first step has nothing to forget, so that its gate is not computed.
    fc = ra.compute(
        (N, H), lambda n, i: ra.where(ra.isleaf(n), 0.0, f_[n, i] * c_ph[n.child(0), i]), name="fc"
    )
    c = ra.compute((N, H), lambda n, i: i_[n, i] * u_[n, i] + fc[n, i], name="c")
    h = ra.compute((N, H), lambda n, i: o_[n, i] * ra.tanh(c[n, i]), name="h")
    return ra.recursion_op({"h": (h_ph, h), "c": (c_ph, c)}, structure=ra.Sequence())
