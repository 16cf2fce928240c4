"""tile: loops over blocks outside, those of a block inside."""

import pytest

from ragged.ir.parser import parse
from ragged.transform.loops.tile import tile
from tests.ragged.transform.support import (
    MATVEC_DATA,
    accepted,
    body,
    check_same,
    check_same_compiled,
    loop,
    refused,
)
from tests.ragged.transform.test_reorder import PRODUCT


def product():
    program = parse(PRODUCT)
    return program, tuple(loop(program, name) for name in "nij")


def test_text(golden):
    program, (n, i, _) = product()
    result = accepted(tile, program, (n, i), (4, 4))
    assert [var.name for var in result.forwarding.loops[n]] == ["n_o", "n_i"]
    golden("tile.txt", body(program) + "\ntile((n, i), (4, 4))\n\n" + body(result.program))


@pytest.mark.parametrize("factors", [(1, 1, 1), (4, 4, 3), (2, 8, 6), (3, 3, 4), (5, 7, 5)])
def test_every_tile_computes_the_same(factors):
    program, loops = product()
    check_same(program, accepted(tile, program, loops, factors).program, MATVEC_DATA)


def test_machine_code():
    program, loops = product()
    check_same_compiled(program, accepted(tile, program, loops, (4, 3, 3)).program, MATVEC_DATA, "y")


def test_a_factor_for_each_loop():
    program, loops = product()
    assert refused(tile, program, loops, (4, 4)) == (
        "tile: cannot tile the loops n, i, j\n  because: 3 loops have 2 factors"
    )


def test_a_tile_that_would_reassociate_is_refused():
    text = PRODUCT.replace("y[n, i] += U[i, j] * v[n, j]", "y[n, 0] += U[i, j] * v[n, j]")
    program = parse(text)
    loops = (loop(program, "i"), loop(program, "j"))
    assert refused(tile, program, loops, (4, 3)) == (
        "tile: cannot tile the loops i, j\n"
        "  because: reorder: cannot bring the loops into the order i_o, j_o, i_i, j_i, because 'y' may in both "
        "iterations touch one element of 'y'\n"
        "  example: i_o = 0, i_i = 0, j_o = 1, j_i = 0, i_o' = 0, i_i' = 1, j_o' = 0, j_i' = 0, n = 0, count = 1\n"
        "  fix: reassociate=True, if the reduction may round in another way"
    )
    accepted(tile, program, loops, (4, 3), reassociate=True)


def test_a_factor_of_nothing_is_refused():
    program, loops = product()
    assert refused(tile, program, loops, (4, 0, 1)) == (
        "tile: cannot tile the loops n, i, j\n"
        "  because: split: cannot split loop 'i' into blocks of 0\n"
        "  fix: a factor from 1 up"
    )


def test_loops_that_are_not_nested_are_refused():
    program, (n, _, j) = product()
    assert refused(tile, program, (n, j), (2, 2)) == (
        "tile: cannot tile the loops n, j\n"
        "  because: the loop 'i' stands directly inside 'n'\n"
        "  fix: name 'i' too, or fuse it first"
    )
