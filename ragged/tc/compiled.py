"""A function compiled for one target: with sizes fixed, arguments bound, or for all sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from inspect import Parameter, signature
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ragged.api.compile import compiled_parts
from ragged.api.reduced_elements import COLUMNS, is_product
from ragged.api.schedule import LoopLike, RaggedSchedule
from ragged.api.signature import Sized
from ragged.api.tensors import RaggedTensor
from ragged.data.ragged_array import RaggedArray
from ragged.data.read import read_array
from ragged.ir.expr import Ref, Var
from ragged.passes.hoist_checks import hoist_checks
from ragged.passes.run_once import run_once
from ragged.passes.scatter_sums import scatter_sums
from ragged.tc.analyse import AnalysedFunction
from ragged.tc.arguments import by_output, out_arrays, require_started, view_of
from ragged.tc.checked import CheckedFunction, LengthParameter
from ragged.tc.errors import refuse_call
from ragged.tc.kept_kernels import find_or_compile
from ragged.tc.kernel import TcKernel, TcOrigin, TcParts, TcText
from ragged.tc.lower import LoweredFunction, lower
from ragged.tc.merge import MergedFunction, merge_dimensions
from ragged.tc.named_calls import share_calls
from ragged.transform.loops.split import Tail

Array: TypeAlias = npt.NDArray[Any]

_OPTIONS = tuple(
    name for name, each in signature(compiled_parts).parameters.items() if each.kind is Parameter.KEYWORD_ONLY
)


@dataclass(frozen=True, slots=True)
class TcOptions:
    """Options of a compilation: fixed sizes, bound arrays, and arguments of `ragged.compile` by name.

    `split` has the iterations of a partial result for each tensor with a reduction in two stages.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    parameters: Mapping[str, Array] = field(default_factory=dict)
    split: Mapping[str, int] = field(default_factory=dict)
    compile: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = next((name for name in self.compile if name not in _OPTIONS), None)
        if unknown is not None:
            what = f"compile() got an unexpected keyword argument '{unknown}'"
            raise TypeError(f"{what}; beside its own it takes {', '.join(_OPTIONS)}")

    @property
    def digest(self) -> str:
        """What tells options of operators from others, in other processes too; empty for the default ones."""
        if not (self.sizes or self.parameters or self.split or self.compile):
            return ""
        text = repr([sorted(each.items()) for each in (self.sizes, self.split, self.compile)])
        digest = sha256(text.encode())
        for name, array in sorted(self.parameters.items()):
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class CompiledTc:
    """The compiled function, and its own names of parameters and sizes.

    `named_sizes` are the sizes that no argument has as an extent: a call gives them by name. `lengths` are its
    parameters that are lengths.
    """

    function: TcKernel
    merged: MergedFunction
    lowered: LoweredFunction
    named_sizes: tuple[tuple[str, Var], ...]
    inputs: tuple[tuple[str, str], ...]
    lengths: Mapping[str, LengthParameter]

    def run_ragged(self, given: Mapping[str, object], out: object) -> Any:
        """Return the output, or several by name, for arguments as `passed_ragged` takes them."""
        function = self.merged.analysed.function
        arrays = self.passed_ragged(given, out)
        in_place = out is not None and not function.initial and "out" not in arrays
        if in_place:
            names = self.lowered.names
            places = {names.get(name, name): each for name, each in by_output(function, out).items()}
            results = self.function(**arrays, out=places)
        else:
            results = self.function(**arrays)
        if not isinstance(results, dict):
            results = dict.fromkeys(self.lowered.names.values(), results)
        found = {name: results[own] for name, own in self.lowered.names.items()}
        if out is not None and not in_place:
            found |= self._written(function, out, found)
        return found if len(found) > 1 else next(iter(found.values()))

    def passed_ragged(self, given: Mapping[str, object], out: object) -> dict[str, object]:
        """Return the compiled function's arguments for those of a call by parameter, one of which varies.

        Scalars are numbers already; the compiled function checks the rest.
        """
        function = self.merged.analysed.function
        arrays = {own: given[name] for name, own in self.inputs if name in given}
        arrays |= {own: given[name] for name, own in self.taken_lengths.items()}
        for own, var in self.named_sizes:
            arrays[own] = given[var.name] if var.name in given else self._extent(var, given)
        places = by_output(function, out)
        require_started(function, places)
        for name in function.initial:
            arrays[self.lowered.inputs[name]] = view_of(function, name, places[name])
        return arrays

    @property
    def taken_lengths(self) -> dict[str, str]:
        """The names of the compiled function's lengths that calls give, by parameter."""
        taken = self.function.signature.lengths
        return {name: own for name, own in self.lowered.lengths.items() if own in taken}

    def _written(self, function: CheckedFunction, out: object, results: Mapping[str, Any]) -> dict[str, Any]:
        """Write results into the arrays of `out=`, and return these."""
        dense = {name: each for name, each in results.items() if not isinstance(each, RaggedArray)}
        varies = next(
            (name for name in by_output(function, out) if name in results.keys() - dense.keys()), None
        )
        if varies is not None:
            raise refuse_call(function, f"is given out= for '{varies}', the extents of which vary")
        places = out_arrays(
            function, out, {n: tuple((0, e) for e in each.shape) for n, each in dense.items()}
        )
        for name, (_, view) in places.items():
            view[...] = read_array(name, results[name])
        return {name: own for name, (own, _) in places.items()}

    def _extent(self, size: Var, given: Mapping[str, object]) -> int:
        """Return a size that is the extent of lengths alone, or of arrays that are not read."""
        versions = {name: each.version for name, each in self.lengths.items()}
        versions |= self.merged.analysed.function.parameters
        return next(
            _length(given[name], position)
            for name, version in versions.items()
            for position, own in enumerate(version.domain or ())
            if own.upper == Ref(size)
        )

    def run(
        self, arrays: Mapping[str, Array], sizes: Mapping[Var, int], shapes: Iterable[tuple[int, ...]]
    ) -> list[Array]:
        """Return the outputs in order, new arrays of these shapes, for arrays by the names of parameters."""
        results = self.function(**self.passed(arrays, sizes))
        if not isinstance(results, dict):
            results = {self.lowered.outputs[0].name: results}
        found = (results[tensor.name] for tensor in self.lowered.outputs)
        return [each.reshape(shape) for each, shape in zip(found, shapes, strict=True)]

    def passed(self, arrays: Mapping[str, Array], sizes: Mapping[Var, int]) -> dict[str, object]:
        """Return the arguments of the compiled function."""
        given: dict[str, object] = dict(self.named(sizes))
        for name, own in self.inputs:
            given[own] = arrays[name].reshape(self.merged.shape(name, arrays[name].shape))
        return given

    def named(self, sizes: Mapping[Var, int]) -> dict[str, int]:
        """Return the sizes that a call gives by name."""
        known = self.merged.with_products(sizes) if self.named_sizes else {}
        return {own: known[var] for own, var in self.named_sizes}


