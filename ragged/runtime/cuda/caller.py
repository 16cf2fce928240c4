"""Calls of a kernel on a GPU: the prelude runs on the host, arrays are copied to the device and back."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from ctypes import c_void_p

import numpy as np

from ragged.codegen.entry import DEVICE_ALIGNMENT, Argument, ArgumentKind, Entry, Value
from ragged.errors import InternalError
from ragged.ir.expr import Buffer, Role
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller, ResolvedShapes
from ragged.runtime.cuda.driver import Driver, the_driver
from ragged.runtime.cuda.launch import Launch
from ragged.runtime.memory import Array

_NONE_ARRIVED = np.zeros(1, np.uint32)
"""The counter of the grid's barrier before a launch."""
_SMALL = 1 << 16
"""Bytes up to which copying an array on the host costs less than a copy to the device of its own."""


class CudaCaller:
    """A `ragged.runtime.call.Caller` for a kernel on a GPU; the other stages run on the host.

    The first call copies parameters and bound tables to the device, where they stay. Calls are serialized and share one
    block of the device's memory, which stays as large as the largest call needed.
    """

    def __init__(
        self, entries: Mapping[StageKind, Entry], bound: Mapping[str, Value], launch: Launch, cubin: bytes
    ) -> None:
        """Prepare a program with the device code `cubin` as its kernel stage."""
        host = entries.get(StageKind.PRELUDE) or entries[StageKind.KERNEL]  # here that does nothing
        self._host = Caller([host], bound)
        self._signature = host.arguments
        self._bound = {
            name: np.ascontiguousarray(v) if isinstance(v, np.ndarray) else v for name, v in bound.items()
        }
        self._launch = launch
        self._cubin = cubin
        self._lock = threading.Lock()
        self._resident: _Resident | None = None

    @property
    def wanted(self) -> tuple[Argument, ...]:
        """The arguments that each call has to give, in order."""
        return self._host.wanted

    @property
    def idle_memory(self) -> tuple[int, int]:
        """The number of idle blocks of host memory, and their bytes."""
        return self._host.idle_memory

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs, in the order that `run` returns them in."""
        return self._host.outputs

    def resolve_shapes(self, values: Mapping[str, Value]) -> ResolvedShapes:
        """Return the outputs' shapes, and the bytes of each workspace, of a call on `values`."""
        return self._host.resolve_shapes(values)

    def __call__(
        self, values: Mapping[str, Value], *, spin_ns: int = 0, resolved: ResolvedShapes | None = None
    ) -> dict[str, Array]:
        """Run the stages on `values`, the `wanted` arguments by name, and return the outputs by name.

        Raises as `Caller` does, and `UserError` where there is no device, or none that can run the kernel.
        """
        return self._call(values, resolved or self.resolve_shapes(values))[0]

    def run(
        self, values: Sequence[Value], *, spin_ns: int = 0, resolved: ResolvedShapes | None = None
    ) -> tuple[Array, ...]:
        """Run the stages on the `wanted` arguments in their order, and return the `outputs` in theirs.

        Raises as a call does.
        """
        named = {argument.name: value for argument, value in zip(self.wanted, values, strict=True)}
        return tuple(self(named, resolved=resolved).values())

    def timed(self, values: Mapping[str, Value], *, spin_ns: int = 0) -> dict[StageKind, int]:
        """Run the stages and return the nanoseconds that each of them took; the kernel's are without copying."""
        return self._call(values, self.resolve_shapes(values))[1]

    def _call(
        self, values: Mapping[str, Value], resolved: ResolvedShapes
    ) -> tuple[dict[str, Array], dict[StageKind, int]]:
        shapes, workspaces = resolved
        begin = time.perf_counter_ns()
        outputs = self._host(values, resolved=(shapes, (0,) * len(workspaces)))  # workspaces are the device's
        prelude = time.perf_counter_ns() - begin
        with self._lock:
            kernel = self._run(self._on_device(), {**values, **outputs}, workspaces)
        return outputs, {StageKind.PRELUDE: prelude, StageKind.KERNEL: kernel}

    def _run(self, resident: _Resident, values: Mapping[str, Value], workspaces: tuple[int, ...]) -> int:
        driver, left = resident.driver, list(workspaces)
        words: list[int] = []
        places = _Places()
        counter = places.give(len(self._signature), _NONE_ARRIVED)
        for argument in self._signature:
            value = self._bound.get(argument.name, values.get(argument.name))
            role = argument.symbol.role if isinstance(argument.symbol, Buffer) else None
            if argument.kind is ArgumentKind.SIZE:
                words.append(_number(value))
            elif argument.name in resident.addresses:
                words.append(resident.addresses[argument.name])
            elif role is Role.WORKSPACE:
                words.append(places.reserve(len(words), left.pop(0)))
            elif not isinstance(value, np.ndarray):
                raise InternalError(f"no array for argument '{argument.name}'")
            elif role is Role.OUTPUT:
                words.append(places.receive(len(words), _stored(argument, value)))
            else:
                words.append(places.give(len(words), value))
        words.append(counter)
        memory = resident.memory_of(places.size)
        for position in places.positions:
            words[position] += memory
        for offset, array in places.copies():
            driver.upload(memory + offset, array)
        took = driver.run(resident.function, self._launch, words, resident.timer)
        for offset, array in places.received:
            driver.download(array, memory + offset)
        return took

    def _on_device(self) -> _Resident:
        """Return the data that stay on the device, and make its context current in this thread."""
        if self._resident is None:
            driver = the_driver()
            driver.enter()
            self._resident = _Resident(driver, driver.load(self._cubin, self._launch))
            weakref.finalize(self, self._resident.release).atexit = False
            for name, value in self._bound.items():
                if isinstance(value, np.ndarray):
                    self._resident.addresses[name] = driver.allocate(value.nbytes)
                    driver.upload(self._resident.addresses[name], value)
        self._resident.driver.enter()
        return self._resident


