"""Calls of a function of a text: sizes are checked once, and the function is compiled at the first call."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from ragged.arith.index_intervals import value_of
from ragged.errors import UserError
from ragged.ir.expr import Var
from ragged.tc.analyse import AnalysedFunction
from ragged.tc.arguments import (
    Array,
    like_arguments,
    named,
    out_arrays,
    read_arguments,
    read_numbers,
    read_shapes,
    require_dense,
)
from ragged.tc.compiled import CompiledTc, TcOptions, compile_analysed
from ragged.tc.errors import refuse_call
from ragged.tc.kernel import TcText
from ragged.tc.known_calls import Domains, KnownCalls
from ragged.tc.lower import stored
from ragged.tc.sizes import sizes_of
from ragged.tc.text import expression_text
from ragged.tc.tree import NumberLiteral, TcExpression
from ragged.tuning.calls import shapes_text

_MOST_SIZES = 1024
"""Number of combinations of sizes that are remembered as checked."""


class TcCallable:
    """Calls of a function of arrays, which is compiled at the first one; any number of threads may call it."""

    def __init__(
        self,
        analysed: AnalysedFunction,
        text: TcText,
        options: TcOptions | None = None,
        compiled: CompiledTc | None = None,
    ) -> None:
        self._analysed = analysed
        self._text = text
        self._function = analysed.function
        self._options = TcOptions() if options is None else options
        self._compiled = compiled
        self._lock = threading.Lock()
        self._checked: dict[tuple[int, ...], Domains] = {}
        self._known_calls = KnownCalls()
        self._operator: object = None
        self._reverses: dict[object, tuple[list[str], object]] = {}

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied, as other compiled functions do."""
        raise UserError(
            f"{self._function.name} cannot be pickled or copied",
            because="it has machine code, and functions that are compiled for calls",
            fix="ragged.tc.define(text) there; or f.save(path), and ragged.tc.load(path) in the other process",
        )

    @property
    def name(self) -> str:
        """The function's name."""
        return self._function.name

    @property
    def parameters(self) -> dict[str, tuple[str, tuple[str | int, ...]]]:
        """The dtype and the dimensions of each parameter that is neither an integer scalar nor lengths, as declared."""
        declared = {each.name: each.dims for each in self._function.definition.parameters}
        return {name: (each.type, _dims(declared[name])) for name, each in self._function.parameters.items()}

    def shapes(self, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """Return the shape of each of `parameters`, for the values of `sizes` by name; refused of ragged ones."""
        require_dense(self._function, "shapes")
        known = {var: sizes[name] for name, var in self._function.values.items()}
        return {
            name: tuple(value_of(own.upper, known) for own in version.domain or ())
            for name, version in self._function.parameters.items()
        }

    @property
    def varies(self) -> bool:
        """Whether the extent of a dimension or of a reduction varies with an outer index."""
        return self._function.varies

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the sizes and of the integer scalars."""
        return tuple(self._function.values)

    @property
    def scalars(self) -> tuple[str, ...]:
        """The names of the integer scalars, which calls are given."""
        return tuple(self._function.scalars)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs, in order."""
        return tuple(self._function.outputs)

    @property
    def read_first(self) -> tuple[str, ...]:
        """The outputs that are read before they are written, and are no parameters: calls give them as `out=`."""
        return tuple(self._function.initial)

    def infer(self, /, **shapes: Any) -> Domains:
        """Return the lower bound and the extent of each dimension of each output, for the shapes of arguments.

        An integer scalar is given by its value; scalars of other types may be left out.

        Raises:
            TcError: shapes do not fit together ("call"), or leave a range empty or an access out of bounds ("range").

        Example:
            >>> lib.mlp1.infer(I=(128, 2000), W=(128, 2000), b=(128,))
            {'O': ((0, 128), (0, 128))}
        """
        require_dense(self._function, "infer")
        bound = {name: value.shape for name, value in self._options.parameters.items()}
        given = {**self._options.sizes, **named(self._function, (), shapes), **bound}
        return self._domains(sizes_of(self._function, read_shapes(self._function, given), given))

    def __call__(self, /, *args: object, out: object = None, **arrays: object) -> Any:
        """Run the function on arrays; return its output, or several by name in order.

        Results are new arrays of the caller, of the library of the first array, with the extents that `infer` returns,
        or ragged arrays where extents vary.
        If an index of a result does not begin at 0, its attribute `lower` has the first index of each dimension.

        Args:
            args: in the order of the parameters: NumPy arrays, tensors of torch or of other libraries with DLPack,
                numbers for scalars, and what `ragged.array` takes where extents vary.
            out: an array that the output is written into, and which is returned; for several, a mapping by name. An
                output that is read before it is written takes its values from there.
            arrays: arguments by name.

        Raises:
            TcError: an argument is missing or does not fit ("call"), or sizes leave a range empty or an access out of
                bounds ("range").
            DataError: an index that is read from data is out of bounds; the message names it.
        """
        placed = args if not arrays else self._by_place(args, arrays)
        known = None if placed is None else self._known_calls.find(placed)
        if placed is not None and known is not None:
            done = known.run(placed, out)
            if done is not None:
                return done
        given = named(self._function, args, arrays, self._options.parameters)
        if self._function.varies:
            return self._ready().run_ragged(self._numbers(given), out)
        inputs, sizes = read_arguments(self._function, given)
        domains = self._domains(sizes)
        outs = out_arrays(self._function, out, domains)
        inputs |= {name: outs[name][1] for name in self._function.initial}
        found = {}
        for name, value in zip(domains, self._run(inputs, sizes, domains), strict=True):
            if name in outs:
                found[name], view = outs[name]
                view[...] = value
            else:
                found[name] = like_arguments(value, tuple(lower for lower, _ in domains[name]), given)
        if placed is not None and known is None and self._compiled is not None and not self._function.initial:
            self._known_calls.add(placed, self._compiled, self._names, sizes, domains)
        return found if len(found) != 1 else next(iter(found.values()))

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The names of the parameters that are not bound, in order."""
        bound = self._options.parameters
        return tuple(each.name for each in self._function.definition.parameters if each.name not in bound)

    def _passed(self, given: Mapping[str, object], out: object) -> tuple[dict[str, object], str]:
        """Return the compiled function's arguments for those of a call by name, and a text of their sizes."""
        if self._function.varies:
            ready = self._ready()
            call = ready.passed_ragged(self._numbers(given), out)
            lengths = {own: np.asarray(call[own]).tolist() for own in ready.taken_lengths.values()}
            return call, shapes_text([{**call, **lengths}])
        inputs, sizes = read_arguments(self._function, given)
        outs = out_arrays(self._function, out, self._domains(sizes))
        inputs |= {name: outs[name][1] for name in self._function.initial}
        return self._ready().passed(inputs, sizes), ", ".join(map(str, sizes.values()))

    def _numbers(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return arguments by name with scalars as the kernel reads them, which are checked."""
        found, scalars = read_numbers(self._function, given)
        self._check_fixed(scalars)
        self._analysed.check_bits(scalars)
        return found

    def _by_place(self, args: tuple[object, ...], arrays: Mapping[str, object]) -> tuple[object, ...] | None:
        """Return the arguments of a call in the order of the parameters; None if they are not these."""
        rest = self._names[len(args) :]
        if len(rest) != len(arrays) or not all(name in arrays for name in rest):
            return None
        return (*args, *(arrays[name] for name in rest))

    def _run(
        self, arrays: Mapping[str, Array], sizes: Mapping[Var, int], domains: Domains
    ) -> Sequence[Array]:
        shapes = [tuple(extent for _, extent in domain) for domain in domains.values()]
        if all(0 in shape for shape in shapes):
            types = [version.type for version in self._function.outputs.values()]
            return [np.empty(shape, stored(type_).numpy) for shape, type_ in zip(shapes, types, strict=True)]
        return self._ready().run(arrays, sizes, shapes)

    def _ready(self) -> CompiledTc:
        with self._lock:
            if self._compiled is None:
                self._compiled = compile_analysed(self._analysed, self._options, self._text)
            return self._compiled

    def _domains(self, sizes: Mapping[Var, int]) -> Domains:
        """Return the outputs' domains for sizes, which are checked once."""
        key = tuple(sizes.values())
        found = self._checked.get(key)
        if found is None:
            self._check_fixed(sizes)
            self._analysed.check_sizes(sizes)
            if len(self._checked) >= _MOST_SIZES:
                self._checked.clear()
            found = self._checked[key] = self._analysed.domains(sizes)
        return found

    def _check_fixed(self, sizes: Mapping[Var, int]) -> None:
        for var, value in sizes.items():
            fixed = self._options.sizes.get(var.name, value)
            if fixed != value:
                what = f"is compiled for {var.name} = {fixed}, and is called with {value}"
                raise refuse_call(self._function, what)


def _dims(dims: Sequence[TcExpression]) -> tuple[str | int, ...]:
    return tuple(int(dim.value) if isinstance(dim, NumberLiteral) else expression_text(dim) for dim in dims)
