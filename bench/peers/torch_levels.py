"""PyTorch level by level, as it comes: its linear layers run on MKL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from bench.peers.job import Answers, Array, Cell, Gated, Job, gated
from bench.peers.levels import Index, Levels, Room, level_by_level
from bench.peers.peer import Peer
from bench.trees import Tree

Linear = Callable[[Tensor], Tensor]
"""Rows (n, in) to rows (n, out)."""
Layer = Callable[[Array, Array | None], Linear]
"""Weights (out, in) and bias (out,) to a linear layer."""


def stock(weights: Array, bias: Array | None) -> Linear:
    """Return a linear layer of PyTorch's own."""
    w, b = torch.from_numpy(weights), None if bias is None else torch.from_numpy(bias)
    return lambda x: torch.nn.functional.linear(x, w, b)


class Measured(Peer):
    """Children's states are gathered by `index_select`; each level's states are written in place."""

    layer: Layer = staticmethod(stock)

    def __init__(self, job: Job) -> None:
        torch.set_num_threads(job.threads)
        match job.cell:
            case Cell.TREE_FC:
                self._model: _TreeFC | _GatedCell | _MVRNN = _TreeFC(job, self.layer)
            case Cell.MV_RNN:
                self._model = _MVRNN(job, self.layer)
            case _:
                self._model = _GatedCell(gated(job), job.hidden, self.layer)

    def end_to_end(self, trees: Sequence[Tree]) -> Answers:
        """See `Peer`."""
        with torch.inference_mode():
            return self._model.run(level_by_level(trees, self._model.table))

    def kernel(self, trees: Sequence[Tree]) -> Callable[[], object]:
        """See `Peer`."""
        levels = level_by_level(trees, self._model.table)

        def run() -> object:
            with torch.inference_mode():
                return self._model.run(levels)

        return run


class _TreeFC:
    def __init__(self, job: Job, layer: Layer) -> None:
        self.linear = layer(job.params["W"], job.params["b"])
        self.table = len(job.params["emb"])
        self.room = Room((job.hidden,), job.params["emb"])

    def run(self, levels: Levels) -> Answers:
        h = torch.from_numpy(self.room(levels.rows))
        for begin, end, children in levels.upward():
            pairs = h.index_select(0, _flat(children)).view(end - begin, -1)
            torch.clamp_min(self.linear(pairs), 0, out=h[begin:end])
        return {"h": _roots(h, levels)}


class _GatedCell:
    def __init__(self, cell: Gated, hidden: int, layer: Layer) -> None:
        self.hidden, self.gates, self.output = hidden, cell.gates, cell.output
        self.U, self.U_f = layer(cell.U, cell.b), layer(cell.U_f, cell.b_f)
        self.W = None if cell.W is None else layer(cell.W, cell.b)
        self.emb = None if cell.emb is None else torch.from_numpy(cell.emb)
        self.table = None if cell.leaf_h is None else len(cell.leaf_h)
        self.h, self.c = Room((hidden,), cell.leaf_h), Room((hidden,), cell.leaf_c)

    def run(self, levels: Levels) -> Answers:
        H = self.hidden
        h, c = torch.from_numpy(self.h(levels.rows)), torch.from_numpy(self.c(levels.rows))
        if self.W is not None and self.emb is not None:
            leaves = levels.begins[0]
            words = torch.from_numpy(levels.words)
            self.finish(self.W(self.emb.index_select(0, words)), None, h[:leaves], c[:leaves])
        for begin, end, children in levels.upward():
            rows = _flat(children)
            below = h.index_select(0, rows)
            kept = self.U_f(below).sigmoid_().mul_(c.index_select(0, rows)).view(-1, 2, H)
            sums = self.U(below.view(-1, 2, H).sum(1))
            self.finish(sums, kept.sum(1), h[begin:end], c[begin:end])
        return {self.output: _roots(h, levels)}

    def finish(self, sums: Tensor, kept: Tensor | None, h: Tensor, c: Tensor) -> None:
        """Write h and c of nodes whose gates' products are `sums`, which is overwritten."""
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


class _MVRNN:
    def __init__(self, job: Job, layer: Layer) -> None:
        p = job.params
        self.hidden, self.linear = job.hidden, layer(p["W"], p["b"])
        self.W_M = torch.from_numpy(p["W_M"])
        self.table = len(p["emb"])
        self.vectors = Room((job.hidden,), p["emb"])
        self.matrices = Room((job.hidden, job.hidden), p["emb_M"])

    def run(self, levels: Levels) -> Answers:
        H = self.hidden
        v = torch.from_numpy(self.vectors(levels.rows))
        M = torch.from_numpy(self.matrices(levels.rows))
        for begin, end, children in levels.upward():
            rows = _flat(children)
            both = M.index_select(0, rows)
            # Each child's vector is seen through the other child's matrix. A batched product of MKL's with vectors is
            # up to six times slower than this.
            vectors = v.index_select(0, rows.view(-1, 2).flip(1).view(-1)).unsqueeze(1)
            seen = (both * vectors).sum(2).view(-1, 2, H).flip(1).view(-1, 2 * H)
            torch.tanh(self.linear(seen), out=v[begin:end])
            torch.matmul(self.W_M, both.view(-1, 2 * H, H), out=M[begin:end])
        return {"v": _roots(v, levels), "M": _roots(M, levels)}


def _flat(children: Index) -> Tensor:
    return torch.from_numpy(children).view(-1)


def _roots(states: Tensor, levels: Levels) -> Array:
    found: Array = states.index_select(0, torch.from_numpy(levels.roots)).numpy()
    return found
