"""The stages of a program: what runs once for the parameters, once for a batch, and as the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ragged.ir.stmt import Stmt


class StageKind(Enum):
    """When a stage runs: once for the parameters, once for a batch before the kernel, or as the kernel."""

    BIND = "bind"
    PRELUDE = "prelude"
    KERNEL = "kernel"


@dataclass(frozen=True, slots=True)
class Stage:
    """What runs at one time."""

    kind: StageKind
    body: Stmt
