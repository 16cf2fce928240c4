"""Compiled functions for aarch64 in an emulator: the saved file's code, and the worker team, under qemu-user.

Only stages run there, by emulator.cpp: Python, the linearizer and the preparation of calls are this machine's.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from ragged.codegen.entry import ArgumentKind, Entry, Value
from ragged.compiled.artifact import read_artifact
from ragged.compiled.function import CompiledFunction
from ragged.compiled.kernel import LoadedKernel
from ragged.ir.expr import Buffer, Role
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller
from ragged.runtime.memory import aligned_empty
from ragged.runtime.sizes import shapes_of

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "ragged" / "runtime" / "native"
TEAM = ("helper", "processors", "stage", "team", "wait")
TOOLS = ("qemu-aarch64", "aarch64-linux-gnu-g++")
LIBRARIES = "/usr/aarch64-linux-gnu"
ALIGN = 64
NONE, INTEGER, POINTER = 0, 1, 4

F = TypeVar("F", bound=CompiledFunction[Any])
Array = np.ndarray[Any, Any]


@cache
def emulator() -> Path:
    """Return the program, compiled once for a run of the tests; fails where a tool is missing."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.fail(
            f"{' and '.join(missing)} not found: apt-get install qemu-user g++-aarch64-linux-gnu libc6-dev-arm64-cross"
        )
    folder = Path(tempfile.mkdtemp(prefix="cortex-arm-"))
    program = folder / "emulator"
    sources = [HERE / "emulator.cpp", *(NATIVE / f"{name}.cpp" for name in TEAM)]
    options = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-rdynamic", "-pthread", f"-I{NATIVE}"]
    subprocess.run([TOOLS[1], *options, *map(str, sources), "-o", str(program)], check=True)
    return program


