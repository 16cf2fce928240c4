"""Running a model's program in the interpreter: the arrays of a batch by name, and results by structure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cortex.ilir.structure import ROOT, STRUCTURE
from cortex.linearize import Linearized
from cortex.linearize.values import value_of
from ragged.ir.expr import Dim, Role, Source
from ragged.ir.interpret import interpret
from ragged.ir.program import Program

Rows = Mapping[str, npt.NDArray[Any]]
"""The results of one structure by name: (nodes, ...) in post-order rows, heads (roots, ...), of the whole (1, ...)."""


def interpreted_rows(
    program: Program, linearized: Linearized, params: Mapping[str, object], *, workers: int = 2, seed: int = 0
) -> list[Rows]:
    """Interpret a program of a model on a batch; return the rows of each structure: of nodes, or what roots alone have.

    `seed` decides the order of parallel iterations and workers. Raises what `ragged.ir.interpret.interpret` does: a
    `Fault` for a read out of bounds or a race, `CheckFailed` for a check that does not hold.
    """
    sizes, arrays = interpreter_inputs(program, linearized, params)
    return rows_of_outputs(program, interpret(program, sizes, arrays, workers=workers, seed=seed), linearized)


def rows_of_outputs(program: Program, results: Rows, linearized: Linearized) -> list[Rows]:
    """Return the rows of each structure of a program's outputs, of nodes or of roots."""
    outputs = [buffer for buffer in program.buffers if buffer.role is Role.OUTPUT]

    def over(wanted: Dim) -> list[str]:  # by name: a program that was parsed has dimensions of its own
        return [b.name for b in outputs if any(dim is not None and dim.name == wanted.name for dim in b.dims)]

    rows = {buffer.name: results[buffer.name] for buffer in outputs}
    return rows_by_structure(rows, linearized, over(ROOT), over(STRUCTURE))


def interpreter_inputs(
    program: Program, linearized: Linearized, params: Mapping[str, object]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the sizes and the arrays of a batch, by the names that a program has for them.

    Orders of loops that a schedule declares are not among them.
    """
    values = {
        function.name: value_of(function, linearized)
        for function in (*program.sizes(), *program.arrays())
        if function.source is Source.INPUT
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


def rows_by_structure(
    results: Rows, linearized: Linearized, at_roots: Collection[str] = (), of_structures: Collection[str] = ()
) -> list[Rows]:
    """Return the rows of each structure of results that have one for each node, or root, or one `of_structures`."""
    nodes = pairwise(linearized.row_begin.tolist())
    roots = pairwise(linearized.root_begin.tolist())
    return [
        {
            name: array[number : number + 1]
            if name in of_structures
            else array[first:end]
            if name in at_roots
            else array[linearized.rows[begin:past]]
            for name, array in results.items()
        }
        for number, ((begin, past), (first, end)) in enumerate(zip(nodes, roots, strict=True))
    ]
