"""The grids of a search."""

from __future__ import annotations

from cortex import Choices, models
from cortex.compiler.choices import DEFAULT
from cortex.ra.schedule import default_schedule
from cortex.tuning.grid import count_points, default_grid, one_by_one, whole


def test_the_default_grid_is_small_and_knows_the_model():
    model = models.tree_lstm(hidden=4, embed=4, vocab=7)
    grid = default_grid(model, DEFAULT)
    assert grid["refactor"] == [("Uh_f",), ("Uh_o", "Uh_i", "Uh_u", "Uh_f")]
    assert grid["hoist_inputs"] == [False] and None not in grid["steps"]
    assert count_points(grid, full=False) <= 25
    assert DEFAULT not in [each for name in grid for each in one_by_one(grid, name, DEFAULT)]
    assert default_grid(models.tree_sum(4, 7), DEFAULT)["refactor"] == []
    assert "hoist_inputs" not in default_grid(models.tree_sum(4, 7), DEFAULT)


def test_of_a_schedule_only_the_loops_are_searched():
    grid = default_grid(default_schedule(models.tree_lstm(4, 4, 7)), DEFAULT)
    assert "tile" in grid and not {"unroll", "refactor", "hoist_inputs"} & set(grid)


def test_one_by_one_starts_from_the_best():
    best = Choices(tile=(6, 4))
    assert one_by_one({"steps": (2, 4)}, "steps", best) == [
        Choices(tile=(6, 4), steps=2),
        Choices(tile=(6, 4), steps=4),
    ]


def test_a_whole_grid_has_all_but_the_default():
    grid = {"steps": (1, 2), "columns": (False,)}
    assert set(whole(grid, DEFAULT)) == {
        Choices(steps=1),
        Choices(steps=1, columns=False),
        Choices(steps=2),
        Choices(columns=False),
        Choices(steps=2, columns=False),
    }
    assert count_points(grid, full=True) == 5
