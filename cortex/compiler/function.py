"""A compiled model: what `cortex.compile` and `cortex.load` return."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from time import perf_counter_ns
from typing import NoReturn

from cortex.compiler.arguments import Arguments
from cortex.compiler.artifact import save
from cortex.compiler.made import Made
from cortex.compiler.output import Output
from cortex.compiler.parameters import bind_parameters
from cortex.compiler.profile import Profile
from cortex.compiler.spin_time import spin_time_by_batch
from cortex.compiler.stream import stream
from cortex.ilir.plan import Plan
from cortex.linearize import Linearized, Linearizer, Vocab
from ragged.compiled.profile import percentiles, spread
from ragged.errors import UserError
from ragged.ir.expr import Role
from ragged.ir.program import StageKind

STAGES = ("ra", "schedule", "ilir", "loops", "checks", "tir", "asm", "cuda")
"""What `show` prints, from the user's model down."""


class RecursiveFunction:
    """A model compiled for one machine, with its parameters: call it on structures.

    One function serves every batch, and any number of threads may call it at once. `cortex.compile` says what a
    call takes.
    """

    def __init__(
        self, made: Made, params: Mapping[str, object], linearizer: Linearizer | None = None
    ) -> None:
        """Bind the parameters, which are copied; raises `ModelError` where they do not fit."""
        self._made = made
        self._linearizer = linearizer or Linearizer(made.model.plan, vocab=made.vocab, children=made.children)
        self._params = bind_parameters(made.model.parameters, params, made.model.finite)
        kernel = made.kernel
        named = {name: self._params[own] for name, own in kernel.named(Role.PARAMETER).items()}
        begin = perf_counter_ns()
        self._caller = kernel.caller(named, made.workers)
        self._bind_us = (perf_counter_ns() - begin) / 1000
        columns = kernel.kernel.shares_columns
        self._spin_ns = spin_time_by_batch(made.model.operations, made.workers, columns=columns)
        self._arguments = Arguments(self._caller.wanted)
        outputs = kernel.named(Role.OUTPUT)
        self._outputs = tuple(outputs[name] for name in self._caller.outputs)

    def __call__(self, data: object) -> Output:
        """Run the model over structures and return its results, which the caller owns.

        `data` is a list of structures, one structure, or what `linearize` returned. Vectors of nodes that stand in
        arrays are read where they are: no thread may change or resize them before the call returns.

        Raises:
            DataError: something in `data` is not what the model takes; nothing has been computed.
        """
        return self._run(self._linearizer.lend(data, self._arguments.in_place))

    def _run(self, linearized: Linearized) -> Output:
        spin_ns = self._spin_ns(linearized.num_nodes, linearized.num_batches)
        arrays = self._caller.run(self._arguments(linearized), spin_ns=spin_ns)
        outputs = dict(zip(self._outputs, arrays, strict=True))
        return Output(outputs, linearized, keep_nodes=self._made.keep_nodes)

    def stream(self, batches: Iterable[object]) -> Iterator[Output]:
        """Yield what calls on each of `batches` return, in order; the next one is linearized while one is computed.

        Each batch is what a call takes. Where batches take a millisecond and more to linearize, they are read in
        another thread, one ahead of the results. It pays where a processor is free of the kernel's workers.

        Raises:
            DataError: as a call does, when the batch's turn comes; the stream ends there.

        Example::

            for out in fn.stream(batches_of(trees, 64)):
                write(out["h"])
        """
        return stream(batches, self._linearizer, self._run)

    def linearize(self, data: object) -> Linearized:
        """Return the arrays of a batch, to be given to calls instead of the batch: linearizing is paid for once.

        Raises:
            DataError: something in `data` is not what the model takes.
        """
        return self._linearizer(data)

    def with_params(self, params: Mapping[str, object]) -> RecursiveFunction:
        """Return this function with other parameters, which are copied; nothing is compiled.

        Raises:
            ModelError: a parameter is missing, is not one of the model's, or has another shape or dtype.
        """
        return RecursiveFunction(self._made, params, self._linearizer)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the function to a file that `cortex.load` reads, parameters and vocabulary included.

        A file that stands there is replaced as a whole, or left as it is where something fails. Parameters are stored
        as safetensors; what `show` prints is stored too, the machine's code only as code. Needs a linker (`ld` or
        `cc`) where the function is compiled, not where it is loaded.

        Raises:
            UserError: no linker was found when the function was compiled.
            OSError: the file cannot be written.
        """
        save(self._made, self._params, path)

    @property
    def plan(self) -> Plan:
        """What the function asks of structures: their kind, arity and payloads."""
        return self._linearizer.plan

    @property
    def vocab(self) -> Vocab | None:
        """The numbers of the words in bracketed strings, if the function has them."""
        return self._made.vocab

    def show(self, stage: str) -> str:
        """Return the text of a stage of the compilation.

        "ra" is the model; "schedule" the choices about its recursion, with what could be in tables too, then the steps
        that its loops were scheduled by; "ilir" the loops that it became; "loops" the program after all passes;
        "checks" what became of each bound check, and why; "tir" and "asm" the kernel as TVM has it and as the machine
        does. These two are made anew, by the compiler. Of a kernel for a GPU there is "cuda", its source, in place of
        "tir", and "asm" is its PTX.

        Raises:
            UserError: there is no such stage; or the compiler here makes other code of the loops of a saved function.
        """
        made = self._made
        listings = made.kernel.kernel.listings
        match stage:
            case "ra":
                return made.model.model
            case "schedule":
                return "\n".join([made.model.schedule, *listings["steps"].splitlines()])
            case "ilir" | "checks":
                return listings[stage]
            case "loops":
                return made.kernel.kernel.programs[0]
            case "cuda" if "cuda" in listings:
                return listings["cuda"]
            case "cuda":
                raise UserError(
                    f"show: there is no 'cuda' of this function, which is for '{made.kernel.kernel.executable.target}'",
                    fix='compile it with target="cuda -arch=sm_90", which needs no GPU',
                )
            case "tir" | "asm":
                from ragged.compiled.generate import list_code  # here: it imports the compiler

                return list_code(made.kernel.kernel, made.kernel.code, stage)
            case _:
                raise UserError(f"show: no stage is called {stage!r}", fix=f"one of {', '.join(STAGES)}")

    def profile(self, data: object, repeats: int = 20) -> Profile:
        """Time the parts of a call on `data`, each `repeats` times after one run that is not counted."""
        lend = partial(self._linearizer.lend, data, self._arguments.in_place)
        linearized = lend()
        stages = self._timed(linearized, repeats)
        return Profile(
            linearized.num_structures,
            linearized.num_nodes,
            linearized.num_batches,
            spread(lend, repeats),
            percentiles([times.get(StageKind.PRELUDE, 0) for times in stages]),
            percentiles([times[StageKind.KERNEL] for times in stages]),
            spread(lambda: self(data), repeats),
            self._bind_us,
            self._made.model.table_bytes,
        )

    def kernel_times(self, data: object, repeats: int) -> list[int]:
        """Return the nanoseconds that the kernel takes on `data`, `repeats` times after one run that is not counted."""
        linearized = self._linearizer.lend(data, self._arguments.in_place)
        return [times[StageKind.KERNEL] for times in self._timed(linearized, repeats)]

    def _timed(self, linearized: Linearized, repeats: int) -> list[dict[StageKind, int]]:
        wanted = (argument.name for argument in self._caller.wanted)
        arguments = dict(zip(wanted, self._arguments(linearized), strict=True))
        spin_ns = self._spin_ns(linearized.num_nodes, linearized.num_batches)
        return [self._caller.timed(arguments, spin_ns=spin_ns) for _ in range(repeats + 1)][1:]

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: unpickling runs whatever a file says."""
        raise UserError(
            "a compiled function cannot be pickled",
            because="it is machine code, and a pickle may run any code when it is read",
            fix="fn.save(path), and cortex.load(path) in the other process",
        )

    def __repr__(self) -> str:
        outputs = ", ".join(self._made.model.outputs)
        target = self._made.kernel.kernel.executable.target
        return f"<RecursiveFunction over {self.plan.kind.value}s, outputs {outputs}, for {target}>"
