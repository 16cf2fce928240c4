"""Functions of a text: called with arrays, compiled when they are first called, for all sizes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragged.auto.options import ScheduleOptions
from ragged.compiled.artifact import Target
from ragged.errors import UserError
from ragged.runtime.team import check_workers
from ragged.tc.analyse import analyse
from ragged.tc.arguments import (
    fix_sizes,
    named,
    read_parameter,
    read_size,
    require_dense,
)
from ragged.tc.callable import TcCallable
from ragged.tc.checked import CheckedFunction
from ragged.tc.compiled import TcOptions, lower_analysed
from ragged.tc.errors import TcError, refuse_call
from ragged.tc.gradient import gradient_of
from ragged.tc.kernel import TcText
from ragged.tc.known_calls import KnownCalls
from ragged.tc.listing import checks_text, ranges_text
from ragged.tc.parse import MOST_CHARACTERS, parse
from ragged.tc.text import definition_text
from ragged.tc.torch_operator import torch_operator
from ragged.tc.tuned import record_key, tuned_file, tuning_options
from ragged.tuning import Tuning, tune
from ragged.tuning.space import Grid
from ragged.tuning.strategies import StrategyLike

_COMPILED = ("tree", "loops", "schedule", "tir", "asm", "cuda")


class TcFunction(TcCallable):
    """A function of arrays that a text defines; any number of threads may call it.

    It is compiled when it is first called, once for all sizes; `compile` fixes sizes or binds arguments.
    """

    def compile(
        self,
        *,
        sizes: Mapping[str, int] | None = None,
        parameters: Mapping[str, object] | None = None,
        split_reductions: Mapping[str, int] | None = None,
        **options: Any,
    ) -> TcFunction:
        """Return this function compiled now, for a target, with sizes fixed and arguments bound.

        Args:
            sizes: sizes by name, and integer scalars; calls with others are refused.
            parameters: arrays that all calls share. They are copied, their sizes are fixed, and calls do not give them.
            split_reductions: for each tensor that it names, the iterations of a partial result: its reduction over the
                outermost index is of parts of so many, which workers share, and of what these give. That is another
                order, so other bits of floats, the same for any number of workers.
            options: those of `ragged.compile`: target, threads, shapes, code_bytes, precision, schedule, cache.

        Raises:
            TcError: a size, a parameter or a reduction is not of the function, or they do not fit together.

        Example::

            lib = tc.define("def total(float(N) x) -> (s) { s +=! x(i) }")
            lib.total.compile(split_reductions={"s": 4096})(x)
        """
        function = self._function
        fixed, bound = _by_name(function, "sizes", sizes, '"N": 128'), {}
        for name in fixed:
            if name not in function.sizes and name not in function.scalars:
                raise refuse_call(
                    function, f"has no size '{name}'", fix=f"one of {', '.join(function.sizes)}"
                )
            fixed[name] = read_size(function, name, fixed[name])
        for name, value in _by_name(function, "parameters", parameters, '"w": w').items():
            if name not in function.parameters:
                raise refuse_call(function, f"has no tensor '{name}' to bind")
            bound[name] = read_parameter(function, name, value).copy()
            fix_sizes(function, fixed, name, bound[name].shape)
        split = _by_name(function, "split_reductions", split_reductions, '"s": 4096')
        reduced = {each.target.name for each in function.statements if each.reduced}
        for name, size in split.items():
            if name not in reduced:
                names = ", ".join(sorted(reduced)) or "no other"
                raise refuse_call(function, f"has no reduction '{name}' to split", fix=f"{names} is one")
            if type(size) is not int or size < 1:
                raise refuse_call(
                    function, f"cannot split '{name}' into parts of {size!r}", fix="an integer from 1 up"
                )
        specialized = TcFunction(self._analysed, self._text, TcOptions(fixed, bound, split, options))
        specialized._ready()
        return specialized

    def tune(
        self,
        /,
        *args: object,
        out: object = None,
        seconds: float = 60.0,
        strategy: StrategyLike = "genetic",
        space: Grid | None = None,
        **arrays: object,
    ) -> Tuning[ScheduleOptions]:
        """Look for options that make calls with arguments like these faster, use the best, and return all results.

        Results are kept in this user's cache on disk, for all functions of the same text, whatever its names: a point
        is timed once, and a search begins with the best that is known. Ctrl-C ends it with the best so far. See
        `ragged.tune`, and `ragged.tc.export_tuned` and `import_tuned` to share results.

        Args:
            args: arguments as of a call, in the order of the parameters.
            out: the values of outputs that are read before they are written, as of a call; it is not written.
            seconds: the duration of the search.
            strategy: as for `ragged.tune`.
            space: as for `ragged.tune`.
            arrays: arguments by name.

        Raises:
            TcError: the arguments do not fit.
            UserError: as for `ragged.tune`; or the function is compiled for another target, or without the default
                schedule.
        """
        more = tuning_options(self._function, self._options.compile)
        options = self._options
        call, sizes = self._passed(named(self._function, args, arrays, options.parameters), out)
        lowered = lower_analysed(self._analysed, options.sizes, options.parameters, options.split)
        threads = options.compile.get("threads")
        workers = check_workers(threads)
        found = tune(
            lowered.schedule(more.get("precision", "float32")),
            lowered.own(options.parameters),
            calls=[call],
            seconds=seconds,
            strategy=strategy,
            space=space,
            records=tuned_file(),
            key=record_key(
                self._function, options.sizes, options.parameters, options.split, sizes, workers, more
            ),
            threads=threads,
            **more,
        )
        with self._lock:
            self._options = replace(self._options, compile={**self._options.compile, "options": found.best})
            self._compiled = None
            self._known_calls = KnownCalls()
        return found

    def save(self, path: Target, *, alternatives: Sequence[TcFunction] = ()) -> None:
        """Write the compiled function to a file, or a stream of bytes, that `ragged.tc.load` reads.

        It has the text, fixed sizes and bound arrays. A file of that name is replaced as a whole.

        Args:
            path: the file or the stream.
            alternatives: this function compiled for other targets, with the same sizes fixed and arrays bound; `load`
                takes what suits its processor best.

        Raises:
            UserError: no linker was found when the function was compiled; or an alternative is another function.
            OSError: the file cannot be written.

        Example::

            lib.tmm.save("tmm.tc")
            tmm = tc.load("tmm.tc")
        """
        others = [each._ready().function for each in alternatives]
        self._ready().function.save(path, alternatives=others)

    def gradient(self, wrt: Sequence[str] | None = None, *, saved: Sequence[str] = ()) -> TcFunction:
        """Return the function of the gradients of parameters; printing it gives its text.

        It takes this function's arguments, then the outputs in `saved` that it reads, then `d_NAME` for each output of
        floats: the derivative of a number by it. It returns `d_NAME` for each of `wrt`: the derivative of that number,
        of the parameter's shape and type; `d_NAME_in` if an output is called NAME too. Other values it computes again.
        Where a parameter or a size has such a name, it is one with a number, `d_NAME_2`.

        Args:
            wrt: names of parameters of floats; None for all of them.
            saved: names of outputs that calls give, rather than having them computed again.

        Raises:
            TcError: a name is none of a parameter or an output of floats, an output is read before it is written, has
                extents that no declaration can state, or is a minimum or maximum over several indices with extents
                that vary ("check").

        Example::

            lib = tc.define("def conv(float(H) x, float(K) w) -> (y) { y(j) +=! x(j + k) * w(k) }")
            found = lib.conv.gradient()(x, w, d_y)  # found["d_x"], found["d_w"]
        """
        options = self._options
        free = [name for name in self._function.parameters if name not in options.parameters]
        definition = gradient_of(self._function, free, wrt, saved)
        text = TcText(definition_text(definition), definition.name)
        if len(text.text) > MOST_CHARACTERS:
            raise TcError(
                "check",
                f"the gradient of '{self.name}' has {len(text.text):,} characters, and {MOST_CHARACTERS:,} at most "
                "are read",
                at=self._function.definition.at,
                because="what a function of a function of numbers is computed of stands there many times",
                fix="statements of their own for the arguments of functions: t(i) = pow(...), y(i) = pow(t(i), ...)",
            )
        (parsed,) = parse(text.text, text.name)
        kept = {name: value for name, value in options.compile.items() if name != "options"}
        return TcFunction(analyse(parsed, {}), text, replace(options, compile=kept))

    def torch(self) -> Any:
        """Return the function as an operator of `torch.library`, for tensors in the memory of the CPU.

        It takes the parameters in their order, scalars of floats as tensors without dimensions, and returns a new
        tensor, or a tuple of them for several outputs. Shapes of results, symbolic ones as well, follow from the
        ranges, so that `torch.compile` and `torch.export` trace it. Its backward is the operator of `gradient` by those
        arguments that need one, and is passed the outputs that it reads. Forward-mode derivatives are not defined:
        PyTorch takes them for zeros.

        Raises:
            TcError: an output is read before it is written, or no parameter is a tensor ("check").
            ImportError: PyTorch is not installed.

        Example::

            conv = tc.define("def conv(float(H) x, float(K) w) -> (y) { y(j) +=! x(j + k) * w(k) }").conv.torch()
            conv(x, w).sum().backward()
        """
        require_dense(self._function, "torch")
        options = self._options
        if self._operator is None:
            self._operator = torch_operator(
                self, self._function, options.parameters, self._reverse, options.digest
            )
        return self._operator

    def _reverse(self, wrt: tuple[str, ...], saved: tuple[str, ...]) -> tuple[list[str], Any]:
        """Return the names of the arguments of a gradient's operator, and that."""
        if (wrt, saved) not in self._reverses:
            found = self.gradient(wrt, saved=saved)
            names = [each.name for each in found._function.definition.parameters]
            free = [name for name in names if name not in self._options.parameters]
            self._reverses[wrt, saved] = free, found.torch()
        return self._reverses[wrt, saved]

    def show(self, stage: str) -> str:
        """Return the text of a stage: "tc", "ranges", "checks", "tree", "loops", "schedule", "tir", "asm" or "cuda".

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

    def explain(self) -> str:
        """Return what each rule of the default schedule did to the compiled function, and what it left, with reasons.

        Example::

            print(lib.softmax.explain())  # fuse_nests: ... applied s.apply(fuse_siblings, ...)
        """
        return self._ready().function.explain()

    def __str__(self) -> str:
        return definition_text(self._function.definition)

    def __repr__(self) -> str:
        return f"<TcFunction {str(self).partition(' {')[0]}>"


def _by_name(function: CheckedFunction, what: str, given: object, example: str) -> dict[str, Any]:
    """Return what the option `what` gives by names, or refuse it: `example` is what would do."""
    if given is None or isinstance(given, Mapping):
        return dict(given or {})
    raise refuse_call(function, f"has {what} by name, and is given {given!r}", fix=f"{what}={{{example}}}")
