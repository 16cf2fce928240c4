"""The grids of a search."""

from __future__ import annotations

from cortex import RecursionOptions, models
from cortex.compiler.options import DEFAULT
from cortex.ra.schedule import default_schedule
from cortex.tuning.grid import default_grid
from ragged.tuning.space import count_points, one_by_one, whole


def test_the_default_grid_is_small_and_knows_the_model():
    model = models.tree_lstm(hidden=4, embed=4, vocab=7)
    grid = default_grid(model, DEFAULT)
    assert grid["refactor"] == [("Uh_f",), ("Uh_o", "Uh_i", "Uh_u", "Uh_f")]
    assert grid["hoist_inputs"] == [False] and None not in grid["reduction_unroll"]
    assert count_points(grid, DEFAULT, full=False) <= 25
    assert DEFAULT not in [each for name in grid for each in one_by_one(grid, name, DEFAULT)]
    assert default_grid(models.tree_sum(4, 7), DEFAULT)["refactor"] == []
    assert "hoist_inputs" not in default_grid(models.tree_sum(4, 7), DEFAULT)


def test_of_a_schedule_only_the_loops_are_searched():
    grid = default_grid(default_schedule(models.tree_lstm(4, 4, 7)), DEFAULT)
    assert "tile" in grid and not {"unroll", "refactor", "hoist_inputs"} & set(grid)


def test_one_by_one_starts_from_the_best():
    best = RecursionOptions(tile=(6, 4))
    assert one_by_one({"reduction_unroll": (2, 4)}, "reduction_unroll", best) == [
        RecursionOptions(tile=(6, 4), reduction_unroll=2),
        RecursionOptions(tile=(6, 4), reduction_unroll=4),
    ]


def test_a_whole_grid_has_all_but_the_default():
    grid = {"reduction_unroll": (1, 2), "share_columns": (False,)}
    assert set(whole(grid, DEFAULT)) == {
        RecursionOptions(reduction_unroll=1),
        RecursionOptions(reduction_unroll=1, share_columns=False),
        RecursionOptions(reduction_unroll=2),
        RecursionOptions(share_columns=False),
        RecursionOptions(reduction_unroll=2, share_columns=False),
    }
    assert count_points(grid, DEFAULT, full=True) == 5
