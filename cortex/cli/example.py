"""The running example of the CORTEX paper (Figure 1, Listing 1), and the loops that it becomes (Listing 2)."""

from __future__ import annotations

from cortex import ra

N, H, V = ra.N, 256, 10_000


def listing() -> str:
    """Return the example's ILIR: batched by height, with loops of their own for leaves and for inner nodes."""
    emb = ra.input_tensor("emb", (V, H))
    word = ra.node_input("word", dtype="int32")
    rnn_ph = ra.placeholder((N, H), name="rnn_ph")
    leaf = ra.compute((N, H), lambda n, i: emb[word[n], i], name="leaf")
    lh = ra.compute((N, H), lambda n, i: rnn_ph[n.left, i], name="lh")
    rh = ra.compute((N, H), lambda n, i: rnn_ph[n.right, i], name="rh")
    rec = ra.compute((N, H), lambda n, i: ra.tanh(lh[n, i] + rh[n, i]), name="rec")
    body = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec), name="body")
    rnn = ra.recursion_op(rnn_ph, body, structure=ra.Tree(max_children=2))
    s = ra.Schedule(rnn)
    s.dynamic_batch()
    s.specialize_if_else(body)
    return str(s.lower())
