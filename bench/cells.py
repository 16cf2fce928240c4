"""Cells that only the benchmark has, in the Recursive API: recursive portions, and cells that no schedule can know."""

from __future__ import annotations

from collections.abc import Callable

from cortex import ra
from cortex.ra.expr import Expr, ExprLike
from cortex.ra.tensor import Compute, Indexed, Placeholder


def tree_gru_recursive(hidden: int, vocab: int) -> ra.Model:
    """Return the recursive portion of the child-sum TreeGRU: leaves are looked up, inner nodes have no input.

    Leaf: h = emb_h[word]. Inner node, with h~ = Σ_k h_k: r, z = σ(U h~ + b), g = tanh(U (r h~) + b),
    h = z h~ + (1 - z) g.

    Parameters: emb_h (vocab, hidden); U_g (hidden, hidden), b_g (hidden,) for g in r, z, g. Payload: word, at leaves.
    Output: h (hidden,).
    """
    N, H = ra.N, hidden
    h_ph, total = _state_and_total(hidden)
    r, z = (_gate(letter, total, hidden) for letter in "rz")
    reset = ra.compute((N, H), lambda n, i: r[n, i] * total[n, i], name="reset")
    g = _gate("g", reset, hidden, act=ra.tanh)
    inner = ra.compute((N, H), lambda n, i: z[n, i] * total[n, i] + (1.0 - z[n, i]) * g[n, i], name="inner")
    leaf = _looked_up("emb_h", ra.node_input("word", dtype="int32"), vocab, hidden)
    h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, inner), name="h")
    return ra.recursion_op({"h": (h_ph, h)}, structure=ra.Tree(max_children=2))


def gated_dag(hidden: int, vocab: int) -> ra.Model:
    """Return a network over DAGs that gates what each child gives.

    With s = Σ_k h_k: z = σ(x_z + U_z s + b_z), u = tanh(x_u + U_u s + b_u), and for each child k
    e_k = σ(x_e + U_e h_k + b_e); h = z u + (1 - z) tanh(½ Σ_k e_k h_k).

    Parameters: U_g (hidden, hidden), b_g (hidden,) for g in z, u, e. Payloads: x_g (hidden,) for the same, at each
    node. Output: h (hidden,). `vocab` is not used.
    """
    N, K, H = ra.N, ra.K, hidden
    x_z, x_u, x_e = (ra.node_input(f"x_{letter}", (H,)) for letter in "zue")
    h_ph, total = _state_and_total(hidden)
    z = _gate("z", total, hidden, x=x_z)
    u = _gate("u", total, hidden, x=x_u, act=ra.tanh)
    U, b = ra.input_tensor("U_e", (H, H)), ra.input_tensor("b_e", (H,))
    below = ra.compute((N, K, H), lambda n, k, i: ra.sum(H, lambda j: U[i, j] * h_ph[k, j]), name="below")
    e = ra.compute((N, K, H), lambda n, k, i: ra.sigmoid(x_e[n, i] + below[n, k, i] + b[i]), name="e")
    kept = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: e[n, k, i] * h_ph[k, i]), name="kept")
    h = ra.compute(
        (N, H), lambda n, i: z[n, i] * u[n, i] + (1.0 - z[n, i]) * ra.tanh(0.5 * kept[n, i]), name="h"
    )
    return ra.recursion_op({"h": (h_ph, h)}, structure=ra.Dag())


