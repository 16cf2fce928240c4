"""DyNet with autobatching: the graph is written node by node, and DyNet finds what can be computed together.

The wheel (`dyNET38`) has neither a BLAS nor threads: DyNet computes with one, whatever a job allows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from bench.peers.dynet_parts import Expr, State, carried, dy, gate_parameters, lookup_table, rows
from bench.peers.dynet_sequences import GRU, LSTM, ResetAfterGRU
from bench.peers.job import Answers, Array, Cell, Gated, Job, gated, ternary
from bench.peers.peer import Peer
from bench.trees import Tree


class Measured(Peer):
    """A graph of expressions for each batch, which is run when its value is asked for."""

    def __init__(self, job: Job) -> None:
        # Parameters do not keep alive the collection that holds them.
        self._parameters = parameters = dy.ParameterCollection()
        self._model: _Model
        match job.cell:
            case Cell.TREE_FC:
                self._model = _TreeFC(job, parameters)
            case Cell.MV_RNN:
                self._model = _MVRNN(job, parameters)
            case Cell.TREE_GRU_RECURSIVE:
                self._model = _TreeGRU(job, parameters)
            case Cell.DAG_RNN:
                self._model = _DagRNN(job, parameters)
            case Cell.GATED_DAG:
                self._model = _GatedDag(job, parameters)
            case Cell.TERNARY_LSTM:
                self._model = _TernaryLSTM(job, parameters)
            case Cell.LSTM:
                self._model = LSTM(job, parameters)
            case Cell.GRU:
                self._model = GRU(job, parameters)
            case Cell.GRU_RESET_AFTER:
                self._model = ResetAfterGRU(job, parameters)
            case _:
                self._model = _GatedCell(gated(job), job.hidden, parameters)

    def end_to_end(self, trees: Sequence[Tree]) -> Answers:
        """See `Peer`."""
        return self._values(self._graph(trees))

    def kernel(self, trees: Sequence[Tree]) -> Callable[[], object]:
        """See `Peer`. The graph is there; finding batches in it and computing is timed."""
        outputs = self._graph(trees)

        def run() -> object:
            outputs[0].forward(recalculate=True)
            return self._values(outputs)

        return run

    def _graph(self, trees: Sequence[Tree]) -> list[Expr]:
        """Return, for each output, the expression of all roots' values side by side."""
        dy.renew_cg()
        states = [self._model.node(tree) for tree in trees]
        together = [dy.concatenate_to_batch(list(part)) for part in zip(*states, strict=True)]
        return together[: len(self._model.outputs)]

    def _values(self, outputs: list[Expr]) -> Answers:
        # The last one first: its graph has all that the others need.
        values = [rows(output) for output in reversed(outputs)]
        return dict(zip(self._model.outputs, reversed(values), strict=True))


class _Model(Protocol):
    outputs: tuple[str, ...]

    def node(self, tree: Tree) -> State: ...


class _TreeFC:
    outputs: tuple[str, ...] = ("h",)

    def __init__(self, job: Job, parameters: Any) -> None:
        p = job.params
        self.emb = lookup_table(parameters, p["emb"])
        self.W, self.b = parameters.parameters_from_numpy(p["W"]), parameters.parameters_from_numpy(p["b"])

    def node(self, tree: Tree) -> State:
        if not tree.children:
            return (self.emb[tree.word],)
        ((left,), (right,)) = map(self.node, tree.children)
        return (dy.rectify(dy.affine_transform([self.b, self.W, dy.concatenate([left, right])])),)


class _GatedCell:
    def __init__(self, cell: Gated, hidden: int, parameters: Any) -> None:
        def split(array: Array) -> list[Any]:
            return [parameters.parameters_from_numpy(part) for part in np.split(array, cell.gates)]

        self.outputs: tuple[str, ...] = (cell.output,)
        self.U, self.b = split(cell.U), split(cell.b)
        self.U_f = parameters.parameters_from_numpy(cell.U_f)
        self.b_f = parameters.parameters_from_numpy(cell.b_f)
        self.W = None if cell.W is None else split(cell.W)
        tables = (cell.emb,) if cell.emb is not None else (cell.leaf_h, cell.leaf_c)
        self.tables = [lookup_table(parameters, table) for table in tables if table is not None]

    def node(self, tree: Tree) -> State:
        if not tree.children:
            return self.leaf(tree.word)
        (h_l, c_l), (h_r, c_r) = map(self.node, tree.children)
        f_l, f_r = (dy.logistic(dy.affine_transform([self.b_f, self.U_f, h])) for h in (h_l, h_r))
        kept = dy.cmult(f_l, c_l) + dy.cmult(f_r, c_r)
        return self.finish(self.U, h_l + h_r, kept)

    def leaf(self, word: int) -> State:
        if self.W is not None:
            return self.finish(self.W, self.tables[0][word], None)
        return self.tables[0][word], self.tables[1][word]

    def finish(self, weights: list[Any], x: Expr, kept: Expr | None) -> State:
        pairs = zip(self.b, weights, strict=True)
        *sums, last = (dy.affine_transform([bias, weight, x]) for bias, weight in pairs)
        i, o, *others = map(dy.logistic, sums)
        c = dy.cmult(i, dy.tanh(last))
        for gate in others:
            c = dy.cmult(c, gate)
        if kept is not None:
            c = c + kept
        return dy.cmult(o, dy.tanh(c)), c


