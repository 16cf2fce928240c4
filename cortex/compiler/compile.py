"""`cortex.compile`: from a model, or its schedule, and parameters to a function of structures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from cortex.compiler.function import RecursiveFunction, RecursiveParts
from cortex.compiler.options import DEFAULT, RecursionOptions, check_schedule, scheduled
from cortex.compiler.recursion_rules import recursion_rules
from cortex.compiler.scheduled_loops import Keep, ScheduledLoops
from cortex.compiler.signature import signature_of
from cortex.ilir.index_arrays import index_arrays
from cortex.ilir.plan import Plan
from cortex.ilir.structure import BATCH, CHILD, NODE, ROOT
from cortex.linearize import Linearizer, Vocab
from cortex.linearize.options import check_words
from cortex.ra.model import Model
from cortex.ra.schedule import RecursionSchedule
from ragged.auto import options as loop_options
from ragged.codegen.target import TargetLike, workers_for
from ragged.compiled.kernel import LoadedKernel
from ragged.compiled.kernel_cache import find_or_make
from ragged.compiled.key import Recipe
from ragged.compiled.parameters import checked_parameters
from ragged.errors import ScheduleError, UserError
from ragged.ir.expr import Source
from ragged.ir.program import Program
from ragged.runtime.team import check_workers

if TYPE_CHECKING:
    from cortex.compiler.recursion_loops import RecursionLoops

DIMS = {NODE: "node", ROOT: "root", CHILD: "child", BATCH: "batch"}
"""The dims that passes know by identity."""

Precision: TypeAlias = Literal["float32", "bf16"]
"""What the factors of products with parameters are rounded to."""


def compile(
    model: Model | RecursionSchedule | ScheduledLoops,
    params: Mapping[str, object],
    *,
    target: TargetLike = "cpu",
    threads: int | None = None,
    vocab: Vocab | None = None,
    keep: Keep = "nodes",
    precision: Precision = "float32",
    children: str | tuple[str, ...] | None = None,
    payloads: Mapping[str, str] | None = None,
    table_bytes: int = 0,
    options: RecursionOptions = DEFAULT,
    schedule: Literal["default"] | None = "default",
    cache: bool = True,
) -> RecursiveFunction:
    """Compile a model for one machine and bind its parameters.

    Args:
        model: what `ra.recursion_op` or a constructor of `cortex.models` returned; or an `ra.Schedule` of it; or the
            loops of one, from `cortex.loop_schedule`. A model is scheduled with its nodes batched by height, and its
            leaves and branches specialized.
        params: its parameters by name: NumPy arrays or torch tensors of the declared shapes and dtypes. They are
            copied.
        target: "cpu" is this machine's processor; "llvm -mcpu=..." or TVM's dict names another: the
            schedule follows its vectors and caches (docs/howto/deploy.md). What cannot run here can be shown and saved.
            "cuda -arch=sm_90" compiles the kernel for GPUs: see docs/concepts/gpu.md. Needs nvcc.
        threads: the most threads that a call may use, the calling one among them; None is one for each core that
            this process may use, and the schedule is for the target's `-num-cores` if it says so. The results have the
            same bits for any number. See `ragged.runtime.team`.
        vocab: the numbers of the words in bracketed strings; where the model reads words, strings need it. It has at
            most as many words as the model's table has rows.
        keep: "nodes" keeps the results of all nodes in an output, "roots" those of the roots alone.
        precision: "bf16" rounds both factors of every product with a matrix of parameters to bfloat16, of which half as
            many bytes are read and several are multiplied by one instruction where the processor has a quick one. The
            sums, and all else, stay in float32. docs/concepts/loop_schedule.md says what error that makes.
        children: the name of the attribute that holds a node's children, or a tuple with a name for each child; by
            default `children`, or else `left` and `right`. Of a dict it is a key: children="Plans".
        payloads: the attribute or key of a payload that has another name in the model: {"word": "token_id"}.
        table_bytes: the most bytes of tables over what nodes carry, such as the product of a weight matrix with the
            embedding of each word: made when parameters are bound, and looked up in place of computing. By default
            there are none; `fn.show("schedule")` says what there could be. A schedule says so itself, by `tabulate`.
            Tables are in float32 whatever the `precision`.
        options: options of the schedules that differ from the default; `cortex.tune` looks for better ones.
        schedule: "default" schedules the loops, or what `cortex.loop_schedule` left of them; None leaves them as they
            are written: one worker runs what no primitive gave to a team.
        cache: whether to look for the code in this user's cache on disk, and to keep it there. See
            `ragged.compiled.kernel_cache`.

    Returns:
        A function of structures: see `RecursiveFunction`.

    Raises:
        ModelError: the parameters are not the model's.
        UserError: `vocab` is given and the model reads no word, or has a table with fewer rows; the target, `threads`,
            `keep`, `precision`, `schedule` or `table_bytes` is not known; or there is no nvcc for "cuda".
        ScheduleError: the model's recursion is scheduled in a way that no kernel for a GPU is made of; `options`
            are not possible for this machine or this model; or they, or `keep`, do not fit the schedule that is given.
            A `UserError`.

    Example::

        model = models.tree_lstm(hidden=256, embed=300, vocab=20_000)
        fn = cortex.compile(model, model.init_params(seed=0))
        fn([((1, 2), 3), (4, 5)])["h"].shape        # (2, 256)
    """
    if keep not in get_args(Keep):
        raise UserError(f"compile: keep={keep!r} is neither 'nodes' nor 'roots'")
    if precision not in get_args(Precision):
        raise UserError(
            f"compile: precision={precision!r} is neither 'float32' nor 'bf16'",
            because="it says what is multiplied; what is summed up, and all else, is float32",
            fix="precision='bf16' multiplies bfloat16 numbers",
        )
    loops = model if isinstance(model, ScheduledLoops) else None
    given = model.recursion if isinstance(model, ScheduledLoops) else model
    check_schedule(given, loops, options, keep, schedule, precision)
    _check_tables(given, table_bytes)
    workers = check_workers(threads)
    recursion = scheduled(given, options, table_bytes)
    if vocab is not None:
        check_words(vocab, recursion.plan(roots_alone=keep == "roots"))
    lowered = recursion.lower(roots_alone=keep == "roots")
    signature = signature_of(
        recursion,
        lowered,
        options.of_recursion(),
        recursion_rules(recursion, options, default=isinstance(given, Model)),
        precision=precision,
        keep_nodes=keep == "nodes",
        children=children,
        payloads=payloads,
    )
    checked_parameters(signature, params)
    program = lowered if loops is None else loops.checked()
    if loops is not None:
        _check_declared(program, signature.plan)
    kernel = kernel_of(
        program,
        target,
        workers_for(target, threads, workers),
        precision,
        options.of_loops,
        loops,
        by_default=schedule is not None,
        cache=cache,
    )
    # a GPU has memory and blocks for batches as large as structures are high
    if kernel.kernel.launch is not None:
        signature = replace(signature, plan=replace(signature.plan, widest=None))
    linearizer = Linearizer(signature.plan, vocab=vocab, children=children, payloads=payloads)
    return RecursiveFunction(RecursiveParts(kernel, signature, threads, workers, linearizer, vocab), params)


def _check_tables(model: Model | RecursionSchedule, table_bytes: int) -> None:
    if type(table_bytes) is not int or table_bytes < 0:
        raise UserError(
            f"compile: table_bytes={table_bytes!r} is no number of bytes", fix="a number from 0 up"
        )
    if isinstance(model, RecursionSchedule) and table_bytes:
        raise UserError(
            f"compile: table_bytes={table_bytes} with a schedule",
            because="a schedule says itself what is in tables",
            fix="s.tabulate(tensor), or give compile the model",
        )


def _check_declared(program: Program, plan: Plan) -> None:
    """Refuse a program that reads what batches do not have: a step of a schedule declared it."""
    known = {*(each.name for each in index_arrays(plan)), *(each.name for each in plan.payloads)}
    for function in program.functions:
        if function.source in (Source.INPUT, Source.PAYLOAD) and function.name not in known:
            raise ScheduleError(
                f"compile: the loops read '{function.name}', which a batch of structures does not have",
                because="a step of the schedule declared it, as declare_order does",
                fix="leave that step out; read_in_place takes the names 'begin_of_x' and 'size_of_x' of a payload 'x'",
            )


def recipe_of(
    program: Program,
    target: TargetLike,
    workers: int,
    precision: Precision = "float32",
    options: loop_options.ScheduleOptions = loop_options.DEFAULT,
    passes: str = "recursive models",
) -> Recipe:
    """Return the recipe of a lowered program's kernel, of which the cache makes its key; `passes` names the passes."""
    return Recipe(
        (program,),
        target,
        workers,
        f"{passes} in {precision}",
        DIMS,
        repr(options),
        packages=("ragged", "cortex"),
    )


