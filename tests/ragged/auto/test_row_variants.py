"""Variants of loops over rows: chosen by predicted time and bytes, and the same bits from each."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from ragged.auto import default_schedule
from ragged.auto.cost import Product
from ragged.auto.cover import Cover, Variant, representative_rows
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.microkernel import Candidate, MicroKernel, Remainder
from ragged.auto.options import REMAINDERS, ScheduleOptions
from ragged.auto.row_variants import RowPlan, plan_rows
from ragged.auto.shapes import read_shapes
from ragged.errors import UserError
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from ragged.machine import Machine
from ragged.processors import PROCESSORS

SMALL = Machine(vector_bytes=16, vector_registers=16, cores=1, l1_bytes=32 * 1024, l2_bytes=256 * 1024)

DENSE = """\
program("dense")

T: call()
X: payload(float32[{rows}, {depth}], align=4)
W: parameter(float32[{columns}, {depth}])
Y: output(float32[{rows}, {columns}])

with kernel:
    for i in parallel({rows}):
        for j in serial({columns}):
            Y[i, j] = 0.0
            for q in serial({depth}):
                Y[i, j] += X[i, q] * W[j, q]
"""


def dense(rows="T", columns=16, depth=5):
    return parse(DENSE.format(rows=rows, columns=columns, depth=depth))


def data(size, rows, columns=16, depth=5):
    random = np.random.default_rng(rows)
    shapes = {"X": (rows, depth), "W": (columns, depth)}
    arrays = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return {"T": size}, arrays


def forced(monkeypatch, program, *variants, machine=SMALL, threads=1):
    """Schedule a program with these variants: (below, rows, remainder) each, in panels of two vectors."""
    found = tuple(Variant(below, Candidate(MicroKernel(rows, 2), tail)) for below, rows, tail in variants)
    (loop,) = [
        site.stmt
        for site in default_schedule.sites(program)
        if getattr(site.stmt, "var", None) and site.stmt.var.name == "i"
    ]
    plan = RowPlan(loop.var, loop.extent, (Product(16, 5),), 2, Cover(found, 0, 1.0), ())
    monkeypatch.setattr(default_schedule, "plan_rows", lambda *_: (plan,))
    return DefaultSchedule(machine, threads)(program)


ONE = [(None, rows, tail) for rows in (1, 2, 3, 4) for tail in (Remainder.EXACT, Remainder.BALANCE)]
LADDER = ((2, 1, Remainder.EXACT), (4, 2, Remainder.OVERLAP), (None, 4, Remainder.OVERLAP))


@pytest.mark.parametrize("variants", [*((each,) for each in ONE), LADDER], ids=str)
def test_every_variant_has_the_bits_of_the_program(monkeypatch, variants):
    program = dense()
    result = forced(monkeypatch, program, *variants)
    verify(result.program)
    assert not any(record.refused for record in result.rules if record.rule == "tile_rows")
    for rows in range(11):
        sizes, arrays = data(rows, rows)
        want = interpret(program, sizes, arrays)["Y"]
        np.testing.assert_array_equal(interpret(result.program, sizes, arrays)["Y"], want)


def test_workers_share_the_columns_of_each_variant(monkeypatch):
    program = dense(columns=32)
    result = forced(monkeypatch, program, *LADDER, machine=replace(SMALL, cores=2), threads=2)
    for rows in (0, 1, 3, 7):
        sizes, arrays = data(rows, rows, columns=32)
        want = interpret(program, sizes, arrays)["Y"]
        np.testing.assert_array_equal(interpret(result.program, sizes, arrays, workers=2)["Y"], want)


def test_multiples_of_a_tile_leave_no_remainder(monkeypatch):
    result = forced(monkeypatch, dense(rows="T * 4"), (None, 4, Remainder.BALANCE))
    assert "if " not in to_text(result.program).partition("with kernel:")[2]


def planned(machine, shapes=None, code_bytes=None, rows="T", **sizes):
    program = dense(rows, **sizes)
    return plan_rows(program, machine, 1, ScheduleOptions(), read_shapes(shapes), code_bytes)


def test_rules_say_what_was_planned():
    result = DefaultSchedule(SMALL)(dense())
    (record,) = [each for each in result.rules if each.rule == "tile_rows"]
    assert any(step.startswith("s.apply(split, s.loop('i'") for step in record.applied)


@pytest.mark.parametrize("name", ["haswell", "znver4", "sapphirerapids", "neoverse-v2"])
def test_stated_shapes_get_a_cover_within_its_bytes(name):
    machine = PROCESSORS[name]
    for code_bytes in (1500, 4000, 8192, None):
        (plan,) = planned(machine, {"T": range(1, 40)}, code_bytes, columns=2304, depth=768)
        assert plan.cover.code_bytes <= (code_bytes or 24_000) or plan.cover.code_bytes == min(
            point.code_bytes
            for point in plan.points
            if point.variants[0].candidate.kernel.vectors == plan.vectors
        )
        bounds = [each.below for each in plan.cover.variants]
        assert bounds[-1] is None and sorted(bounds[:-1]) == bounds[:-1] and len(set(bounds)) == len(bounds)
        for rows in range(1, 200):
            candidate = plan.cover.at(rows).candidate
            assert candidate.least_rows <= rows
            assert candidate.kernel.vectors == plan.vectors


def test_more_bytes_lose_no_more():
    for name in ("haswell", "znver4", "sapphirerapids"):
        losses = [
            planned(PROCESSORS[name], {"T": range(1, 40)}, code_bytes, columns=2304, depth=768)[0].cover.loss
            for code_bytes in (2000, 4000, 8000, 24_000)
        ]
        assert all(more <= less * 1.0101 for less, more in pairwise(losses))


def test_known_machines_get_known_tiles():
    (plan,) = planned(PROCESSORS["haswell"], {"T": [4096]}, columns=2304, depth=768)
    assert plan.cover.at(4096).candidate.kernel == MicroKernel(6, 2)
    (plan,) = planned(
        PROCESSORS["sapphirerapids"], {"T": range(1, 129)}, rows="T * 16", columns=2304, depth=768
    )
    kernel = plan.cover.at(1024).candidate.kernel
    assert 18 <= kernel.rows * kernel.vectors <= 28 and kernel.rows >= 4


def test_options_that_say_the_tile_leave_nothing_to_plan():
    program = dense()
    for options in (ScheduleOptions(tile=(4, 2)), ScheduleOptions(rows_per_tile=4)):
        assert plan_rows(program, SMALL, 1, options) == ()
    assert plan_rows(program, replace(SMALL, matrix_unit=True), 1, ScheduleOptions()) == ()


def test_a_constant_number_of_rows_is_not_planned():
    assert planned(SMALL, rows="12") == ()


@pytest.mark.parametrize("remainder", REMAINDERS)
def test_a_stated_tile_and_remainder_are_the_plan(remainder):
    program, options = dense(columns=16), ScheduleOptions(tile=(3, 2), remainder=remainder)
    (plan,) = plan_rows(program, SMALL, 1, options)
    assert plan.cover.at(7).candidate == Candidate(MicroKernel(3, 2), Remainder(remainder))
    result = DefaultSchedule(SMALL, options=options)(program)
    for rows in (1, 2, 3, 7):
        sizes, arrays = data(rows, rows)
        want = interpret(program, sizes, arrays)["Y"]
        np.testing.assert_array_equal(interpret(result.program, sizes, arrays)["Y"], want)


@pytest.mark.parametrize("categories", ["ranges", "votes"])
@pytest.mark.parametrize("remainder", REMAINDERS)
def test_a_stated_remainder_is_that_of_all_tiles_of_several_rows(remainder, categories):
    (plan,) = plan_rows(dense(), SMALL, 1, ScheduleOptions(remainder=remainder, categories=categories))
    found = [each.candidate for each in plan.cover.variants if each.candidate.kernel.rows > 1]
    assert found and {each.remainder.value for each in found} == {remainder}


def test_a_remainder_that_is_none():
    assert {each.value for each in Remainder} == set(REMAINDERS)
    with pytest.raises(UserError, match="remainder='clamped' is none of exact, balanced, overlapping"):
        ScheduleOptions(remainder="clamped")


def test_of_thousands_of_row_counts_some_are_planned_for_with_the_weight_of_all():
    """As many predictions as row counts took nine seconds for 10,000 of them."""
    few = {count: float(count) for count in range(1, 257)}
    assert representative_rows(few) == few
    many = {count: 2.0 for count in range(1, 10_001)}
    found = representative_rows(many)
    assert len(found) == 256 and sum(found.values()) == sum(many.values())
    assert min(found) < 40 and max(found) > 9960
    for tile in (5, 8, 12, 39):
        rests = [sum(count % tile == rest for count in found) for rest in range(tile)]
        assert max(rests) <= 1.5 * 256 / tile + 2
