"""`ragged.tune`: a measured search over options of the default schedule, for the shapes of a caller."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from ragged.api.compile import decided_schedule
from ragged.api.compile_options import CompileOptions, Precision, read_options
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import RaggedTensor
from ragged.auto.options import DEFAULT, ScheduleOptions
from ragged.auto.shapes import ShapesLike
from ragged.compiled.parameters import bind_parameters
from ragged.errors import UserError
from ragged.machine import this_machine
from ragged.runtime.cores import usable_cores
from ragged.runtime.team import check_workers
from ragged.tuning.calls import drawn_call, representatives, shapes_text, with_sizes
from ragged.tuning.compile_ahead import CompileAhead
from ragged.tuning.records import RecordKey, key_for
from ragged.tuning.result import Tuning
from ragged.tuning.run import MeasuredSearch
from ragged.tuning.space import Grid, Space, default_space
from ragged.tuning.strategies import StrategyLike
from ragged.tuning.subject import RaggedSubject


def tune(
    program: RaggedSchedule | RaggedTensor,
    params: Mapping[str, object] | None = None,
    *,
    shapes: ShapesLike = None,
    calls: Sequence[Mapping[str, object]] | None = None,
    seconds: float = 60.0,
    strategy: StrategyLike = "genetic",
    space: Grid | None = None,
    records: str | os.PathLike[str] | None = None,
    key: RecordKey | None = None,
    threads: int | None = None,
    code_bytes: int | None = None,
    precision: Precision = "float32",
    cache: bool = True,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> Tuning[ScheduleOptions]:
    """Look for options that make ragged operators faster on this machine, and return all that was tried.

    Points are compiled in parallel processes, which fill the user's cache of kernels; then they are timed one after
    another, in turns with the default schedule. All results must have the default's bits. Ctrl-C ends the search and
    keeps the best so far.

    Args:
        program: what `ragged.compile` takes.
        params: its parameters by name.
        shapes: the sizes that calls bring, as for `ragged.compile`, such as `f.observed()`; at most five that stand for
            them are timed, on random arrays, each with the weight of those it stands for. By default the ranges that
            sizes are declared with.
        calls: the arguments of calls to time instead, by name, with equal weights: for ragged arrays and integers.
        seconds: the duration of the search; points that are being compiled or timed at its end are finished.
        strategy: "genetic" (Tensor Comprehensions, section 6), "random", "grid", "one by one" (each option from the
            best so far), "optuna" (an extra), or a function of the space's extents and the seed that makes a
            `ragged.tuning.strategies.Strategy`.
        space: the values to try besides the defaults, by the name of an option of `ragged.ScheduleOptions`.
        records: a file to keep each point's result in. Points that it has for this program, processor, number of
            threads and shapes are not timed again, but for the best. Files are merged by concatenation.
        key: what the program and its shapes are called in `records`, rather than by their text.
        threads: as for `ragged.compile`.
        code_bytes: as for `ragged.compile`.
        precision: as for `ragged.compile`.
        cache: whether to use the user's cache of kernels; without it points are compiled one after another.
        seed: of the arrays and the strategy.
        advance: called after each point.

    Raises:
        UserError: `space` has a name that is no option; a strategy is not known; arrays cannot be drawn.
        DataError: `records` is no file of records.
        InternalError: a point has other results than the default, but for the signs of NaN: a fault of the compiler.

    Example::

        found = ragged.tune(Y, {"W": w}, shapes={"T": range(1, 129)}, seconds=60)
        f = ragged.compile(Y, {"W": w}, options=found.best)
    """
    if key is not None and not isinstance(key, RecordKey):
        raise UserError(f"tune: key={key!r} is no RecordKey", fix="ragged.tuning.records.key_of_text(...)")
    if type(seed) is not int or seed < 0:
        raise UserError(f"tune: seed={seed!r} is no seed", fix="an integer from 0 up")
    schedule = decided_schedule("tune", program, precision)
    options = read_options(
        schedule,
        options=DEFAULT,
        shapes=shapes,
        code_bytes=code_bytes,
        precision=precision,
        default_schedule=True,
    )
    points = Space.of(default_space(this_machine()) if space is None else space, DEFAULT)
    workers = check_workers(threads)
    with CompileAhead(usable_cores() if cache else 0) as ahead:
        subject = RaggedSubject(schedule, params or {}, options, threads, cache=cache, ahead=ahead)
        found = _give_calls(subject, schedule, params or {}, options, calls, workers, seed)
        search = MeasuredSearch(subject, points, strategy, seed, records, key or found, advance)
        return search.run(seconds, "ragged")


def _give_calls(
    subject: RaggedSubject,
    schedule: RaggedSchedule,
    params: Mapping[str, object],
    options: CompileOptions,
    calls: Sequence[Mapping[str, object]] | None,
    workers: int,
    seed: int,
) -> RecordKey:
    """Give a subject the calls to time and their weights; return the key of their records."""
    given = [f"precision: {options.precision}"] * (options.precision != "float32")
    given += [f"code_bytes: {options.code_bytes}"] * (options.code_bytes is not None)
    if calls is not None:
        if not isinstance(calls, list | tuple) or not calls or not all(isinstance(c, Mapping) for c in calls):
            raise UserError(
                "tune: calls= is no list of the arguments of calls by name, or an empty one",
                fix='calls=[{"X": x}]',
            )
        subject.set_calls(calls, (1.0,) * len(calls))
        return key_for(subject.programs, workers, shapes_text(calls), given)
    _, bound = bind_parameters(schedule.signature, params)
    shapes = with_sizes(options.shapes, {name: value for name, (value, _) in bound.items()})
    missing = set(schedule.signature.sizes) - {name for shape in shapes for name, _ in shape.sizes}
    if missing:
        raise UserError(
            f"tune: no shapes are given for size '{min(missing)}'",
            fix=f"shapes={{{min(missing)!r}: [...]}}, a range where it is declared, or calls=[...]",
        )
    chosen = representatives(shapes)
    drawn = [drawn_call(schedule.signature, shape, seed) for shape in chosen]
    subject.set_calls(drawn, tuple(shape.weight for shape in chosen))
    return key_for(subject.programs, workers, chosen, given)
