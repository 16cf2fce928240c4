"""`cortex.compile`: from a model, or its schedule, and parameters to a function of structures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from cortex.compiler.function import Compilation, RecursiveFunction
from cortex.compiler.pipeline import passes_for
from cortex.linearize import Linearizer, Vocab
from cortex.ra.model import Model
from cortex.ra.schedule import Schedule, default_schedule
from ragged.codegen.build import compile_program
from ragged.codegen.target import TargetLike
from ragged.errors import UserError
from ragged.passes.pipeline import run_passes
from ragged.runtime.team import usable_cores


def compile(
    model: Model | Schedule,
    params: Mapping[str, object],
    *,
    target: TargetLike = "cpu",
    threads: int | None = None,
    vocab: Vocab | None = None,
    keep: Literal["nodes", "roots"] = "nodes",
    children: str | tuple[str, ...] | None = None,
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
    workers = usable_cores() if threads is None else threads
    schedule = model if isinstance(model, Schedule) else default_schedule(model)
    steps = run_passes(schedule.lower(), passes_for(workers))
    compiled = compile_program(steps[-1].program, target)
    linearizer = Linearizer(schedule.model.plan(), vocab=vocab, children=children)
    return RecursiveFunction(
        Compilation(schedule, steps, compiled, workers), params, linearizer, keep_nodes=keep == "nodes"
    )
