"""What the tests of primitives that move data ask: they bring loops and tables of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ragged.codegen.build import compile_program
from ragged.ir.equal import difference
from ragged.ir.expr import Role
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewritten, labels_of, loops_of
from ragged.ir.stmt import Alloc
from ragged.ir.verify import verify
from ragged.ir.walk import statements
from ragged.runtime.call import Caller, bind
from tests.ragged.transform.support import Data


def valid(
    primitive: Callable[..., Rewritten], program: Program, *args: object, **kwargs: object
) -> Rewritten:
    """Apply a primitive: what it leaves is valid, prints and parses back, and its input is as it was."""
    before = to_text(program)
    result = primitive(program, *args, **kwargs)
    assert to_text(program) == before
    verify(result.program)
    assert difference(result.program, parse(to_text(result.program))) is None
    assert set(result.forwarding.loops) == set(loops_of(program))
    assert {b for new in result.forwarding.loops.values() for b in new} <= set(loops_of(result.program))
    assert set(result.forwarding.labels) == set(labels_of(program))
    assert {b for new in result.forwarding.labels.values() for b in new} <= set(labels_of(result.program))
    return result


def local(program: Program, name: str, nth: int = 0):
    """Return the `nth` local buffer of that name."""
    stmts = (stmt for stage in program.stages for stmt in statements(stage.body))
    return [stmt.buffer for stmt in stmts if isinstance(stmt, Alloc) and stmt.buffer.name == name][nth]


def declared(program: Program, name: str):
    """Return the declared buffer of that name."""
    return next(buffer for buffer in program.buffers if buffer.name == name)


def same(old: Program, new: Program, data: Iterable[Data]) -> None:
    """Check that two programs, interpreted, leave the same bits in the outputs, whatever order is left open."""
    for seed, (sizes, arrays) in enumerate(data):
        want = interpret(old, sizes, arrays, seed=seed)
        got = interpret(new, sizes, arrays, seed=seed + 1)
        for buffer in old.buffers:
            if buffer.role is Role.OUTPUT:
                np.testing.assert_array_equal(got[buffer.name], want[buffer.name])


def same_compiled(old: Program, new: Program, data: Iterable[Data]) -> None:
    """Check that two programs' machine code, the bind stage's too, computes what the interpreter does, to the bit."""
    for program in (old, new):
        compiled = compile_program(program)
        for sizes, arrays in data:
            want = interpret(old, sizes, arrays)
            names = {buffer.name for buffer in program.buffers if buffer.role is Role.PARAMETER}
            bound = bind(compiled.entries, {name: arrays[name] for name in names})
            kinds = [kind for kind in (StageKind.PRELUDE, StageKind.KERNEL) if kind in compiled.entries]
            rest = {name: array for name, array in arrays.items() if name not in names}
            got = Caller([compiled.entries[kind] for kind in kinds], bound)({**sizes, **rest})
            for name, array in got.items():
                np.testing.assert_array_equal(array, want[name])
