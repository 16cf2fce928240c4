"""DietCode's categories and its equations, on examples worked by hand."""

import numpy as np
import pytest

from ragged.auto.cost import Product
from ragged.auto.cover import best_times, covers
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.microkernel import candidates
from ragged.auto.options import ScheduleOptions
from ragged.auto.shapes import read_shapes
from ragged.auto.voting import padded, padding_factor, performance, spatial_factor, vote, voted_covers
from ragged.ir.interpret import interpret
from ragged.processors import PROCESSORS
from tests.ragged.auto.test_row_variants import SMALL, data, dense

SCORES = np.array([[9.0, 8.0, 1.0, 2.0], [8.0, 9.0, 5.0, 4.0], [1.0, 1.0, 6.0, 5.0]])
"""Three programs on four instances."""


def test_each_instance_joins_the_program_that_it_likes_best():
    assert vote(SCORES, [1, 1, 1, 1]).tolist() == [0, 1, 2, 2]


def test_with_two_choices_one_program_takes_all_its_voters_first():
    # Program 1 is among the best two of all instances: 8 + 9 + 5 + 4 = 26, against 17 and 11.
    assert vote(SCORES, [1, 1, 1, 1], choices=2).tolist() == [1, 1, 1, 1]


def test_weights_decide_the_first_category():
    scores = np.array([[3.0, 3.0, 0.0], [2.0, 0.0, 3.0], [0.0, 2.0, 2.0]])
    assert vote(scores, [1, 1, 1], choices=2).tolist() == [0, 0, 1]
    assert vote(scores, [1, 1, 10], choices=2).tolist() == [1, 0, 1]


def test_equations_3_to_5_of_the_paper():
    assert [padded(n, 40) for n in (1, 40, 41)] == [40, 40, 80]
    assert spatial_factor(40, 40) == spatial_factor(80, 40) == 1
    assert spatial_factor(50, 40) == pytest.approx(0.5 * 80 / 50 + 0.5)
    assert padding_factor((100, 256), (128, 128)) == pytest.approx(1.28)
    # 16 x 18 blocks of 128 x 128 on 40 processors: 288 of 320 places of eight waves, and no padding.
    assert performance(5.0, (2048, 2304), (128, 128), 40) == pytest.approx(5.0 / (0.5 * 320 / 288 + 0.5))
    assert performance(5.0, (1920, 2304), (128, 128), 40, slope=1.0) < performance(
        5.0, (1920, 2304), (128, 128), 40
    )


def test_votes_make_covers_that_ranges_of_rows_beat_or_equal():
    machine, products = PROCESSORS["sapphirerapids"], [Product(2304, 768)]
    rows = dict.fromkeys(range(1, 65), 1.0)
    space = list(candidates(machine, 4))
    best = best_times(machine, [(space, products)], rows)
    voted = voted_covers(machine, space, products, rows, best)
    assert voted
    joint = covers(machine, space, products, rows, best)
    for each in voted:
        for count in rows:
            assert each.at(count).candidate.least_rows <= count
        fitting = [cover.loss for cover in joint if cover.code_bytes <= each.code_bytes * 1.05]
        assert min(fitting) <= each.loss * 1.01


def test_a_schedule_with_voted_categories_has_the_same_bits():
    program = dense()
    result = DefaultSchedule(
        SMALL, options=ScheduleOptions(categories="votes"), shapes=read_shapes({"T": range(1, 9)})
    )(program)
    assert any(
        step.startswith("s.apply(split")
        for each in result.rules
        if each.rule == "tile_rows"
        for step in each.applied
    )
    for rows in range(11):
        sizes, arrays = data(rows, rows)
        want = interpret(program, sizes, arrays)["Y"]
        np.testing.assert_array_equal(interpret(result.program, sizes, arrays)["Y"], want)
