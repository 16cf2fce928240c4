"""The default space of a search."""

from __future__ import annotations

from cortex import models
from cortex.compiler.options import DEFAULT
from cortex.ra.schedule import default_schedule
from cortex.tuning.space import default_space
from ragged.tuning.space import Space


def test_the_default_space_is_small_and_knows_the_model():
    space = default_space(models.tree_lstm(hidden=4, embed=4, vocab=7))
    assert space["refactor"] == (("Uh_f",), ("Uh_o", "Uh_i", "Uh_u", "Uh_f"))
    assert space["hoist_inputs"] == (False,)
    extents = Space.of(space, DEFAULT).extents
    assert sum(extents) - len(extents) <= 25
    assert default_space(models.tree_sum(4, 7))["refactor"] == ()
    assert "hoist_inputs" not in default_space(models.tree_sum(4, 7))


def test_of_a_schedule_only_the_loops_are_searched():
    space = default_space(default_schedule(models.tree_lstm(4, 4, 7)))
    assert "tile" in space and not {"unroll", "refactor", "hoist_inputs"} & set(space)
