"""Running a model every way there is, and comparing with the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cortex import ra
from cortex.compiler.interpret import Rows, interpreter_inputs, rows_of_outputs
from cortex.linearize import Linearized
from cortex.ra.tensor import IfThenElse
from ragged.errors import ScheduleError
from ragged.ir.interpret import interpret
from ragged.ir.program import Program
from tests.support.tables import filled_tables, with_declared

BOUND = 1e-5
"""The largest error that a result may have."""


def error(result: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    """Return max|a - b| / max(1, max|b|); NaN and infinities are failures."""
    assert result.shape == expected.shape, (result.shape, expected.shape)
    if not expected.size:
        return 0.0
    if not np.isfinite(result).all():
        return float("inf")
    return float(np.abs(result - expected).max() / max(1.0, np.abs(expected).max()))


def check_agreement(
    results: Sequence[Rows], expected: Sequence[Rows], what: str, bound: float = BOUND
) -> None:
    """Compare the results of every structure with the oracle's."""
    assert len(results) == len(expected), what
    for number, (mine, oracle) in enumerate(zip(results, expected, strict=True)):
        assert set(mine) == set(oracle), what
        for name in oracle:
            found = error(mine[name], oracle[name])
            assert found <= bound, f"{what}: structure {number}, {name}: error {found:.1e}"


def schedules(model: ra.Model) -> dict[str, ra.Schedule]:
    """Return every kind of legal schedule of a model's recursion, by name.

    Its branches are specialized, or every check that may be in it (`checks`), node by node or batched: then in batches
    of at most so many nodes that most heights are several.
    """
    made = {name: ra.Schedule(model) for name in ("unscheduled", "batched")}
    made["batched"].dynamic_batch()
    for batched, names in ((False, ("specialized", "node checks")), (True, ("default", "checks"))):
        for name, steps in zip(names, (_branches(model), _checks(model)), strict=True):
            schedule = ra.Schedule(model)
            if batched:
                schedule.dynamic_batch(max_batch_nodes=3 if name == "default" else 2)
            if any([_accepted(schedule, *step) for step in steps]):
                made[name] = schedule
    return made


def _accepted(schedule: ra.Schedule, step: str, argument: Any) -> bool:
    try:
        getattr(schedule, step)(argument)
    except ScheduleError:
        return False
    return True


def _branches(model: ra.Model) -> list[tuple[str, Any]]:
    return [("specialize_if_else", tensor) for tensor in model.computes if isinstance(tensor, IfThenElse)]


def _checks(model: ra.Model) -> list[tuple[str, Any]]:
    """Return steps that specialize nodes of two children, those of three and more, and each value of a payload."""
    found: list[Any] = [lambda n: ra.num_children(n) == 2, lambda n: ra.num_children(n) > 2]
    for payload in model.payloads.values():
        if payload.dtype.is_int and len(payload.shape) == 1:
            found += [
                lambda n, payload=payload: payload[n] == 1,
                lambda n, payload=payload: payload[n] >= 0,
            ]
    return [("specialize", check) for check in found]


def interpreted(
    program: Program, linearized: Linearized, params: Mapping[str, Any], *, workers: int = 2, seed: int = 0
) -> list[Rows]:
    """Interpret a program on a batch; parallel iterations and workers run in the order that `seed` says.

    Of a program that keeps roots' results alone, these are the rows.
    """
    results = interpret(
        program, *inputs(program, linearized, params, workers, seed), workers=workers, seed=seed
    )
    return rows_of_outputs(program, results, linearized)


def inputs(
    program: Program, linearized: Linearized, params: Mapping[str, Any], workers: int, seed: int
) -> tuple[dict[str, int], dict[str, Any]]:
    """Return the sizes and arrays of a batch; orders of loops that a schedule declared are what `seed` says."""
    sizes, arrays = interpreter_inputs(program, linearized, params)
    sizes, arrays = with_declared(program, sizes, arrays, workers, seed)
    return sizes, arrays | filled_tables(program, sizes, arrays)


def roots_by_structure(results: Rows, linearized: Linearized) -> list[Rows]:
    """Return each structure's rows of results that are by root."""
    begin = linearized.root_begin.tolist()
    return [{name: array[first:end] for name, array in results.items()} for first, end in pairwise(begin)]


def at_roots(expected: Sequence[Rows], linearized: Linearized) -> list[Rows]:
    """Return the rows of each structure's roots alone."""
    found: list[Rows] = []
    for structure, rows in enumerate(expected):
        nodes = linearized.rows[slice(*linearized.row_begin[structure : structure + 2])].tolist()
        roots = linearized.roots[slice(*linearized.root_begin[structure : structure + 2])].tolist()
        found.append({name: array[[nodes.index(root) for root in roots]] for name, array in rows.items()})
    return found
