"""N-ary TreeLSTM (Tai, Socher, Manning 2015, equations 9 to 14)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cortex import ra
from cortex.models.inputs import projections
from cortex.models.states import child_at
from cortex.ra.expr import Expr
from cortex.ra.tensor import Indexed
from ragged.errors import Location, ModelError

Weight = Callable[[int, Expr, Expr], Expr]
"""The element (i, j) of the matrix for the child at a position."""


def nary_tree_lstm(
    hidden: int,
    embed: int | None = None,
    vocab: int | None = None,
    arity: int = 2,
    input: str = "word",
    *,
    forget_biases: bool = False,
) -> ra.Model:
    """Return the TreeLSTM with weights for each position, over trees of at most `arity` children.

    i, o = σ(W x + Σ_l U[l] h_l + b), u = tanh(W x + Σ_l U[l] h_l + b), f_k = σ(W x + Σ_l U[k,l] h_l + b);
    c = i u + Σ_k f_k c_k, h = o tanh(c). A child that is not there, which `None` may stand for, has h = c = 0.

    Parameters: emb (vocab, embed) for input="word"; W_g (hidden, embed) unless input="projected" and b_g
    (hidden,) for g in i, o, u, f; U_g (arity, hidden, hidden) for g in i, o, u, U_f (arity, arity, hidden,
    hidden); with `forget_biases` b_f is (arity, hidden), a bias for each f_k, as in DGL's cell.
    Payloads: word, or x (embed,), or x_g (hidden,) for each g. Outputs: h and c (hidden,).
    `ModelError` for an arity below 1, or if an extent that `input` needs is missing.

    Example:
        >>> model = nary_tree_lstm(hidden=256, embed=300, vocab=20_000, arity=3)
    """
    if arity < 1:
        raise ModelError(
            f"nary_tree_lstm: arity={arity} allows no recursion",
            at=Location.capture(),
            because="it is the most children that a node has",
            fix="arity=2 for binary trees",
        )
    N, H = ra.N, hidden
    Wx = projections(input, "iouf", hidden, embed, vocab)
    h_ph, c_ph = (ra.placeholder((N, H), name=name, default=0.0) for name in ("h_ph", "c_ph"))
    below = [child_at(h_ph, position, f"h_{position}") for position in range(arity)]

    def of_node(g: str) -> Indexed:
        U, b = ra.input_tensor(f"U_{g}", (arity, H, H)), ra.input_tensor(f"b_{g}", (H,))
        return _gate(g, Wx[g], lambda at, i, j: U[at, i, j], below, b)

    i_, o_, u_ = (of_node(g) for g in "iou")
    U, b = (
        ra.input_tensor("U_f", (arity, arity, H, H)),
        ra.input_tensor("b_f", (arity, H) if forget_biases else (H,)),
    )
    f_ = [
        _gate(f"f_{k}", Wx["f"], lambda at, i, j, k=k: U[k, at, i, j], below, b, (k,) * forget_biases)  # type: ignore[misc]
        for k in range(arity)
    ]
    kept = ra.compute(
        (N, H), lambda n, i: sum(f[n, i] * c_ph[n.child(k), i] for k, f in enumerate(f_)), name="kept"
    )
    # A leaf has nothing to forget, so that its gates are not computed.
    fc = ra.compute((N, H), lambda n, i: ra.where(ra.isleaf(n), 0.0, kept[n, i]), name="fc")
    c = ra.compute((N, H), lambda n, i: i_[n, i] * u_[n, i] + fc[n, i], name="c")
    h = ra.compute((N, H), lambda n, i: o_[n, i] * ra.tanh(c[n, i]), name="h")
    return ra.recursion_op({"h": (h_ph, h), "c": (c_ph, c)}, structure=ra.Tree(max_children=arity))


def _gate(
    name: str, Wx: Indexed, weight: Weight, below: Sequence[Indexed], b: Indexed, row: tuple[int, ...] = ()
) -> Indexed:
    """Return act(W x + Σ_l U h_l + b[row]), a tensor (ra.N, hidden); `below` are the states h_l."""
    products = [_product(name, weight, position, h) for position, h in enumerate(below)]
    act = ra.tanh if name == "u" else ra.sigmoid
    return ra.compute(
        Wx.shape,
        lambda n, i: act(sum((Uh[n, i] for Uh in products), start=Wx[n, i]) + b[(*row, i)]),
        name=f"gate_{name}",
    )


def _product(name: str, weight: Weight, position: int, state: Indexed) -> Indexed:
    hidden = state.shape[-1]
    assert isinstance(hidden, int)
    return ra.compute(
        state.shape,
        lambda n, i: ra.sum(hidden, lambda j: weight(position, i, j) * state[n, j]),
        name=f"Uh_{name}_{position}",
    )
