"""The four models that are compiled for a GPU, small, and random trees for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cortex import Node, models, ra
from cortex.compiler.pipeline import passes_for
from cortex.ra.schedule import default_schedule
from ragged.ir.program import Program
from ragged.machine import Grid
from ragged.passes.pipeline import Step, run_passes

WORDS = 7
HIDDEN = {"tree_lstm": 6, "tree_gru": 6, "tree_fc": 6, "mv_rnn": 4}
GRID = Grid(blocks=3, threads=4, shared_bytes=4096)
"""Blocks that have two columns each of six, and of four one has two."""


def model_of(name: str, hidden: int | None = None) -> ra.Model:
    hidden = HIDDEN[name] if hidden is None else hidden
    embed = {"embed": hidden + 1} if name in ("tree_lstm", "tree_gru") else {}
    made: ra.Model = getattr(models, name)(hidden=hidden, vocab=WORDS, **embed)
    return made


def steps_of(model: ra.Model, grid: Grid = GRID) -> tuple[Step, ...]:
    return run_passes(default_schedule(model).lower(), passes_for(1, grid))


def program_of(name: str, grid: Grid = GRID) -> Program:
    return steps_of(model_of(name), grid)[-1].program


def trees(name: str, seed: int, count: int = 3, leaves: int = 5) -> list[Any]:
    """Return random trees over words: binary ones, or for child-sum cells of up to three children.

    There an inner node may carry a word, and a leaf none.
    """
    rng = np.random.default_rng(seed)
    any_node = name in ("tree_lstm", "tree_gru")

    def word(chance: float) -> dict[str, int]:
        return {"word": int(rng.integers(WORDS))} if not any_node or rng.random() < chance else {}

    def grow(size: int) -> Node:
        if size == 1:
            return Node((), **word(0.8))
        parts = int(rng.integers(2, min(3 if any_node else 2, size) + 1))
        cuts = np.sort(rng.choice(np.arange(1, size), parts - 1, replace=False))
        children = [grow(int(each)) for each in np.diff([0, *cuts, size])]
        return Node(children, **(word(0.4) if any_node else {}))

    return [grow(int(rng.integers(1, leaves + 1))) for _ in range(count)]
