"""JAX level by level: one jitted call for a batch, in which a loop runs over its levels, the deepest first.

XLA compiles for shapes, and every level has another number of nodes. So a level is computed in blocks of 64, 8 and 1
nodes, as many of each as it takes: how many is data. That was faster than a call for each level with its nodes padded
to a power of two, twice where trees are small, since a call takes longer than a small level; and it was faster than
blocks of one size. A `lax.switch` over such widths copies all states at each level. Of a batch only the number of its
nodes, padded to a power of two, and the number of its roots are shapes; states are donated, so they stay in place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bench.peers.job import SEQUENTIAL, Answers, Array, Cell, Job, gated, stacked, ternary
from bench.peers.levels import Index, Levels, levels_of
from bench.peers.peer import Peer
from bench.trees import Tree

_BLOCKS = (64, 8, 1)
"""A level is computed in so many nodes at a time; those that are left over fill more than half of a block, or go to the
next size."""

Value: TypeAlias = Any
"""An array of JAX's, float32, or what stands for one while a function is traced."""
States: TypeAlias = tuple[Value, ...]
"""What nodes have, each (rows, ...)."""
Params: TypeAlias = Mapping[str, Value]
Inner: TypeAlias = Callable[[Params, States, Value, Value], States]
"""Parameters, all states, the rows of nodes' children (nodes, arity) and what the nodes carry to the nodes' states."""
Leaves: TypeAlias = Callable[[Params, Value], States]
"""Parameters and words (leaves,) to the leaves' states."""


@dataclass(frozen=True, slots=True)
class _Model:
    """A cell: its parameters, the tables that its states begin with, and which states are its outputs."""

    inner: Inner
    params: Mapping[str, Array]
    tables: tuple[Array, ...]
    outputs: tuple[str, ...] = ("h",)
    leaves: Leaves | None = None


class Measured(Peer):
    """The states of all nodes stand in rows, a table's first; calls of one size have the same ones in turn."""

    lacks: ClassVar[Mapping[Cell, str]] = dict.fromkeys(SEQUENTIAL, "not written for sequences")

    def __init__(self, job: Job) -> None:
        # XLA's threads are as many as the processors that the process may run on when it first computes.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: job.threads])
        jax.config.update(
            "jax_cpu_enable_async_dispatch", False
        )  # a call waits for its answer: no other thread
        self._model = _model(job)
        self._levels = levels_of(job)
        self._params = jax.device_put(dict(self._model.params))
        self._states: dict[int, States] = {}
        self.compiled = jax.jit(_program(self._model), donate_argnums=1)

    def end_to_end(self, trees: Sequence[Tree]) -> Answers:
        """See `Peer`."""
        return self._run(*_batch(self._levels(trees)))

    def kernel(self, trees: Sequence[Tree]) -> Callable[[], object]:
        """See `Peer`."""
        size, batch = _batch(self._levels(trees))
        placed = jax.device_put(batch)
        return lambda: self._run(size, placed)

    def _run(self, size: int, batch: Mapping[str, Value]) -> Answers:
        states = self._states.pop(size, None)
        if states is None:
            states = tuple(jnp.concatenate([table, _empty(table, size)]) for table in self._model.tables)
        self._states[size], roots = self.compiled(self._params, states, batch)
        return {name: np.asarray(rows) for name, rows in zip(self._model.outputs, roots, strict=True)}


def _empty(table: Array, size: int) -> Array:
    """Return the rows for a batch of this size, and those that the last block may write beyond it."""
    return np.zeros((size + _BLOCKS[0], *table.shape[1:]), np.float32)


def _batch(levels: Levels) -> tuple[int, dict[str, Array]]:
    """Return a batch's size, and its arrays padded to it.

    Rows of inner nodes are turned around, so that what a block writes beyond its level comes before what is there.
    """
    first, end = levels.begins[0], levels.begins[-1]
    size = 1 << (max(end - first, len(levels.words)) - 1).bit_length()

    def turned(rows: Index) -> Array:
        return np.where(rows >= first, first + end - 1 - rows, rows).astype(np.int32)

    def padded(array: Array) -> Array:
        room = np.zeros((size + _BLOCKS[0], *array.shape[1:]), array.dtype)
        room[: len(array)] = array
        return room

    begins = np.array(levels.begins[::-1])
    levels_blocks = np.zeros((size + 1, 1 + len(_BLOCKS)), np.int32)
    levels_blocks[: len(begins) - 1, 0] = end - begins[:-1]
    levels_blocks[: len(begins) - 1, 1:] = _blocks(begins[:-1] - begins[1:])
    batch = {
        "first": np.int32(first),
        "depth": np.int32(len(begins) - 1),
        "blocks": levels_blocks,
        "leaves": _blocks(np.array([len(levels.words)]))[0],
        "words": padded(levels.words.astype(np.int32)),
        "children": padded(turned(levels.children[::-1])),
        "roots": turned(levels.roots),
    }
    if levels.payload is not None:
        batch["carried"] = padded(levels.payload[::-1])
    return size, batch


