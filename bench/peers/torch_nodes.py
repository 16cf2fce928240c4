"""PyTorch node by node: recursion as one writes it first, with the gates of a node in one product."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from bench.peers.job import Answers, Cell, Gated, Job, gated
from bench.peers.peer import Peer
from bench.trees import Tree

State = tuple[Tensor, Tensor]


class Measured(Peer):
    """Each node is a few operators on vectors."""

    def __init__(self, job: Job) -> None:
        torch.set_num_threads(job.threads)
        match job.cell:
            case Cell.TREE_FC:
                self._model: _TreeFC | _GatedCell | _MVRNN = _TreeFC(job)
            case Cell.MV_RNN:
                self._model = _MVRNN(job)
            case _:
                self._model = _GatedCell(gated(job), job.hidden)

    def end_to_end(self, trees: Sequence[Tree]) -> Answers:
        """See `Peer`."""
        with torch.inference_mode():
            states = [self._model.node(tree) for tree in trees]
            parts = zip(self._model.outputs, zip(*states, strict=True), strict=False)
            return {name: torch.stack(part).numpy() for name, part in parts}


class _TreeFC:
    outputs = ("h",)

    def __init__(self, job: Job) -> None:
        self.emb = torch.from_numpy(job.params["emb"])
        self.W, self.b = torch.from_numpy(job.params["W"]), torch.from_numpy(job.params["b"])

    def node(self, tree: Tree) -> tuple[Tensor]:
        return (self.h(tree),)

    def h(self, tree: Tree) -> Tensor:
        if not tree.children:
            return self.emb[tree.word]
        left, right = tree.children
        return torch.addmv(self.b, self.W, torch.cat((self.h(left), self.h(right)))).relu_()


class _GatedCell:
    def __init__(self, cell: Gated, hidden: int) -> None:
        self.outputs = (cell.output,)
        self.hidden, self.gates = hidden, cell.gates
        self.U, self.b = torch.from_numpy(cell.U), torch.from_numpy(cell.b)
        self.U_f, self.b_f = torch.from_numpy(cell.U_f).t(), torch.from_numpy(cell.b_f)
        self.leaf: Callable[[int], State] = _looked_up(cell) if cell.W is None else self._computed(cell)

    def node(self, tree: Tree) -> State:
        if not tree.children:
            return self.leaf(tree.word)
        (h_l, c_l), (h_r, c_r) = map(self.node, tree.children)
        forget = torch.addmm(self.b_f, torch.stack((h_l, h_r)), self.U_f).sigmoid_()
        f_l, f_r = forget.unbind()
        kept = torch.addcmul(f_l * c_l, f_r, c_r)
        return self._finish(torch.addmv(self.b, self.U, h_l + h_r), kept)

    def _finish(self, sums: Tensor, kept: Tensor | None) -> State:
        *gates, u = sums.split(self.hidden)
        sums[: -self.hidden].sigmoid_()
        i, o, *others = gates
        c = i * u.tanh_()
        for gate in others:
            c *= gate
        if kept is not None:
            c += kept
        return o * c.tanh(), c

    def _computed(self, cell: Gated) -> Callable[[int], State]:
        assert cell.emb is not None and cell.W is not None
        emb, W = torch.from_numpy(cell.emb), torch.from_numpy(cell.W)
        return lambda word: self._finish(torch.addmv(self.b, W, emb[word]), None)


class _MVRNN:
    outputs = ("v", "M")

    def __init__(self, job: Job) -> None:
        tensors = {name: torch.from_numpy(array) for name, array in job.params.items()}
        self.emb, self.emb_M, self.W_M = tensors["emb"], tensors["emb_M"], tensors["W_M"]
        self.W, self.b = tensors["W"], tensors["b"]

    def node(self, tree: Tree) -> State:
        if not tree.children:
            return self.emb[tree.word], self.emb_M[tree.word]
        (v_l, M_l), (v_r, M_r) = map(self.node, tree.children)
        v = torch.addmv(self.b, self.W, torch.cat((M_r @ v_l, M_l @ v_r))).tanh_()
        return v, self.W_M @ torch.cat((M_l, M_r))


def _looked_up(cell: Gated) -> Callable[[int], State]:
    assert cell.leaf_h is not None and cell.leaf_c is not None
    h, c = torch.from_numpy(cell.leaf_h), torch.from_numpy(cell.leaf_c)
    return lambda word: (h[word], c[word])
