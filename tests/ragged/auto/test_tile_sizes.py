"""How many rows of a loop are computed at once."""

import pytest

from ragged.auto.tile_sizes import fills_tiles, rows_of_loop


@pytest.mark.parametrize(
    ("extent", "most", "vectors", "rows"),
    [
        (12, 12, 1, 12),
        (16, 12, 1, 8),  # two tiles of 8 hide the latency, as 12 and 4 do not
        (20, 12, 1, 10),
        (14, 12, 1, 7),
        (5, 12, 1, 5),
        (0, 12, 1, 1),
        (-2, 12, 1, 1),
        (196, 12, 1, 12),
        (8, 6, 4, 6),  # 6 and 2: each hides it
        (56, 6, 4, 6),
    ],
)
def test_tiles_of_a_known_number_of_rows(extent, most, vectors, rows):
    assert rows_of_loop(extent, most, vectors, 8) == rows


@pytest.mark.parametrize(
    ("extent", "most", "vectors", "fills"),
    [
        (12, 12, 1, True),
        (14, 12, 1, True),
        (26, 12, 1, True),
        (5, 12, 1, False),
        (56, 6, 4, False),
        (54, 6, 4, True),
    ],
)
def test_loops_that_are_tiled_alone(extent, most, vectors, fills):
    assert fills_tiles(extent, most, vectors, 8) is fills