def kernel_of(
    program: Program,
    target: TargetLike,
    workers: int,
    precision: Precision,
    options: loop_options.ScheduleOptions,
    loops: ScheduledLoops | None,
    *,
    by_default: bool,
    cache: bool,
) -> LoadedKernel:
    """Return the kernel of a lowered program, or of one that `loops` were made of, from the cache or new."""
    passes = f"{'loops of ' * (loops is not None)}recursive models{', as written' * (not by_default)}"

    def make() -> LoadedKernel:
        # Here: a cached kernel does without the compiler's import.
        from cortex.compiler.pipeline import generate_kernel

        return generate_kernel(
            program,
            target,
            workers,
            options,
            rounded=precision == "bf16",
            loops=loops,
            default_schedule=by_default,
        )

    return find_or_make(recipe_of(program, target, workers, precision, options, passes), make, cache=cache)


def loop_schedule(recursion: Model | RecursionSchedule, *, keep: Keep = "nodes") -> RecursionLoops:
    """Return the loops of a recursive model, to be scheduled by the primitives of `ragged.transform`.

    Loops, statements and buffers are named as `loops.program` prints them. `cortex.compile` takes the result: it
    schedules by default what is left open, or with `schedule=None` nothing. The schedule may change afterwards.

    Args:
        recursion: an `ra.Schedule`; or a model, with the default schedule of its recursion.
        keep: the results that the outputs will have, as in `cortex.compile`.

    Raises:
        UserError: `recursion` is neither, or `keep` is not known.

    Example::

        loops = cortex.loop_schedule(s)
        loops.apply(split, loops.loop("j"), 8)
        fn = cortex.compile(loops, params)
    """
    from cortex.compiler.recursion_loops import RecursionLoops  # here: it imports the compiler

    return RecursionLoops(recursion, keep)
