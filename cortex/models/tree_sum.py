"""The running example of the CORTEX paper (Figure 1, Listing 1)."""

from __future__ import annotations

from cortex import ra


def tree_sum(hidden: int, vocab: int) -> ra.Model:
    """Return the model h = emb[word] at a leaf, h = tanh(h_l + h_r) at an inner node, over binary trees.

    Parameter: emb (vocab, hidden). Payload: word, at leaves. Output: h (hidden,).

    Example:
        >>> model = tree_sum(hidden=256, vocab=10_000)
    """
    N, H = ra.N, hidden
    emb = ra.input_tensor("emb", (vocab, H))
    word = ra.node_input("word", dtype="int32")
    h_ph = ra.placeholder((N, H), name="h_ph")
    leaf = ra.compute((N, H), lambda n, i: emb[word[n], i], name="leaf")
    lh = ra.compute((N, H), lambda n, i: h_ph[n.left, i], name="lh")
    rh = ra.compute((N, H), lambda n, i: h_ph[n.right, i], name="rh")
    rec = ra.compute((N, H), lambda n, i: ra.tanh(lh[n, i] + rh[n, i]), name="rec")
    h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec), name="h")
    return ra.recursion_op({"h": (h_ph, h)}, structure=ra.Tree(max_children=2))
