"""MV-RNN: a vector and a matrix for each node (Socher, Huval, Manning, Ng 2012)."""

from __future__ import annotations

from cortex import ra


def mv_rnn(hidden: int, vocab: int) -> ra.Model:
    """Return the model of a vector v and a matrix M for each node, over binary trees.

    Leaf: v = emb[word], M = emb_M[word]. Inner node: v = tanh(W [M_r v_l; M_l v_r] + b), M = W_M [M_l; M_r].

    Parameters: emb (vocab, hidden), emb_M (vocab, hidden, hidden), W (hidden, 2 hidden), b (hidden,), W_M
    (hidden, 2 hidden). Payload: word, at leaves. Outputs: v (hidden,) and M (hidden, hidden).

    Example:
        >>> model = mv_rnn(hidden=64, vocab=20_000)
    """
    N, H = ra.N, hidden
    emb, emb_M = ra.input_tensor("emb", (vocab, H)), ra.input_tensor("emb_M", (vocab, H, H))
    W, W_M = ra.input_tensor("W", (H, 2 * H)), ra.input_tensor("W_M", (H, 2 * H))
    b = ra.input_tensor("b", (H,))
    word = ra.node_input("word", dtype="int32")
    v_ph, M_ph = ra.placeholder((N, H), name="v_ph"), ra.placeholder((N, H, H), name="M_ph")

    v_leaf = ra.compute((N, H), lambda n, i: emb[word[n], i], name="v_leaf")
    M_leaf = ra.compute((N, H, H), lambda n, i, j: emb_M[word[n], i, j], name="M_leaf")

    # Each child's vector is seen through the other child's matrix.
    a = ra.compute(
        (N, H), lambda n, i: ra.sum(H, lambda j: M_ph[n.right, i, j] * v_ph[n.left, j]), name="Mv_l"
    )
    z = ra.compute(
        (N, H), lambda n, i: ra.sum(H, lambda j: M_ph[n.left, i, j] * v_ph[n.right, j]), name="Mv_r"
    )
    Wa = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: W[i, j] * a[n, j]), name="WMv_l")
    Wz = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: W[i, j + H] * z[n, j]), name="WMv_r")
    v_rec = ra.compute((N, H), lambda n, i: ra.tanh(Wa[n, i] + Wz[n, i] + b[i]), name="v_rec")

    M_l = ra.compute(
        (N, H, H), lambda n, i, j: ra.sum(H, lambda k: W_M[i, k] * M_ph[n.left, k, j]), name="WM_l"
    )
    M_r = ra.compute(
        (N, H, H), lambda n, i, j: ra.sum(H, lambda k: W_M[i, k + H] * M_ph[n.right, k, j]), name="WM_r"
    )
    M_rec = ra.compute((N, H, H), lambda n, i, j: M_l[n, i, j] + M_r[n, i, j], name="M_rec")

    v = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), v_leaf, v_rec), name="v")
    M = ra.if_then_else((N, H, H), lambda n, i, j: (ra.isleaf(n), M_leaf, M_rec), name="M")
    return ra.recursion_op({"v": (v_ph, v), "M": (M_ph, M)}, structure=ra.Tree(max_children=2))
