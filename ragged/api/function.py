"""A compiled program of ragged operators: what `ragged.compile` and `ragged.load` return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ragged.api.bound_arguments import BoundArguments, PreludeCache, ResultLayout
from ragged.api.inputs import InputReader, read_lengths
from ragged.api.profile import RaggedProfile
from ragged.api.signature import RaggedSignature
from ragged.codegen.entry import Value
from ragged.compiled.artifact import Artifact, artifact_form
from ragged.compiled.function import CompiledFunction
from ragged.compiled.parts import CompiledParts
from ragged.compiled.profile import percentiles, spread
from ragged.data import RaggedArray
from ragged.data.parts import Parts
from ragged.data.ragged_array import with_parts
from ragged.ir.expr import Role
from ragged.ir.program import StageKind
from ragged.machine import this_machine

if TYPE_CHECKING:
    from ragged.auto.variant_table import ShapePlan, VariantTable


class RaggedFunction(CompiledFunction[RaggedSignature]):
    """Operators compiled for one machine: call it with arrays by name.

    One function serves all lengths, and any number of threads may call it at once. Tables of lengths are cached for
    later calls with the same lengths.
    """

    form = artifact_form("ragged function", 5, Artifact[RaggedSignature])
    stages = ("ragged", "schedule", "variants", "loops", "prelude", "tir", "asm")
    loader = "ragged.load"

    def __init__(self, parts: CompiledParts[RaggedSignature], params: Mapping[str, object]) -> None:
        """Bind the parameters, which are copied; raises `ModelError` where they do not fit."""
        super().__init__(parts, params)
        kernel, signature = parts.kernel, parts.signature
        self._read = InputReader(signature)
        self._preludes = PreludeCache(parts, self._caller)
        self._inputs = tuple(kernel.named(Role.PAYLOAD).items())
        outputs = {own: name for name, own in kernel.named(Role.OUTPUT).items()}
        self._outputs = tuple((tensor.name, outputs[tensor.name]) for tensor in signature.outputs)

    def __call__(self, **arrays: object) -> Any:
        """Run the operators on arrays and return the result, which the caller owns; several results by name.

        A tensor with a variable dimension is a `ragged.array`, any other one a NumPy array. Lengths and sizes are read
        off them; those that are no argument's extent are given by name.

        Raises:
            DataError: an array is missing, of another dtype or shape, or lengths do not fit together; nothing has been
                computed.
        """
        bound, values = self._arguments(arrays)
        results = self._caller(values, spin_ns=bound.spin_ns, resolved=bound.resolved)
        found = {name: _result(results[own], bound.results.get(name)) for name, own in self._outputs}
        return found if len(found) > 1 else found.popitem()[1]

    def _arguments(self, arrays: Mapping[str, object]) -> tuple[BoundArguments, dict[str, Value]]:
        """Return the bound arguments of a call's lengths, and all of the kernel's arguments."""
        key, found = self._read(arrays)
        bound = self._preludes.find(key, lambda: read_lengths(self.signature, found, arrays))
        values = dict(bound.values)
        for argument, name in self._inputs:
            value = found[name]
            values[argument] = value.values if isinstance(value, RaggedArray) else value
        return bound, values

    def plan(self, **sizes: int) -> ShapePlan:
        """Return what a call at these sizes runs: its variants, their tiles, and the predicted time.

        Raises:
            UserError: a size is missing, or nothing of the kernel was planned by sizes.

        Example::

            print(f.plan(T=77))
        """
        return self._table().at(sizes)

    def show(self, stage: str) -> str:
        """Return the text of a stage of the compilation, as `CompiledFunction.show` does.

        "variants" are the kernel's variants by numbers of rows, with their bytes of code and predicted times, and what
        more or fewer bytes would gain or lose.
        """
        return str(self._table()) if stage == "variants" else super().show(stage)

    def _table(self) -> VariantTable:
        from ragged.auto.variant_table import (  # here: calls do without the compiler
            VariantTable,
            table_from_json,
        )

        text = self._parts.kernel.kernel.listings["variants"]
        return table_from_json(text) if text else VariantTable(this_machine(), self._parts.workers, ())

    @property
    def signature(self) -> RaggedSignature:
        """The arguments, the parameters and the results: names, dtypes, dimensions and their rules."""
        return self._parts.signature

    def profile(self, repeats: int = 20, **arrays: object) -> RaggedProfile:
        """Time the parts of a call on `arrays`, each `repeats` times after one run that is not counted.

        Raises:
            DataError: as a call does.
        """
        bound, values = self._arguments(arrays)
        _, found = self._read(arrays)
        inputs = read_lengths(self.signature, found, arrays)
        timed = (self._caller.timed(values, spin_ns=bound.spin_ns) for _ in range(repeats + 1))
        kernel = [times[StageKind.KERNEL] for times in timed][1:]
        results = self._caller(values, spin_ns=bound.spin_ns)
        tables = [table for table in bound.values.values() if isinstance(table, np.ndarray)]
        moved = [*found.values(), *self._params.values(), *results.values()]
        return RaggedProfile(
            spread(lambda: self._preludes.compute(inputs), repeats),
            percentiles(kernel),
            spread(lambda: self(**arrays), repeats),
            bound.flops,
            sum(each.values.nbytes if isinstance(each, RaggedArray) else each.nbytes for each in moved),
            sum(table.nbytes for table in tables),
            sum(bound.resolved[1]),
        )

    def __repr__(self) -> str:
        target = self._parts.kernel.kernel.executable.target
        return f"<RaggedFunction {self.signature.name}{self.signature}, for {target}>"


def _result(array: npt.NDArray[Any], layout: ResultLayout | None) -> RaggedArray | npt.NDArray[Any]:
    """Return a ragged array, or a NumPy array if no dimension varies."""
    if layout is None:
        return array
    return with_parts(Parts(array.reshape(-1)[: layout.size], layout.extents, layout.padding))


load = RaggedFunction.load
