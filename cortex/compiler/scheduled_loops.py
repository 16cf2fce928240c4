"""What `cortex.compile` needs of the loop schedule of a recursive model, without importing the compiler."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, TypeAlias

from cortex.ra.schedule import RecursionSchedule
from ragged.ir.program import Program

Keep: TypeAlias = Literal["nodes", "roots"]
"""The results that an output has: of all nodes, or of the roots."""


class ScheduledLoops(ABC):
    """The loops of a recursive model under a schedule of the user's; `cortex.loop_schedule` makes one.

    `recursion` is the recursion schedule as it was when the loops were made; `keep` is as in `cortex.compile`.
    """

    recursion: RecursionSchedule
    keep: Keep

    @abstractmethod
    def checked(self) -> Program:
        """Return the program with a prelude that checks what all proofs assumed of data."""

    @abstractmethod
    def listings(self) -> dict[str, str]:
        """Return the texts that `show` prints of what came before the default schedule: "ilir", "checks", "steps"."""
