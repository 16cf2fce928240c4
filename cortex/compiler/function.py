"""A compiled model: what `cortex.compile` and `cortex.load` return."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NoReturn

from cortex.compiler.arguments import Arguments
from cortex.compiler.artifact import save
from cortex.compiler.made import Made
from cortex.compiler.output import Output
from cortex.compiler.parameters import bind_parameters
from cortex.compiler.patience import Patience
from cortex.compiler.profile import Profile
from cortex.ilir.plan import Plan
from cortex.linearize import Linearized, Linearizer, Vocab
from ragged.errors import UserError
from ragged.ir.expr import Role
from ragged.ir.program import StageKind
from ragged.kernels.profile import percentiles, spread
from ragged.runtime.call import Caller, bind

STAGES = ("ra", "schedule", "ilir", "loops", "checks", "tir", "asm")
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
        self._caller = Caller(kernel.call_stages, bind(kernel.entries, named), workers=made.workers)
        self._patience = Patience(made.model.operations, made.workers)
        self._arguments = Arguments(self._caller.wanted)
        self._outputs = kernel.named(Role.OUTPUT)

    def __call__(self, data: object) -> Output:
        """Run the model over structures and return its results, which the caller owns.

        `data` is a list of structures, one structure, or what `linearize` returned.

        Raises:
            DataError: something in `data` is not what the model takes; nothing has been computed.
        """
        linearized = self._linearizer(data)
        patience = self._patience(linearized.num_nodes, linearized.num_batches)
        arrays = self._caller(self._arguments(linearized), patience=patience)
        outputs = {self._outputs[name]: array for name, array in arrays.items()}
        return Output(outputs, linearized, keep_nodes=self._made.keep_nodes)

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

        "ra" is the model; "schedule" the choices about its recursion, then the steps that its loops were scheduled
        by; "ilir" the loops that it became; "loops" the program after all passes; "checks" what became of each bound
        check, and why; "tir" and "asm" the kernel as TVM has it and as the machine does. These two are made anew, by
        the compiler.

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
            case "tir" | "asm":
                from ragged.kernels.generate import list_code  # here: it imports the compiler

                return list_code(made.kernel.kernel, made.kernel.code, stage)
            case _:
                raise UserError(f"show: no stage is called {stage!r}", fix=f"one of {', '.join(STAGES)}")

    def profile(self, data: object, repeats: int = 20) -> Profile:
        """Time the parts of a call on `data`, each `repeats` times after one run that is not counted."""
        linearized = self._linearizer(data)
        arguments = self._arguments(linearized)
        patience = self._patience(linearized.num_nodes, linearized.num_batches)
        stages = [self._caller.timed(arguments, patience=patience) for _ in range(repeats + 1)][1:]
        return Profile(
            linearized.num_structures,
            linearized.num_nodes,
            linearized.num_batches,
            spread(lambda: self._linearizer(data), repeats),
            percentiles([times.get(StageKind.PRELUDE, 0) for times in stages]),
            percentiles([times[StageKind.KERNEL] for times in stages]),
            spread(lambda: self(data), repeats),
        )

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
