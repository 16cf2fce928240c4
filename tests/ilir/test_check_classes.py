"""What loops over classes rely on is checked: every condition of every class, and nothing where there are none."""

from __future__ import annotations

from cortex import models, ra
from cortex.ilir.check_classes import check_classes
from ragged.ir.pointer_facts import Uniform
from ragged.ir.program import StageKind
from ragged.ir.stmt import Check
from ragged.ir.verify import verify
from ragged.ir.walk import leaves


def test_every_condition_of_every_class_is_checked():
    schedule = ra.Schedule(models.tree_rnn(4, 3, 5))
    schedule.dynamic_batch()
    for number in (1, 2):
        schedule.specialize(lambda n, number=number: ra.num_children(n) == number)
    before = schedule.lower()
    after = check_classes(before).program
    verify(after)
    prelude = after.stage(StageKind.PRELUDE)
    assert prelude is not None and before.stage(StageKind.PRELUDE) is None
    checks = [leaf for leaf in leaves(prelude.body) if isinstance(leaf, Check)]
    assert len(checks) == sum(isinstance(fact, Uniform) for fact in before.facts) == 4  # ==, ==, and != twice


def test_a_program_without_classes_stays_as_it_was():
    program = ra.Schedule(models.tree_rnn(4, 3, 5)).lower()
    assert check_classes(program).program is program
