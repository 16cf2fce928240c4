"""LSTM and GRU in NumPy, step by step over a batch: the inputs' products of all steps are one product."""

from __future__ import annotations

import numpy as np

from bench.peers.job import Answers, Array, Job, reset_after, stacked
from bench.peers.levels import Levels, Room
from bench.peers.numpy_parts import Weights, sigmoid


class LSTM:
    """`Cell.LSTM`."""

    def __init__(self, job: Job) -> None:
        self.hidden, self.b = job.hidden, stacked(job, "b", "iofu")
        self.W, self.U = (Weights(stacked(job, name, "iofu")) for name in "WU")
        # In a row h, then c.
        self.room = Room((2 * job.hidden,), np.zeros((1, 2 * job.hidden), np.float32))

    def run(self, levels: Levels) -> Answers:
        """Return the last steps' h."""
        H = self.hidden
        state, x = self.room(levels.rows), _of_all(self.W, self.b, levels)
        for begin, end, children in levels.upward():
            before = state[children[:, 0]]
            sums = self.U(before[:, :H])
            sums += x[begin - 1 : end - 1]
            gates, u = sigmoid(sums[:, : 3 * H]), np.tanh(sums[:, 3 * H :], out=sums[:, 3 * H :])
            u *= gates[:, :H]
            before[:, H:] *= gates[:, 2 * H :]
            c = np.add(before[:, H:], u, out=state[begin:end, H:])
            np.multiply(np.tanh(c, out=u), gates[:, H : 2 * H], out=state[begin:end, :H])
        return {"h": state[levels.roots, :H]}


class GRU:
    """`Cell.GRU`."""

    def __init__(self, job: Job) -> None:
        self.hidden, self.b = job.hidden, stacked(job, "b", "rzg")
        self.W, self.U = Weights(stacked(job, "W", "rzg")), Weights(stacked(job, "U", "rz"))
        self.U_g = Weights(job.params["U_g"])
        self.room = Room((job.hidden,), np.zeros((1, job.hidden), np.float32))

    def run(self, levels: Levels) -> Answers:
        """Return the last steps' h."""
        h, x = self.room(levels.rows), _of_all(self.W, self.b, levels)
        for begin, end, children in levels.upward():
            before = h[children[:, 0]]
            z, g = self.gates(before, x[begin - 1 : end - 1])
            np.tanh(g, out=g)
            before -= g
            before *= z
            np.add(before, g, out=h[begin:end])  # z h' + (1 - z) g
        return {"h": h[levels.roots]}

    def gates(self, before: Array, x: Array) -> tuple[Array, Array]:
        """Return z, and g before its tanh, of steps with these products of inputs."""
        H, sums = self.hidden, self.U(before)
        sums += x[:, : 2 * H]
        gates = sigmoid(sums)
        g = self.U_g(gates[:, :H] * before)
        g += x[:, 2 * H :]
        return gates[:, H:], g


class ResetAfterGRU(GRU):
    """`Cell.GRU_RESET_AFTER`: one product for all that the state is multiplied with."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        weights, self.d = reset_after(job)
        self.U = Weights(weights)

    def gates(self, before: Array, x: Array) -> tuple[Array, Array]:
        """See `GRU`."""
        H, sums = self.hidden, self.U(before)
        sums += self.d
        sums[:, : 2 * H] += x[:, : 2 * H]
        gates, g = sigmoid(sums[:, : 2 * H]), sums[:, 2 * H :]
        g *= gates[:, :H]
        g += x[:, 2 * H :]
        return gates[:, H:], g


def _of_all(weights: Weights, bias: Array, levels: Levels) -> Array:
    """Return the products of weights with what all nodes carry, in their order, and the bias."""
    assert levels.payload is not None
    sums = weights(levels.payload)
    sums += bias
    return sums
