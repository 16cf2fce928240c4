"""MODELS.md once more, in plain float64 NumPy, one node after another. Nothing of ours is imported here.

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


def products(params: Params, payload: Payload, row: int, gates: str, input: str) -> dict[str, Array]:
    """W_g x_n for each gate."""
    if input == "projected":
        return {g: np.asarray(payload[f"x_{g}"][row], np.float64) for g in gates}
    if input == "vector":
        x = np.asarray(payload["x"][row], np.float64)
    else:
        word = int(str(payload["word"][row]))
        x = params["emb"][word] if word >= 0 else np.zeros(params["emb"].shape[1])
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


def leaky_tree_lstm(params: Params, children: Children, payload: Payload) -> dict[str, Array]:
    """Not in MODELS.md: a child-sum TreeLSTM under other names and with one gate more, whose cell leaks."""
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
