"""CORTEX, Listing 2 (and section 5, the conditional operator): the recursion of Listing 1 as loops over
arrays.

The paper's text has no recursive call: what a child returned is read from the result's array at the child's
number, a loop over batches stands around one over the nodes of a batch, and leaves have a nest of their own
before both.

The golden file begins with the program as it is without a schedule, one node after another, each asked
whether it is a leaf: the conditional operator. After `dynamic_batch` there are batches, and it is still
asked; after `specialize_if_else` it is not: batch 0 is the leaves.
"""

from __future__ import annotations

from cortex import ra
from tests.paper.stages import check_compiled, check_same, kernel, listing_1, side_by_side


def test_recursion_becomes_loops_over_batches(golden):
    model, body = listing_1()
    plain, batched, specialized = (ra.Schedule(model) for _ in range(3))
    batched.dynamic_batch()
    specialized.dynamic_batch()
    specialized.specialize_if_else(body)
    one, two, three = (kernel(each.lower()) for each in (plain, batched, specialized))
    middle = side_by_side(one, batched.log(), two)
    golden("listing_2.txt", side_by_side(middle, specialized.log().splitlines()[1], three))

    assert one.count("if node >= num_inner:") == two.count("if node >= num_inner:") == 1
    assert "for step in serial(num_nodes, N)" in one and "batch" not in one
    assert "for n in parallel(batch_length(b), N)" in two and "batch_begin(b) + n" in two
    assert "if" not in three.split()
    leaves, _, rest = three.partition("for step in serial(num_batches - 1, batch)")
    assert "emb[word(node), i]" in leaves and "batch_length(0)" in leaves
    assert "emb" not in rest and "lh[node, i] = h[left(node), i]" in rest

    check_same(model, *((each, each.lower()) for each in (plain, batched, specialized)))
    check_compiled(model, specialized)
