"""LSTM and GRU in DyNet, step by step: autobatching puts together what sequences do at one step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from bench.peers.dynet_parts import Expr, State, carried, dy
from bench.peers.job import Job, reset_after, stacked
from bench.trees import Tree, steps


class _OverSequences(ABC):
    """Goes from step to step, with a state of one vector or two; inputs' products of all steps are one batch."""

    outputs: tuple[str, ...] = ("h",)
    states = 1

    def __init__(self, job: Job, parameters: Any, gates: str) -> None:
        self.hidden = job.hidden
        self.b, self.W = (parameters.parameters_from_numpy(stacked(job, name, gates)) for name in "bW")

    def node(self, tree: Tree) -> State:
        """Return the last step's state."""
        state: State = (dy.zeros((self.hidden,)),) * self.states
        for step in steps(tree):
            state = self.step(dy.affine_transform([self.b, self.W, carried(step, "x")]), *state)
        return state

    @abstractmethod
    def step(self, x: Expr, *state: Expr) -> State:
        """Return a step's state from its input's products and the state before."""

    def parts(self, gates: Expr, *which: int) -> list[Expr]:
        """Return some of gates that stand one after another."""
        H = self.hidden
        return [dy.pick_range(gates, at * H, (at + 1) * H) for at in which]


class LSTM(_OverSequences):
    """`Cell.LSTM`."""

    states = 2

    def __init__(self, job: Job, parameters: Any) -> None:
        super().__init__(job, parameters, "iofu")
        self.U = parameters.parameters_from_numpy(stacked(job, "U", "iofu"))

    def step(self, x: Expr, *state: Expr) -> State:
        """See `_OverSequences`."""
        h, c = state
        sums = x + self.U * h
        (u,) = self.parts(sums, 3)
        i, o, f = self.parts(dy.logistic(dy.pick_range(sums, 0, 3 * self.hidden)), 0, 1, 2)
        c = dy.cmult(i, dy.tanh(u)) + dy.cmult(f, c)
        return dy.cmult(o, dy.tanh(c)), c


class GRU(_OverSequences):
    """`Cell.GRU`."""

    def __init__(self, job: Job, parameters: Any) -> None:
        super().__init__(job, parameters, "rzg")
        self.U_rz = parameters.parameters_from_numpy(stacked(job, "U", "rz"))
        self.U_g = parameters.parameters_from_numpy(job.params["U_g"])

    def step(self, x: Expr, *state: Expr) -> State:
        """See `_OverSequences`."""
        (h,), H = state, self.hidden
        (x_g,) = self.parts(x, 2)
        r, z = self.parts(dy.logistic(dy.pick_range(x, 0, 2 * H) + self.U_rz * h), 0, 1)
        g = dy.tanh(x_g + self.U_g * dy.cmult(r, h))
        return (g + dy.cmult(z, h - g),)


class ResetAfterGRU(_OverSequences):
    """`Cell.GRU_RESET_AFTER`."""

    def __init__(self, job: Job, parameters: Any) -> None:
        super().__init__(job, parameters, "rzg")
        self.U, self.d = map(parameters.parameters_from_numpy, reset_after(job))

    def step(self, x: Expr, *state: Expr) -> State:
        """See `_OverSequences`."""
        (h,), H = state, self.hidden
        sums = dy.affine_transform([self.d, self.U, h])
        (x_g,), (sum_g,) = self.parts(x, 2), self.parts(sums, 2)
        r, z = self.parts(dy.logistic(dy.pick_range(x, 0, 2 * H) + dy.pick_range(sums, 0, 2 * H)), 0, 1)
        g = dy.tanh(x_g + dy.cmult(r, sum_g))
        return (g + dy.cmult(z, h - g),)
