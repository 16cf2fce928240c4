"""cortex.compiler.bisect: a planted wrong step is named, whichever it is."""

from dataclasses import replace

import pytest

import cortex
from cortex import models
from cortex.compiler.bisect import bisect, compile_steps
from cortex.ra.schedule import default_schedule
from ragged.auto import tile_products
from ragged.ir.expr import Binary, Const
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import Rewriter
from ragged.ir.stmt import Store

MODEL = models.tree_fc(hidden=16, vocab=9)
PARAMS = MODEL.init_params(seed=0)
TREES = [((1, 2), (3, (4, 5))), 6]


class OneMore(Rewriter):
    """The first number that is stored is one more than it was."""

    done = False

    def stmt(self, stmt):
        if isinstance(stmt, Store) and stmt.value.dtype.is_float and not self.done:
            self.done = True
            return replace(stmt, value=Binary(BinaryOp.ADD, stmt.value, Const(1.0, stmt.value.dtype)))
        return super().stmt(stmt)


def test_a_right_schedule_has_no_wrong_step():
    executed = []
    assert (
        bisect(MODEL, PARAMS, TREES, progress=lambda step, fault: executed.append((step.name, fault))) is None
    )
    assert executed == [("lower", None), ("fuse_multiply_add", None)]


@pytest.mark.parametrize("nth", [0, 1, 4])
def test_the_wrong_step_is_named(monkeypatch, nth):
    split, calls = tile_products.split, []

    def wrong(program, *args, **kwargs):
        done = split(program, *args, **kwargs)
        calls.append(args)
        return (
            replace(done, program=OneMore().program(done.program).program) if len(calls) == nth + 1 else done
        )

    wrong.__name__ = "split"
    monkeypatch.setattr(tile_products, "split", wrong)
    steps = [step.code for step in compile_steps(default_schedule(MODEL).lower(), 2)]
    assert len(calls) > nth
    calls.clear()
    found = bisect(MODEL, PARAMS, TREES)
    assert found is not None and found.step.name == "default_schedule"
    assert found.step.code.startswith("s.apply(split,") and found.step.code in steps
    assert "is off by" in found.fault and "+ 1.0" in found.diff()


def test_steps_are_the_schedule_that_the_function_shows():
    steps = [step.code for step in compile_steps(default_schedule(MODEL).lower(), 2)]
    shown = [line for line in cortex.compile(MODEL, PARAMS, threads=2).show("schedule").splitlines()]
    assert [line for line in shown if line.startswith("s.apply(split")] == [
        code for code in steps if code.startswith("s.apply(split")
    ]
