"""CORTEX, Figure 4: recursive refactoring. An operator moves across the edge between a node and its parent.

The recursion of the paper's picture is cut at another operator, so that two operators which were in two
calls are in one. `simple_tree_gru` is the paper's example: its gates multiply the sum of what the children
returned. Refactored at these products, a node leaves `U_r h` and `U_z h` for its parent: they stand at the
end of the child's iteration, after its `h`, and the parent's begins with a sum, to which the gates are
elementwise. The product with `U_g` cannot follow: it takes in a gate of the node itself.

The golden file has both models, as the Recursive API prints them, and both kernels. The paper counts a
barrier less; a team on a CPU has as many as before: one phase goes, that of the sum of the children, and
one comes, the products at the end.
"""

from __future__ import annotations

from cortex import models, ra
from tests.paper.stages import barriers, check_compiled, check_same, final, kernel, side_by_side
from tests.support.scheduled import tensor


def test_an_operator_moves_to_the_child(golden):
    model = models.simple_tree_gru(4, 4, 10)
    before, after = ra.Schedule(model), ra.Schedule(model)
    for each in (before, after):
        each.dynamic_batch()
        each.specialize_leaves()
    for name in ("Uh_r", "Uh_z"):
        after.refactor(tensor(model, name))
    texts = [f"{each.model}\n\n{kernel(each.lower())}" for each in (before, after)]
    golden("figure_4.txt", side_by_side(texts[0], after.log(), texts[1]))

    assert "Uh_r[n, i] = sum(U_r[i, j] * hs[n, j] for j < 4)" in texts[0]
    assert "Uh_r_up[n, i] = sum(U_r[i, j] * h[n, j] for j < 4)" in texts[1]
    assert "Uh_r[n, i] = sum(Uh_r_up_ph[k, i] for k in children(n))" in texts[1]
    assert list(after.model.results) == ["h"] and after.model.states == {"Uh_r_up", "Uh_z_up"}
    inner = kernel(after.lower()).partition("for step in serial(num_batches - 1, batch)")[2]
    assert inner.index("h[node, i] =") < inner.index("Uh_r_up[node, i] += U_r[i, j] * h[node, j]")

    check_same(model, (before, before.lower()), (after, after.lower()))
    check_compiled(model, after)
    assert [barriers(final(each.lower())) for each in (before, after)] == [1, 1]