def ternary_lstm(hidden: int, vocab: int) -> ra.Model:
    """Return the recursive portion of a TreeLSTM of inner nodes with three children, each with weights of its own.

    Leaf: h = emb_h[word], c = emb_c[word]. Inner node: i, o = σ(Σ_l U[l] h_l + b), u = tanh(Σ_l U[l] h_l + b),
    f_k = σ(Σ_l U_f[k,l] h_l + b_f); c = i u + Σ_k f_k c_k, h = o tanh(c).

    Parameters: emb_h, emb_c (vocab, hidden); U_g (3, hidden, hidden) for g in i, o, u, U_f (3, 3, hidden, hidden), b_g
    (hidden,) for g in i, o, u, f. Payload: word, at leaves. Outputs: h and c (hidden,).
    """
    N, H = ra.N, hidden
    h_ph, c_ph = ra.placeholder((N, H), name="h_ph"), ra.placeholder((N, H), name="c_ph")
    children = range(3)

    def product(name: str, U: Indexed, *before: int) -> list[Compute]:
        return [
            ra.compute(
                (N, H),
                lambda n, i, at=at: ra.sum(H, lambda j: U[*before, at, i, j] * h_ph[n.child(at), j]),
                name=f"{name}_{at}",
            )
            for at in children
        ]

    def gate(name: str, parts: list[Compute], b: Indexed) -> Compute:
        act = ra.tanh if name == "u" else ra.sigmoid
        one, two, three = parts
        return ra.compute((N, H), lambda n, i: act(one[n, i] + two[n, i] + three[n, i] + b[i]), name=name)

    i_, o_, u_ = (
        gate(g, product(f"Uh_{g}", ra.input_tensor(f"U_{g}", (3, H, H))), ra.input_tensor(f"b_{g}", (H,)))
        for g in "iou"
    )
    U, b = ra.input_tensor("U_f", (3, 3, H, H)), ra.input_tensor("b_f", (H,))
    f_ = [gate(f"f_{k}", product(f"Uh_f_{k}", U, k), b) for k in children]
    kept = ra.compute(
        (N, H), lambda n, i: sum(f[n, i] * c_ph[n.child(k), i] for k, f in enumerate(f_)), name="kept"
    )
    c_inner = ra.compute((N, H), lambda n, i: i_[n, i] * u_[n, i] + kept[n, i], name="c_inner")
    h_inner = ra.compute((N, H), lambda n, i: o_[n, i] * ra.tanh(c_inner[n, i]), name="h_inner")
    word = ra.node_input("word", dtype="int32")
    h_leaf, c_leaf = (_looked_up(table, word, vocab, hidden) for table in ("emb_h", "emb_c"))
    h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), h_leaf, h_inner), name="h")
    c = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), c_leaf, c_inner), name="c")
    return ra.recursion_op({"h": (h_ph, h), "c": (c_ph, c)}, structure=ra.Tree(max_children=3))


def _state_and_total(hidden: int) -> tuple[Placeholder, Compute]:
    """Return h, and the sum of the children's."""
    h_ph = ra.placeholder((ra.N, hidden), name="h_ph")
    total = ra.compute((ra.N, hidden), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]), name="total")
    return h_ph, total


def _gate(
    letter: str,
    state: Indexed,
    hidden: int,
    *,
    x: Indexed | None = None,
    act: Callable[[ExprLike], Expr] = ra.sigmoid,
) -> Compute:
    """Return act(x + U h + b) for a state h (ra.N, hidden), with parameters U_<letter> and b_<letter>."""
    U, b = ra.input_tensor(f"U_{letter}", (hidden, hidden)), ra.input_tensor(f"b_{letter}", (hidden,))
    shape = (ra.N, hidden)
    product = ra.compute(
        shape, lambda n, i: ra.sum(hidden, lambda j: U[i, j] * state[n, j]), name=f"product_{letter}"
    )
    if x is None:
        return ra.compute(shape, lambda n, i: act(product[n, i] + b[i]), name=f"gate_{letter}")
    return ra.compute(shape, lambda n, i: act(x[n, i] + product[n, i] + b[i]), name=f"gate_{letter}")


def _looked_up(table: str, word: Indexed, vocab: int, hidden: int) -> Compute:
    """Return the row of a table that a node's word names."""
    rows = ra.input_tensor(table, (vocab, hidden))
    return ra.compute((ra.N, hidden), lambda n, i: rows[word[n], i], name=f"{table}_row")