def _length(array: Any, dimension: int) -> int:
    """Return the extent of a dimension of an array, or of rows of which none is longer than another there."""
    if hasattr(array, "shape"):
        return int(array.shape[dimension])
    if not dimension:
        return len(array)
    return _length(array[0], dimension - 1) if len(array) else 0


@dataclass(frozen=True, slots=True)
class LoweredTc:
    """A function with merged dimensions, and its tensors."""

    merged: MergedFunction
    lowered: LoweredFunction

    def tensors(self) -> dict[str, RaggedTensor]:
        """Return the tensors that are read or computed, by their own names."""
        return {tensor.name: tensor for tensor in RaggedSchedule(*self.lowered.outputs).tensors}

    def own(self, parameters: Mapping[str, Array]) -> dict[str, Array]:
        """Return the arrays of parameters that are read, by their own names and in their own shapes."""
        read = self.tensors() if parameters else {}
        found = {self.lowered.inputs[name]: (name, value) for name, value in parameters.items()}
        return {
            own: value.reshape(self.merged.shape(name, value.shape))
            for own, (name, value) in found.items()
            if own in read
        }

    def schedule(self, precision: str = "float32") -> RaggedSchedule:
        """Return a schedule of the tensors, with partial results, checks and sums where they cost least.

        Of another precision sums stay apart from what reads them: their factors are rounded in loops of their own.
        """
        function, lowered = self.merged.analysed.function, self.lowered
        found = RaggedSchedule(*lowered.outputs, name=function.name)
        if function.varies:
            return found  # ragged operators have a default schedule of their own
        needed = set(found.tensors)
        for part, rows in lowered.attached:
            if part in needed and rows.dims and precision == "float32":
                found.compute_at(part, rows.loops[len(rows.dims) - 1])
        found.apply(hoist_checks)
        found.apply(scatter_sums)
        found.apply(run_once)
        for tensor in (each for each in lowered.columns if each in needed and not is_product(each)):
            rest: list[LoopLike] = [tensor.loops[len(tensor.dims) - 1]]
            for block in COLUMNS:
                if rest:
                    rest = list(found.split_loop(rest[0], block, Tail.PEEL)[2:])
        return found

    def compiled(self, kernel: TcKernel) -> CompiledTc:
        """Return the function that a kernel of these tensors computes."""
        function, lowered, given = self.merged.analysed.function, self.lowered, kernel.signature
        read_off = {rule.size for each in given.inputs for rule in each.extents if isinstance(rule, Sized)}
        asked = set(given.sizes) - read_off
        known = [(own, function.sizes[name]) for name, own in lowered.sizes.items()]
        known += [(own, function.scalars[name]) for name, own in lowered.scalars.items()]
        taken = {each.name for each in given.inputs}
        return CompiledTc(
            kernel,
            self.merged,
            lowered,
            tuple((own, var) for own, var in known if own in asked),
            tuple((name, own) for name, own in lowered.inputs.items() if own in taken),
            function.lengths,
        )


