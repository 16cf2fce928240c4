"""The models that are measured, in the Recursive API, and what belongs to each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.cells import gated_dag, ternary_lstm, tree_gru_recursive
from bench.peers.job import Cell
from cortex import models, ra
from cortex.ra.tensor import Indexed


@dataclass(frozen=True, slots=True)
class Kind:
    """How a model is made from (hidden, vocab), which of its outputs are answers, and what nodes carry.

    `table` has a row a word; None where nodes carry `payloads` instead, vectors (hidden,), each of them all of these.
    """

    build: Callable[[int, int], ra.Model]
    outputs: tuple[str, ...]
    table: str | None = None
    payloads: tuple[str, ...] = ()


def tree_lstm_recursive(hidden: int, vocab: int) -> ra.Model:
    """Return the recursive portion of the child-sum TreeLSTM: leaves are looked up, inner nodes have no input.

    Leaf: h = emb_h[word], c = emb_c[word]. Inner node, with h~ = Σ_k h_k: i, o = σ(U h~ + b), u = tanh(U h~ + b),
    f_k = σ(U h_k + b) for each child k; c = i u + Σ_k f_k c_k, h = o tanh(c).

    Parameters: emb_h, emb_c (vocab, hidden); U_g (hidden, hidden), b_g (hidden,) for g in i, o, u, f. Payload: word,
    at leaves. Outputs: h and c (hidden,).
    """
    return _gated(hidden, vocab, _Names("emb_h", "emb_c", "U", "b", "io", "u", "f", "h", "c"))


def another_cell(hidden: int, vocab: int) -> ra.Model:
    """Return a cell of the same kind with one more gate, m, and other names: no schedule can know it.

    Leaf: y = table_y[word], z = table_z[word]. Inner node, with s = Σ_k y_k: p, q, m = σ(A s + d), g = tanh(A s + d),
    e_k = σ(A y_k + d) for each child k; z = p m g + Σ_k e_k z_k, y = q tanh(z).

    Parameters: table_y, table_z (vocab, hidden); A_g (hidden, hidden), d_g (hidden,) for g in p, q, m, g, e. Payload:
    word, at leaves. Outputs: y and z (hidden,).
    """
    return _gated(hidden, vocab, _Names("table_y", "table_z", "A", "d", "pqm", "g", "e", "y", "z"))


@dataclass(frozen=True, slots=True)
class _Names:
    """What a gated cell's parts are called; `gates` are one letter each: input, output and any others."""

    table_h: str
    table_c: str
    weights: str
    bias: str
    gates: str
    candidate: str
    forget: str
    h: str
    c: str


def _gated(hidden: int, vocab: int, names: _Names) -> ra.Model:
    N, K, H = ra.N, ra.K, hidden
    table_h, table_c = (ra.input_tensor(name, (vocab, H)) for name in (names.table_h, names.table_c))
    word = ra.node_input("word", dtype="int32")
    h_ph, c_ph = ra.placeholder((N, H), name="h_ph"), ra.placeholder((N, H), name="c_ph")
    total = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]), name="total")

    def weights(gate: str) -> tuple[Indexed, Indexed]:
        return ra.input_tensor(f"{names.weights}_{gate}", (H, H)), ra.input_tensor(
            f"{names.bias}_{gate}", (H,)
        )

    def gate(letter: str) -> Indexed:
        U, b = weights(letter)
        act = ra.tanh if letter == names.candidate else ra.sigmoid
        product = ra.compute(
            (N, H), lambda n, i: ra.sum(H, lambda j: U[i, j] * total[n, j]), name=f"product_{letter}"
        )
        return ra.compute((N, H), lambda n, i: act(product[n, i] + b[i]), name=f"gate_{letter}")

    into, out, *others = (gate(letter) for letter in names.gates)
    candidate = gate(names.candidate)
    U, b = weights(names.forget)
    below = ra.compute((N, K, H), lambda n, k, i: ra.sum(H, lambda j: U[i, j] * h_ph[k, j]), name="below")
    forget = ra.compute((N, K, H), lambda n, k, i: ra.sigmoid(below[n, k, i] + b[i]), name="forget")
    kept = ra.compute(
        (N, H), lambda n, i: ra.sum_children(n, lambda k: forget[n, k, i] * c_ph[k, i]), name="kept"
    )
    new = ra.compute((N, H), lambda n, i: into[n, i] * candidate[n, i], name="new")
    for number, other in enumerate(others):
        new = ra.compute((N, H), lambda n, i, a=new, o=other: a[n, i] * o[n, i], name=f"new_{number}")
    c_inner = ra.compute((N, H), lambda n, i: new[n, i] + kept[n, i], name="c_inner")
    h_inner = ra.compute((N, H), lambda n, i: out[n, i] * ra.tanh(c_inner[n, i]), name="h_inner")
    h_leaf = ra.compute((N, H), lambda n, i: table_h[word[n], i], name="h_leaf")
    c_leaf = ra.compute((N, H), lambda n, i: table_c[word[n], i], name="c_leaf")
    h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), h_leaf, h_inner), name="h")
    c = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), c_leaf, c_inner), name="c")
    return ra.recursion_op({names.h: (h_ph, h), names.c: (c_ph, c)}, structure=ra.Tree())


MODELS: dict[Cell, Kind] = {
    Cell.TREE_FC: Kind(models.tree_fc, ("h",), "emb"),
    Cell.TREE_LSTM: Kind(lambda hidden, vocab: models.tree_lstm(hidden, hidden, vocab), ("h",), "emb"),
    Cell.TREE_LSTM_RECURSIVE: Kind(tree_lstm_recursive, ("h",), "emb_h"),
    Cell.ANOTHER_CELL: Kind(another_cell, ("y",), "table_y"),
    Cell.MV_RNN: Kind(models.mv_rnn, ("v", "M"), "emb"),
    Cell.TREE_GRU_RECURSIVE: Kind(tree_gru_recursive, ("h",), "emb_h"),
    Cell.DAG_RNN: Kind(
        lambda hidden, vocab: models.dag_rnn(hidden, activation="tanh", input="projected"),
        ("h",),
        payloads=("x_h",),
    ),
    Cell.GATED_DAG: Kind(gated_dag, ("h",), payloads=("x_z", "x_u", "x_e")),
    Cell.TERNARY_LSTM: Kind(ternary_lstm, ("h",), "emb_h"),
    Cell.LSTM: Kind(
        lambda hidden, vocab: models.lstm(hidden, hidden, input="vector"), ("h",), payloads=("x",)
    ),
    Cell.GRU: Kind(lambda hidden, vocab: models.gru(hidden, hidden, input="vector"), ("h",), payloads=("x",)),
    Cell.GRU_RESET_AFTER: Kind(
        lambda hidden, vocab: models.gru_reset_after(hidden, hidden, input="vector"), ("h",), payloads=("x",)
    ),
}
