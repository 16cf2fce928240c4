"""TreeFC: a fully connected layer at each inner node of a binary tree."""

from __future__ import annotations

from cortex import ra
from cortex.models.activations import activation_function


def tree_fc(hidden: int, vocab: int, activation: str = "relu") -> ra.Model:
    """Return the model h = emb[word] at a leaf, h = act(W [h_l; h_r] + b) at an inner node, over binary trees.

    Parameters: emb (vocab, hidden), W (hidden, 2 hidden), b (hidden,). Payload: word, at leaves. Output: h
    (hidden,). `activation` is "relu" or "tanh"; `ModelError` for any other.

    Example:
        >>> model = tree_fc(hidden=256, vocab=10_000, activation="tanh")
    """
    N, H = ra.N, hidden
    act = activation_function(activation)
    emb = ra.input_tensor("emb", (vocab, H))
    W, b = ra.input_tensor("W", (H, 2 * H)), ra.input_tensor("b", (H,))
    word = ra.node_input("word", dtype="int32")
    h_ph = ra.placeholder((N, H), name="h_ph")
    leaf = ra.compute((N, H), lambda n, i: emb[word[n], i], name="leaf")
    Wl = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: W[i, j] * h_ph[n.left, j]), name="Wl")
    Wr = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: W[i, j + H] * h_ph[n.right, j]), name="Wr")
    rec = ra.compute((N, H), lambda n, i: act(Wl[n, i] + Wr[n, i] + b[i]), name="rec")
    h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec), name="h")
    return ra.recursion_op({"h": (h_ph, h)}, structure=ra.Tree(max_children=2))
