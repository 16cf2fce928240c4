"""PyTorch node by node: recursion as one writes it first, with the gates of a node in one product."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from bench.peers.job import SEQUENTIAL, Answers, Cell, Gated, Job, gated, stacked, ternary
from bench.peers.peer import Peer
from bench.trees import Tree

State = tuple[Tensor, Tensor]


class Measured(Peer):
    """Each node is a few operators on vectors."""

    lacks: ClassVar[Mapping[Cell, str]] = dict.fromkeys(SEQUENTIAL, "a step by level is as many operators")

    def __init__(self, job: Job) -> None:
        torch.set_num_threads(job.threads)
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
            case _:
                self._model = _GatedCell(gated(job), job.hidden)

    def end_to_end(self, trees: Sequence[Tree]) -> Answers:
        """See `Peer`."""
        with torch.inference_mode():
            states = [self._model.node(tree) for tree in trees]
            parts = zip(self._model.outputs, zip(*states, strict=True), strict=False)
            return {name: torch.stack(part).numpy() for name, part in parts}


class _Model(Protocol):
    outputs: tuple[str, ...]

    def node(self, tree: Tree) -> tuple[Tensor, ...]: ...


class _TreeFC:
    outputs: tuple[str, ...] = ("h",)

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
        self.outputs: tuple[str, ...] = (cell.output,)
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
    outputs: tuple[str, ...] = ("v", "M")

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


class _TreeGRU:
    outputs: tuple[str, ...] = ("h",)

    def __init__(self, job: Job) -> None:
        p = job.params
        self.emb, self.hidden = torch.from_numpy(p["emb_h"]), job.hidden
        self.U, self.b = (torch.from_numpy(stacked(job, name, "rz")) for name in ("U", "b"))
        self.U_g, self.b_g = torch.from_numpy(p["U_g"]), torch.from_numpy(p["b_g"])

    def node(self, tree: Tree) -> tuple[Tensor, ...]:
        return (self.h(tree),)

    def h(self, tree: Tree) -> Tensor:
        if not tree.children:
            return self.emb[tree.word]
        left, right = tree.children
        total = self.h(left) + self.h(right)
        r, z = torch.addmv(self.b, self.U, total).sigmoid_().split(self.hidden)
        g = torch.addmv(self.b_g, self.U_g, r * total).tanh_()
        return torch.lerp(g, total, z)


class _OverDags(ABC):
    """Computes each node of a structure once."""

    outputs: tuple[str, ...] = ("h",)

    def node(self, tree: Tree) -> tuple[Tensor, ...]:
        return (self._once(tree, {}),)

    def _once(self, tree: Tree, known: dict[int, Tensor]) -> Tensor:
        if id(tree) not in known:
            known[id(tree)] = self.h(tree, [self._once(child, known) for child in tree.children])
        return known[id(tree)]

    @abstractmethod
    def h(self, tree: Tree, below: list[Tensor]) -> Tensor: ...


class _DagRNN(_OverDags):
    def __init__(self, job: Job) -> None:
        self.U, self.b = torch.from_numpy(job.params["U"]), torch.from_numpy(job.params["b"])

    def h(self, tree: Tree, below: list[Tensor]) -> Tensor:
        x = self.b + _carried(tree, "x_h")
        return torch.addmv(x, self.U, torch.stack(below).sum(0)).tanh_() if below else x.tanh_()


class _GatedDag(_OverDags):
    def __init__(self, job: Job) -> None:
        self.hidden = job.hidden
        self.U, self.b = (torch.from_numpy(stacked(job, name, "zu")) for name in ("U", "b"))
        self.U_e, self.b_e = torch.from_numpy(job.params["U_e"]).t(), torch.from_numpy(job.params["b_e"])

    def h(self, tree: Tree, below: list[Tensor]) -> Tensor:
        sums = self.b + torch.cat((_carried(tree, "x_z"), _carried(tree, "x_u")))
        if not below:
            z, u = sums.split(self.hidden)
            return z.sigmoid_() * u.tanh_()
        states = torch.stack(below)
        z, u = torch.addmv(sums, self.U, states.sum(0)).split(self.hidden)
        e = torch.addmm(self.b_e + _carried(tree, "x_e"), states, self.U_e).sigmoid_()
        kept = (e * states).sum(0).mul_(0.5).tanh_()
        return torch.lerp(kept, u.tanh_(), z.sigmoid_())


class _TernaryLSTM:
    outputs: tuple[str, ...] = ("h",)

    def __init__(self, job: Job) -> None:
        self.hidden = job.hidden
        self.W, self.b = map(torch.from_numpy, ternary(job))
        self.h, self.c = (torch.from_numpy(job.params[table]) for table in ("emb_h", "emb_c"))

    def node(self, tree: Tree) -> tuple[Tensor, ...]:
        if not tree.children:
            return self.h[tree.word], self.c[tree.word]
        below = [self.node(child) for child in tree.children]
        sums = torch.addmv(self.b, self.W, torch.cat([state[0] for state in below]))
        i, o, u, *forget = sums.split(self.hidden)
        c = i.sigmoid_() * u.tanh_()
        for f, state in zip(forget, below, strict=True):
            c.addcmul_(f.sigmoid_(), state[1])
        return o.sigmoid_() * c.tanh(), c


def _carried(tree: Tree, name: str) -> Tensor:
    return torch.from_numpy(getattr(tree, name))


def _looked_up(cell: Gated) -> Callable[[int], State]:
    assert cell.leaf_h is not None and cell.leaf_c is not None
    h, c = torch.from_numpy(cell.leaf_h), torch.from_numpy(cell.leaf_c)
    return lambda word: (h[word], c[word])