class _Resident:
    """Data on the device between calls: the kernel's function, and the addresses of bound arrays by name."""

    __slots__ = ("_memory", "_size", "addresses", "driver", "function", "timer")

    def __init__(self, driver: Driver, function: c_void_p) -> None:
        self.driver = driver
        self.function = function
        self.timer = driver.timer()
        self.addresses: dict[str, int] = {}
        self._memory = self._size = 0

    def memory_of(self, size: int) -> int:
        """Return the address of at least so many bytes, which the next call overwrites."""
        if size > self._size:
            if self._size:
                self._size = 0
                self.driver.free(self._memory)
            self._memory = self.driver.allocate(size)
            self._size = size
        return self._memory

    def release(self) -> None:
        """Free what is on the device."""
        self.driver.enter()
        self.driver.release(self.timer)
        for address in self.addresses.values():
            self.driver.free(address)
        if self._size:
            self.driver.free(self._memory)


class _Places:
    """Where the arrays of a call are in its memory on the device: offsets in bytes, multiples of `DEVICE_ALIGNMENT`.

    `positions` are those of the kernel's arguments that are such offsets; `received` are outputs, with their offsets.
    """

    def __init__(self) -> None:
        self.size = 0
        self.positions: list[int] = []
        self.received: list[tuple[int, Array]] = []
        self._given: list[tuple[int, Array]] = []

    def reserve(self, position: int, size: int) -> int:
        """Return the offset of `size` bytes for the kernel's argument `position`."""
        offset = self.size
        self.size += _padded(size)
        self.positions.append(position)
        return offset

    def give(self, position: int, array: Array) -> int:
        """Return the offset of an array that is copied to the device."""
        self._given.append((self.reserve(position, array.nbytes), array))
        return self._given[-1][0]

    def receive(self, position: int, array: Array) -> int:
        """Return the offset of an array that is copied from the device."""
        self.received.append((self.reserve(position, array.nbytes), array))
        return self.received[-1][0]

    def copies(self) -> Iterator[tuple[int, Array]]:
        """Yield what to copy to the device and where to; small arrays next to each other there are one copy."""
        together: list[tuple[int, Array]] = []
        for offset, array in self._given:
            if array.nbytes > _SMALL:
                yield offset, array
                continue
            if together and offset != together[-1][0] + _padded(together[-1][1].nbytes):
                yield _joined(together)
                together = []
            together.append((offset, array))
        if together:
            yield _joined(together)


def _padded(size: int) -> int:
    return -(-size // DEVICE_ALIGNMENT) * DEVICE_ALIGNMENT


def _joined(pieces: Sequence[tuple[int, Array]]) -> tuple[int, Array]:
    """Return the offset of the first array, and one array of bytes from there on with all of them at their offsets."""
    begin, (last, array) = pieces[0][0], pieces[-1]
    whole = np.empty(last + array.nbytes - begin, np.uint8)
    for offset, piece in pieces:
        whole[offset - begin : offset - begin + piece.nbytes] = piece.reshape(-1).view(np.uint8)
    return begin, whole


def _number(value: Value | None) -> int:
    if not isinstance(value, int):
        raise InternalError(f"no number for a size: {value!r}")
    return value


def _stored(argument: Argument, array: Array) -> Array:
    """Return an output with its dimensions in storage order."""
    assert isinstance(argument.symbol, Buffer)
    return array.transpose(argument.symbol.order)
