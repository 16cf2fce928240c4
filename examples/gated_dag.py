"""A gated network over DAGs: a node takes over from each node that it reads, through a gate (Zhang et al. 2019, D-VAE).

At a node with input x, that reads the nodes k:

    s = Σ_k σ(G h_k + g) ⊙ (M h_k)                a gate for each edge, by what comes over it
    r, z = σ(W x + U s + b), u = tanh(W x + U (r ⊙ s) + b)
    h = z ⊙ s + (1 - z) ⊙ u                       a GRU; its state is the gated sum

The structures are `networkx.DiGraph`s of small programs: an edge goes from an operation to each of its arguments, which
several operations may share. A shared node is computed once. From the root of the repository:

    python examples/gated_dag.py
"""

from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import cortex
from cortex import ra

OPS = ["x", "y", "add", "mul", "sin"]
Array = NDArray[np.float64]


def programs() -> list[Any]:
    """Return (x + y) * sin(x + y), with one shared sum, and two results over x in one graph."""
    shared = nx.DiGraph([("p", "s"), ("p", "f"), ("f", "s"), ("s", "x"), ("s", "y")])
    nx.set_node_attributes(shared, {"p": 3, "s": 2, "f": 4, "x": 0, "y": 1}, "op")
    two = nx.DiGraph([("first", "x"), ("second", "x")])
    nx.set_node_attributes(two, {"first": 4, "second": 3, "x": 0}, "op")
    return [shared, two]


def gated_dag(hidden: int, embed: int, ops: int) -> ra.Model:
    """Return the model, over DAGs; payload op, a number below `ops`; output h (hidden,)."""
    N, K, H, E = ra.N, ra.K, hidden, embed
    emb, op = ra.input_tensor("emb", (ops, E)), ra.node_input("op", dtype="int32")
    G, g, M = ra.input_tensor("G", (H, H)), ra.input_tensor("g", (H,)), ra.input_tensor("M", (H, H))
    W = {gate: ra.input_tensor(f"W_{gate}", (H, E)) for gate in "rzu"}
    U = {gate: ra.input_tensor(f"U_{gate}", (H, H)) for gate in "rzu"}
    b = {gate: ra.input_tensor(f"b_{gate}", (H,)) for gate in "rzu"}
    h_ph = ra.placeholder((N, H))

    Gh = ra.compute((N, K, H), lambda n, k, i: ra.sum(H, lambda j: G[i, j] * h_ph[k, j]))
    Mh = ra.compute((N, K, H), lambda n, k, i: ra.sum(H, lambda j: M[i, j] * h_ph[k, j]))
    message = ra.compute((N, K, H), lambda n, k, i: ra.sigmoid(Gh[n, k, i] + g[i]) * Mh[n, k, i])
    s = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: message[n, k, i]))

    x = ra.compute((N, E), lambda n, i: emb[op[n], i])
    Wx = {
        gate: ra.compute((N, H), lambda n, i, W=W[gate]: ra.sum(E, lambda j: W[i, j] * x[n, j]))
        for gate in "rzu"
    }
    Us = {
        gate: ra.compute((N, H), lambda n, i, U=U[gate]: ra.sum(H, lambda j: U[i, j] * s[n, j]))
        for gate in "rz"
    }
    r = ra.compute((N, H), lambda n, i: ra.sigmoid(Wx["r"][n, i] + Us["r"][n, i] + b["r"][i]))
    z = ra.compute((N, H), lambda n, i: ra.sigmoid(Wx["z"][n, i] + Us["z"][n, i] + b["z"][i]))
    rs = ra.compute((N, H), lambda n, i: r[n, i] * s[n, i])
    Urs = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: U["u"][i, j] * rs[n, j]))
    u = ra.compute((N, H), lambda n, i: ra.tanh(Wx["u"][n, i] + Urs[n, i] + b["u"][i]))
    h = ra.compute((N, H), lambda n, i: z[n, i] * s[n, i] + (1 - z[n, i]) * u[n, i])
    return ra.recursion_op(h_ph, h, structure=ra.Dag())


def by_hand(params: dict[str, Any], graph: Any) -> dict[Any, Array]:
    """Return the h (hidden,) of each node of a graph, by plain recursion in float64."""
    p = {name: np.asarray(value, np.float64) for name, value in params.items()}
    done: dict[Any, Array] = {}

    def sigmoid(z: Array) -> Array:
        return 1 / (1 + np.exp(-z))

    def visit(node: Any) -> Array:
        if node not in done:
            below = [visit(child) for child in graph.successors(node)]
            s = np.zeros(len(p["g"]))
            for h in below:
                s = s + sigmoid(p["G"] @ h + p["g"]) * (p["M"] @ h)
            x = p["emb"][graph.nodes[node]["op"]]
            r = sigmoid(p["W_r"] @ x + p["U_r"] @ s + p["b_r"])
            z = sigmoid(p["W_z"] @ x + p["U_z"] @ s + p["b_z"])
            u = np.tanh(p["W_u"] @ x + p["U_u"] @ (r * s) + p["b_u"])
            done[node] = z * s + (1 - z) * u
        return done[node]

    return {node: visit(node) for node in graph}


def main() -> None:
    """Compile the model, run it over the programs, and compare every node of them."""
    graphs = programs()
    model = gated_dag(hidden=24, embed=8, ops=len(OPS))
    params = model.init_params(seed=0)
    out = cortex.compile(model, params)(graphs)
    print(f"{out.num_structures} programs with {len(out['h'])} results")
    for number, graph in enumerate(graphs):
        keys = out.keys(number)  # the graph's nodes, in the order of the rows
        print(" ".join(f"{key}={OPS[graph.nodes[key]['op']]}" for key in keys))
        oracle: Any = ra.evaluate(model, params, graph)
        expected = by_hand(params, graph)
        want = np.array([expected[key] for key in keys])
        for got in (out.nodes("h")[number], oracle["h"]):
            assert np.abs(got - want).max() <= 1e-5 * max(1.0, np.abs(want).max())
    print("h of every node agrees with the recursion by hand and with ra.evaluate")


if __name__ == "__main__":
    main()
