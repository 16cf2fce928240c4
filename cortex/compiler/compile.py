"""`cortex.compile`: from a model, or its schedule, and parameters to a function of structures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from cortex.compiler.described import describe
from cortex.compiler.function import RecursiveFunction
from cortex.compiler.made import Made
from cortex.ilir.structure import BATCH, CHILD, NODE
from cortex.linearize import Vocab
from cortex.ra.model import Model
from cortex.ra.schedule import Schedule, default_schedule
from ragged.codegen.target import TargetLike
from ragged.errors import UserError
from ragged.ir.program import Program
from ragged.kernels.cached import find_or_make
from ragged.kernels.kernel import LoadedKernel
from ragged.kernels.key import Recipe
from ragged.runtime.team import check_workers


def compile(
    model: Model | Schedule,
    params: Mapping[str, object],
    *,
    target: TargetLike = "cpu",
    threads: int | None = None,
    vocab: Vocab | None = None,
    keep: Literal["nodes", "roots"] = "nodes",
    children: str | tuple[str, ...] | None = None,
    cache: bool = True,
) -> RecursiveFunction:
    """Compile a model for one machine and bind its parameters.

    Args:
        model: what `ra.recursion_op` or a constructor of `cortex.models` returned, or an `ra.Schedule` of it. A
            model is scheduled with its nodes batched by height and its leaves specialized.
        params: its parameters by name: NumPy arrays or torch tensors of the declared shapes and dtypes. They are
            copied.
        target: "cpu" is this machine's processor; "llvm -mcpu=..." or TVM's dict names another.
        threads: the most threads that a call may use, the calling one among them; None is one for each core that
            this process may use. The results have the same bits for any number. See `ragged.runtime.team`.
        vocab: the numbers of the words in bracketed strings; without it strings are refused.
        keep: "nodes" keeps the results of all nodes in an output, "roots" those of the roots alone.
        children: the name of the attribute that holds a node's children, or a tuple with a name for each child; by
            default `children`, or else `left` and `right`.
        cache: whether to look for the code in this user's cache on disk, and to keep it there. See
            `ragged.kernels.cached`.

    Returns:
        A function of structures: see `RecursiveFunction`.

    Raises:
        ModelError: the parameters are not the model's.
        UserError: the target, `threads` or `keep` is not known.

    Example::

        model = models.tree_lstm(hidden=256, embed=300, vocab=20_000)
        fn = cortex.compile(model, model.init_params(seed=0))
        fn([((1, 2), 3), (4, 5)])["h"].shape        # (2, 256)
    """
    if keep not in ("nodes", "roots"):
        raise UserError(f"compile: keep={keep!r} is neither 'nodes' nor 'roots'")
    if threads is not None and (type(threads) is not int or threads < 1):
        raise UserError(
            f"compile: threads={threads!r} leaves nobody to do the work", fix="a number from 1 up, or None"
        )
    workers = check_workers(threads)
    schedule = model if isinstance(model, Schedule) else default_schedule(model)
    program = schedule.lower()
    kernel = _kernel(program, target, workers, cache=cache)
    made = Made(kernel, describe(schedule, program), threads, workers, keep == "nodes", vocab, children)
    return RecursiveFunction(made, params)


def recipe_of(program: Program, target: TargetLike, workers: int) -> Recipe:
    """Return what a lowered program's kernel is made from and for, as the cache knows it."""
    dims = {NODE: "node", CHILD: "child", BATCH: "batch"}
    return Recipe((program,), target, workers, "recursive models", dims)


def _kernel(program: Program, target: TargetLike, workers: int, *, cache: bool) -> LoadedKernel:
    """Return the kernel of a lowered program, from the cache or new."""

    def make() -> LoadedKernel:
        # Here, so that what is cached does not cost the compiler's import.
        from cortex.compiler.generate import generate_kernel

        return generate_kernel(program, target, workers)

    return find_or_make(recipe_of(program, target, workers), make, cache=cache)
