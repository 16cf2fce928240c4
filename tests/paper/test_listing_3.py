"""CORTEX, Listing 3: temporaries indexed by the loops, densely, and not by the nodes.

In Listing 2 `lh[node, i]` has a row for each node, though only those of one batch, or of one tile of it,
are alive together. The paper indexes such a temporary by the iteration space of the loops around it, so
that it is as large as what is alive and fits a scratchpad.

The golden file shows it for tiles of four nodes. `contract_storage` sees that no iteration reads what
another one wrote: `lh[node, i]` becomes `lh[i]`. `expand_storage` gives it the dimension of the tile's
loop, `lh[n_i, i]`, after which the loop over the tile can be cut in three, each of which is dense. What is
left of a batch is a loop of its own, peeled.
"""

from __future__ import annotations

from ragged.passes.contract_storage import contract_storage
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fission import fission
from ragged.transform.loops.split import Tail, split
from ragged.transform.storage.expand_storage import expand_storage
from tests.paper.stages import check_same, kernel, listing_2, side_by_side


def test_temporaries_are_indexed_by_the_iteration_space(golden):
    schedule = listing_2()
    before = schedule.lower()
    s = LoopSchedule(before)
    s.apply(split, s.loop("n", 1), 4, Tail.PEEL)
    s.apply(contract_storage)
    contracted = kernel(s.program)
    for name in ("lh", "rh"):
        s.apply(expand_storage, s.buffer(name, 0), s.loop("n_i"))
    s.apply(fission, s.loop("n_i"), s.loop("i", 1))
    s.apply(fission, s.loop("n_i_rest"), s.loop("i", 2))
    after = kernel(s.program)
    log = s.log().splitlines()
    middle = side_by_side(kernel(before), "\n".join(log[:2]), contracted)
    golden("listing_3.txt", side_by_side(middle, "\n".join(log[2:]), after))

    assert "lh: workspace(float32[num_nodes, 4]" in str(before) and "workspace" not in str(s.program)
    assert "lh = local(float32[4])" in contracted and "lh[i] = h[left(node), i]" in contracted
    tile, _, rest = after.partition("for n_t in parallel(batch_length(b) % 4, N)")
    assert "lh = local(float32[4, 4], dims=(N, None))" in tile
    assert "lh[n_i, i] = h[left(node), i]" in tile and "rh[n_i_rest, i] = h[right(node), i]" in tile
    assert "lh[node" not in after and "lh = local(float32[4])" in rest

    check_same(schedule.model, (schedule, before), (schedule, s.checked()))
