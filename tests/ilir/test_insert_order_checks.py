"""Order checks: what a node reads of another is stated to be computed, and proven from facts or kept."""

import pytest

from cortex.ilir.insert_order_checks import insert_order_checks
from cortex.ra.schedule import RecursionSchedule
from ragged.ir.printer import expr_text
from ragged.ir.stmt import Check
from ragged.ir.walk import leaves
from ragged.passes.discharge_checks import discharge_checks
from tests.ra.test_lowering import running_example


def checks(program):
    return [leaf for leaf in leaves(program.kernel) if isinstance(leaf, Check)]


@pytest.mark.parametrize(
    ("batched", "conditions"),
    [
        (False, ["left(node) > node", "right(node) > node"]),
        (
            True,
            [
                "left(node) >= batch_begin(b) + batch_length(b)",
                "right(node) >= batch_begin(b) + batch_length(b)",
            ],
        ),
    ],
)
def test_every_read_of_a_child_is_checked_and_proven(batched, conditions):
    model, _ = running_example()
    schedule = RecursionSchedule(model)
    if batched:
        schedule.dynamic_batch()
    program = insert_order_checks(schedule.lower()).program
    assert [expr_text(check.condition) for check in checks(program)] == conditions
    assert checks(discharge_checks(program).program) == []


def test_without_its_fact_the_check_stays():
    from dataclasses import replace

    from ragged.ir.pointer_facts import Follows

    model, _ = running_example()
    schedule = RecursionSchedule(model)
    schedule.dynamic_batch()
    program = insert_order_checks(schedule.lower()).program
    program = replace(program, facts=tuple(fact for fact in program.facts if not isinstance(fact, Follows)))
    assert len(checks(discharge_checks(program).program)) == 2
