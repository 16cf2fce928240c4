"""What every primitive's tests ask: is the result valid, does it compute the same, and is a refusal a refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.errors import ScheduleError
from ragged.ir.equal import difference
from ragged.ir.expr import Var
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewritten, labels_of, loops_of
from ragged.ir.stmt import Label
from ragged.ir.verify import verify
from ragged.runtime.call import Caller
from tests.ragged.transform.programs import matvec_data, tree_data

Data = tuple[dict[str, int], dict[str, np.ndarray]]
MATVEC_DATA = [matvec_data(count, seed=count) for count in (0, 1, 2, 3, 4, 5, 9)]
TREE_DATA = [tree_data(depth=depth, seed=depth) for depth in range(4)]


def loop(program: Program, name: str, nth: int = 0) -> Var:
    """Return the `nth` loop of that name."""
    return [var for var in loops_of(program) if var.name == name][nth]


def label(program: Program, name: str, nth: int = 0) -> Label:
    """Return the `nth` label of that name."""
    return [found for found in labels_of(program) if found.name == name][nth]


def body(program: Program) -> str:
    """Return the text of the kernel alone."""
    return to_text(program).partition("with kernel:\n")[2]


def accepted(
    primitive: Callable[..., Rewritten], program: Program, *args: object, **kwargs: object
) -> Rewritten:
    """Apply a primitive: what it leaves is valid, prints and parses back, and its input is as it was."""
    before = to_text(program)
    result = primitive(program, *args, **kwargs)
    assert to_text(program) == before
    verify(result.program)
    assert difference(result.program, parse(to_text(result.program))) is None
    assert set(result.forwarding.loops) == set(loops_of(program))
    assert {b for new in result.forwarding.loops.values() for b in new} == set(loops_of(result.program))
    assert set(result.forwarding.labels) == set(labels_of(program))
    assert {b for new in result.forwarding.labels.values() for b in new} == set(labels_of(result.program))
    return result


def refused(primitive: Callable[..., Rewritten], program: Program, *args: object, **kwargs: object) -> str:
    """Return the message with which a primitive refuses; the program is as it was."""
    before = to_text(program)
    with pytest.raises(ScheduleError) as caught:
        primitive(program, *args, **kwargs)
    assert to_text(program) == before
    return str(caught.value)


def check_same(old: Program, new: Program, data: Iterable[Data]) -> None:
    """Check that two programs, interpreted, leave the same bits in every output, whatever order is left open."""
    for seed, (sizes, arrays) in enumerate(data):
        want = interpret(old, sizes, arrays, seed=seed)
        got = interpret(new, sizes, arrays, seed=seed + 1)
        for buffer in new.buffers:
            if buffer.name in want and buffer in old.buffers:
                np.testing.assert_array_equal(got[buffer.name], want[buffer.name])


def check_same_compiled(old: Program, new: Program, data: Iterable[Data], output: str) -> None:
    """Check that two programs' machine code leaves the same bits in `output`."""
    compiled = [compile_program(program) for program in (old, new)]
    for sizes, arrays in data:
        shapes = {name: array.shape for name, array in interpret(old, sizes, arrays).items()}
        results = []
        for each in compiled:
            fresh = {name: np.full(shape, np.nan, np.float32) for name, shape in shapes.items()}
            given = {**fresh, **{name: array.copy() for name, array in arrays.items()}}
            each.call(StageKind.KERNEL, {**sizes, **given})
            results.append(given[output])
        np.testing.assert_array_equal(results[1], results[0])


def check_team(
    old: Program, team: Program, data: Data, output: str, *, workers: int, seeds: Iterable[int]
) -> None:
    """Check that a team, interpreted, leaves the bits in `output` that the program leaves alone."""
    sizes, arrays = data
    want = interpret(old, sizes, arrays)[output]
    for seed in seeds:
        got = interpret(team, sizes, arrays, workers=workers, seed=seed)[output]
        np.testing.assert_array_equal(got, want)


def check_team_compiled(
    old: Program, team: Program, data: Iterable[Data], output: str, *, workers: int
) -> None:
    """Check that a team's machine code leaves the bits in `output` that the program's does."""
    alone, shared = (
        Caller([compile_program(each).entry(StageKind.KERNEL)], {}, workers=count)
        for each, count in ((old, 1), (team, workers))
    )
    for sizes, arrays in data:
        values = {**sizes, **arrays}
        np.testing.assert_array_equal(shared(values, spin_ns=10**10)[output], alone(values)[output])
