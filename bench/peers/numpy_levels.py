"""NumPy level by level: one product of OpenBLAS for each level and gate group, in float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bench.peers.job import Answers, Array, Cell, Gated, Job, gated
from bench.peers.levels import Levels, Room, level_by_level
from bench.peers.peer import Peer
from bench.trees import Tree

_MANY = 8
"""From so many rows on OpenBLAS is faster the other way around."""


class Measured(Peer):
    """The states of all nodes stand in one array, so that a level's children are one look-up."""

    def __init__(self, job: Job) -> None:
        match job.cell:
            case Cell.TREE_FC:
                self._model: _TreeFC | _GatedCell | _MVRNN = _TreeFC(job)
            case Cell.MV_RNN:
                self._model = _MVRNN(job)
            case _:
                self._model = _GatedCell(gated(job), job.hidden)

    def end_to_end(self, trees: Sequence[Tree]) -> Answers:
        """See `Peer`."""
        return self._model.run(level_by_level(trees, self._model.table))

    def kernel(self, trees: Sequence[Tree]) -> Callable[[], object]:
        """See `Peer`."""
        levels = level_by_level(trees, self._model.table)
        return lambda: self._model.run(levels)


class _TreeFC:
    def __init__(self, job: Job) -> None:
        self.W, self.b = _Weights(job.params["W"]), job.params["b"]
        self.table = len(job.params["emb"])
        self.room = Room((job.hidden,), job.params["emb"])

    def run(self, levels: Levels) -> Answers:
        h = self.room(levels.rows)
        for begin, end, children in levels.upward():
            sums = self.W(h[children].reshape(end - begin, -1))
            sums += self.b
            np.maximum(sums, 0, out=h[begin:end])
        return {"h": h[levels.roots]}


class _GatedCell:
    def __init__(self, cell: Gated, hidden: int) -> None:
        self.cell, self.hidden = cell, hidden
        self.U, self.U_f = _Weights(cell.U), _Weights(cell.U_f)
        self.W = None if cell.W is None else _Weights(cell.W)
        # In a row h, then c.
        table = None if cell.leaf_h is None else np.concatenate([cell.leaf_h, cell.leaf_c], axis=1)
        self.table = None if table is None else len(table)
        self.room = Room((2 * hidden,), table)

    def run(self, levels: Levels) -> Answers:
        H = self.hidden
        state = self.room(levels.rows)
        if self.W is not None and self.cell.emb is not None:
            self.finish(self.W(self.cell.emb[levels.words]), None, state[: levels.begins[0]])
        for begin, end, children in levels.upward():
            below = state[children]  # (nodes, 2, 2 H)
            h, c = below[:, :, :H], below[:, :, H:]
            forget = self.U_f(h.reshape(-1, H))
            forget += self.cell.b_f
            kept = _sigmoid(forget).reshape(-1, 2, H)
            kept *= c
            sums = self.U(h[:, 0] + h[:, 1])
            self.finish(sums, kept[:, 0] + kept[:, 1], state[begin:end])
        return {self.cell.output: state[levels.roots, :H]}

    def finish(self, sums: Array, kept: Array | None, out: Array) -> None:
        """Write h and c of nodes whose gates' products are `sums`, which is overwritten."""
        H, last = self.hidden, (self.cell.gates - 1) * self.hidden
        sums += self.cell.b
        gates, candidate = _sigmoid(sums[:, :last]), np.tanh(sums[:, last:], out=sums[:, last:])
        c = np.multiply(gates[:, :H], candidate, out=out[:, H:])
        for begin in range(2 * H, last, H):
            c *= gates[:, begin : begin + H]
        if kept is not None:
            c += kept
        np.multiply(np.tanh(c), gates[:, H : 2 * H], out=out[:, :H])


class _MVRNN:
    def __init__(self, job: Job) -> None:
        p = job.params
        self.hidden, self.b, self.W, self.W_M = job.hidden, p["b"], _Weights(p["W"]), p["W_M"]
        self.table = len(p["emb"])
        self.vectors = Room((job.hidden,), p["emb"])
        self.matrices = Room((job.hidden, job.hidden), p["emb_M"])

    def run(self, levels: Levels) -> Answers:
        H = self.hidden
        v, M = self.vectors(levels.rows), self.matrices(levels.rows)
        for begin, end, children in levels.upward():
            both = M[children]  # (nodes, 2, H, H)
            # Each child's vector is seen through the other child's matrix.
            seen = both[:, ::-1] @ v[children][..., None]
            sums = self.W(seen.reshape(end - begin, -1))
            sums += self.b
            np.tanh(sums, out=v[begin:end])
            np.matmul(self.W_M, both.reshape(end - begin, 2 * H, H), out=M[begin:end])
        return {"v": v[levels.roots], "M": M[levels.roots]}


class _Weights:
    """Weights (out, in) that are multiplied with rows (n, in), in the order that OpenBLAS is faster in."""

    def __init__(self, weights: Array) -> None:
        self.weights, self.transposed = weights, np.ascontiguousarray(weights.T)

    def __call__(self, rows: Array) -> Array:
        """Return (n, out), stored by columns where there are many rows: measured, up to 1.5 times as fast."""
        return (self.weights @ rows.T).T if len(rows) >= _MANY else rows @ self.transposed


def _sigmoid(x: Array) -> Array:
    """Overwrite x with its sigmoid: 1 / (1 + exp(-x))."""
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1
    return np.reciprocal(x, out=x)
