"""Running a model's program in the interpreter: the arrays of a batch by name, and results by structure."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cortex.linearize import Linearized
from cortex.linearize.values import value_of
from ragged.ir.expr import Role, Source
from ragged.ir.interpret import interpret
from ragged.ir.program import Program

Rows = Mapping[str, npt.NDArray[Any]]
"""The results of one structure by name, (nodes, ...) in post-order rows."""


def interpreted_rows(
    program: Program, linearized: Linearized, params: Mapping[str, object], *, workers: int = 2, seed: int = 0
) -> list[Rows]:
    """Interpret a program of a model compiled with `keep="nodes"` on a batch; return the rows of each structure.

    `seed` decides the order of parallel iterations and workers. Raises what `ragged.ir.interpret.interpret` does: a
    `Fault` for a read out of bounds or a race, `CheckFailed` for a check that does not hold.
    """
    sizes, arrays = interpreter_inputs(program, linearized, params)
    results = interpret(program, sizes, arrays, workers=workers, seed=seed)
    outputs = [buffer.name for buffer in program.buffers if buffer.role is Role.OUTPUT]
    return rows_by_structure({name: results[name] for name in outputs}, linearized)


def interpreter_inputs(
    program: Program, linearized: Linearized, params: Mapping[str, object]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the sizes and the arrays of a batch, by the names that a program has for them.

    Orders of loops that a schedule declares are not among them.
    """
    values = {
        function.name: value_of(function, linearized)
        for function in (*program.sizes(), *program.arrays())
        if function.source is Source.STRUCTURE
        or (function.source is Source.PAYLOAD and function.name in linearized.payloads)
    }
    sizes = {
        function.name: values.pop(function.name) for function in program.sizes() if function.name in values
    }
    for buffer in program.buffers:
        if buffer.role is Role.PARAMETER:
            values[buffer.name] = np.asarray(params[buffer.name])
        elif buffer.role is Role.PAYLOAD:
            rows = linearized.payloads[buffer.name]
            # Read in place: the memory that holds the rows.
            values[buffer.name] = rows.reshape(-1) if len(buffer.shape) == 1 else rows
    return sizes, values


def rows_by_structure(results: Rows, linearized: Linearized) -> list[Rows]:
    """Return the rows of each structure of results that have a row for each node."""
    begin = linearized.row_begin.tolist()
    return [
        {name: array[linearized.rows[first:end]] for name, array in results.items()}
        for first, end in pairwise(begin)
    ]
