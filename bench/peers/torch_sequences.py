"""LSTM and GRU in PyTorch, step by step over a batch: the inputs' products of all steps are one product."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bench.peers.job import Job, reset_after, stacked
from bench.peers.levels import Levels, Room
from bench.peers.torch_parts import Layer, Linear, Model


class _Sequential(Model):
    W: Linear
    """What the inputs are multiplied with, and the bias."""

    def carried(self, levels: Levels) -> Tensor:
        assert levels.payload is not None
        return self.W(torch.from_numpy(levels.payload))


class LSTM(_Sequential):
    """`Cell.LSTM`."""

    def __init__(self, job: Job, layer: Layer) -> None:
        self.hidden, zeros = job.hidden, np.zeros((1, job.hidden), np.float32)
        self.W = layer(stacked(job, "W", "iofu"), stacked(job, "b", "iofu"))
        self.U = layer(stacked(job, "U", "iofu"), None)
        self.rooms = Room((job.hidden,), zeros), Room((job.hidden,), zeros)

    def level(self, states: list[Tensor], rows: Tensor, begin: int, end: int, x: Tensor | None) -> None:
        """See `Model`."""
        (h, c), H = states, self.hidden
        sums = self.U(h.index_select(0, rows)).add_(x)
        i, o, f = sums[:, : 3 * H].sigmoid_().split(H, 1)
        kept = c.index_select(0, rows).mul_(f)
        torch.addcmul(kept, i, sums[:, 3 * H :].tanh_(), out=c[begin:end])
        torch.mul(o, c[begin:end].tanh(), out=h[begin:end])


class GRU(_Sequential):
    """`Cell.GRU`."""

    def __init__(self, job: Job, layer: Layer) -> None:
        self.hidden = job.hidden
        self.W = layer(stacked(job, "W", "rzg"), stacked(job, "b", "rzg"))
        self.U, self.U_g = layer(stacked(job, "U", "rz"), None), layer(job.params["U_g"], None)
        self.rooms = (Room((job.hidden,), np.zeros((1, job.hidden), np.float32)),)

    def level(self, states: list[Tensor], rows: Tensor, begin: int, end: int, x: Tensor | None) -> None:
        """See `Model`."""
        assert x is not None
        (h,) = states
        before = h.index_select(0, rows)
        z, g = self.gates(before, x)
        torch.lerp(g.tanh_(), before, z, out=h[begin:end])

    def gates(self, before: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return z, and g before its tanh, of steps with these products of inputs."""
        H = self.hidden
        r, z = self.U(before).add_(x[:, : 2 * H]).sigmoid_().split(H, 1)
        return z, self.U_g(r * before).add_(x[:, 2 * H :])


class ResetAfterGRU(GRU):
    """`Cell.GRU_RESET_AFTER`: one product for all that the state is multiplied with."""

    def __init__(self, job: Job, layer: Layer) -> None:
        super().__init__(job, layer)
        self.U = layer(*reset_after(job))

    def gates(self, before: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """See `GRU`."""
        H, sums = self.hidden, self.U(before)
        r, z = sums[:, : 2 * H].add_(x[:, : 2 * H]).sigmoid_().split(H, 1)
        return z, torch.addcmul(x[:, 2 * H :], r, sums[:, 2 * H :])
