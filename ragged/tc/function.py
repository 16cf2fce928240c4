"""Functions of a text: called with arrays, compiled when they are first called, for all sizes at once."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ragged.auto.options import ScheduleOptions
from ragged.compiled.kernel_cache import cache_folder
from ragged.errors import UserError
from ragged.ir.expr import Ref, Var
from ragged.tc.analyse import AnalysedFunction
from ragged.tc.arguments import (
    Array,
    like_arguments,
    named,
    out_arrays,
    read_arguments,
    read_parameter,
    refuse,
    sizes_of,
    write_result,
)
from ragged.tc.checked import TensorVersion
from ragged.tc.compiled import CompiledTc, TcOptions, compile_analysed, scheduled
from ragged.tc.intervals import value_of
from ragged.tc.known_calls import Domains, KnownCalls
from ragged.tc.listing import checks_text, ranges_text
from ragged.tc.lower import stored
from ragged.tc.text import definition_text
from ragged.tuning import Tuning, tune
from ragged.tuning.strategies import StrategyLike

_MOST_SIZES = 1024
"""Number of combinations of sizes that are remembered as checked."""
_COMPILED = ("loops", "schedule", "tir", "asm", "cuda")


class TcFunction:
    """A function of arrays that a text defines; any number of threads may call it.

    It is compiled when it is first called, once for all sizes; `compile` fixes sizes or binds arguments.
    """

    def __init__(self, analysed: AnalysedFunction, options: TcOptions | None = None) -> None:
        self._analysed = analysed
        self._function = analysed.function
        self._options = TcOptions() if options is None else options
        self._compiled: CompiledTc | None = None
        self._lock = threading.Lock()
        self._checked: dict[tuple[int, ...], Domains] = {}
        self._known_calls = KnownCalls()

    @property
    def name(self) -> str:
        """The function's name."""
        return self._function.name

    @property
    def parameters(self) -> dict[str, tuple[str, tuple[str | int, ...]]]:
        """The dtype and the dimensions of each parameter that is no integer scalar."""
        return {name: (each.type, _dims(each)) for name, each in self._function.parameters.items()}

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the sizes and of the integer scalars."""
        return (*self._function.sizes, *self._function.scalars)

    @property
    def scalars(self) -> tuple[str, ...]:
        """The names of the integer scalars, which calls are given."""
        return tuple(self._function.scalars)

    @property
    def read_first(self) -> tuple[str, ...]:
        """The outputs that are read before they are written, and are no parameters: calls give them as `out=`."""
        return tuple(self._function.initial)

    def infer(self, **shapes: Any) -> Domains:
        """Return the lower bound and the extent of each dimension of each output, for the shapes of arguments.

        An integer scalar is given by its value; scalars of other types may be left out.

        Raises:
            TcError: shapes do not fit together ("call"), or leave a range empty or an access out of bounds ("range").

        Example:
            >>> lib.mlp1.infer(I=(128, 2000), W=(128, 2000), b=(128,))
            {'O': ((0, 128), (0, 128))}
        """
        function = self._function
        given = named(function, (), shapes)
        given |= {name: value.shape for name, value in self._options.parameters.items()}
        scalars = {
            name: self._options.sizes[name] for name in function.scalars if name in self._options.sizes
        }
        for name in function.scalars:
            if name not in scalars and not isinstance(given.get(name), int | np.integer):
                raise refuse(function, f"needs the value of '{name}'", fix=f"infer(..., {name}=3)")
        found: dict[str, Sequence[int]] = {}
        for name, version in function.parameters.items():
            shape: Any = given.get(name, () if version.rank == 0 else None)
            if not isinstance(shape, tuple | list) or not all(
                isinstance(each, int | np.integer) for each in shape
            ):
                raise refuse(function, f"needs the shape of '{name}'", fix=f"infer(..., {name}=(2, 3))")
            found[name] = shape
        return self._domains(sizes_of(function, found, {**given, **scalars}))

    def __call__(self, *args: object, out: object = None, **arrays: object) -> Any:
        """Run the function on arrays; return its output, or several by name in order.

        Results are new arrays of the caller, of the library of the first array, with the extents that `infer` returns.
        If an index of a result does not begin at 0, its attribute `lower` has the first index of each dimension.

        Args:
            args: in the order of the parameters: NumPy arrays, tensors of torch or of other libraries with DLPack, and
                numbers for scalars.
            out: an array that the output is written into, and which is returned; for several, a mapping by name. An
                output that is read before it is written takes its values from there.
            arrays: arguments by name.

        Raises:
            TcError: an argument is missing or does not fit ("call"), or sizes leave a range empty or an access out of
                bounds ("range").
            DataError: an index that is read from data is out of bounds; the message names it.
        """
        if not arrays and out is None:
            known = self._known_calls.find(args)
            if known is not None:
                return known.run(args)
        given = named(self._function, args, arrays, self._options.parameters)
        inputs, sizes = read_arguments(self._function, given)
        domains = self._domains(sizes)
        outs = out_arrays(self._function, out, domains)
        inputs |= {name: outs[name][1] for name in self._function.initial}
        found = {}
        for name, value in zip(domains, self._run(inputs, sizes, domains), strict=True):
            if name in outs:
                found[name] = write_result(*outs[name], value)
            else:
                found[name] = like_arguments(value, tuple(lower for lower, _ in domains[name]), given)
        if not arrays and out is None and self._compiled is not None and not self._function.scalars:
            bound = self._options.parameters
            names = [each.name for each in self._function.definition.parameters if each.name not in bound]
            self._known_calls.add(args, self._compiled, names, sizes, domains)
        return found if len(found) != 1 else next(iter(found.values()))

    def _run(
        self, arrays: Mapping[str, Array], sizes: Mapping[Var, int], domains: Domains
    ) -> Sequence[Array]:
        shapes = [tuple(extent for _, extent in domain) for domain in domains.values()]
        if all(0 in shape for shape in shapes):
            types = [version.type for version in self._function.outputs.values()]
            return [np.empty(shape, stored(type_).numpy) for shape, type_ in zip(shapes, types, strict=True)]
        return self._ready().run(arrays, sizes)

    def compile(
        self,
        *,
        sizes: Mapping[str, int] | None = None,
        parameters: Mapping[str, object] | None = None,
        **options: Any,
    ) -> TcFunction:
        """Return this function compiled now, for a target, with sizes fixed and arguments bound.

        Args:
            sizes: sizes by name, and integer scalars; calls with others are refused.
            parameters: arrays that all calls share. They are copied, their sizes are fixed, and calls do not give them.
            options: those of `ragged.compile`: target, threads, shapes, code_bytes, precision, schedule, cache.

        Raises:
            TcError: a size or a parameter is not of the function, or they do not fit together.
        """
        function = self._function
        fixed, bound = dict(sizes or {}), {}
        for name in fixed:
            if name not in function.sizes and name not in function.scalars:
                raise refuse(function, f"has no size '{name}'", fix=f"one of {', '.join(function.sizes)}")
        for name, value in (parameters or {}).items():
            if name not in function.parameters:
                raise refuse(function, f"has no tensor '{name}' to bind")
            bound[name] = read_parameter(function, name, value).copy()
            self._fix(fixed, name, bound[name].shape)
        specialized = TcFunction(self._analysed, TcOptions(fixed, bound, options))
        specialized._ready()
        return specialized

    def tune(
        self, *args: object, seconds: float = 60.0, strategy: StrategyLike = "genetic", **arrays: object
    ) -> Tuning[ScheduleOptions]:
        """Look for options that make calls with arguments like these faster, use the best, and return all results.

        Results are kept in this user's cache on disk: a point is timed once. See `ragged.tune`.

        Args:
            args: arguments as of a call, in the order of the parameters.
            seconds: the duration of the search.
            strategy: as for `ragged.tune`.
            arrays: arguments by name.

        Raises:
            TcError: the arguments do not fit.
        """
        inputs, sizes = read_arguments(
            self._function, named(self._function, args, arrays, self._options.parameters)
        )
        self._domains(sizes)
        _, schedule, params = scheduled(self._analysed, self._options)
        folder = cache_folder()
        found = tune(
            schedule,
            params,
            calls=[self._ready().passed(inputs, sizes)],
            seconds=seconds,
            strategy=strategy,
            records=None if folder is None else folder / "tuned.jsonl",
            threads=self._options.compile.get("threads"),
        )
        with self._lock:
            self._options = replace(self._options, compile={**self._options.compile, "options": found.best})
            self._compiled = None
            self._known_calls = KnownCalls()
        return found

    def show(self, stage: str) -> str:
        """Return the text of a stage: "tc", "ranges", "checks", "loops", "schedule", "tir", "asm" or "cuda".

        "tc" is the definition, "ranges" has the range of each index, "checks" says how each access is kept in bounds;
        the others are of the compiled function.

        Raises:
            UserError: there is no such stage.
        """
        match stage:
            case "tc":
                return definition_text(self._function.definition)
            case "ranges":
                return ranges_text(self._analysed)
            case "checks":
                return checks_text(self._analysed)
            case _ if stage in _COMPILED:
                return self._ready().function.show(stage)
            case _:
                names = ", ".join(("tc", "ranges", "checks", *_COMPILED))
                raise UserError(f"show: no stage is called {stage!r}", fix=f"one of {names}")

    def __str__(self) -> str:
        return definition_text(self._function.definition)

    def __repr__(self) -> str:
        return f"<TcFunction {str(self).partition(' {')[0]}>"

    def _ready(self) -> CompiledTc:
        with self._lock:
            if self._compiled is None:
                self._compiled = compile_analysed(self._analysed, self._options)
            return self._compiled

    def _domains(self, sizes: Mapping[Var, int]) -> Domains:
        """Return the outputs' domains for sizes, which are checked once."""
        key = tuple(sizes.values())
        found = self._checked.get(key)
        if found is None:
            for var, value in sizes.items():
                fixed = self._options.sizes.get(var.name, value)
                if fixed != value:
                    what = f"is compiled for {var.name} = {fixed}, and is called with {value}"
                    raise refuse(self._function, what)
            self._analysed.check_sizes(sizes)
            if len(self._checked) >= _MOST_SIZES:
                self._checked.clear()
            found = self._checked[key] = self._analysed.domains(sizes)
        return found

    def _fix(self, fixed: dict[str, int], name: str, shape: Sequence[int]) -> None:
        """Fix the sizes of a bound array."""
        for index_range, extent in zip(self._function.parameters[name].domain or (), shape, strict=False):
            if isinstance(index_range.upper, Ref):
                size = index_range.upper.var.name
                if fixed.setdefault(size, extent) != extent:
                    what = f"is given '{name}' with {size} = {extent}, and {size} = {fixed[size]} elsewhere"
                    raise refuse(self._function, what)


def _dims(version: TensorVersion) -> tuple[str | int, ...]:
    extents = (index_range.upper for index_range in version.domain or ())
    return tuple(each.var.name if isinstance(each, Ref) else value_of(each, {}) for each in extents)
