"""A compiled function: machine code with bound parameters, whichever front end made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter_ns
from typing import Any, ClassVar, Generic, NoReturn, Self

import numpy.typing as npt

from ragged.codegen.entry import Value
from ragged.compiled.artifact import CODE, Origin, Target, read_artifact, read_bytes, reading, save
from ragged.compiled.kernel import CUBIN, load_kernel
from ragged.compiled.log import with_logged_calls
from ragged.compiled.parameters import bind_parameters
from ragged.compiled.parts import CompiledParts, S
from ragged.errors import DataError, UserError
from ragged.ir.expr import Role
from ragged.ir.rule_record import RuleRecord, rules_from_json
from ragged.runtime.bundle import FileFormat
from ragged.runtime.team import check_workers

_GENERATED = frozenset(("tree", "loops", "prelude", "tir", "asm", "cuda"))
"""Stages that `show` has of every kernel; the others are texts of the signature or listings of the kernel."""


class CompiledFunction(Generic[S]):
    """Code for one machine with its parameters; any number of threads may call it.

    A front end's class says how arguments become a call's arrays and how results are wrapped, in `__call__`. `form` is
    the form of its files, `stages` are those of `show`, `loader` is the name of its `load`.
    """

    parts: ClassVar[type[CompiledParts[Any]]] = CompiledParts
    form: ClassVar[FileFormat[Any]]
    stages: ClassVar[tuple[str, ...]]
    loader: ClassVar[str]

    def __init__(self, parts: CompiledParts[S], params: Mapping[str, object]) -> None:
        """Bind copies of the parameters; raises `ModelError` where they do not fit."""
        self._parts = parts
        self._params, self._sizes = bind_parameters(parts.signature, params)
        named: dict[str, Value] = {
            name: self._params[own] for name, own in parts.kernel.named(Role.PARAMETER).items()
        }
        named |= {
            name: self._sizes[size][0] for name, size in parts.kernel.sizes.items() if size in self._sizes
        }
        begin = perf_counter_ns()
        caller = parts.kernel.caller(named, parts.workers)
        self._bind_us = (perf_counter_ns() - begin) / 1000
        self._caller = with_logged_calls(caller, parts.signature.name)

    def with_params(self, params: Mapping[str, object]) -> Self:
        """Return this function with other parameters, which are copied; nothing is compiled.

        Raises:
            ModelError: a parameter is missing, unknown, or has another shape or dtype.
        """
        return type(self)(self._parts, params)

    def save(self, path: Target, *, alternatives: Sequence[Self] = ()) -> None:
        """Write the function to a file that `load` reads, with its parameters and the texts of `show`.

        A file of that name is replaced as a whole, or left as it is if writing fails; `path` may be a stream in binary
        mode, such as `io.BytesIO()`. Parameters are safetensors. Needs a linker (`ld` or `cc`) where the function is
        compiled, not where it is loaded.

        Args:
            path: the file or the stream.
            alternatives: the same function compiled for other targets, with the same parameters, which are written
                once. `load` takes the code that may use most features of its processor, of all that it can run.

        Raises:
            UserError: no linker was found when the function was compiled; or an alternative is another function, has
                other parameters or was compiled with other options, or is for a GPU.
            OSError: the file cannot be written.
        """
        if isinstance(alternatives, type(self)):
            raise UserError(
                f"save: alternatives={alternatives!r} is no list of functions", fix="alternatives=[other]"
            )
        for number, other in enumerate(alternatives):
            self.check_alternative(number, other)
        others = [other._parts for other in alternatives]
        save(self.form, self._parts, others, self._params, path, self._members())

    def check_alternative(self, number: int, other: Self) -> None:
        """Raise `UserError` unless `other`, the alternative of that number, is this function for another processor."""
        because = None
        if type(other) is not type(self) or not self._means_what(other):
            because = "it is another one"
        elif differs := self._other_option(other):
            because = f"it was compiled with another {differs}="
        elif any(other._params[name].tobytes() != own.tobytes() for name, own in self._params.items()):
            because = "its parameters have other values"
        elif other._members() != self._members():
            because = "it has another vocabulary, or is of another text"
        elif any(each._parts.kernel.kernel.launch is not None for each in (self, other)):
            because = "one of them is for a GPU"
        if because is not None:
            raise UserError(
                f"save: alternative {number} is not this function for another processor",
                because=because,
                fix="compile the same model, with the same parameters and options, with another target=",
            )

    def _means_what(self, other: Self) -> bool:
        own, theirs = self._parts.signature.operator, other._parts.signature.operator
        return own == theirs if own or theirs else self.show(self.stages[0]) == other.show(self.stages[0])

    def _other_option(self, other: Self) -> str | None:
        """Return an option of `compile` in which another function differs; None if there is none."""
        theirs = other._parts.signature.options()
        return next(
            (name for name, own in self._parts.signature.options().items() if theirs[name] != own), None
        )

    @classmethod
    def load(cls, path: Origin, *, threads: int | None = None) -> Self:
        """Return a function that `save` wrote, with its parameters; it needs no compiler.

        The file is checked as a whole before any code in it runs: its form, its hashes, and this processor's features.
        That finds damage and mix-ups. It does not make a stranger's file safe: an artifact is a program.

        Args:
            path: the file, or what is in it: bytes, or a stream in binary mode.
            threads: the most threads that a call may use; None is what the function was compiled for, and if that was
                None too, the cores that this process may use.

        Raises:
            DataError: the file is no saved function, of another version, or damaged.
            UserError: the function was compiled for another processor.
            OSError: the file cannot be read.

        Example::

            fn.save("m.cortex")
            fn = cortex.load("m.cortex")
        """
        data = read_bytes(path)
        with reading(path):
            return cls(*cls._read_parts(data, threads))

    @classmethod
    def _read_parts(
        cls, data: bytes, threads: int | None, *, anywhere: bool = False
    ) -> tuple[CompiledParts[S], dict[str, npt.NDArray[Any]]]:
        """Return the parts and the parameters of a file; see `load`, and `load_kernel` for `anywhere`."""
        saved, params, members = read_artifact(cls.form, data)
        texts = {*saved.signature.texts, *saved.kernel.listings}
        if not {*cls.stages, "steps"} <= texts | _GENERATED or not saved.kernel.programs:
            raise DataError("the file lacks texts that `show` prints")
        threads = saved.threads if threads is None else threads
        workers, options = check_workers(threads), cls._read_options(saved.signature, members)
        kernel = load_kernel(saved.kernel, members[CODE], members.get(CUBIN), anywhere=anywhere)
        return cls.parts(kernel, saved.signature, threads, workers, **options), params

    @classmethod
    def _read_options(cls, signature: S, members: Mapping[str, bytes]) -> dict[str, Any]:
        """Return the fields that the front end's parts have in addition, from a file's members."""
        return {}

    def _members(self) -> dict[str, bytes]:
        """Return the members of a file that the front end adds."""
        return {}

    def show(self, stage: str) -> str:
        """Return the text of a stage of the compilation, one of `stages`.

        "schedule" is the user's steps and then those of the default schedule; "tree" the schedule tree of the kernel,
        in isl's YAML; "loops" the program after all passes; "prelude" the programs that fill tables; "tir" and "asm"
        the kernel in TVM's IR and in assembly, generated anew. A kernel for a GPU has "cuda", its source, in place of
        "tir", and "asm" is its PTX. The others are a front end's: the model or the operators, the naive loops, and the
        outcome of each check.

        Raises:
            UserError: there is no such stage; or the compiler here makes other code of the loops of a saved function.
        """
        loaded = self._parts.kernel
        kernel = loaded.kernel
        texts = {**self._parts.signature.texts, **kernel.listings}
        if stage not in self.stages:
            raise UserError(f"show: no stage is called {stage!r}", fix=f"one of {', '.join(self.stages)}")
        match stage:
            case "schedule":
                return "\n".join(filter(None, (texts[stage], *texts["steps"].splitlines())))
            case "tree":
                from ragged.ir.parser import parse  # here: calls do without the compiler
                from ragged.polyhedral.schedule_tree import schedule_tree

                return schedule_tree(parse(kernel.programs[0]))
            case "loops":
                return kernel.programs[0]
            case "prelude":
                return "\n".join(kernel.programs[1:])
            case "tir" | "asm":
                from ragged.compiled.generate import list_code  # here: it imports the compiler

                return list_code(kernel, loaded.code, stage)
            case "cuda" if stage not in texts:
                raise UserError(
                    f"show: there is no 'cuda' of this function, which is for '{kernel.executable.target}'",
                    fix='compile it with target="cuda -arch=sm_90", which needs no GPU',
                )
            case _:
                return texts[stage]

    @property
    def rules(self) -> tuple[RuleRecord, ...]:
        """What each rule of the default schedule applied, and what was refused, with the reason."""
        texts, listings = self._parts.signature.texts, self._parts.kernel.kernel.listings
        decided = rules_from_json(texts.get("decisions", "[]"))
        return (*decided, *rules_from_json(listings.get("rules", "[]")))

    def explain(self) -> str:
        """Return `rules` as text: for each rule its reason, its steps, and the steps that a primitive refused."""
        return "\n".join(map(str, self.rules))

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: unpickling runs code of the file."""
        raise UserError(
            "a compiled function cannot be pickled or copied",
            because="it is machine code, and a pickle may run any code when it is read",
            fix=f"fn.save(path), and {self.loader}(path) in the other process",
        )
