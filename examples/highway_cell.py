"""A highway cell over trees, with three outputs: a state, what is carried past the nodes, and where that comes from.

At a node with input x and K children, m = Σ_k h_k / K (zero at a leaf):

    u = tanh(W_u x + U_u m + b_u), t = σ(W_t x + U_t m + b_t)
    c = t ⊙ u + (1 - t) ⊙ Σ_k c_k / K         the highway (Srivastava et al. 2015): new, or carried on as it is
    s = (1 - t) ⊙ Σ_k s_k / K                 the share of c that was carried from the leaves, where s = 1 and c = u
    h = tanh(c)

The structures are flat arrays, any number of trees at once: each node's parent. From the root of the repository:

    python examples/highway_cell.py
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import cortex
from cortex import ra

Array = NDArray[np.float64]


def highway_cell(hidden: int, embed: int) -> ra.Model:
    """Return the model, over trees of any arity; payload x (embed,); outputs h, c and s (hidden,)."""
    N, H, E = ra.N, hidden, embed
    x = ra.node_input("x", (E,))
    W = {g: ra.input_tensor(f"W_{g}", (H, E)) for g in "ut"}
    U = {g: ra.input_tensor(f"U_{g}", (H, H)) for g in "ut"}
    b = {g: ra.input_tensor(f"b_{g}", (H,)) for g in "ut"}
    # Each output has its placeholder: what the children gave back.
    h_ph, c_ph, s_ph = (ra.placeholder((N, H), name=f"{name}_ph") for name in "hcs")

    def mean(n: Any, of: Any, i: Any) -> Any:
        """Return the mean over the children, an expression; Python's functions serve to write it once."""
        return ra.sum_children(n, lambda k: of[k, i]) / ra.maximum(ra.num_children(n), 1)

    m = ra.compute((N, H), lambda n, i: mean(n, h_ph, i))
    z = {
        g: ra.compute(
            (N, H),
            lambda n, i, g=g: (
                ra.sum(E, lambda j: W[g][i, j] * x[n, j])
                + ra.sum(H, lambda j: U[g][i, j] * m[n, j])
                + b[g][i]
            ),
            name=f"z_{g}",
        )
        for g in "ut"
    }
    u = ra.compute((N, H), lambda n, i: ra.tanh(z["u"][n, i]))
    t = ra.compute((N, H), lambda n, i: ra.sigmoid(z["t"][n, i]))
    mixed = ra.compute((N, H), lambda n, i: t[n, i] * u[n, i] + (1 - t[n, i]) * mean(n, c_ph, i))
    c = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), u, mixed))
    whole = ra.compute((N, H), lambda n, i: 1.0)
    carried = ra.compute((N, H), lambda n, i: (1 - t[n, i]) * mean(n, s_ph, i))
    s = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), whole, carried))
    h = ra.compute((N, H), lambda n, i: ra.tanh(c[n, i]))
    return ra.recursion_op({"h": (h_ph, h), "c": (c_ph, c), "s": (s_ph, s)}, structure=ra.Tree())


def by_hand(params: dict[str, Any], parents: list[int], x: NDArray[np.float32]) -> dict[str, Array]:
    """Return h, c and s of each node (nodes, hidden), in the order of `parents`, by plain recursion in float64."""
    p = {name: np.asarray(value, np.float64) for name, value in params.items()}
    found: dict[int, tuple[Array, Array, Array]] = {}

    def visit(node: int) -> tuple[Array, Array, Array]:
        below = [visit(child) for child, parent in enumerate(parents) if parent == node]
        zero = np.zeros(len(p["b_u"]))
        m, carried, share = (
            (sum(part, zero) / len(below) for part in zip(*below, strict=True)) if below else [zero] * 3
        )
        u = np.tanh(p["W_u"] @ x[node] + p["U_u"] @ m + p["b_u"])
        t = 1 / (1 + np.exp(-(p["W_t"] @ x[node] + p["U_t"] @ m + p["b_t"])))
        c = t * u + (1 - t) * carried if below else u
        s = (1 - t) * share if below else np.ones_like(t)
        found[node] = np.tanh(c), c, s
        return found[node]

    for root, parent in enumerate(parents):
        if parent < 0:
            visit(root)
    return {
        name: np.array([found[node][at] for node in range(len(parents))]) for at, name in enumerate("hcs")
    }


def main() -> None:
    """Compile the model, run it over two trees in one forest, and compare every node."""
    parents = [-1, 0, 0, 0, 2, 2, -1, 6]  # node 0 has the children 1, 2, 3; node 2 has 4, 5; node 6 has 7
    x = np.random.default_rng(0).standard_normal((len(parents), 16)).astype(np.float32)
    forest = cortex.Forest.from_parents(parents, x=x)
    model = highway_cell(hidden=24, embed=16)
    params = model.init_params(seed=0)
    out = cortex.compile(model, params)(forest)
    oracle: Any = ra.evaluate(model, params, forest)
    for number in range(out.num_structures):
        rows: Any = out.keys(number)  # which node each row is
        share = out["s"][number].mean()
        print(f"tree of nodes {rows}: {share:.0%} of what its root carries comes from its leaves")
        for name, want in by_hand(params, parents, x).items():
            for got in (out.nodes(name)[number], oracle[number][name]):
                assert np.abs(got - want[rows]).max() <= 1e-5 * max(1.0, np.abs(want[rows]).max())
    print("h, c and s of every node agree with the recursion by hand and with ra.evaluate")


if __name__ == "__main__":
    main()
