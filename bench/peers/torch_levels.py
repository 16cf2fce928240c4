"""PyTorch level by level, as it comes: its linear layers run on MKL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from bench.peers.job import Answers, Cell, Gated, Job, gated, stacked, ternary
from bench.peers.levels import Levels, Room, levels_of
from bench.peers.peer import Peer
from bench.peers.torch_parts import Layer, Model, stock
from bench.peers.torch_sequences import GRU, LSTM, ResetAfterGRU
from bench.trees import Tree


class Measured(Peer):
    """Children's states are gathered by `index_select`; each level's states are written in place."""

    layer: Layer = staticmethod(stock)

    def __init__(self, job: Job) -> None:
        torch.set_num_threads(job.threads)
        self._model: Model
        match job.cell:
            case Cell.TREE_FC:
                self._model = _TreeFC(job, self.layer)
            case Cell.MV_RNN:
                self._model = _MVRNN(job, self.layer)
            case Cell.TREE_GRU_RECURSIVE:
                self._model = _TreeGRU(job, self.layer)
            case Cell.DAG_RNN:
                self._model = _DagRNN(job, self.layer)
            case Cell.GATED_DAG:
                self._model = _GatedDag(job, self.layer)
            case Cell.TERNARY_LSTM:
                self._model = _TernaryLSTM(job, self.layer)
            case Cell.LSTM:
                self._model = LSTM(job, self.layer)
            case Cell.GRU:
                self._model = GRU(job, self.layer)
            case Cell.GRU_RESET_AFTER:
                self._model = ResetAfterGRU(job, self.layer)
            case _:
                self._model = _GatedCell(gated(job), job.hidden, self.layer)
        self._levels = levels_of(job)

    def end_to_end(self, trees: Sequence[Tree]) -> Answers:
        """See `Peer`."""
        with torch.inference_mode():
            return self._model.run(self._levels(trees))

    def kernel(self, trees: Sequence[Tree]) -> Callable[[], object]:
        """See `Peer`."""
        levels = self._levels(trees)

        def run() -> object:
            with torch.inference_mode():
                return self._model.run(levels)

        return run


class _TreeFC(Model):
    def __init__(self, job: Job, layer: Layer) -> None:
        self.linear = layer(job.params["W"], job.params["b"])
        self.rooms = (Room((job.hidden,), job.params["emb"]),)

    def level(self, states: list[Tensor], rows: Tensor, begin: int, end: int, x: Tensor | None) -> None:
        (h,) = states
        pairs = h.index_select(0, rows).view(end - begin, -1)
        torch.clamp_min(self.linear(pairs), 0, out=h[begin:end])


class _GatedCell(Model):
    def __init__(self, cell: Gated, hidden: int, layer: Layer) -> None:
        self.hidden, self.gates, self.outputs = hidden, cell.gates, (cell.output,)
        self.U, self.U_f = layer(cell.U, cell.b), layer(cell.U_f, cell.b_f)
        self.W = None if cell.W is None else layer(cell.W, cell.b)
        self.emb = None if cell.emb is None else torch.from_numpy(cell.emb)
        self.rooms = Room((hidden,), cell.leaf_h), Room((hidden,), cell.leaf_c)

    def run(self, levels: Levels) -> Answers:
        if self.W is not None:
            self.leaves(self.states(levels), torch.from_numpy(levels.words), levels.begins[0])
        return super().run(levels)

    def leaves(self, states: list[Tensor], words: Tensor, count: int) -> None:
        """Write the states of so many leaves."""
        assert self.W is not None and self.emb is not None
        h, c = states
        self.finish(self.W(self.emb.index_select(0, words)), None, h[:count], c[:count])

    def level(self, states: list[Tensor], rows: Tensor, begin: int, end: int, x: Tensor | None) -> None:
        (h, c), H = states, self.hidden
        below = h.index_select(0, rows)
        kept = self.U_f(below).sigmoid_().mul_(c.index_select(0, rows)).view(-1, 2, H)
        sums = self.U(below.view(-1, 2, H).sum(1))
        self.finish(sums, kept.sum(1), h[begin:end], c[begin:end])

    def finish(self, sums: Tensor, kept: Tensor | None, h: Tensor, c: Tensor) -> None:
        """Write h and c of nodes with the gates' products `sums`, which is overwritten."""
        H, last = self.hidden, (self.gates - 1) * self.hidden
        gates = sums[:, :last].sigmoid_()
        new = gates[:, :H] * sums[:, last:].tanh_()
        for begin in range(2 * H, last, H):
            new *= gates[:, begin : begin + H]
        if kept is None:
            c.copy_(new)
        else:
            torch.add(new, kept, out=c)
        torch.mul(gates[:, H : 2 * H], c.tanh(), out=h)


