"""A function compiled for one target: with sizes fixed, arguments bound, or for all sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.api.compile import compile as compile_ragged
from ragged.api.function import RaggedFunction
from ragged.api.schedule import RaggedSchedule
from ragged.api.signature import Sized
from ragged.ir.expr import Var
from ragged.tc.analyse import AnalysedFunction
from ragged.tc.lower import LoweredFunction, lower

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class TcOptions:
    """What a function is compiled with: fixed sizes, bound arrays, and arguments of `ragged.compile` by name."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    parameters: Mapping[str, Array] = field(default_factory=dict)
    compile: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompiledTc:
    """The compiled function, and the names that it has for parameters and sizes.

    `named_sizes` are the sizes that no argument has as an extent: a call gives them by name.
    """

    function: RaggedFunction
    lowered: LoweredFunction
    named_sizes: tuple[tuple[str, Var], ...]
    inputs: tuple[tuple[str, str], ...]

    def run(self, arrays: Mapping[str, Array], sizes: Mapping[Var, int]) -> list[Array]:
        """Return the outputs in order, new arrays, for arrays by the names of parameters."""
        passed: dict[str, object] = {own: arrays[name] for name, own in self.inputs}
        for own, var in self.named_sizes:
            passed[own] = sizes[var]
        results = self.function(**passed)
        if not isinstance(results, dict):
            return [results]
        return [results[tensor.name] for tensor in self.lowered.outputs]

    def known_call(
        self, parameters: Sequence[str], outputs: tuple[str, ...], sizes: Mapping[Var, int]
    ) -> KnownCall:
        """Return a call of arrays in the order of `parameters` with the shapes of one that was checked."""
        own = dict(self.inputs)
        places = tuple((own[name], place) for place, name in enumerate(parameters) if name in own)
        named = {name: sizes[var] for name, var in self.named_sizes}
        results = zip(outputs, (tensor.name for tensor in self.lowered.outputs), strict=True)
        return KnownCall(self.function, places, named, tuple(results))


@dataclass(frozen=True, slots=True)
class KnownCall:
    """A call with shapes that were checked: arguments by place, sizes by name, and the outputs with their own names."""

    function: RaggedFunction
    places: tuple[tuple[str, int], ...]
    named: Mapping[str, int]
    outputs: tuple[tuple[str, str], ...]

    def run(self, args: Sequence[Any]) -> Any:
        """Run the kernel; return its output, or several by name in order."""
        results = self.function(**{own: args[place] for own, place in self.places}, **self.named)
        if not isinstance(results, dict):
            return results
        return {name: results[own] for name, own in self.outputs}


def compile_analysed(analysed: AnalysedFunction, options: TcOptions) -> CompiledTc:
    """Compile a function."""
    function = analysed.function
    lowered = lower(analysed, options.sizes, options.parameters)
    schedule = RaggedSchedule(*lowered.outputs, name=function.name)
    params = {lowered.inputs[name]: np.asarray(value) for name, value in options.parameters.items()}
    made = compile_ragged(schedule, params, **options.compile)
    signature = made.signature
    read_off = {rule.size for each in signature.inputs for rule in each.extents if isinstance(rule, Sized)}
    asked = set(signature.sizes) - read_off
    known = [(own, function.sizes[name]) for name, own in lowered.sizes.items()]
    known += [(own, function.scalars[name]) for name, own in lowered.scalars.items()]
    taken = {each.name for each in signature.inputs}
    return CompiledTc(
        made,
        lowered,
        tuple((own, var) for own, var in known if own in asked),
        tuple((name, own) for name, own in lowered.inputs.items() if own in taken),
    )
