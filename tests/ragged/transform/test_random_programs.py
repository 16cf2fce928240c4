"""Random programs: a primitive refuses, and leaves them as they were, or what it makes of them computes the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, Role, Var
from ragged.ir.interpret import interpret
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.sites import sites
from ragged.ir.stmt import Block, For, LoopKind
from ragged.ir.verify import verify
from ragged.passes.contract_storage import contract_storage
from ragged.transform.code.lift_lets import lift_lets
from ragged.transform.loops.fuse_horizontally import fuse_horizontally
from ragged.transform.loops.fuse_ragged import fuse_ragged
from ragged.transform.loops.partition_loop import partition_loop
from ragged.transform.loops.reroll import reroll
from ragged.transform.loops.slice_columns import slice_columns
from ragged.transform.mapping.parallel import parallel
from tests.ragged.ir.strategies import Case, cases

Step = Callable[[], Rewritten]


def at_once(program: Program, *loops: Var) -> Program:
    """Return the program with these loops parallel, where they may be."""
    for loop in loops:
        try:
            program = parallel(program, loop).program
        except ScheduleError:
            continue
    return program


def steps(program: Program) -> Iterator[Step]:
    """Yield what can be asked of a program's loops, mostly where it has a chance."""
    yield lambda: contract_storage(program)
    loops = [site for site in sites(program) if isinstance(site.stmt, For)]
    for site in loops:
        loop = site.stmt
        assert isinstance(loop, For)
        yield lambda loop=loop: lift_lets(program, loop.var)
        inner = [other.stmt for other in loops if any(around is loop for around in other.around)]
        for each in inner:
            assert isinstance(each, For)
            yield lambda loop=loop, each=each: fuse_ragged(program, loop.var, each.var)
        columns = tuple(
            each.var for each in inner if isinstance(each, For) and isinstance(each.extent, Const)
        )
        if loop.kind is LoopKind.PARALLEL and columns:
            for chosen in (columns, *((column,) for column in columns)):
                yield lambda loop=loop, of=chosen: slice_columns(program, loop.var, of, 1)
    for site in sites(program):
        if isinstance(site.stmt, Block):
            for one, other in pairwise(site.stmt.body):
                if isinstance(one, For) and isinstance(other, For):
                    yield lambda a=one.var, b=other.var: reroll(program, (a, b), "g")
                    yield lambda a=one.var, b=other.var: fuse_horizontally(at_once(program, a, b), a, b)


def steps_of_ranges(program: Program) -> Iterator[Step]:
    """Yield a partition of each loop's range, at one of four places in turn."""
    for number, loop in enumerate(site.stmt for site in sites(program) if isinstance(site.stmt, For)):
        extent = loop.extent
        at = (
            Const(1),
            Binary(BinaryOp.FLOORDIV, extent, Const(2)),
            Binary(BinaryOp.SUB, extent, Const(1)),
            Binary(BinaryOp.SUB, Const(2), extent),
        )[number % 4]
        yield lambda var=loop.var, at=at: partition_loop(program, var, at)


def check(case: Case, new: Program, text: str, expected: dict[str, np.ndarray]) -> None:
    verify(new)
    assert to_text(parse(text)) == text
    got = interpret(new, case.sizes, case.arrays, seed=1)
    for buffer in case.program.buffers:
        if buffer.role is Role.OUTPUT:
            np.testing.assert_array_equal(got[buffer.name], expected[buffer.name])


@settings(
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
@given(cases())
def test_what_is_accepted_computes_the_same(case):
    before = to_text(case.program)
    expected = interpret(case.program, case.sizes, case.arrays, seed=0)
    for step in (*steps(case.program), *steps_of_ranges(case.program)):
        try:
            result = step()
        except ScheduleError:
            continue
        if result.program is not case.program and (text := to_text(result.program)) != before:
            check(case, result.program, text, expected)
    assert to_text(case.program) == before
