"""A TreeLSTM that attends to its children: a softmax over as many as a node has.

At a node with input x and children k:

    s_k = w · tanh(A h_k)                    how much child k matters
    a_k = exp(s_k) / Σ_k exp(s_k)            a softmax over the children
    h~  = Σ_k a_k h_k                        where child-sum TreeLSTM has Σ_k h_k
    i, o = σ(W x + U h~ + b), u = tanh(W x + U h~ + b), f_k = σ(W x + U h_k + b)
    c = i u + Σ_k f_k c_k, h = o tanh(c)

The structures are strings in brackets, as in a treebank. From the root of the repository:

    python examples/attention_tree_lstm.py
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cortex
from cortex import ra

SENTENCES = [
    "(3 (2 (2 a) (2 long) (2 film)) (2 with) (3 (2 many) (3 good) (2 scenes)))",
    "(1 (2 (2 the) (2 scenes)) (1 (2 are) (1 long)))",
    "(3 good)",
]
Array = NDArray[np.float64]


def attention_tree_lstm(hidden: int, embed: int, vocab: int) -> ra.Model:
    """Return the model, over trees of any arity; outputs h and c (hidden,)."""
    N, K, H, E = ra.N, ra.K, hidden, embed
    emb, word = ra.input_tensor("emb", (vocab, E)), ra.node_input("word", dtype="int32", default=-1)
    W = {g: ra.input_tensor(f"W_{g}", (H, E)) for g in "iouf"}
    U = {g: ra.input_tensor(f"U_{g}", (H, H)) for g in "iouf"}
    b = {g: ra.input_tensor(f"b_{g}", (H,)) for g in "iouf"}
    A, w = ra.input_tensor("A", (H, H)), ra.input_tensor("w", (H,))
    h_ph, c_ph = ra.placeholder((N, H)), ra.placeholder((N, H))

    # ra.K is the dimension of a node's children: these have a value for each child k of each node n.
    Ah = ra.compute((N, K, H), lambda n, k, i: ra.tanh(ra.sum(H, lambda j: A[i, j] * h_ph[k, j])))
    score = ra.compute((N, K), lambda n, k: ra.sum(H, lambda i: w[i] * Ah[n, k, i]))
    # The softmax stays the same when the largest score is taken from all, and no exp overflows.
    top = ra.compute((N,), lambda n: ra.max_children(n, lambda k: score[n, k]))
    weight = ra.compute((N, K), lambda n, k: ra.exp(score[n, k] - top[n]))
    total = ra.compute((N,), lambda n: ra.sum_children(n, lambda k: weight[n, k]))
    attention = ra.compute((N, K), lambda n, k: weight[n, k] / total[n])
    hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: attention[n, k] * h_ph[k, i]))

    # The rest is child-sum TreeLSTM. What the input alone decides is computed apart: once for all nodes.
    x = ra.compute((N, E), lambda n, i: ra.where(word[n] >= 0, emb[word[n], i], 0.0))
    Wx = {
        g: ra.compute((N, H), lambda n, i, g=g: ra.sum(E, lambda j: W[g][i, j] * x[n, j]), name=f"Wx_{g}")
        for g in "iouf"
    }
    z = {
        g: ra.compute(
            (N, H),
            lambda n, i, g=g: Wx[g][n, i] + ra.sum(H, lambda j: U[g][i, j] * hs[n, j]) + b[g][i],
            name=f"z_{g}",
        )
        for g in "iou"
    }
    Uh = ra.compute((N, K, H), lambda n, k, i: ra.sum(H, lambda j: U["f"][i, j] * h_ph[k, j]))
    f = ra.compute((N, K, H), lambda n, k, i: ra.sigmoid(Wx["f"][n, i] + Uh[n, k, i] + b["f"][i]))
    kept = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: f[n, k, i] * c_ph[k, i]))
    c = ra.compute((N, H), lambda n, i: ra.sigmoid(z["i"][n, i]) * ra.tanh(z["u"][n, i]) + kept[n, i])
    h = ra.compute((N, H), lambda n, i: ra.sigmoid(z["o"][n, i]) * ra.tanh(c[n, i]))
    return ra.recursion_op({"h": (h_ph, h), "c": (c_ph, c)}, structure=ra.Tree())


def by_hand(params: dict[str, Any], text: str, vocab: cortex.Vocab) -> dict[str, Array]:
    """Return h and c of each node (nodes, hidden) in post-order, by plain recursion in float64."""
    p = {name: np.asarray(value, np.float64) for name, value in params.items()}
    rows: list[tuple[Array, Array]] = []

    def sigmoid(z: Array) -> Array:
        return 1 / (1 + np.exp(-z))

    def visit(part: list[Any]) -> tuple[Array, Array]:
        below = [visit(child) for child in part if isinstance(child, list)]
        x = np.zeros(p["emb"].shape[1]) if below else p["emb"][vocab[part[1]]]
        scores = np.array([p["w"] @ np.tanh(p["A"] @ h) for h, _ in below])
        attention = np.exp(scores) / np.exp(scores).sum()
        hs = sum((a * h for a, (h, _) in zip(attention, below, strict=True)), np.zeros(len(p["w"])))
        i, o, u = (p[f"W_{g}"] @ x + p[f"U_{g}"] @ hs + p[f"b_{g}"] for g in "iou")
        c = sigmoid(i) * np.tanh(u)
        for h_k, c_k in below:
            c = c + sigmoid(p["W_f"] @ x + p["U_f"] @ h_k + p["b_f"]) * c_k
        rows.append((sigmoid(o) * np.tanh(c), c))
        return rows[-1]

    visit(parsed(text))
    return {"h": np.array([h for h, _ in rows]), "c": np.array([c for _, c in rows])}


def parsed(text: str) -> Any:
    """Return a tree in brackets as nested lists: [label, word] for a leaf, [label, child, ...] above."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    return stack[0][0]


def main() -> None:
    """Compile the model, run it over the sentences, and compare every node of them."""
    vocab = cortex.Vocab.from_trees(SENTENCES)
    model = attention_tree_lstm(hidden=24, embed=16, vocab=len(vocab))
    params = model.init_params(seed=0)
    fn = cortex.compile(model, params, vocab=vocab)
    out = fn(SENTENCES)
    print(
        f"{out.num_structures} sentences, {[len(rows) for rows in out.nodes('h')]} nodes; "
        f"h of the roots {out['h'].shape}"
    )
    for number, text in enumerate(SENTENCES):
        oracle: Any = ra.evaluate(model, params, text, vocab=vocab)
        for name, want in by_hand(params, text, vocab).items():
            for got in (out.nodes(name)[number], oracle[name]):
                assert np.abs(got - want).max() <= 1e-5 * max(1.0, np.abs(want).max())
    print("h and c of every node agree with the recursion by hand and with ra.evaluate")


if __name__ == "__main__":
    main()
