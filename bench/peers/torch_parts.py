"""What cells in PyTorch by level are made of: linear layers, and the loop over levels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from bench.peers.job import Answers, Array
from bench.peers.levels import Levels, Room

Linear = Callable[[Tensor], Tensor]
"""Rows (n, in) to rows (n, out)."""
Layer = Callable[[Array, Array | None], Linear]
"""Weights (out, in) and bias (out,) to a linear layer."""


def stock(weights: Array, bias: Array | None) -> Linear:
    """Return a linear layer of PyTorch's own."""
    w, b = torch.from_numpy(weights), None if bias is None else torch.from_numpy(bias)
    return lambda x: torch.nn.functional.linear(x, w, b)


class Model(ABC):
    """A cell: memory for each of its states, and which of them, the first ones, are its outputs."""

    outputs: tuple[str, ...] = ("h",)
    rooms: tuple[Room, ...]

    def run(self, levels: Levels) -> Answers:
        """Return the outputs at the roots."""
        states = self.states(levels)
        first, carried = levels.begins[0], self.carried(levels)
        for begin, end, children in levels.upward():
            x = None if carried is None else carried[begin - first : end - first]
            self.level(states, torch.from_numpy(children).view(-1), begin, end, x)
        roots = torch.from_numpy(levels.roots)
        pairs = zip(self.outputs, states, strict=False)
        return {name: state.index_select(0, roots).numpy() for name, state in pairs}

    def states(self, levels: Levels) -> list[Tensor]:
        """Return the rows of each state."""
        return [torch.from_numpy(room(levels.rows)) for room in self.rooms]

    def carried(self, levels: Levels) -> Tensor | None:
        """Return what a level is given of what its nodes carry, a row for each inner node; None of nothing."""
        return None if levels.payload is None else torch.from_numpy(levels.payload)

    @abstractmethod
    def level(self, states: list[Tensor], rows: Tensor, begin: int, end: int, x: Tensor | None) -> None:
        """Write the states of nodes from `begin` to `end`, their children in these rows; `x` is what is carried."""
