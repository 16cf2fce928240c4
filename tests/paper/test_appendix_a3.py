"""CORTEX, appendix A.3: one cache for what is read through several functions.

`h` is read at `left(node)` and at `right(node)`: no region of `h` holds both, since nothing is known of how
far they are from each other. The paper's cache has a dimension more, for the ways to read it. In the golden
file `h_cache[h_way, i]` is filled with the row of that way, chosen by a condition, and the nests that
follow read `h_cache[0, i]` and `h_cache[1, i]`. Written out, the loop over the ways has no condition left.

The node's own row is written in the same iteration. Where that stands between the copy and a read, it is
proven from the facts of the structure that it is another row; a program without them is refused.
"""

from __future__ import annotations

import pytest

from ragged.errors import ScheduleError
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.inline import inline
from ragged.transform.code.simplify_guards import simplify_guards
from ragged.transform.loops.unroll_fully import unroll_fully
from ragged.transform.storage.cache_read import cache_read
from tests.paper.stages import check_same, kernel, listing_2, side_by_side


def test_both_children_are_copied_to_one_cache(golden):
    schedule = listing_2()
    before = schedule.lower()
    s = LoopSchedule(before)
    s.apply(cache_read, s.buffer("h"), s.loop("n", 1))
    cached = kernel(s.program)
    s.apply(unroll_fully, s.loop("h_way"))
    s.apply(simplify_guards, s.loop("n", 1))
    written_out = kernel(s.program)
    log = s.log().splitlines()
    middle = side_by_side(kernel(before), log[0], cached)
    golden("appendix_a3.txt", side_by_side(middle, "\n".join(log[1:]), written_out))

    assert "h_cache = local(float32[2, 4])" in cached
    assert "h_cache[h_way, i_r] = h[left(node) if h_way == 0 else right(node), i_r]" in cached
    assert "lh[node, i] = h_cache[0, i]" in cached and "rh[node, i] = h_cache[1, i]" in cached
    assert " if " not in written_out

    check_same(schedule.model, (schedule, before), (schedule, s.checked()))


def fused() -> LoopSchedule:
    """Return the program with a nest that reads the children and writes the node."""
    s = LoopSchedule(listing_2().lower())
    for name in ("lh", "rh"):
        s.apply(inline, s.buffer(name))
    return s


def test_what_is_written_in_between_is_another_row_by_facts_that_are_checked():
    schedule, s = listing_2(), fused()
    assert "h[node, i] = tanh(h[left(node), i] + h[right(node), i])" in kernel(s.program)
    assert s.checked().stage(StageKind.PRELUDE) is None
    s.apply(cache_read, s.buffer("h"), s.loop("n", 1))
    assert "h[node, i] = tanh(h_cache[0, i] + h_cache[1, i])" in kernel(s.program)
    prelude = s.checked().stage(StageKind.PRELUDE)
    assert prelude is not None and "left(" in str(s.checked()).partition("with prelude")[2]
    check_same(schedule.model, (schedule, s.checked()))


def test_without_the_facts_it_is_refused():
    text = str(fused().program)
    for name in ("left", "right"):
        fact = f"n + 1 <= {name}(n) < num_nodes, follows(batch_begin, batch_length)"
        assert fact in text
        text = text.replace(fact, f"0 <= {name}(n) < num_nodes")
    s = LoopSchedule(parse(text))
    with pytest.raises(ScheduleError) as refused:
        s.apply(cache_read, s.buffer("h"), s.loop("n", 1))
    assert refused.value.because == (
        "h[node, i] is stored in it, and may be what h[left(node), i] reads: the copy would be out of date"
    )
