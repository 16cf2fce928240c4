"""Interpreting a program: what goes in, and what comes out."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ragged.errors import DataError
from ragged.ir.dtype import DType
from ragged.ir.expr import Buffer, Call, Expr, Function, Role
from ragged.ir.interpret.evaluate import Evaluator, new_view
from ragged.ir.interpret.execute import Executor
from ragged.ir.interpret.memory import Array, Frame
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.stmt import For, LoopKind
from ragged.ir.walk import read, statements, written

_CALLERS = (Role.PARAMETER, Role.PAYLOAD)


def interpret(
    program: Program,
    sizes: Mapping[str, int],
    arrays: Mapping[str, np.ndarray[Any, Any]],
    *,
    workers: int = 1,
    seed: int = 0,
    stages: Collection[StageKind] | None = None,
) -> dict[str, np.ndarray[Any, Any]]:
    """Run the stages of a program in order and return what it wrote.

    `sizes` gives the functions without parameters, by name; a size that is a team loop's extent is
    `workers` unless it is given. `arrays` gives, by name, the arrays of functions (of their storage dtype
    and domain) and the PARAMETER and PAYLOAD buffers (of their dtype and shape, indexed as the program
    does, whatever their order in memory); and BOUND and WORKSPACE buffers that are filled by a stage which
    is not run. Nothing given is changed. `stages` chooses the stages to run, all by default. `seed` chooses
    the order of parallel iterations and of a team's workers.

    Returns the OUTPUT, BOUND and WORKSPACE buffers by name, owned by the caller; elements that were not
    written hold NaN, or the least integer. A buffer that no stage run mentions is there only if the kernel
    is run.

    Raises `Fault` for what no program may do, `CheckFailed` for a check that does not hold, `DataError` for
    sizes or arrays that are missing, unknown or of a wrong shape or dtype.
    """
    running = [stage for stage in program.stages if stages is None or stage.kind in stages]
    evaluator = Evaluator(_sizes(program, sizes, workers))
    frame = Frame({}, {})
    with np.errstate(all="ignore"):
        _refuse_unknown(program, arrays)
        for function in program.arrays():
            if function.name in arrays:
                evaluator.tables[function] = _table(evaluator, frame, function, arrays[function.name])
        for buffer in _in_use(program, running):
            _place(evaluator, frame, buffer, arrays, running)
        for stage in running:
            writable = _Writable(stage.kind)
            Executor(evaluator, random.Random(seed), writable).run(stage.body)(frame)
    results = (view for buffer, view in frame.views.items() if buffer.role not in _CALLERS)
    return {view.buffer.name: view.array() for view in results}


def _sizes(program: Program, given: Mapping[str, int], workers: int) -> dict[Function, int]:
    functions = {function.name: function for function in program.sizes()}
    unknown = sorted(set(given) - set(functions))
    if unknown:
        raise DataError(f"'{program.name}' has no size '{unknown[0]}'")
    sizes = {function: workers for function in _team_sizes(program)}
    for name, value in given.items():
        if value < 0:
            raise DataError(f"size '{name}' is {value}, and no size is negative")
        sizes[functions[name]] = int(value)
    return sizes


def _team_sizes(program: Program) -> list[Function]:
    """Return the sizes that say how many workers a team has."""
    loops = (stmt for stage in program.stages for stmt in statements(stage.body) if isinstance(stmt, For))
    extents = (loop.extent for loop in loops if loop.kind is LoopKind.TEAM)
    return [extent.function for extent in extents if isinstance(extent, Call) and extent.function.is_size]


def _refuse_unknown(program: Program, arrays: Mapping[str, Array]) -> None:
    buffers = {buffer.name for buffer in program.buffers if buffer.role is not Role.OUTPUT}
    unknown = sorted(set(arrays) - buffers - {function.name for function in program.arrays()})
    if unknown:
        raise DataError(f"'{program.name}' takes no array '{unknown[0]}'")


def _table(evaluator: Evaluator, frame: Frame, function: Function, array: Array) -> Array:
    shape = _shape(evaluator, frame, tuple(param.extent for param in function.params))
    return _fitting(function.name, array, shape, function.storage)


def _in_use(program: Program, running: list[Stage]) -> list[Buffer]:
    """Return the program's buffers that need memory, each after the one that it aliases."""
    if any(stage.kind is StageKind.KERNEL for stage in running):
        used = set(program.buffers)
    else:
        used = {buffer for stage in running for buffer in read(stage.body) | written(stage.body)}
    ordered: list[Buffer] = []
    for buffer in program.buffers:
        chain = [buffer]
        while chain[-1].aliases is not None:
            chain.append(chain[-1].aliases)
        if buffer in used:
            ordered.extend(other for other in reversed(chain) if other not in ordered)
    return ordered


def _place(
    evaluator: Evaluator, frame: Frame, buffer: Buffer, arrays: Mapping[str, Array], running: list[Stage]
) -> None:
    """Give a buffer its memory, with the contents that the caller gave."""
    given = arrays.get(buffer.name)
    if given is None and buffer.role in _CALLERS:
        return  # whoever uses it says that it is missing
    filled = any(buffer in written(stage.body) for stage in running)
    if given is None and buffer.role is Role.BOUND and not filled:
        return
    view = new_view(buffer, _shape(evaluator, frame, buffer.shape), frame)
    frame.views[buffer] = view
    if given is not None:
        if buffer.role is Role.BOUND and filled:
            raise DataError(f"array '{buffer.name}' is given, and the stages that are run fill it")
        view.fill(_fitting(buffer.name, given, view.shape, buffer.dtype))


def _shape(evaluator: Evaluator, frame: Frame, extents: tuple[Expr, ...]) -> tuple[int, ...]:
    return evaluator.indices(extents)(frame)


def _fitting(name: str, array: Array, shape: tuple[int, ...], dtype: DType) -> Array:
    if array.shape != shape:
        raise DataError(f"array '{name}' has the shape {array.shape}, not {shape}")
    if array.dtype != dtype.numpy:
        raise DataError(f"array '{name}' holds {array.dtype}, not {dtype.value}")
    return array


class _Writable:
    """Says which buffers a stage may write: the bind stage its tables, later ones what lives for a call."""

    def __init__(self, kind: StageKind) -> None:
        self.roles = (
            {Role.LOCAL, Role.BOUND, Role.WORKSPACE}
            if kind is StageKind.BIND
            else {
                Role.LOCAL,
                Role.WORKSPACE,
                Role.OUTPUT,
            }
        )

    def __call__(self, buffer: Buffer) -> bool:
        return buffer.role in self.roles
