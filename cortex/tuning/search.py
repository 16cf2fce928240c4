"""`cortex.tune`: a measured search over options of a model's schedules, for a batch of a caller."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from cortex.compiler import Output, compile
from cortex.compiler.compile_later import compile_later
from cortex.compiler.options import DEFAULT, RecursionOptions
from cortex.linearize import Linearized
from cortex.ra.model import Model
from cortex.ra.schedule import RecursionSchedule
from cortex.tuning.answers import disagreement
from cortex.tuning.space import default_space
from ragged.errors import ScheduleError, UserError
from ragged.runtime.cores import usable_cores
from ragged.runtime.team import check_workers
from ragged.tuning.compile_ahead import CompileAhead, Job
from ragged.tuning.contest import Subject, TunedKernel
from ragged.tuning.records import RecordKey, key_of_text
from ragged.tuning.result import Tuning
from ragged.tuning.run import MeasuredSearch
from ragged.tuning.space import Grid, Space
from ragged.tuning.strategies import StrategyLike

_CALLS = 5
"""Timed calls of a kernel in a round."""


def tune(
    model: Model | RecursionSchedule,
    params: Mapping[str, object],
    trees: object,
    *,
    seconds: float = 300.0,
    strategy: StrategyLike = "one by one",
    space: Grid | None = None,
    records: str | os.PathLike[str] | None = None,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
    **compile_args: Any,
) -> Tuning[RecursionOptions]:
    """Look for options that make a model faster on a batch, and return all that was tried (CORTEX, section 6).

    Points are compiled in parallel processes, which fill the user's cache of kernels; then they are timed one after
    another, in turns with the default. All have to give the default's bits at all nodes; those that refactor change
    orders by name, and have to agree within 1e-5. Ctrl-C ends the search and keeps the best so far.

    Args:
        model: what `cortex.compile` takes; the recursion of an `ra.Schedule` is left as it is.
        params: its parameters by name.
        trees: the batch to time, what a call of the function takes. The best for one batch need not be that for
            another one, nor for another machine.
        seconds: the most that the search takes, but for points that are being compiled or timed at its end.
        strategy: "one by one" tries the values of one option after another from the best so far, which makes few
            points of many options; "grid", "random", "genetic", "optuna" and functions are as for `ragged.tune`.
        space: the values to try besides the defaults, by the name of an option of `cortex.RecursionOptions`; the
            default has about twenty.
        records: a file to keep each point's result in, as for `ragged.tune`: the search goes on from it.
        seed: of the strategy.
        advance: called after each point.
        compile_args: what `cortex.compile` takes besides: `threads`, `vocab`, `children`, `precision`, `cache`.

    Raises:
        UserError: `space` has a name that is no option, or a value that is not legal; a strategy is not known.
        DataError: `records` is no file of records, or `trees` are not what the model takes.
        InternalError: a point has other results than the default.

    Example::

        found = cortex.tune(model, params, trees, space={"slice_vectors": [2, 4], "tile": [(6, 4)]})
        fn = cortex.compile(model, params, options=found.best)
    """
    for name in ("options", "keep", "schedule", "target"):
        if name in compile_args:
            raise UserError(
                f"tune: {name} is not for its user to say",
                because="it compares all nodes for all options, on this machine",
            )
    unknown = next((name for name in compile_args if name not in signature(compile).parameters), None)
    if unknown is not None:
        raise TypeError(f"tune() got an unexpected keyword argument '{unknown}'")
    points = Space.of(default_space(model) if space is None else space, DEFAULT)
    cache = compile_args.get("cache", True)
    with CompileAhead(usable_cores() if cache else 0) as ahead:
        subject = _ModelSubject(model, params, trees, compile_args, ahead)
        search = MeasuredSearch(subject, points, strategy, seed, records, subject.key(), advance)
        return search.run(seconds, "cortex")


@dataclass(frozen=True, slots=True)
class _ModelSubject(Subject[RecursionOptions]):
    """A model with the batch that is timed; its results are compared at all nodes."""

    model: Model | RecursionSchedule
    params: Mapping[str, object]
    trees: object
    compile_args: Mapping[str, Any]
    ahead: CompileAhead

    @property
    def default(self) -> RecursionOptions:
        """See `Subject`."""
        return DEFAULT

    def key(self) -> RecordKey:
        """Return the key of the model's records: its text, what it is compiled with, and the batch's arrays."""
        fn = compile(self.model, self.params, **self.compile_args)
        given = {name: self.compile_args.get(name) for name in ("precision", "table_bytes")}
        text = f"{fn.show('ilir')}\n{given}"
        return key_of_text(
            text, check_workers(self.compile_args.get("threads")), _batch_text(fn.linearize(self.trees))
        )

    def prepare(self, points: Sequence[RecursionOptions]) -> None:
        """See `Subject`."""
        if len(points) > 1:
            self.ahead(list(self._jobs(points)))

    def _jobs(self, points: Sequence[RecursionOptions]) -> Iterator[Job]:
        for options in points:
            try:
                yield compile_later(self.model, options=options, **self.compile_args)
            except ScheduleError:
                continue  # `compile` says so again

    def compile(self, options: RecursionOptions) -> TunedKernel[RecursionOptions]:
        """See `Subject`."""
        fn = compile(self.model, self.params, options=options, **self.compile_args)
        batch = fn.linearize(self.trees)
        return TunedKernel(
            options,
            fn.show("loops"),
            fn(self.trees),
            lambda: [float(np.median(fn.kernel_times(batch, _CALLS)))],
        )

    def disagreement(self, options: RecursionOptions, answers: Output, expected: Output) -> str | None:
        """See `Subject`."""
        return disagreement(options, answers, DEFAULT, expected)


def _batch_text(batch: Linearized) -> str:
    """Return what names a batch: its numbers of structures and nodes, and a hash of its arrays."""
    digest = hashlib.sha256()
    for name, array in sorted(batch.arrays.items()):
        digest.update(f"{name} {np.asarray(array).tolist()}".encode())
    return f"{batch.num_structures} structures, {len(batch.rows)} nodes, {digest.hexdigest()[:32]}"