class _MVRNN(Model):
    outputs = ("v", "M")

    def __init__(self, job: Job, layer: Layer) -> None:
        p = job.params
        self.hidden, self.linear = job.hidden, layer(p["W"], p["b"])
        self.W_M = torch.from_numpy(p["W_M"])
        self.rooms = Room((job.hidden,), p["emb"]), Room((job.hidden, job.hidden), p["emb_M"])

    def level(self, states: list[Tensor], rows: Tensor, begin: int, end: int, x: Tensor | None) -> None:
        (v, M), H = states, self.hidden
        both = M.index_select(0, rows)
        # Each child's vector is seen through the other child's matrix. A batched product of MKL's with vectors is up to
        # six times slower than this.
        vectors = v.index_select(0, rows.view(-1, 2).flip(1).view(-1)).unsqueeze(1)
        seen = (both * vectors).sum(2).view(-1, 2, H).flip(1).view(-1, 2 * H)
        torch.tanh(self.linear(seen), out=v[begin:end])
        torch.matmul(self.W_M, both.view(-1, 2 * H, H), out=M[begin:end])


class _TreeGRU(Model):
    def __init__(self, job: Job, layer: Layer) -> None:
        self.hidden = job.hidden
        self.U = layer(stacked(job, "U", "rz"), stacked(job, "b", "rz"))
        self.U_g = layer(job.params["U_g"], job.params["b_g"])
        self.rooms = (Room((job.hidden,), job.params["emb_h"]),)

    def level(self, states: list[Tensor], rows: Tensor, begin: int, end: int, x: Tensor | None) -> None:
        (h,) = states
        total = h.index_select(0, rows).view(-1, 2, self.hidden).sum(1)
        reset, z = self.U(total).sigmoid_().split(self.hidden, 1)
        g = self.U_g(reset * total).tanh_()
        torch.lerp(g, total, z, out=h[begin:end])


class _DagRNN(Model):
    def __init__(self, job: Job, layer: Layer) -> None:
        self.hidden, self.U = job.hidden, layer(job.params["U"], job.params["b"])
        self.rooms = (Room((job.hidden,), np.zeros((1, job.hidden), np.float32)),)

    def level(self, states: list[Tensor], rows: Tensor, begin: int, end: int, x: Tensor | None) -> None:
        (h,) = states
        sums = self.U(h.index_select(0, rows).view(end - begin, -1, self.hidden).sum(1))
        torch.tanh(sums.add_(x), out=h[begin:end])


class _GatedDag(Model):
    def __init__(self, job: Job, layer: Layer) -> None:
        self.hidden = job.hidden
        self.U = layer(stacked(job, "U", "zu"), stacked(job, "b", "zu"))
        self.U_e = layer(job.params["U_e"], job.params["b_e"])
        zeros = np.zeros((1, job.hidden), np.float32)
        self.rooms = Room((job.hidden,), zeros), Room((job.hidden,), zeros)

    def level(self, states: list[Tensor], rows: Tensor, begin: int, end: int, x: Tensor | None) -> None:
        assert x is not None
        (h, edges), H = states, self.hidden
        below = h.index_select(0, rows).view(end - begin, -1, H)
        sums = self.U(below.sum(1)).add_(x[:, : 2 * H])
        e = edges.index_select(0, rows).view(below.shape).add_(x[:, None, 2 * H :]).sigmoid_()
        z, u = sums[:, :H].sigmoid_(), sums[:, H:].tanh_()
        torch.lerp((e * below).sum(1).mul_(0.5).tanh_(), u, z, out=h[begin:end])
        edges[begin:end] = self.U_e(h[begin:end])


class _TernaryLSTM(Model):
    def __init__(self, job: Job, layer: Layer) -> None:
        self.hidden, self.W = job.hidden, layer(*ternary(job))
        self.rooms = tuple(Room((job.hidden,), job.params[table]) for table in ("emb_h", "emb_c"))

    def level(self, states: list[Tensor], rows: Tensor, begin: int, end: int, x: Tensor | None) -> None:
        (h, c), H = states, self.hidden
        sums = self.W(h.index_select(0, rows).view(end - begin, -1))
        i, o = sums[:, : 2 * H].sigmoid_().split(H, 1)
        u, forget = sums[:, 2 * H : 3 * H].tanh_(), sums[:, 3 * H :].sigmoid_().view(-1, 3, H)
        kept = forget.mul_(c.index_select(0, rows).view(-1, 3, H)).sum(1)
        torch.addcmul(kept, i, u, out=c[begin:end])
        torch.mul(o, c[begin:end].tanh(), out=h[begin:end])
