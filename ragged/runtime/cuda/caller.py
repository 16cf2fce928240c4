"""Calls of a kernel on a GPU: the prelude runs on the host, arrays are copied to the device and back."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import c_void_p

import numpy as np

from ragged.codegen.entry import Argument, ArgumentKind, Entry, Value
from ragged.errors import InternalError
from ragged.ir.expr import Buffer, Role
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller, ResolvedShapes
from ragged.runtime.cuda.driver import Driver, the_driver
from ragged.runtime.cuda.launch import Launch
from ragged.runtime.memory import Array


class CudaCaller:
    """A `ragged.runtime.call.Caller` for a kernel on a GPU; the other stages run on the host.

    The first call copies parameters and bound tables to the device, where they stay; other memory is allocated for each
    call. Calls are serialized.
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
            resident = self._on_device()
            with _memory(resident.driver) as memory:
                kernel = self._run(resident, memory, {**values, **outputs}, workspaces)
        return outputs, {StageKind.PRELUDE: prelude, StageKind.KERNEL: kernel}

    def _run(
        self, resident: _Resident, memory: _Memory, values: Mapping[str, Value], workspaces: tuple[int, ...]
    ) -> int:
        driver, left = resident.driver, list(workspaces)
        words: list[int] = []
        results: list[tuple[Array, int]] = []
        for argument in self._signature:
            value = self._bound.get(argument.name, values.get(argument.name))
            role = argument.symbol.role if isinstance(argument.symbol, Buffer) else None
            if argument.kind is ArgumentKind.SIZE:
                words.append(_number(value))
            elif argument.name in resident.addresses:
                words.append(resident.addresses[argument.name])
            elif role is Role.WORKSPACE:
                words.append(memory.of(left.pop(0)))
            elif isinstance(value, np.ndarray):
                words.append(memory.of(value.nbytes))
                if role is Role.OUTPUT:
                    results.append((_stored(argument, value), words[-1]))
                else:
                    driver.upload(words[-1], value)
            else:
                raise InternalError(f"no array for argument '{argument.name}'")
        words.append(memory.of(4))  # the barrier's counter
        driver.clear(words[-1], 4)
        begin = time.perf_counter_ns()
        driver.run(resident.function, self._launch, words)
        took = time.perf_counter_ns() - begin
        for array, address in results:
            driver.download(array, address)
        return took

    def _on_device(self) -> _Resident:
        """Return the data that stay on the device, and make its context current in this thread."""
        if self._resident is None:
            driver = the_driver()
            driver.enter()
            self._resident = _Resident(driver, driver.load(self._cubin, self._launch), {})
            weakref.finalize(self, _release, driver, self._resident.addresses).atexit = False
            for name, value in self._bound.items():
                if isinstance(value, np.ndarray):
                    self._resident.addresses[name] = driver.allocate(value.nbytes)
                    driver.upload(self._resident.addresses[name], value)
        self._resident.driver.enter()
        return self._resident


class _Resident:
    """Data on the device between calls: the kernel's function, and the addresses of bound arrays by name."""

    __slots__ = ("addresses", "driver", "function")

    def __init__(self, driver: Driver, function: c_void_p, addresses: dict[str, int]) -> None:
        self.driver = driver
        self.function = function
        self.addresses = addresses


class _Memory:
    """Device memory of one call."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.addresses: list[int] = []

    def of(self, size: int) -> int:
        """Return the address of so many bytes."""
        self.addresses.append(self._driver.allocate(size))
        return self.addresses[-1]


@contextmanager
def _memory(driver: Driver) -> Iterator[_Memory]:
    memory = _Memory(driver)
    try:
        yield memory
    finally:
        for address in memory.addresses:
            driver.free(address)


def _release(driver: Driver, addresses: dict[str, int]) -> None:
    driver.enter()
    for address in addresses.values():
        driver.free(address)


def _number(value: Value | None) -> int:
    if not isinstance(value, int):
        raise InternalError(f"no number for a size: {value!r}")
    return value


def _stored(argument: Argument, array: Array) -> Array:
    """Return an output with its dimensions in storage order."""
    assert isinstance(argument.symbol, Buffer)
    return array.transpose(argument.symbol.order)
