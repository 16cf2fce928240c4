"""A compiled model: what `cortex.compile` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cortex.compiler.arguments import Arguments
from cortex.compiler.output import Output
from cortex.compiler.parameters import bind_parameters
from cortex.compiler.patience import Patience
from cortex.compiler.profile import Profile, percentiles, spread
from cortex.ilir.plan import Plan
from cortex.linearize import Linearized, Linearizer
from cortex.ra.schedule import Schedule
from ragged.codegen.build import Compiled
from ragged.codegen.entry import Entry, Value
from ragged.errors import UserError
from ragged.ir.expr import Buffer, Role
from ragged.ir.printer import to_text
from ragged.ir.program import Program, StageKind
from ragged.passes.pipeline import Step
from ragged.runtime.call import Caller, bind

STAGES = ("ra", "schedule", "ilir", "loops", "checks", "tir", "asm")
"""What `show` prints, from the user's model down."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """What a compiled function keeps of its making: the schedule, each pass's program, and the machine code.

    `threads` is the most that run a call.
    """

    schedule: Schedule
    steps: tuple[Step, ...]
    compiled: Compiled
    threads: int

    def notes(self, step: str) -> tuple[str, ...]:
        """Return what the pass called `step` had to say."""
        return next(each.notes for each in self.steps if each.name == step)

    @property
    def program(self) -> Program:
        """The program that code was generated from."""
        return self.steps[-1].program


class RecursiveFunction:
    """A model compiled for one machine, with its parameters: call it on structures.

    One function serves every batch, and any number of threads may call it at once. `cortex.compile` says what a
    call takes.
    """

    def __init__(
        self,
        compilation: Compilation,
        params: Mapping[str, object],
        linearizer: Linearizer,
        *,
        keep_nodes: bool,
    ) -> None:
        self._compilation = compilation
        self._linearizer = linearizer
        self._keep_nodes = keep_nodes
        stages, bound = _call_stages(compilation.compiled), self._bind(params)
        self._caller = Caller(stages, bound, workers=compilation.threads)
        self._patience = Patience(compilation.steps[0].program, compilation.threads)
        self._arguments = Arguments(self._caller.wanted)
        self._outputs = _named(compilation.compiled, Role.OUTPUT)

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
        return Output(outputs, linearized, keep_nodes=self._keep_nodes)

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
        return RecursiveFunction(self._compilation, params, self._linearizer, keep_nodes=self._keep_nodes)

    @property
    def plan(self) -> Plan:
        """What the function asks of structures: their kind, arity and payloads."""
        return self._linearizer.plan

    def show(self, stage: str) -> str:
        """Return the text of a stage of the compilation.

        "ra" is the model; "schedule" the choices about its recursion, then the steps that its loops were scheduled
        by; "ilir" the loops that it became; "loops" the program after all passes; "checks" what became of each bound
        check, and why; "tir" and "asm" the kernel as TVM has it and as the machine does.

        Raises:
            UserError: there is no such stage.
        """
        compilation = self._compilation
        match stage:
            case "ra":
                return repr(compilation.schedule.model)
            case "schedule":
                return "\n".join([compilation.schedule.log(), *compilation.notes("default_schedule")])
            case "ilir":
                return to_text(compilation.steps[0].program)
            case "loops":
                return to_text(compilation.program)
            case "checks":
                return "\n".join(dict.fromkeys(compilation.notes("discharge_checks")))
            case "tir":
                return compilation.compiled.tir(StageKind.KERNEL)
            case "asm":
                return compilation.compiled.asm(StageKind.KERNEL)
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

    def _bind(self, params: Mapping[str, object]) -> dict[str, Value]:
        """Return copies of the parameters, and what the bind stage makes of them, by the names of arguments."""
        compiled = self._compilation.compiled
        schedule = self._compilation.schedule
        arrays = bind_parameters(schedule.model, params, schedule.finite)
        named = {name: arrays[own] for name, own in _named(compiled, Role.PARAMETER).items()}
        return bind(compiled.entries, named)

    def __repr__(self) -> str:
        outputs = ", ".join(self._compilation.schedule.model.outputs)
        target = self._compilation.compiled.target
        return f"<RecursiveFunction over {self.plan.kind.value}s, outputs {outputs}, for {target}>"


def _call_stages(compiled: Compiled) -> list[Entry]:
    """Return the stages that a call runs, in order."""
    return [entry for kind, entry in compiled.entries.items() if kind is not StageKind.BIND]


def _named(compiled: Compiled, role: Role) -> dict[str, str]:
    """Return, for the arguments that are buffers of a role, the buffers' own names by the arguments'."""
    return {
        argument.name: argument.symbol.name
        for argument in compiled.signature
        if isinstance(argument.symbol, Buffer) and argument.symbol.role is role
    }