def lower_analysed(
    analysed: AnalysedFunction, sizes: Mapping[str, int], parameters: Iterable[str], split: Mapping[str, int]
) -> LoweredTc:
    """Return a function's tensors for options of `TcOptions`, with the names of its `parameters`."""
    if not analysed.function.varies:
        analysed = replace(analysed, function=share_calls(analysed.function))
    merged = merge_dimensions(analysed, split)
    function = merged.analysed.function
    fixed = merged.with_products({function.values[name]: value for name, value in sizes.items()})
    for value in fixed.values():
        if not -(2**63) <= value < 2**63:
            raise refuse_call(
                function, f"is compiled for sizes with a product of {value}, which is no integer of 64 bits"
            )
    known = {name: fixed[var] for name, var in function.values.items() if var in fixed}
    return LoweredTc(merged, lower(merged.analysed, known, parameters, split))


def compile_analysed(analysed: AnalysedFunction, options: TcOptions, text: TcText) -> CompiledTc:
    """Compile a function of a text with options; raises `UserError` as `ragged.compile` does."""
    found = lower_analysed(analysed, options.sizes, options.parameters, options.split)
    shapes = {name: value.shape for name, value in options.parameters.items()}
    origin = TcOrigin(text, analysed.function.name, dict(options.sizes), dict(options.split), shapes)
    params = found.own(options.parameters)

    def make() -> TcKernel:
        schedule = found.schedule(options.compile.get("precision", "float32"))
        parts = compiled_parts(schedule, **options.compile)
        return TcKernel(TcParts(parts.kernel, parts.signature, parts.threads, parts.workers, origin), params)

    return found.compiled(find_or_compile(origin, options.compile, params, make))