class _MVRNN:
    outputs: tuple[str, ...] = ("v", "M")

    def __init__(self, job: Job, parameters: Any) -> None:
        p = job.params
        self.emb, self.emb_M = lookup_table(parameters, p["emb"]), lookup_table(parameters, p["emb_M"])
        self.W, self.b, self.W_M = (parameters.parameters_from_numpy(p[name]) for name in ("W", "b", "W_M"))

    def node(self, tree: Tree) -> State:
        if not tree.children:
            return self.emb[tree.word], self.emb_M[tree.word]
        (v_l, M_l), (v_r, M_r) = map(self.node, tree.children)
        seen = dy.concatenate([M_r * v_l, M_l * v_r])
        return (
            dy.tanh(dy.affine_transform([self.b, self.W, seen])),
            self.W_M * dy.concatenate([M_l, M_r]),
        )


class _TreeGRU:
    outputs: tuple[str, ...] = ("h",)

    def __init__(self, job: Job, parameters: Any) -> None:
        self.emb = lookup_table(parameters, job.params["emb_h"])
        self.r, self.z, self.g = (gate_parameters(job, parameters, letter) for letter in "rzg")

    def node(self, tree: Tree) -> State:
        if not tree.children:
            return (self.emb[tree.word],)
        ((left,), (right,)) = map(self.node, tree.children)
        total = left + right
        r, z = (dy.logistic(dy.affine_transform([*gate, total])) for gate in (self.r, self.z))
        g = dy.tanh(dy.affine_transform([*self.g, dy.cmult(r, total)]))
        return (g + dy.cmult(z, total - g),)


class _OverDags(ABC):
    """Computes each node of a structure once. What nodes carry is added, or `affine_transform` would not be batched."""

    outputs: tuple[str, ...] = ("h",)

    def node(self, tree: Tree) -> State:
        return (self._once(tree, {}),)

    def _once(self, tree: Tree, known: dict[int, Expr]) -> Expr:
        if id(tree) not in known:
            known[id(tree)] = self.h(tree, [self._once(child, known) for child in tree.children])
        return known[id(tree)]

    @abstractmethod
    def h(self, tree: Tree, below: list[Expr]) -> Expr: ...


class _DagRNN(_OverDags):
    def __init__(self, job: Job, parameters: Any) -> None:
        self.U, self.b = (parameters.parameters_from_numpy(job.params[name]) for name in ("U", "b"))

    def h(self, tree: Tree, below: list[Expr]) -> Expr:
        product = dy.affine_transform([self.b, self.U, dy.esum(below)]) if below else self.b
        return dy.tanh(carried(tree, "x_h") + product)


class _GatedDag(_OverDags):
    def __init__(self, job: Job, parameters: Any) -> None:
        self.gates = {letter: gate_parameters(job, parameters, letter) for letter in "zue"}

    def h(self, tree: Tree, below: list[Expr]) -> Expr:
        x_z, x_u, x_e = (carried(tree, f"x_{letter}") for letter in "zue")
        if not below:
            return dy.cmult(dy.logistic(x_z + self.gates["z"][0]), dy.tanh(x_u + self.gates["u"][0]))
        total = dy.esum(below)
        z = dy.logistic(x_z + dy.affine_transform([*self.gates["z"], total]))
        u = dy.tanh(x_u + dy.affine_transform([*self.gates["u"], total]))
        edges = [dy.logistic(x_e + dy.affine_transform([*self.gates["e"], h])) for h in below]
        kept = dy.tanh(dy.esum([dy.cmult(e, h) for e, h in zip(edges, below, strict=True)]) * 0.5)
        return kept + dy.cmult(z, u - kept)


class _TernaryLSTM:
    outputs: tuple[str, ...] = ("h",)

    def __init__(self, job: Job, parameters: Any) -> None:
        matrix, bias = (np.split(array, 6) for array in ternary(job))
        pairs = zip(bias, matrix, strict=True)
        self.gates = [tuple(map(parameters.parameters_from_numpy, pair)) for pair in pairs]
        self.tables = [lookup_table(parameters, job.params[name]) for name in ("emb_h", "emb_c")]

    def node(self, tree: Tree) -> State:
        if not tree.children:
            return self.tables[0][tree.word], self.tables[1][tree.word]
        below = [self.node(child) for child in tree.children]
        three = dy.concatenate([h for h, _ in below])
        i, o, u, *forget = (dy.affine_transform([*gate, three]) for gate in self.gates)
        c = dy.cmult(dy.logistic(i), dy.tanh(u))
        for f, (_, c_below) in zip(forget, below, strict=True):
            c = c + dy.cmult(dy.logistic(f), c_below)
        return dy.cmult(dy.logistic(o), dy.tanh(c)), c