def _blocks(counts: Index) -> Array:
    """Return how many blocks of each size (levels, sizes) levels of so many nodes take."""
    found = []
    for width in _BLOCKS:
        blocks, left = np.divmod(counts, width)
        full = 2 * left > width
        found.append(blocks + full)
        counts = np.where(full, 0, left)
    return np.stack(found, axis=1).astype(np.int32)


def _program(model: _Model) -> Callable[[Params, States, Mapping[str, Value]], tuple[States, States]]:
    """Return what computes all states of a batch and those at its roots, to be jitted."""

    def run(params: Params, states: States, batch: Mapping[str, Value]) -> tuple[States, States]:
        def in_blocks(
            blocks: Value, begin: Value, row: Value, states: States, step: Callable[[States, Any], States]
        ) -> States:
            """Compute nodes from `begin` on, with states from `row` on; `step` is given what cuts out a block."""
            for count, width in zip(blocks, _BLOCKS, strict=True):

                def block(k: Value, states: States, begin: Value = begin, width: int = width) -> States:
                    at = begin + k * width
                    new = step(states, lambda array: lax.dynamic_slice_in_dim(array, at, width))
                    return tuple(
                        lax.dynamic_update_slice_in_dim(old, rows, row + at, 0)
                        for old, rows in zip(states, new, strict=True)
                    )

                states = lax.fori_loop(0, count, block, states)
                begin = begin + count * width
            return states

        def inner(states: States, cut: Any) -> States:
            carried = cut(batch["carried"]) if "carried" in batch else None
            return model.inner(params, states, cut(batch["children"]), carried)

        def level(depth: Value, states: States) -> States:
            begin, *blocks = batch["blocks"][depth]
            return in_blocks(blocks, begin, batch["first"], states, inner)

        if (leaves := model.leaves) is not None:
            states = in_blocks(
                tuple(batch["leaves"]), 0, 0, states, lambda _, cut: leaves(params, cut(batch["words"]))
            )
        states = lax.fori_loop(0, batch["depth"], level, states)
        return states, tuple(_take(state, batch["roots"]) for state in states[: len(model.outputs)])

    return run


def _model(job: Job) -> _Model:
    p = job.params
    match job.cell:
        case Cell.TREE_FC:
            return _Model(_tree_fc, {"W": _turned(p["W"]), "b": p["b"]}, (p["emb"],))
        case Cell.MV_RNN:
            params = {"W": _turned(p["W"]), "b": p["b"], "W_M": p["W_M"]}
            return _Model(_mv_rnn, params, (p["emb"], p["emb_M"]), ("v", "M"))
        case Cell.TREE_GRU_RECURSIVE:
            params = {"U": _turned(stacked(job, "U", "rz")), "b": stacked(job, "b", "rz")}
            return _Model(_tree_gru, {**params, "U_g": _turned(p["U_g"]), "b_g": p["b_g"]}, (p["emb_h"],))
        case Cell.DAG_RNN:
            return _Model(_dag_rnn, {"U": _turned(p["U"]), "b": p["b"]}, (_zero(job),))
        case Cell.GATED_DAG:
            params = {"U": _turned(stacked(job, "U", "zu")), "b": stacked(job, "b", "zu")}
            return _Model(
                _gated_dag, {**params, "U_e": _turned(p["U_e"]), "b_e": p["b_e"]}, (_zero(job), _zero(job))
            )
        case Cell.TERNARY_LSTM:
            W, b = ternary(job)
            return _Model(_ternary_lstm, {"W": _turned(W), "b": b}, (p["emb_h"], p["emb_c"]))
        case _:
            return _gated_model(job)


