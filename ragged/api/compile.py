"""`ragged.compile`: from a schedule of ragged operators to a function of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from ragged.api.compile_options import CompileOptions, Precision, read_options
from ragged.api.default_decisions import decide_by_default
from ragged.api.function import RaggedFunction
from ragged.api.preludes import programs_of
from ragged.api.program import keep_products_apart
from ragged.api.schedule import RaggedSchedule
from ragged.api.signature import RaggedSignature
from ragged.api.tensors import RaggedTensor
from ragged.auto.options import DEFAULT, ScheduleOptions
from ragged.auto.shapes import ShapesLike
from ragged.codegen.target import TargetLike, workers_for
from ragged.compiled.kernel import LoadedKernel
from ragged.compiled.kernel_cache import find_or_make
from ragged.compiled.key import Recipe
from ragged.compiled.parameters import checked_parameters
from ragged.compiled.parts import CompiledParts
from ragged.errors import UserError
from ragged.runtime.team import check_workers


def compile(
    program: RaggedSchedule | RaggedTensor,
    params: Mapping[str, object] | None = None,
    *,
    target: TargetLike = "cpu",
    threads: int | None = None,
    shapes: ShapesLike = None,
    code_bytes: int | None = None,
    precision: Precision = "float32",
    options: ScheduleOptions = DEFAULT,
    schedule: Literal["default"] | None = "default",
    cache: bool = True,
) -> RaggedFunction:
    """Compile ragged operators for one machine and bind their parameters.

    Args:
        program: a schedule, or the tensor to compute.
        params: the parameters by name, arrays of the declared shapes and dtypes. They are copied.
        target: "cpu" is this machine's processor; "llvm -mcpu=..." or TVM's dict names another: the
            schedule follows its vectors and caches (docs/howto/deploy.md). What cannot run here can be shown, planned
            and saved.
        threads: the most threads that a call may use; None is one for each core that this process may use, and the
            schedule is for the target's `-num-cores` if it says so. The results have the same bits for any number.
        shapes: the sizes that calls are expected to bring, which guide the default schedule and restrict nothing: for
            each size by name the numbers it takes, or how often it takes each; or a list of shapes, such as
            `RaggedFunction.observed` returns. By default the ranges that sizes are declared with.
        code_bytes: the most bytes of code for the variants of the kernel; the fewest there are, where none has so few.
        precision: "bf16" rounds both factors of every product with a matrix of parameters to bfloat16; sums stay in
            float32. As for `cortex.compile`.
        options: options of the default schedule; none changes a bit of a result.
        schedule: None leaves the loops as they are written, for one worker.
        cache: whether to look for the code in this user's cache on disk, and to keep it there. See
            `ragged.compiled.kernel_cache`.

    Returns:
        A function of arrays by name, for all lengths: see `RaggedFunction`.

    Raises:
        ScheduleError: the decisions of the schedule do not fit together.
        ModelError: the parameters are not the program's.
        UserError: the target, `threads`, `shapes`, `precision` or another option is not known.

    Example::

        f = ragged.compile(s)
        y = f(A=x)
    """
    parts = compiled_parts(
        program,
        params or {},
        target=target,
        threads=threads,
        shapes=shapes,
        code_bytes=code_bytes,
        precision=precision,
        options=options,
        schedule=schedule,
        cache=cache,
    )
    return RaggedFunction(parts, params or {})


def compiled_parts(
    program: RaggedSchedule | RaggedTensor,
    params: Mapping[str, object] | None = None,
    *,
    target: TargetLike = "cpu",
    threads: int | None = None,
    shapes: ShapesLike = None,
    code_bytes: int | None = None,
    precision: Precision = "float32",
    options: ScheduleOptions = DEFAULT,
    schedule: Literal["default"] | None = "default",
    cache: bool = True,
) -> CompiledParts[RaggedSignature]:
    """Compile ragged operators as `compile` does, which binds parameters besides; `params` are checked first."""
    if schedule not in ("default", None):
        raise UserError(f"compile: schedule={schedule!r} is neither 'default' nor None")
    own = decided_schedule("compile", program, precision, default=schedule is not None)
    chosen = read_options(
        own,
        options=options,
        shapes=shapes,
        code_bytes=code_bytes,
        precision=precision,
        default_schedule=schedule is not None,
    )
    if params is not None:
        checked_parameters(own.lowered.signature, params)
    workers = check_workers(threads) if chosen.default_schedule else 1
    scheduled = workers_for(target, threads, workers) if chosen.default_schedule else 1
    recipe = recipe_of(own, chosen, target, scheduled)
    kernel = find_or_generate(recipe, chosen, cache=cache)
    return CompiledParts(kernel, replace(own.signature, precision=chosen.precision), threads, workers)


def decided_schedule(
    what: str, program: RaggedSchedule | RaggedTensor, precision: str, *, default: bool = True
) -> RaggedSchedule:
    """Return the schedule of what is compiled, with `default` decisions where its user made none.

    Raises:
        UserError: `program` is no tensor and no schedule; the message begins with `what`.
    """
    if not isinstance(program, RaggedSchedule | RaggedTensor):
        raise UserError(
            f"{what}: {type(program).__name__} is neither a tensor nor a schedule of some",
            fix=f"ragged.{what}(y), where y = ragged.compute(...)",
        )
    own = program if isinstance(program, RaggedSchedule) else RaggedSchedule(program)
    if default:
        own = decide_by_default(own)
    if precision == "bf16" and not own.decided:
        keep_products_apart(own.decisions)
    return own


def recipe_of(schedule: RaggedSchedule, options: CompileOptions, target: TargetLike, workers: int) -> Recipe:
    """Return what the kernel of a schedule is compiled from."""
    return Recipe(programs_of(schedule), target, workers, "ragged operators", options=repr(options))


def find_or_generate(recipe: Recipe, options: CompileOptions, *, cache: bool) -> LoadedKernel:
    """Return the kernel of a recipe, from this user's cache or compiled."""
    return find_or_make(recipe, lambda: _generate(recipe, options), cache=cache)


def _generate(recipe: Recipe, options: CompileOptions) -> LoadedKernel:
    from ragged.api.pipeline import (
        generate_kernel,  # here: a cached kernel does without the compiler's import
    )

    return generate_kernel(recipe, options)
