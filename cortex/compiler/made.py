"""What compiling or loading a function makes, before it has parameters."""

from __future__ import annotations

from dataclasses import dataclass

from cortex.compiler.described import Described
from cortex.linearize import Vocab
from ragged.compiled.kernel import LoadedKernel


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """All of a compiled function but its parameters.

    `workers` is the most that run a call; `threads` what was asked for: None is as many as there are cores. `vocab`
    and `children` are the linearizer's options.
    """

    kernel: LoadedKernel
    model: Described
    threads: int | None
    workers: int
    keep_nodes: bool
    vocab: Vocab | None
    children: str | tuple[str, ...] | None
