"""The equations of the library models in plain float64 NumPy, one node after another, without imports of cortex.

A structure is `children`, the rows of each node's children, in rows of post-order (a child's row is below its
parent's), and payloads by name, one entry a row. Each function returns its outputs by name, (rows, ...).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Params = Mapping[str, Array]
Children = Sequence[Sequence[int]]
Payload = Mapping[str, Sequence[object]]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": relu, "tanh": np.tanh}


def input_of(params: Params, payload: Payload, row: int, input: str) -> Array:
    """x_n, by word or as a vector."""
    if input == "vector":
        return np.asarray(payload["x"][row], np.float64)
    word = int(str(payload["word"][row]))
    return params["emb"][word] if word >= 0 else np.zeros(params["emb"].shape[1])


def products(params: Params, payload: Payload, row: int, gates: str, input: str) -> dict[str, Array]:
    """W_g x_n for each gate."""
    if input == "projected":
        return {g: np.asarray(payload[f"x_{g}"][row], np.float64) for g in gates}
    x = input_of(params, payload, row, input)
    return {g: params[f"W_{g}"] @ x for g in gates}


def tree_sum(params: Params, children: Children, payload: Payload) -> dict[str, Array]:
    h: list[Array] = []
    for row, below in enumerate(children):
        if not below:
            h.append(params["emb"][int(str(payload["word"][row]))])
        else:
            left, right = below
            h.append(np.tanh(h[left] + h[right]))
    return {"h": np.array(h)}


def tree_fc(params: Params, children: Children, payload: Payload, activation: str) -> dict[str, Array]:
    h: list[Array] = []
    for row, below in enumerate(children):
        if not below:
            h.append(params["emb"][int(str(payload["word"][row]))])
        else:
            both = np.concatenate([h[child] for child in below])
            h.append(ACTIVATIONS[activation](params["W"] @ both + params["b"]))
    return {"h": np.array(h)}


def tree_lstm(params: Params, children: Children, payload: Payload, input: str) -> dict[str, Array]:
    h: list[Array] = []
    c: list[Array] = []
    hidden = params["b_i"].shape[0]
    for row, below in enumerate(children):
        wx = products(params, payload, row, "iouf" if below else "iou", input)
        hs = sum((h[k] for k in below), np.zeros(hidden))
        i = sigmoid(wx["i"] + params["U_i"] @ hs + params["b_i"])
        o = sigmoid(wx["o"] + params["U_o"] @ hs + params["b_o"])
        u = np.tanh(wx["u"] + params["U_u"] @ hs + params["b_u"])
        cell = i * u
        for k in below:
            f = sigmoid(wx["f"] + params["U_f"] @ h[k] + params["b_f"])
            cell = cell + f * c[k]
        c.append(cell)
        h.append(o * np.tanh(cell))
    return {"h": np.array(h), "c": np.array(c)}


def mv_rnn(params: Params, children: Children, payload: Payload) -> dict[str, Array]:
    v: list[Array] = []
    M: list[Array] = []
    for row, below in enumerate(children):
        if not below:
            word = int(str(payload["word"][row]))
            v.append(params["emb"][word])
            M.append(params["emb_M"][word])
        else:
            left, right = below
            seen = np.concatenate([M[right] @ v[left], M[left] @ v[right]])
            v.append(np.tanh(params["W"] @ seen + params["b"]))
            M.append(params["W_M"] @ np.concatenate([M[left], M[right]]))
    return {"v": np.array(v), "M": np.array(M)}


def rnn(params: Params, children: Children, payload: Payload, input: str, act: str) -> dict[str, Array]:
    """tree_rnn, with "tanh", and dag_rnn."""
    h: list[Array] = []
    for row, below in enumerate(children):
        if input == "projected":
            wx = np.asarray(payload["x_h"][row], np.float64)
        else:
            wx = params["W"] @ input_of(params, payload, row, input)
        hs = sum((h[k] for k in below), np.zeros(params["b"].shape[0]))
        h.append(ACTIVATIONS[act](wx + params["U"] @ hs + params["b"]))
    return {"h": np.array(h)}


def gru(params: Params, children: Children, payload: Payload, input: str, simple: bool) -> dict[str, Array]:
    """tree_gru, simple_tree_gru, and gru where each node has one child."""
    h: list[Array] = []
    for row, below in enumerate(children):
        wx = products(params, payload, row, "rzg", input)
        hs = sum((h[k] for k in below), np.zeros(params["b_r"].shape[0]))
        r = sigmoid(wx["r"] + params["U_r"] @ hs + params["b_r"])
        z = sigmoid(wx["z"] + params["U_z"] @ hs + params["b_z"])
        g = np.tanh(wx["g"] + params["U_g"] @ (r * hs) + params["b_g"])
        h.append((1 - z) * g if simple else z * hs + (1 - z) * g)
    return {"h": np.array(h)}


def nary_tree_lstm(
    params: Params, children: Sequence[Sequence[int | None]], payload: Payload, input: str
) -> dict[str, Array]:
    """A child that is not there is None, or behind the last one."""
    h: list[Array] = []
    c: list[Array] = []
    arity, hidden = params["U_i"].shape[:2]
    for row, below in enumerate(children):
        given = {at: k for at, k in enumerate(below) if k is not None}
        wx = products(params, payload, row, "iouf" if given else "iou", input)

        def total(g: str, U: Array, wx: dict[str, Array] = wx, given: dict[int, int] = given) -> Array:
            return wx[g] + sum((U[at] @ h[k] for at, k in given.items()), np.zeros(hidden)) + params[f"b_{g}"]

        i, o = sigmoid(total("i", params["U_i"])), sigmoid(total("o", params["U_o"]))
        cell = i * np.tanh(total("u", params["U_u"]))
        for at, k in given.items():
            assert at < arity
            cell = cell + sigmoid(total("f", params["U_f"][at])) * c[k]
        c.append(cell)
        h.append(o * np.tanh(cell))
    return {"h": np.array(h), "c": np.array(c)}


def leaky_tree_lstm(params: Params, children: Children, payload: Payload) -> dict[str, Array]:
    """A cell that is not in the library: a child-sum TreeLSTM with other names, another gate, and a leaking cell."""
    state: list[Array] = []
    memory: list[Array] = []
    for row, below in enumerate(children):
        x = np.asarray(payload["vec"][row], np.float64)
        total = sum((state[k] for k in below), np.zeros(params["bias_in"].shape[0]))
        gate = {
            g: params[f"A_{g}"] @ x + params[f"B_{g}"] @ total + params[f"bias_{g}"]
            for g in ("in", "out", "new", "leak")
        }
        cell = sigmoid(gate["in"]) * np.tanh(gate["new"]) + sigmoid(gate["leak"])
        for k in below:
            keep = params["A_keep"] @ x + params["B_keep"] @ state[k] + params["bias_keep"]
            cell = cell + sigmoid(keep) * memory[k]
        memory.append(cell)
        state.append(sigmoid(gate["out"]) * np.tanh(cell))
    return {"state": np.array(state), "memory": np.array(memory)}
