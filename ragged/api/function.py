"""A compiled program of ragged operators: what `ragged.compile` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from ragged.api.arguments import read_inputs
from ragged.api.described import Described, DescribedTensor
from ragged.api.parameters import bind_parameters
from ragged.api.prepared import Preludes, Prepared
from ragged.codegen.entry import Entry
from ragged.data import Lengths, RaggedArray
from ragged.data.parts import Parts
from ragged.data.ragged_array import with_parts
from ragged.ir.expr import Buffer, Role
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller, bind

Result = RaggedArray | npt.NDArray[Any]
"""A ragged array, or one of NumPy's where no dimension varies."""


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """All of a compiled function but its parameters: entries of the kernel's stages and of each prelude's."""

    name: str
    described: Described
    kernel: Mapping[StageKind, Entry]
    preludes: tuple[Mapping[StageKind, Entry], ...]
    workers: int
    listings: Mapping[str, str] = field(default_factory=dict)


class RaggedFunction:
    """Operators compiled for one machine: call it with arrays by name.

    One function serves all lengths, and any number of threads may call it at once. What the prelude makes of lengths
    is kept for the next call with the same ones.
    """

    def __init__(self, made: Made, params: Mapping[str, object]) -> None:
        """Bind the parameters, which are copied; raises `ModelError` where they do not fit."""
        self._made = made
        self._params = bind_parameters(made.name, made.described.parameters, params)
        names = _named(made.kernel)
        parameters = {names[name]: array for name, array in self._params.items() if name in names}
        stages = [entry for kind, entry in made.kernel.items() if kind is not StageKind.BIND]
        self._caller = Caller(stages, bind(made.kernel, parameters), workers=made.workers)
        self._preludes = Preludes(made.name, made.described, made.preludes, self._caller.wanted)
        self._inputs = [(names.get(tensor.name), tensor.name) for tensor in made.described.inputs]
        self._outputs = [(names[tensor.name], tensor) for tensor in made.described.outputs]

    def __call__(self, **arrays: object) -> Any:
        """Run the operators on arrays and return the result, which the caller owns; several results by name.

        A tensor with a variable dimension is a `ragged.array`, any other one an array of NumPy's. Lengths and sizes are
        read off them; those that are no argument's extent are given by name.

        Raises:
            DataError: an array is missing, of another dtype or shape, or lengths do not fit together; nothing has been
                computed.
        """
        given = read_inputs(self._made.name, self._made.described, arrays)
        prepared = self._preludes.of(given)
        values = dict(prepared.values)
        for argument, name in self._inputs:
            if argument is not None:
                values[argument] = given.values[name]
        results = self._caller(values)
        found = [_result(results[argument], tensor, prepared) for argument, tensor in self._outputs]
        if len(found) == 1:
            return found[0]
        return {tensor.name: each for (_, tensor), each in zip(self._outputs, found, strict=True)}

    def with_params(self, params: Mapping[str, object]) -> RaggedFunction:
        """Return this function with other parameters, which are copied; nothing is compiled.

        Raises:
            ModelError: a parameter is missing, is none of the function's, or has another shape or dtype.
        """
        return RaggedFunction(self._made, params)

    def show(self, stage: str) -> str:
        """Return the function as one stage of compilation has it: "ragged", "schedule", "loops" or "prelude"."""
        return self._made.listings[stage]


def _named(entries: Mapping[StageKind, Entry]) -> dict[str, str]:
    """Return the arguments that are buffers of callers, by the buffers' own names."""
    roles = (Role.PAYLOAD, Role.PARAMETER, Role.OUTPUT)
    return {
        argument.symbol.name: argument.name
        for argument in entries[StageKind.KERNEL].arguments
        if isinstance(argument.symbol, Buffer) and argument.symbol.role in roles
    }


def _result(array: npt.NDArray[Any], tensor: DescribedTensor, prepared: Prepared) -> Result:
    extents = prepared.extents(tensor)
    if any(isinstance(extent, Lengths) for extent in extents):
        return with_parts(Parts(array.reshape(-1), extents, tensor.padding))
    return array
