"""Labelled edges: a matrix for each label of the edge from a node to its child.

In a tree each node has one parent, so what belongs to the edge above a node is a payload of that node:

    h = tanh(W x + Σ_k M[label of k] h_k + b)

In a DAG a node may stand under several parents, each over an edge of its own label, and a payload belongs to the node.
There each edge becomes a node between its two ends, which carries the label and applies the matrix:

    at an edge:  h = M[label] h_child
    at a word:   h = tanh(W x + Σ_k h_k + b), where k are edges

The structures are a sentence's dependencies, as `networkx.DiGraph`s. (`cortex.read_conllu` reads such from files, with
the relations as `deprel` of a tree's nodes or of a graph's edges.) From the root of the repository:

    python examples/labelled_edges.py
"""

from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import cortex
from cortex import ra

LABELS = ["root", "nsubj", "cc", "conj", "obj"]
WORDS = ["Ada", "reads", "and", "writes", "code"]
Edges = dict[str, list[tuple[str, str]]]  # each word's (label, child)
HEADS: Edges = {
    "reads": [("nsubj", "Ada"), ("conj", "writes")],
    "writes": [("cc", "and"), ("obj", "code")],
}
# Ada writes, too: one word under two others.
ENHANCED: Edges = {**HEADS, "writes": [("nsubj", "Ada"), ("cc", "and"), ("obj", "code")]}
Array = NDArray[np.float64]


def labelled_tree(hidden: int, vocab: int, labels: int) -> ra.Model:
    """Return the model over trees; payloads word, and label, that of the edge above the node; output h (hidden,)."""
    N, H = ra.N, hidden
    emb, W, b = ra.input_tensor("emb", (vocab, H)), ra.input_tensor("W", (H, H)), ra.input_tensor("b", (H,))
    M = ra.input_tensor("M", (labels, H, H))
    word, label = ra.node_input("word", dtype="int32"), ra.node_input("label", dtype="int32")
    h_ph = ra.placeholder((N, H))
    Wx = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: W[i, j] * emb[word[n], j]))
    # A payload may be read at a child: the label of the edge to k is what k carries.
    Mh = ra.compute((N, ra.K, H), lambda n, k, i: ra.sum(H, lambda j: M[label[k], i, j] * h_ph[k, j]))
    below = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: Mh[n, k, i]))
    h = ra.compute((N, H), lambda n, i: ra.tanh(Wx[n, i] + below[n, i] + b[i]))
    return ra.recursion_op(h_ph, h, structure=ra.Tree())


def labelled_dag(hidden: int, vocab: int, labels: int) -> ra.Model:
    """Return the model over DAGs with nodes as edges; payloads word, or label; output h (hidden,)."""
    N, H = ra.N, hidden
    emb, W, b = ra.input_tensor("emb", (vocab, H)), ra.input_tensor("W", (H, H)), ra.input_tensor("b", (H,))
    M = ra.input_tensor("M", (labels, H, H))
    # -1 where a node carries none: words have no label, edges no word.
    word = ra.node_input("word", dtype="int32", default=-1)
    label = ra.node_input("label", dtype="int32", default=-1)
    h_ph = ra.placeholder((N, H))
    x = ra.compute((N, H), lambda n, i: ra.where(word[n] >= 0, emb[word[n], i], 0.0))
    Wx = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: W[i, j] * x[n, j]))
    s = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
    h = ra.compute(
        (N, H),
        lambda n, i: ra.where(
            label[n] >= 0,
            ra.sum(H, lambda j: M[label[n], i, j] * s[n, j]),
            ra.tanh(Wx[n, i] + s[n, i] + b[i]),
        ),
    )
    return ra.recursion_op(h_ph, h, structure=ra.Dag())


def as_tree(edges: Edges) -> Any:
    """Return the words as a tree, in which each carries the label of the edge above it."""
    tree = nx.DiGraph()
    # Each node has to carry what is read at children, the root too, though its label is not read.
    tree.add_nodes_from((word, {"word": WORDS.index(word), "label": LABELS.index("root")}) for word in WORDS)
    for parent, below in edges.items():
        for label, child in below:
            tree.add_edge(parent, child)
            tree.nodes[child]["label"] = LABELS.index(label)
    return tree


def as_dag(edges: Edges) -> Any:
    """Return the words as a DAG, in which each edge is a node that carries the label."""
    dag = nx.DiGraph()
    dag.add_nodes_from((word, {"word": WORDS.index(word)}) for word in WORDS)
    for parent, below in edges.items():
        for label, child in below:
            edge = (parent, label, child)
            dag.add_node(edge, label=LABELS.index(label))
            dag.add_edges_from([(parent, edge), (edge, child)])
    return dag


def by_hand(params: dict[str, Any], edges: Edges, word: str) -> Array:
    """Return a word's h (hidden,) by plain recursion in float64."""
    p = {name: np.asarray(value, np.float64) for name, value in params.items()}

    def visit(word: str) -> Array:
        below = [p["M"][LABELS.index(label)] @ visit(child) for label, child in edges.get(word, [])]
        Wx = p["W"] @ p["emb"][WORDS.index(word)]
        h: Array = np.tanh(Wx + sum(below, np.zeros(len(Wx))) + p["b"])
        return h

    return visit(word)


def main() -> None:
    """Compile both models, run them over the sentence, and compare every word."""
    extents = {"hidden": 24, "vocab": len(WORDS), "labels": len(LABELS)}
    models = [labelled_tree(**extents), labelled_dag(**extents)]
    params = models[0].init_params(seed=0)  # both have the same
    for model, edges, graph in zip(
        models, (HEADS, ENHANCED), (as_tree(HEADS), as_dag(ENHANCED)), strict=True
    ):
        out = cortex.compile(model, params)(graph)
        oracle: Any = ra.evaluate(model, params, graph)
        keys: Any = out.keys(0)
        print(f"{len(keys)} nodes:", *(key if key in WORDS else f"[{key[1]}]" for key in keys))
        for row, key in enumerate(keys):
            if key in WORDS:
                want = by_hand(params, edges, key)
                for got in (out.nodes("h")[0][row], oracle["h"][row]):
                    assert np.abs(got - want).max() <= 1e-5 * max(1.0, np.abs(want).max())
    print("h of every word agrees with the recursion by hand and with ra.evaluate")


if __name__ == "__main__":
    main()
