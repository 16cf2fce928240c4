"""A compiled program of ragged operators: what `ragged.compile` and `ragged.load` return."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ragged.api.arguments import Reader
from ragged.api.artifact import save
from ragged.api.described import Described
from ragged.api.given import read_lengths
from ragged.api.made import Made
from ragged.api.parameters import bind_parameters
from ragged.api.prepared import Preludes, Prepared, Stored
from ragged.api.profile import Profile
from ragged.codegen.entry import Value
from ragged.compiled.profile import percentiles, spread
from ragged.data import RaggedArray
from ragged.data.parts import Parts
from ragged.data.ragged_array import with_parts
from ragged.errors import UserError
from ragged.ir.expr import Role
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller, bind

STAGES = ("ragged", "schedule", "loops", "prelude", "tir", "asm")
"""What `show` prints, from the operators down."""


class RaggedFunction:
    """Operators compiled for one machine: call it with arrays by name.

    One function serves all lengths, and any number of threads may call it at once. What the prelude makes of lengths
    is kept for the next call with the same ones.
    """

    def __init__(self, made: Made, params: Mapping[str, object]) -> None:
        """Bind the parameters, which are copied; raises `ModelError` where they do not fit."""
        self._made = made
        self._params = bind_parameters(made.name, made.described.parameters, params)
        kernel = made.kernel
        named = {name: self._params[own] for name, own in kernel.named(Role.PARAMETER).items()}
        self._caller = Caller(kernel.call_stages, bind(kernel.entries, named), workers=made.workers)
        self._read = Reader(made.name, made.described)
        self._preludes = Preludes(made.name, made.described, kernel, self._caller)
        self._inputs = tuple(kernel.named(Role.PAYLOAD).items())
        outputs = {own: name for name, own in kernel.named(Role.OUTPUT).items()}
        self._outputs = tuple((tensor.name, outputs[tensor.name]) for tensor in made.described.outputs)

    def __call__(self, **arrays: object) -> Any:
        """Run the operators on arrays and return the result, which the caller owns; several results by name.

        A tensor with a variable dimension is a `ragged.array`, any other one an array of NumPy's. Lengths and sizes are
        read off them; those that are no argument's extent are given by name.

        Raises:
            DataError: an array is missing, of another dtype or shape, or lengths do not fit together; nothing has been
                computed.
        """
        prepared, values = self._arguments(arrays)
        results = self._caller(values, spin_ns=prepared.spin_ns, resolved=prepared.resolved)
        found = {name: _result(results[own], prepared.results.get(name)) for name, own in self._outputs}
        return found if len(found) > 1 else found.popitem()[1]

    def _arguments(self, arrays: Mapping[str, object]) -> tuple[Prepared, dict[str, Value]]:
        """Return what follows from a call's lengths, and the kernel's arguments."""
        key, found = self._read(arrays)
        made = self._made
        prepared = self._preludes.of(key, lambda: read_lengths(made.name, made.described, found, arrays))
        values = dict(prepared.values)
        for argument, name in self._inputs:
            value = found[name]
            values[argument] = value.values if isinstance(value, RaggedArray) else value
        return prepared, values

    def with_params(self, params: Mapping[str, object]) -> RaggedFunction:
        """Return this function with other parameters, which are copied; nothing is compiled.

        Raises:
            ModelError: a parameter is missing, is none of the function's, or has another shape or dtype.
        """
        return RaggedFunction(self._made, params)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the function to a file that `ragged.load` reads, parameters included.

        A file that stands there is replaced as a whole, or left as it is where something fails. Parameters are stored
        as safetensors; what `show` prints is stored too, the machine's code only as code. Needs a linker (`ld` or
        `cc`) where the function is compiled, not where it is loaded.

        Raises:
            UserError: no linker was found when the function was compiled.
            OSError: the file cannot be written.
        """
        save(self._made, self._params, path)

    @property
    def described(self) -> Described:
        """The arguments, the parameters and the results: names, dtypes, dimensions and their rules."""
        return self._made.described

    def show(self, stage: str) -> str:
        """Return the text of a stage of the compilation.

        "ragged" is the operators as naive loops; "schedule" the steps that they were scheduled by, the user's first;
        "loops" the program after all passes; "prelude" the programs that fill its tables, and the one that counts the
        work; "tir" and "asm" the kernel as TVM has it and as the machine does. These two are made anew, by the
        compiler.

        Raises:
            UserError: there is no such stage; or the compiler here makes other code of the loops of a saved function.
        """
        made, kernel = self._made, self._made.kernel.kernel
        match stage:
            case "ragged":
                return made.texts[stage]
            case "schedule":
                return "\n".join(text for text in (made.texts[stage], kernel.listings["steps"]) if text)
            case "loops":
                return kernel.programs[0]
            case "prelude":
                return "\n".join(kernel.programs[1:])
            case "tir" | "asm":
                from ragged.compiled.generate import list_code  # here: it imports the compiler

                return list_code(kernel, made.kernel.code, stage)
            case _:
                raise UserError(f"show: no stage is called {stage!r}", fix=f"one of {', '.join(STAGES)}")

    def profile(self, repeats: int = 20, **arrays: object) -> Profile:
        """Time the parts of a call on `arrays`, each `repeats` times after one run that is not counted.

        Raises:
            DataError: as a call does.
        """
        prepared, values = self._arguments(arrays)
        _, found = self._read(arrays)
        given = read_lengths(self._made.name, self._made.described, found, arrays)
        timed = (self._caller.timed(values, spin_ns=prepared.spin_ns) for _ in range(repeats + 1))
        kernel = [times[StageKind.KERNEL] for times in timed][1:]
        results = self._caller(values, spin_ns=prepared.spin_ns)
        tables = [table for table in prepared.values.values() if isinstance(table, np.ndarray)]
        moved = [*found.values(), *self._params.values(), *results.values()]
        return Profile(
            spread(lambda: self._preludes.prepare(given), repeats),
            percentiles(kernel),
            spread(lambda: self(**arrays), repeats),
            prepared.flops,
            sum(each.values.nbytes if isinstance(each, RaggedArray) else each.nbytes for each in moved),
            sum(table.nbytes for table in tables),
            sum(prepared.resolved[1]),
        )

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: unpickling runs whatever a file says."""
        raise UserError(
            "a compiled function cannot be pickled",
            because="it is machine code, and a pickle may run any code when it is read",
            fix="fn.save(path), and ragged.load(path) in the other process",
        )

    def __repr__(self) -> str:
        target = self._made.kernel.kernel.executable.target
        return f"<RaggedFunction {self._made.name}{self.described}, for {target}>"


def _result(array: npt.NDArray[Any], stored: Stored | None) -> RaggedArray | npt.NDArray[Any]:
    """Return a ragged array, or one of NumPy's where no dimension varies."""
    if stored is None:
        return array
    return with_parts(Parts(array.reshape(-1)[: stored.size], stored.extents, stored.padding))
