"""What a compiled stage is to whoever calls it: its arguments in order, its checks, its function.

Nothing here needs the compiler: a saved function is called through the same entries.

Every stage of a program takes the same arguments, all by value: each size (int64); the address of each function's
array; the address of each declared buffer's storage, except of one that aliases another; the address of the
status words; the worker's number and the number of workers (int64). A stage with a team's loop is called by every
worker at once, with the same arguments but for the worker's number; any other stage by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ctypes import c_void_p
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from ragged.codegen.names import unique
from ragged.errors import DataError, Location
from ragged.ir.dtype import INDEX, DType
from ragged.ir.expr import Buffer, Expr, Function, Role
from ragged.ir.program import Program, StageKind

Value: TypeAlias = "int | np.ndarray[Any, Any]"


WITNESSES = 2
"""The first of the status words that hold what a failed check reports."""

DEVICE_ALIGNMENT = 256
"""Bytes that the address of each array on a GPU is a multiple of, as those are that the driver allocates."""


class ArgumentKind(Enum):
    """What an argument carries."""

    SIZE = "size"  # a number
    ARRAY = "array"  # the values of an uninterpreted function
    BUFFER = "buffer"  # a buffer's elements


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of every stage.

    `name` is unique in the signature. `dtype` is that of the elements in memory. `shape` is that of the array in
    memory: a function's extents, or a buffer's in storage order. `symbol` is what it stands for in the program.
    """

    name: str
    kind: ArgumentKind
    dtype: DType
    shape: tuple[Expr, ...]
    symbol: Function | Buffer
    align: int = 1


@dataclass(frozen=True, slots=True)
class CheckSite:
    """A check in a stage: the label's name, the message with `{0}`.. for the witnesses, and the dtypes of these."""

    label: str
    message: str
    witness: tuple[DType, ...]
    at: Location | None


class CompiledCheckFailed(DataError):
    """A check in generated code did not hold; `index` counts the stage's checks, `witness` holds its values."""

    def __init__(self, site: CheckSite, index: int, witness: tuple[int | float, ...]) -> None:
        self.site = site
        self.index = index
        self.witness = witness
        super().__init__(site.message.format(*witness), at=site.at)


@dataclass(frozen=True, slots=True)
class Entry:
    """A stage's function, loaded, and how it is called: `function(*values, status, worker, workers)`.

    `status` is the address of `status_words` int64 words, zero before the call. A check that fails leaves 1 + its
    index in the first and its witnesses from the third on (a float as the bits of a float64), and ends the stage; of
    several workers the first to fail does, and the others end at their next barrier. The second word is the
    barriers' own. `workers` is the size that stands for the number of workers in the program, if there is one;
    `team` says that the stage has a team's loop.
    """

    kind: StageKind
    function: Callable[..., Any]
    arguments: tuple[Argument, ...]
    checks: tuple[CheckSite, ...]
    workers: Function | None = None
    team: bool = False

    @property
    def status_words(self) -> int:
        """How many int64 words a call needs for its status."""
        return WITNESSES + max((len(site.witness) for site in self.checks), default=0)

    def __call__(self, arguments: Mapping[str, Value]) -> None:
        """Run the stage with `arguments` by name: an int for a size, a C-contiguous array for the others.

        An argument that this stage does not use may be left out. This is the slow way, with checks;
        `ragged.runtime.call` has the fast one.

        Raises:
            DataError: an array has another dtype, is not contiguous, or not aligned to its elements.
            CompiledCheckFailed: a check of the program does not hold. A `DataError` too.
        """
        status = np.zeros(self.status_words, np.int64)
        values = [marshal(argument, arguments.get(argument.name)) for argument in self.arguments]
        self.function(*values, c_void_p(status.ctypes.data), 0, 1)
        if status[0]:
            raise self.failure(status)

    def failure(self, status: np.ndarray[Any, np.dtype[np.int64]]) -> CompiledCheckFailed:
        """Return the error that the status words of a failed call speak of."""
        index = int(status[0]) - 1
        site = self.checks[index]
        words = status[WITNESSES : WITNESSES + len(site.witness)]
        values = (
            float(word.view(np.float64)) if dtype.is_float else int(word)
            for word, dtype in zip(words, site.witness, strict=True)
        )
        return CompiledCheckFailed(site, index, tuple(values))


def marshal(argument: Argument, value: Value | None) -> int | c_void_p | None:
    """Return what is passed for `value`: the number, or the array's address; zero or null for None.

    Raises `DataError` if the array's dtype or layout is not what generated code reads.
    """
    if argument.kind is ArgumentKind.SIZE:
        return 0 if value is None else int(value)
    if value is None:
        return None
    if not isinstance(value, np.ndarray) or value.dtype != argument.dtype.numpy:
        got = f"{value.dtype} array" if isinstance(value, np.ndarray) else type(value).__name__
        raise DataError(f"'{argument.name}': {argument.dtype.value} array expected, not {got}")
    if not value.flags.c_contiguous:
        raise DataError(f"'{argument.name}': its array is not C-contiguous", fix="numpy.ascontiguousarray")
    if not value.flags.aligned:
        raise DataError(
            f"'{argument.name}': its array does not begin at a multiple of an element", fix="copy it"
        )
    return c_void_p(value.ctypes.data)


def signature_of(program: Program, workers: Function | None = None) -> tuple[Argument, ...]:
    """Return the arguments of the program's stages, in order.

    `workers`, the size that is a team's number of workers, is not among them: it comes with each call.
    """
    symbols: list[Function | Buffer] = [f for f in program.sizes() if f is not workers]
    symbols += program.arrays()
    symbols += [b for b in program.buffers if b.aliases is None]
    names: set[str] = set()
    return tuple(_argument(symbol, unique(symbol.name, names)) for symbol in symbols)


def _argument(symbol: Function | Buffer, name: str) -> Argument:
    if isinstance(symbol, Buffer):
        shape = tuple(symbol.shape[d] for d in symbol.order)
        # the caller may have an output's memory, which is aligned to its elements
        align = symbol.dtype.bytes if symbol.role is Role.OUTPUT else symbol.align
        return Argument(name, ArgumentKind.BUFFER, symbol.dtype, shape, symbol, align)
    if symbol.is_size:
        return Argument(name, ArgumentKind.SIZE, INDEX, (), symbol)
    extents = tuple(param.extent for param in symbol.params)
    return Argument(name, ArgumentKind.ARRAY, symbol.storage, extents, symbol, symbol.storage.bytes)