@dataclass(frozen=True, slots=True)
class Emulated:
    """The code of a file in the emulator; `cpu` is what qemu calls the processor."""

    code: bytes
    cpu: str

    def run(
        self, stages: Sequence[tuple[str, int]], values: Sequence[Value | None], words: int
    ) -> tuple[Array, str]:
        """Run stages, each with so many workers, on arguments in order; return the status words and what stage failed.

        Arrays are changed as the stages change them.
        """
        head = 2 + 2 * len(values)
        image, place = [], head * 8
        table: list[int] = []
        for value in values:
            if isinstance(value, np.ndarray):
                place += -place % ALIGN
                table += [POINTER, place]
                image.append((place, value))
                place += max(value.nbytes, 1)
            else:
                table += [NONE, 0] if value is None else [INTEGER, int(value)]
        place += -place % ALIGN
        status = np.zeros(words, np.int64)
        image.append((place, status))
        memory = np.zeros(place + status.nbytes, np.uint8)
        memory[: head * 8] = np.array([len(values), place, *table], np.int64).view(np.uint8)
        for at, array in image:
            memory[at : at + array.nbytes] = array.reshape(-1).view(np.uint8)
        with tempfile.TemporaryDirectory() as folder:
            code, path = Path(folder) / "code.so", Path(folder) / "image"
            code.write_bytes(self.code)
            memory.tofile(path)
            named = [word for name, workers in stages for word in (name, str(workers))]
            command = [TOOLS[0], "-L", LIBRARIES, "-cpu", self.cpu, str(emulator()), str(code), str(path)]
            done = subprocess.run([*command, *named], capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, done.stderr
            memory = np.fromfile(path, np.uint8)
        for at, array in image:
            left = memory[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
            if array.flags.writeable:
                array[...] = left
            else:
                assert array.tobytes() == left.tobytes(), "an input was written to"
        return status, done.stdout.strip()


class EmulatedCaller(Caller):
    """A caller of stages in the emulator."""

    def __init__(
        self,
        emulated: Emulated,
        names: Mapping[StageKind, str],
        entries: Sequence[Entry],
        bound: Mapping[str, Value],
        workers: int,
    ) -> None:
        self._emulated = emulated
        self._stages = [(names[entry.kind], workers if entry.team else 1) for entry in entries]
        super().__init__(entries, bound, workers=workers)

    def _prepare(self, outputs: Any, workspaces: Any) -> None:
        self._made, self._scratch = outputs, workspaces

    def _call(self, values: Any, spin_ns: int, times: Any, resolved: Any, out: Any = None) -> Any:
        assert times is None and out is None
        shapes, sizes = resolved or self._resolve(*[values[place] for place in self._resolve_places])
        known = {**self._bound, **dict(zip(self._names, values, strict=True))}
        for slot, shape in zip(self._made, shapes, strict=True):
            known[slot.name] = np.full(shape, 0xFF, np.uint8).repeat(slot.dtype.itemsize).view(slot.dtype)
            known[slot.name] = known[slot.name].reshape(shape)
        for slot, size in zip(self._scratch, sizes, strict=True):
            known[slot.name] = np.full(size, 0xFF, np.uint8)  # NaN, where it is read before it is written
        arguments = [known.get(argument.name) for argument in self.entries[0].arguments]
        words = max(entry.status_words for entry in self.entries)
        status, failed = self._emulated.run(self._stages, arguments, words)
        if failed:
            raise next(
                entry for entry, (name, _) in zip(self.entries, self._stages, strict=True) if name == failed
            ).failure(status)
        seen = zip(self._axes, self._made, strict=True)
        return tuple(known[s.name] if axes is None else known[s.name].transpose(axes) for axes, s in seen)


class EmulatedKernel(LoadedKernel):
    """A kernel of which all stages run in the emulator."""

    cpu = "max"

    def caller(self, parameters: Mapping[str, Value], workers: int | None) -> Caller:
        names = {stage.kind: stage.function for stage in self.kernel.executable.interface.stages}
        bound = self._bind(names, parameters)
        return EmulatedCaller(self._emulated, names, self.call_stages, bound, workers or 1)

    def prelude_callers(self) -> list[Caller]:
        pairs = zip(self.kernel.executable.preludes, self.preludes, strict=True)
        return [
            EmulatedCaller(
                self._emulated,
                {stage.kind: stage.function for stage in interface.stages},
                list(entries.values()),
                {},
                1,
            )
            for interface, entries in pairs
        ]

    @property
    def _emulated(self) -> Emulated:
        assert self.code is not None
        return Emulated(self.code, self.cpu)

    def _bind(self, names: Mapping[StageKind, str], parameters: Mapping[str, Value]) -> dict[str, Value]:
        """Run the bind stage as `ragged.runtime.call.bind` does."""
        bound, entry = dict(parameters), self.entries.get(StageKind.BIND)
        if entry is None:
            return bound
        symbols = {argument.symbol: argument.name for argument in entry.arguments}
        tables = [a for a in entry.arguments if isinstance(a.symbol, Buffer) and a.symbol.role is Role.BOUND]
        shapes = shapes_of([table.shape for table in tables])
        known = (bound[symbols[function]] for function in shapes.functions)
        for table, shape in zip(tables, shapes.compute(*known), strict=True):
            bound[table.name] = aligned_empty(shape, table.dtype.numpy)
        arguments = [
            bound.get(each.name, 0 if each.kind is ArgumentKind.SIZE else None) for each in entry.arguments
        ]
        status, _ = self._emulated.run([(names[StageKind.BIND], 1)], arguments, entry.status_words)
        if status[0]:
            raise entry.failure(status)
        return bound


def emulated(function: F, *, workers: int = 2, cpu: str = "max") -> F:
    """Return a function of aarch64 after saving it, with all its stages in the emulator, by so many workers."""
    stream = io.BytesIO()
    function.save(stream)
    saved, params, members = read_artifact(type(function).form, stream.getvalue())
    assert saved.kernel.executable.architecture == "aarch64"
    entries, *preludes = saved.kernel.executable.describe(members["code.so"])
    kernel = EmulatedKernel(saved.kernel, members["code.so"], entries, tuple(preludes))
    return type(function)(replace(function._parts, kernel=kernel, workers=workers), params)
