"""The launch configuration of a GPU kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel's function by name, and its grid: `blocks` of `threads`, each with `shared_bytes` of memory on chip.

    `architecture` is what it was compiled for, as nvcc calls it: "sm_90".
    """

    function: str
    blocks: int
    threads: int
    shared_bytes: int
    architecture: str
