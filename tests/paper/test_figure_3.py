"""CORTEX, Figure 3: unrolling. A node and its descendants are computed in one step.

In the paper's picture a tree is cut into small trees of a fixed depth; each is one iteration, in which a
node's value is made and used at once, and there are fewer steps to wait for. In the golden file the loop
over batches has become one over steps, and that over the nodes of a batch one over the step's top nodes,
with a loop over what is below inside: the nest of a node stands there twice, for those below and for the
top.
"""

from __future__ import annotations

from cortex import ra
from cortex.linearize import linearize
from tests.paper.stages import BATCHES, check_compiled, check_same, kernel, listing_1, side_by_side


def test_a_node_is_computed_in_one_step_with_what_is_below_it(golden):
    model, _ = listing_1()
    batched, unrolled = ra.Schedule(model), ra.Schedule(model)
    for each in (batched, unrolled):
        each.dynamic_batch()
        each.specialize_leaves()
    unrolled.unroll(1)
    before, after = kernel(batched.lower()), kernel(unrolled.lower())
    golden("figure_3.txt", side_by_side(before, unrolled.log().splitlines()[-1], after))

    assert before.count("h[node, i] = tanh(") == 1
    assert after.count("h[node, i] = tanh(") == after.count("h[below, i] = tanh(") == 1
    assert (
        "for step in serial(num_batches - 1, batch)" in before and "for s in serial(num_steps, step)" in after
    )

    for batch in BATCHES:
        arrays = linearize(unrolled.plan(), batch)
        assert arrays.num_steps == arrays.num_batches // 2
    check_same(model, (batched, batched.lower()), (unrolled, unrolled.lower()))
    check_compiled(model, unrolled)
