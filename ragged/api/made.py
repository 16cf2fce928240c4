"""What compiling or loading a ragged function makes, before it has parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragged.api.described import Described
from ragged.compiled.kernel import LoadedKernel


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """All of a compiled function but its parameters.

    `texts` are those that `show` prints of its operators: "ragged", the loops that they became, and "schedule", the
    user's part of it. `workers` is the most that run a call; `threads` what was asked for: None is as many as there are
    cores.
    """

    name: str
    described: Described
    kernel: LoadedKernel
    texts: Mapping[str, str]
    threads: int | None
    workers: int
