"""`ragged.compile`: from a schedule of ragged operators to a function of arrays."""

from __future__ import annotations

from collections.abc import Mapping

from ragged.api.function import RaggedFunction
from ragged.api.preludes import programs_of
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import RaggedTensor
from ragged.codegen.target import TargetLike
from ragged.compiled.kernel import LoadedKernel
from ragged.compiled.kernel_cache import find_or_make
from ragged.compiled.key import Recipe
from ragged.compiled.parts import CompiledParts
from ragged.runtime.team import check_workers


def compile(
    program: RaggedSchedule | RaggedTensor,
    params: Mapping[str, object] | None = None,
    *,
    target: TargetLike = "cpu",
    threads: int | None = None,
    cache: bool = True,
) -> RaggedFunction:
    """Compile ragged operators for one machine and bind their parameters.

    Args:
        program: a schedule, or the tensor to compute.
        params: the parameters by name, arrays of the declared shapes and dtypes. They are copied.
        target: "cpu" is this machine's processor; "llvm -mcpu=..." or TVM's dict names another.
        threads: the most threads that a call may use; None is one for each core that this process may use. The results
            have the same bits for any number.
        cache: whether to look for the code in this user's cache on disk, and to keep it there. See
            `ragged.compiled.kernel_cache`.

    Returns:
        A function of arrays by name, for all lengths: see `RaggedFunction`.

    Raises:
        ScheduleError: the decisions of the schedule do not fit together.
        ModelError: the parameters are not the program's.
        UserError: the target or `threads` is not known.

    Example::

        f = ragged.compile(s)
        y = f(A=x)
    """
    schedule = program if isinstance(program, RaggedSchedule) else RaggedSchedule(program)
    workers = check_workers(threads)
    recipe = Recipe(programs_of(schedule), target, workers, "ragged operators")
    kernel = find_or_make(recipe, lambda: _generate(recipe), cache=cache)
    return RaggedFunction(CompiledParts(kernel, schedule.signature, threads, workers), params or {})


def _generate(recipe: Recipe) -> LoadedKernel:
    from ragged.api.pipeline import (
        generate_kernel,  # here: a cached kernel does without the compiler's import
    )

    return generate_kernel(recipe)
