"""Kernels that another process compiles: programs are pickled without the dims that passes know by identity."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cortex.compiler.compile import DIMS, Precision, kernel_of
from cortex.compiler.options import RecursionOptions, scheduled
from cortex.ra.model import Model
from cortex.ra.schedule import RecursionSchedule
from ragged.codegen.target import workers_for
from ragged.ir.pickles import dumps, loads
from ragged.runtime.team import check_workers


def compile_later(
    model: Model | RecursionSchedule,
    *,
    options: RecursionOptions,
    threads: int | None = None,
    precision: Precision = "float32",
    table_bytes: int = 0,
    **_: object,
) -> Callable[[], None]:
    """Return a function that can be pickled, and puts the code of a model, at all nodes, into the cache.

    Arguments are those of `cortex.compile`, which finds the code afterwards.

    Raises:
        ScheduleError: as `cortex.compile` does.
    """
    lowered = scheduled(model, options, table_bytes).lower(roots_alone=False)
    workers = workers_for("cpu", threads, check_workers(threads))
    given = lowered, "cpu", workers, precision, options.of_loops, None
    return partial(_compile, dumps(given, DIMS))


def _compile(pickled: bytes) -> None:
    kernel_of(*loads(pickled, DIMS), by_default=True, cache=True)
