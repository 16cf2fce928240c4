"""The result of a search: each point of the space with its times, and the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from ragged.auto.options import ScheduleOptions
from ragged.compiled.profile import Spread

HEADINGS = ("options", "kernel, us", "10-90 %", "of the default", "")
O = TypeVar("O", bound=ScheduleOptions)  # noqa: E741


@dataclass(frozen=True, slots=True)
class Timed(Generic[O]):
    """A point of the space that was timed.

    `kernel_us` is the kernel's time; `relative` that time over the default's, round by round: 0.9 is a tenth faster.
    Points are compared by it: not all were timed in the same rounds, and a machine has slow moments.
    """

    options: O
    kernel_us: Spread
    relative: Spread


@dataclass(frozen=True, slots=True)
class Refused(Generic[O]):
    """A point that was not timed, and the reason; one that has the kernel of another `repeats` it."""

    options: O
    because: str
    repeats: bool = False

    def __str__(self) -> str:
        return f"{point_text(self.options)}: {self.because}"


@dataclass(frozen=True, slots=True)
class Tuning(Generic[O]):
    """What `ragged.tune` and `cortex.tune` return: `best` is what `compile` takes as `options`.

    `timed` are the points with their times, fastest first; `refused` are the points that have no legal schedule, the
    kernel of another point, or other results. Where nothing was clearly faster than the default, `best` is the default.
    `interrupted` says that Ctrl-C ended the search; `front_end` is the package with the `compile` that takes `best`.
    """

    best: O
    timed: tuple[Timed[O], ...]
    refused: tuple[Refused[O], ...]
    interrupted: bool = False
    front_end: str = "ragged"

    @property
    def gain(self) -> float:
        """How many times as fast as the default the best is; 1 where it is the default."""
        return next((1 / each.relative.median for each in self.timed if each.options == self.best), 1.0)

    def rows(self) -> list[tuple[str, ...]]:
        """Return a row of text for each point that was timed, fastest first, under `HEADINGS`."""
        return [
            (
                point_text(each.options),
                f"{each.kernel_us.median:,.1f}",
                f"{each.kernel_us.low:,.1f}-{each.kernel_us.high:,.1f}",
                f"{each.relative.median:.3f}",
                "best" if each.options == self.best else "",
            )
            for each in self.timed
        ]

    def __str__(self) -> str:
        """Return the points as a table, what was refused, and how to use the best."""
        table = [HEADINGS, *self.rows()]
        first, *others = (max(len(row[column]) for row in table) for column in range(len(HEADINGS)))
        lines = [
            "  ".join(
                (row[0].ljust(first), *(text.rjust(w) for text, w in zip(row[1:], others, strict=True)))
            )
            for row in table
        ]
        return "\n".join([*(line.rstrip() for line in lines), *self.not_timed, self.advice])

    @property
    def not_timed(self) -> list[str]:
        """What was refused, a line each, and how many points have the kernel of another one; `refused` has these."""
        lines = [f"not timed: {each}" for each in self.refused if not each.repeats]
        count = sum(each.repeats for each in self.refused)
        return [*lines, f"not timed: {count} with the kernel of another point"] if count else lines

    @property
    def advice(self) -> str:
        """What to do with the result, in a sentence."""
        if self.best == type(self.best)():
            return "Nothing is clearly faster than the default."
        package = self.front_end
        return f"Faster than the default by {self.gain:.2f}: {package}.compile(..., options={package}.{self.best!r})"


def point_text(options: ScheduleOptions) -> str:
    """Return what differs from the default, in a line."""
    return repr(options).partition("(")[2][:-1] or "default"
