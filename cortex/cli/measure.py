"""One model of the demo: compiled, checked against the oracle, timed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from cortex import ra
from cortex.cli.check import Agreement, check
from cortex.cli.progress import counting
from cortex.compiler import Profile, compile
from ragged.errors import DataError

_SIZES = (1, 10)
_OFTEN, _SELDOM = 30, 7


@dataclass(frozen=True, slots=True)
class Batch:
    """The first trees of the file, as many as `profile.structures`: how long a call takes and how right it is."""

    profile: Profile
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class Report:
    """What there is to say about a model: its batches, smallest first, or why it does not take these trees."""

    name: str
    hidden: int
    compile_seconds: float
    batches: tuple[Batch, ...]
    refused: DataError | None = None

    @property
    def right(self) -> bool:
        """Whether no result is off."""
        return not any(batch.agreement.wrong for batch in self.batches)


def batch_sizes(count: int) -> list[int]:
    """Return how many trees each batch has: one, ten and all, where there are as many."""
    return [*(size for size in _SIZES if size < count), count]


def measure(name: str, model: ra.Model, hidden: int, trees: Sequence[object]) -> Report:
    """Compile a model with drawn parameters; check and time it on batches of the first trees and of all."""
    params = model.init_params(seed=0)
    begin = time.perf_counter()
    fn = compile(model, params)
    seconds = time.perf_counter() - begin
    try:
        fn.linearize(trees)
    except DataError as error:
        return Report(name, hidden, seconds, (), error)
    parts = [trees[:size] for size in batch_sizes(len(trees))]
    outs = [fn(part) for part in parts]
    with counting(f"{name}: evaluating as recursion, in float64", len(trees)) as advance:
        agreements = check(model, params, trees, outs, advance)
    profiles = [fn.profile(part, repeats=_OFTEN if len(part) <= max(_SIZES) else _SELDOM) for part in parts]
    return Report(name, hidden, seconds, tuple(map(Batch, profiles, agreements)))