def _gated_model(job: Job) -> _Model:
    cell = gated(job)
    params = {"U": _turned(cell.U), "b": cell.b, "U_f": _turned(cell.U_f), "b_f": cell.b_f}
    if cell.leaf_h is not None and cell.leaf_c is not None:
        return _Model(_gated_inner, params, (cell.leaf_h, cell.leaf_c), (cell.output,))
    assert cell.W is not None and cell.emb is not None
    none = np.empty((0, job.hidden), np.float32)
    params |= {"W": _turned(cell.W), "emb": cell.emb}
    return _Model(_gated_inner, params, (none, none), (cell.output,), _gated_leaves)


def _turned(weights: Array) -> Array:
    """Return weights (out, in) as (in, out), which XLA's products with rows (n, in) read without a copy."""
    return np.ascontiguousarray(weights.T)


def _zero(job: Job) -> Array:
    return np.zeros((1, job.hidden), np.float32)


def _take(states: Value, rows: Value) -> Value:
    """Return the states of these rows; that they are there is not checked."""
    return states.at[rows].get(mode="promise_in_bounds", wrap_negative_indices=False)


def _tree_fc(p: Params, states: States, children: Value, _: Value) -> States:
    pairs = _take(states[0], children).reshape(len(children), -1)
    return (jax.nn.relu(pairs @ p["W"] + p["b"]),)


def _gated_inner(p: Params, states: States, children: Value, _: Value) -> States:
    h, c = (_take(state, children) for state in states)  # (nodes, 2, hidden)
    forget = jax.nn.sigmoid(h @ p["U_f"] + p["b_f"])
    return _finish(h.sum(1) @ p["U"] + p["b"], c.shape[2], (forget * c).sum(1))


def _gated_leaves(p: Params, words: Value) -> States:
    return _finish(_take(p["emb"], words) @ p["W"] + p["b"], p["U_f"].shape[0], 0)


def _finish(sums: Value, hidden: int, kept: Value) -> States:
    """Return h and c of nodes with the gates' products `sums`, of which the children leave `kept`."""
    candidate, output, *others = jnp.split(sums, sums.shape[1] // hidden, axis=1)
    *others, last = others
    c = jax.nn.sigmoid(candidate) * jnp.tanh(last)
    for gate in others:
        c = c * jax.nn.sigmoid(gate)
    c = c + kept
    return jax.nn.sigmoid(output) * jnp.tanh(c), c


def _mv_rnn(p: Params, states: States, children: Value, _: Value) -> States:
    v, M = (_take(state, children) for state in states)  # (nodes, 2, hidden), (nodes, 2, hidden, hidden)
    # Each child's vector is seen through the other child's matrix.
    seen = (M[:, ::-1] * v[:, :, None, :]).sum(3)
    new = jnp.tanh(seen.reshape(len(children), -1) @ p["W"] + p["b"])
    return new, jnp.einsum("ij,njk->nik", p["W_M"], M.reshape(len(children), -1, v.shape[2]))


def _tree_gru(p: Params, states: States, children: Value, _: Value) -> States:
    total = _take(states[0], children).sum(1)
    reset, z = jnp.split(jax.nn.sigmoid(total @ p["U"] + p["b"]), 2, axis=1)
    g = jnp.tanh((reset * total) @ p["U_g"] + p["b_g"])
    return (z * total + (1 - z) * g,)


def _dag_rnn(p: Params, states: States, children: Value, carried: Value) -> States:
    return (jnp.tanh(_take(states[0], children).sum(1) @ p["U"] + p["b"] + carried),)


def _gated_dag(p: Params, states: States, children: Value, carried: Value) -> States:
    h, edges = (_take(state, children) for state in states)  # (nodes, 3, hidden)
    x_z, x_u, x_e = jnp.split(carried, 3, axis=1)
    z, u = jnp.split(h.sum(1) @ p["U"] + p["b"], 2, axis=1)
    z, u = jax.nn.sigmoid(z + x_z), jnp.tanh(u + x_u)
    kept = jnp.tanh((jax.nn.sigmoid(edges + x_e[:, None]) * h).sum(1) * 0.5)
    new = z * u + (1 - z) * kept
    return new, new @ p["U_e"] + p["b_e"]


def _ternary_lstm(p: Params, states: States, children: Value, _: Value) -> States:
    h, c = (_take(state, children) for state in states)  # (nodes, 3, hidden)
    sums = h.reshape(len(children), -1) @ p["W"] + p["b"]
    i, o, u, *forget = jnp.split(sums, 6, axis=1)
    new = jax.nn.sigmoid(i) * jnp.tanh(u) + (jax.nn.sigmoid(jnp.stack(forget, 1)) * c).sum(1)
    return jax.nn.sigmoid(o) * jnp.tanh(new), new
