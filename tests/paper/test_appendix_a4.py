"""CORTEX, appendix A.4: a barrier for each batch, not for each node; and loops peeled where a bound varies.

A node depends on its children, which were computed in an earlier batch. A compiler that does not know this
puts the barrier in the innermost loop that holds the dependence, that over nodes. The paper puts it in the
loop over batches, since the nodes of one have nothing to do with each other. In the golden file the loops
over nodes are shared out to a team, and `barrier(team)` stands once, in the loop over batches; leaves need
none.

Taken away it is a race, and the interpreter finds it.
"""

from __future__ import annotations

import pytest

from cortex.linearize import linearize
from ragged.ir.interpret import Race
from ragged.ir.parser import parse
from ragged.passes.contract_storage import contract_storage
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.split import Tail, split
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from tests.paper.stages import BATCHES, barriers, check_same, kernel, listing_2, side_by_side
from tests.support.agreement import interpreted


def shared_out() -> LoopSchedule:
    s = LoopSchedule(listing_2().lower())
    s.apply(contract_storage)
    s.apply(distribute_over_team)
    return s


def test_one_barrier_stands_in_the_loop_over_batches(golden):
    schedule, s = listing_2(), shared_out()
    before, after = kernel(schedule.lower()), kernel(s.program)
    golden("appendix_a4.txt", side_by_side(before, s.log(), after))
    assert barriers(s.program) == 1
    leaves, _, batches = after.partition("for step in serial(num_batches - 1, batch)")
    assert "barrier" not in leaves
    assert batches.index("barrier(team)") < batches.index("for n_s in serial")
    check_same(schedule.model, (schedule, s.checked()))


def test_without_it_the_interpreter_finds_the_race():
    schedule = listing_2()
    text = str(shared_out().checked())
    lines = [line for line in text.splitlines() if line.strip() != "barrier(team)"]
    arrays = linearize(schedule.plan(), BATCHES[0])
    with pytest.raises(Race, match="race on h"):
        interpreted(parse("\n".join(lines) + "\n"), arrays, schedule.model.init_params(seed=1), workers=3)


def test_a_loop_of_any_length_is_peeled(golden):
    """The tiles of a batch have a constant extent and no condition; what is left over is a loop of its own."""
    schedule = listing_2()
    guarded, peeled = LoopSchedule(schedule.lower()), LoopSchedule(schedule.lower())
    guarded.apply(split, guarded.loop("n", 1), 4)
    peeled.apply(split, peeled.loop("n", 1), 4, Tail.PEEL)
    golden("peeling.txt", side_by_side(kernel(guarded.program), peeled.log(), kernel(peeled.program)))
    assert "if n_o * 4 + n_i < batch_length(b):" in kernel(guarded.program)
    assert "if" not in kernel(peeled.program).split() and "batch_length(b) % 4" in kernel(peeled.program)
    check_same(schedule.model, (schedule, guarded.checked()), (schedule, peeled.checked()))
