"""NumPy level by level: one product of OpenBLAS for each level and gate group, in float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from bench.peers.job import Answers, Array, Cell, Gated, Job, gated, stacked, ternary
from bench.peers.levels import Levels, Room, levels_of
from bench.peers.numpy_parts import Weights, sigmoid
from bench.peers.numpy_sequences import GRU, LSTM, ResetAfterGRU
from bench.peers.peer import Peer
from bench.trees import Tree


class Measured(Peer):
    """The states of all nodes stand in one array, so that a level's children are one look-up."""

    def __init__(self, job: Job) -> None:
        self._model: _Model
        match job.cell:
            case Cell.TREE_FC:
                self._model = _TreeFC(job)
            case Cell.MV_RNN:
                self._model = _MVRNN(job)
            case Cell.TREE_GRU_RECURSIVE:
                self._model = _TreeGRU(job)
            case Cell.DAG_RNN:
                self._model = _DagRNN(job)
            case Cell.GATED_DAG:
                self._model = _GatedDag(job)
            case Cell.TERNARY_LSTM:
                self._model = _TernaryLSTM(job)
            case Cell.LSTM:
                self._model = LSTM(job)
            case Cell.GRU:
                self._model = GRU(job)
            case Cell.GRU_RESET_AFTER:
                self._model = ResetAfterGRU(job)
            case _:
                self._model = _GatedCell(gated(job), job.hidden)
        self._levels = levels_of(job)

    def end_to_end(self, trees: Sequence[Tree]) -> Answers:
        """See `Peer`."""
        return self._model.run(self._levels(trees))

    def kernel(self, trees: Sequence[Tree]) -> Callable[[], object]:
        """See `Peer`."""
        levels = self._levels(trees)
        return lambda: self._model.run(levels)


class _Model(Protocol):
    def run(self, levels: Levels) -> Answers: ...


class _TreeFC:
    def __init__(self, job: Job) -> None:
        self.W, self.b = Weights(job.params["W"]), job.params["b"]
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
        self.U, self.U_f = Weights(cell.U), Weights(cell.U_f)
        self.W = None if cell.W is None else Weights(cell.W)
        # In a row h, then c.
        table = None if cell.leaf_h is None else np.concatenate([cell.leaf_h, cell.leaf_c], axis=1)
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
            kept = sigmoid(forget).reshape(-1, 2, H)
            kept *= c
            sums = self.U(h[:, 0] + h[:, 1])
            self.finish(sums, kept[:, 0] + kept[:, 1], state[begin:end])
        return {self.cell.output: state[levels.roots, :H]}

    def finish(self, sums: Array, kept: Array | None, out: Array) -> None:
        """Write h and c of nodes with the gates' products `sums`, which is overwritten."""
        H, last = self.hidden, (self.cell.gates - 1) * self.hidden
        sums += self.cell.b
        gates, candidate = sigmoid(sums[:, :last]), np.tanh(sums[:, last:], out=sums[:, last:])
        c = np.multiply(gates[:, :H], candidate, out=out[:, H:])
        for begin in range(2 * H, last, H):
            c *= gates[:, begin : begin + H]
        if kept is not None:
            c += kept
        np.multiply(np.tanh(c), gates[:, H : 2 * H], out=out[:, :H])


class _MVRNN:
    def __init__(self, job: Job) -> None:
        p = job.params
        self.hidden, self.b, self.W, self.W_M = job.hidden, p["b"], Weights(p["W"]), p["W_M"]
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


class _TreeGRU:
    def __init__(self, job: Job) -> None:
        p = job.params
        self.hidden, self.U, self.b = job.hidden, Weights(stacked(job, "U", "rz")), stacked(job, "b", "rz")
        self.U_g, self.b_g = Weights(p["U_g"]), p["b_g"]
        self.room = Room((job.hidden,), p["emb_h"])

    def run(self, levels: Levels) -> Answers:
        H = self.hidden
        h = self.room(levels.rows)
        for begin, end, children in levels.upward():
            total = h[children[:, 0]] + h[children[:, 1]]
            sums = self.U(total)
            sums += self.b
            gates = sigmoid(sums)
            reset, z = gates[:, :H], gates[:, H:]
            reset *= total
            g = self.U_g(reset)
            g += self.b_g
            np.tanh(g, out=g)
            total -= g
            total *= z
            np.add(total, g, out=h[begin:end])  # z h~ + (1 - z) g
        return {"h": h[levels.roots]}


class _DagRNN:
    def __init__(self, job: Job) -> None:
        self.U, self.b = Weights(job.params["U"]), job.params["b"]
        self.room = Room((job.hidden,), np.zeros((1, job.hidden), np.float32))

    def run(self, levels: Levels) -> Answers:
        h = self.room(levels.rows)
        for begin, end, children in levels.upward():
            sums = self.U(h[children].sum(1))
            sums += levels.carried(begin, end)
            sums += self.b
            np.tanh(sums, out=h[begin:end])
        return {"h": h[levels.roots]}


class _GatedDag:
    def __init__(self, job: Job) -> None:
        self.hidden, self.U, self.U_e = (
            job.hidden,
            Weights(stacked(job, "U", "zu")),
            Weights(job.params["U_e"]),
        )
        self.b = stacked(job, "b", "zue")
        # In a row h, then U_e h.
        self.room = Room((2 * job.hidden,), np.zeros((1, 2 * job.hidden), np.float32))

    def run(self, levels: Levels) -> Answers:
        H = self.hidden
        state = self.room(levels.rows)
        for begin, end, children in levels.upward():
            x = levels.carried(begin, end) + self.b
            below = state[children]  # (nodes, 3, 2 H)
            h, edges = below[:, :, :H], below[:, :, H:]
            edges += x[:, None, 2 * H :]
            h *= sigmoid(edges)
            sums = self.U(state[children, :H].sum(1))
            sums += x[:, : 2 * H]
            kept = h.sum(1)
            kept *= 0.5
            np.tanh(kept, out=kept)
            new = np.tanh(sums[:, H:], out=sums[:, H:])
            new -= kept
            new *= sigmoid(sums[:, :H])
            np.add(new, kept, out=state[begin:end, :H])  # z u + (1 - z) kept
            state[begin:end, H:] = self.U_e(state[begin:end, :H])
        return {"h": state[levels.roots, :H]}


class _TernaryLSTM:
    def __init__(self, job: Job) -> None:
        matrix, self.b = ternary(job)
        self.hidden, self.W = job.hidden, Weights(matrix)
        self.tables = job.params["emb_h"], job.params["emb_c"]
        self.h, self.c = (Room((job.hidden,), table) for table in self.tables)

    def run(self, levels: Levels) -> Answers:
        H = self.hidden
        h, c = self.h(levels.rows), self.c(levels.rows)
        for begin, end, children in levels.upward():
            sums = self.W(h[children].reshape(end - begin, -1))
            sums += self.b
            u = np.tanh(sums[:, 2 * H : 3 * H])
            u *= sigmoid(sums[:, :H])
            forget = sigmoid(sums[:, 3 * H :])
            for k in range(3):
                u += forget[:, k * H : (k + 1) * H] * c[children[:, k]]
            c[begin:end] = u
            np.multiply(np.tanh(u, out=u), sigmoid(sums[:, H : 2 * H]), out=h[begin:end])
        return {"h": h[levels.roots]}
