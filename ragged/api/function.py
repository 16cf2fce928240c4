"""A compiled program of ragged operators: what `ragged.compile` and `ragged.load` return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt

from ragged.api.bound_arguments import BoundArguments, PreludeCache, ResultLayout
from ragged.api.inputs import InputReader, read_lengths
from ragged.api.observed import SizeCounts
from ragged.api.profile import RaggedProfile
from ragged.api.results import check_out, read_out
from ragged.api.signature import RaggedSignature
from ragged.codegen.entry import Value
from ragged.compiled.artifact import Artifact, artifact_form
from ragged.compiled.function import CompiledFunction
from ragged.compiled.parts import CompiledParts
from ragged.compiled.profile import percentiles, spread
from ragged.data import RaggedArray
from ragged.data.like import converter
from ragged.data.parts import Parts
from ragged.data.ragged_array import with_parts
from ragged.errors import UserError
from ragged.ir.expr import Role
from ragged.ir.program import StageKind
from ragged.machine import this_machine
from ragged.runtime.call import Caller

if TYPE_CHECKING:
    from ragged.auto.shapes import Shape
    from ragged.auto.variant_table import ShapePlan, VariantTable

Array = npt.NDArray[Any]


class RaggedFunction(CompiledFunction[RaggedSignature]):
    """Operators compiled for one machine: call it with arrays by name.

    One function serves all lengths, and any number of threads may call it at once. Tables of lengths are cached for
    later calls with the same lengths.
    """

    form = artifact_form("ragged function", 8, Artifact[RaggedSignature])
    stages = ("ragged", "schedule", "variants", "tree", "loops", "prelude", "tir", "asm")
    loader = "ragged.load"

    def __init__(self, parts: CompiledParts[RaggedSignature], params: Mapping[str, object]) -> None:
        """Bind the parameters, which are copied; raises `ModelError` where they do not fit."""
        super().__init__(parts, params)
        kernel, signature = parts.kernel, parts.signature
        self._native = cast(Caller, self._caller)  # operators run on processors alone
        self._read = InputReader(signature)
        self._preludes = PreludeCache(parts, self._native)
        self._counts = SizeCounts()
        order = [argument.name for argument in self._caller.wanted]
        numbers = {tensor.name: number for number, tensor in enumerate(signature.inputs)}
        payloads = kernel.named(Role.PAYLOAD).items()
        self._places = tuple((order.index(argument), numbers[name]) for argument, name in payloads)
        outputs = {own: name for name, own in kernel.named(Role.OUTPUT).items()}
        self._outputs = tuple(
            (tensor, self._caller.outputs.index(outputs[tensor.name])) for tensor in signature.outputs
        )
        self._takes_out = "out" not in numbers and "out" not in signature.sizes + signature.lengths
        self._is_plain = len(self._outputs) == 1 and not self._outputs[0][0].varies

    def with_params(self, params: Mapping[str, object]) -> Self:
        """Return this function with other parameters, as `CompiledFunction` does; they share tables of lengths."""
        other = super().with_params(params)
        if other._sizes == self._sizes:
            other._preludes = self._preludes
        return other

    def __call__(self, /, **arrays: object) -> Any:
        """Run the operators on arrays and return the result, which the caller owns; several results by name.

        A tensor with a variable dimension is a `ragged.array`. Any other one is a NumPy array, or one of torch or
        another library with DLPack if a dense argument is. Lengths and sizes are read off the arguments; those that are
        no argument's extent are given by name. `out=` is an array that the result is written into and that is returned,
        or a mapping of such arrays by the names of results; of a ragged result it has the extents and the padding.

        Raises:
            DataError: an array is missing, of another dtype or shape, or lengths or sizes do not fit together; nothing
                has been computed.
        """
        out = arrays.pop("out", None) if self._takes_out else None
        key, found, like = self._read(arrays)
        bound = self._preludes.find(key, lambda: read_lengths(self.signature, found, arrays, self._sizes))
        if bound.sizes:
            self._counts.add(bound.sizes)
        values = self._values(bound, found)
        if out is not None:
            return self._write(out, bound, values, found, like)
        results = self._native.run(values, spin_ns=bound.spin_ns, resolved=bound.resolved)
        if like is None and self._is_plain:
            return results[0]
        return self._returned({}, bound, results, like)

    def _values(self, bound: BoundArguments, found: Sequence[RaggedArray | Array]) -> list[Value]:
        """Return the kernel's arguments in the order of its caller."""
        values: list[Value] = bound.ordered.copy()
        for place, number in self._places:
            value = found[number]
            values[place] = value.values if isinstance(value, RaggedArray) else value
        return values

    def _write(
        self,
        out: object,
        bound: BoundArguments,
        values: list[Value],
        found: Sequence[RaggedArray | Array],
        like: object,
    ) -> Any:
        """Run a call, and write its results into `out`."""
        given = read_out(self.signature.name, out, {tensor.name: tensor for tensor, _ in self._outputs})
        shapes = {tensor.name: bound.shapes[place] for tensor, place in self._outputs}
        check_out(self.signature.name, given, shapes, bound.results, self._memory(found))
        places: list[Array | None] = [None] * len(self._outputs)
        for tensor, place in self._outputs:
            view = given.views.get(tensor.name)
            if view is not None and view.size == prod(shapes[tensor.name]):
                places[place] = view.reshape(shapes[tensor.name])
        results = self._native.run(values, spin_ns=bound.spin_ns, resolved=bound.resolved, out=places)
        for tensor, place in self._outputs:
            if tensor.name in given.views and places[place] is None:  # bulk padding is behind the elements
                view = given.views[tensor.name]
                view[...] = results[place].reshape(-1)[: view.size]
        return self._returned(given.own, bound, results, like)

    def _memory(self, found: Sequence[RaggedArray | Array]) -> dict[str, Array]:
        pairs = zip(self.signature.inputs, found, strict=True)
        return {tensor.name: each.values if isinstance(each, RaggedArray) else each for tensor, each in pairs}

    def _returned(
        self, own: Mapping[str, Any], bound: BoundArguments, results: Sequence[Array], like: object
    ) -> Any:
        """Return results as callers get them; `own` are the arrays that some were written into."""
        convert = None if like is None else converter(like)
        found = {}
        for tensor, place in self._outputs:
            name, array = tensor.name, results[place]
            if name in own:
                found[name] = own[name]
            elif name in bound.results:
                found[name] = _ragged(array, bound.results[name])
            else:
                found[name] = array if convert is None else convert(array)
        return found if len(found) > 1 else found.popitem()[1]

    def observed(self) -> tuple[Shape, ...]:
        """Return the sizes of the calls so far, each with the number of its calls as weight, the most frequent first.

        `ragged.compile` and `ragged.tune` take them as `shapes`. Of very many different ones the rarest are forgotten.
        """
        from ragged.auto.shapes import Shape  # here: calls do without the compiler

        return tuple(Shape(sizes, float(count)) for sizes, count in self._counts.most_frequent())

    def plan(self, /, **sizes: int) -> ShapePlan:
        """Return what a call at these sizes runs: its products, their variants and tiles, and the predicted time.

        Sizes that parameters decide may be left out. Without products of rows of its sizes a kernel has an empty plan.

        Raises:
            UserError: the names are not those of the sizes, or an extent of a product is no sum of sizes.

        Example::

            print(f.plan(T=77))
        """
        names = self.signature.sizes
        given: dict[str, Any] = {**{name: value for name, (value, _) in self._sizes.items()}, **sizes}
        wrong = sorted(given.keys() ^ set(names))
        if wrong:
            what = "no size" if wrong[0] in names else "unknown size"
            call = ", ".join(f"{name}=..." for name in names)
            listed = ", ".join(names) or "none"
            raise UserError(
                f"plan: {what} '{wrong[0]}'", because=f"the sizes are {listed}", fix=f"f.plan({call})"
            )
        for name, value in given.items():
            if not isinstance(value, Integral) or value < 0:
                raise UserError(f"plan: {name}={value!r} is no size", fix="integers from 0 up")
        return self._table().at(given)

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
    def workers(self) -> int:
        """The most threads that a call uses."""
        return self._parts.workers

    @property
    def signature(self) -> RaggedSignature:
        """The arguments, the parameters and the results: names, dtypes, dimensions and their rules."""
        return self._parts.signature

    def profile(self, repeats: int = 20, **arrays: object) -> RaggedProfile:
        """Time the parts of a call on `arrays`, each `repeats` times after one run that is not counted.

        Raises:
            UserError: `repeats` is below 1.
            DataError: as a call does.
        """
        if type(repeats) is not int or repeats < 1:
            raise UserError(f"profile: repeats={repeats!r} is no number of times", fix="a number from 1 up")
        key, found, _ = self._read(arrays)
        inputs = read_lengths(self.signature, found, arrays, self._sizes)
        bound = self._preludes.find(key, lambda: inputs)
        values = dict(
            zip((each.name for each in self._caller.wanted), self._values(bound, found), strict=True)
        )
        timed = (self._caller.timed(values, spin_ns=bound.spin_ns) for _ in range(repeats + 1))
        kernel = [times[StageKind.KERNEL] for times in timed][1:]
        results = self._caller(values, spin_ns=bound.spin_ns)
        tables = [table for table in bound.values.values() if isinstance(table, np.ndarray)]
        moved = [*found, *self._params.values(), *results.values()]
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


def _ragged(array: Array, layout: ResultLayout) -> RaggedArray:
    return with_parts(Parts(array.reshape(-1)[: layout.size], layout.extents, layout.padding))


load = RaggedFunction.load
