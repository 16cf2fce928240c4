"""Predicted times: by hand at single points, and in order where one tile is known to be better."""

import pytest

from ragged.auto.cost import Product, predicted_ns, tile_cycles
from ragged.auto.microkernel import Candidate, MicroKernel, Remainder, candidates, micro_kernels
from ragged.machine import Machine, Rates
from ragged.processors import PROCESSORS

ZEN_4 = PROCESSORS["znver4"]
DENSE = Product(2304, 768)


def gflops(machine, candidate, rows, product=DENSE):
    flops = 2 * rows * product.columns * product.depth
    return flops / predicted_ns(machine, candidate, rows, product)


def test_a_step_takes_as_long_as_its_slowest_resource():
    kernel = MicroKernel(6, 4)
    assert tile_cycles(ZEN_4, kernel, 1000, 64, 64) == pytest.approx(
        24_000, rel=0.02
    )  # 24 multiply-adds, one a cycle
    assert tile_cycles(ZEN_4, kernel, 1000, 4, 64) == pytest.approx(
        64_400, rel=0.02
    )  # 256 bytes of the panel by 4
    assert tile_cycles(ZEN_4, MicroKernel(1, 1), 1000, 64, 64) == pytest.approx(
        4050, rel=0.02
    )  # the next addition


@pytest.mark.parametrize("tail", Remainder)
@pytest.mark.parametrize("most", [1, 2, 5, 6, 8])
def test_tiles_cover_the_rows(tail, most):
    candidate = Candidate(MicroKernel(most, 3), tail)
    for rows in range(candidate.least_rows, 40):
        tiles = candidate.tiles(rows)
        computed = sum(count * times for count, times in tiles.items())
        assert computed == (-(-rows // most) * most if tail is Remainder.OVERLAP else rows)
        assert max(tiles) <= most and set(tiles) <= {each.rows for each in candidate.kernels()}


def test_nine_rows_by_eight_are_five_and_four():
    assert Candidate(MicroKernel(8, 3), Remainder.BALANCE).tiles(9) == {5: 1, 4: 1}
    assert Candidate(MicroKernel(8, 3), Remainder.EXACT).tiles(9) == {8: 1, 1: 1}
    assert Candidate(MicroKernel(8, 3), Remainder.OVERLAP).tiles(9) == {8: 2}


def test_many_rows_reach_the_peak_and_no_more():
    for name in ("haswell", "znver4", "sapphirerapids"):
        machine = PROCESSORS[name]
        best = max(
            gflops(machine, each, 480) for vectors in range(1, 9) for each in candidates(machine, vectors)
        )
        assert (0.95 if machine.vector_bytes == 64 else 0.8) < best / machine.gflops <= 1


def test_a_single_row_waits_for_the_panel():
    single = Candidate(MicroKernel(1, 4), Remainder.EXACT)
    assert gflops(ZEN_4, single, 64) / ZEN_4.gflops == pytest.approx(0.49, abs=0.03)


def test_two_workers_halve_the_columns_of_the_busier_one():
    candidate = Candidate(MicroKernel(6, 4), Remainder.EXACT)
    alone = predicted_ns(ZEN_4, candidate, 96, DENSE)
    both = predicted_ns(ZEN_4, candidate, 96, Product(2304, 768, workers=2))
    assert 0.5 < both / alone < 0.55
    odd = predicted_ns(ZEN_4, candidate, 96, Product(64 * 3, 768, workers=2))
    assert odd > 0.66 * predicted_ns(ZEN_4, candidate, 96, Product(64 * 3, 768))


def test_kernels_fit_in_registers_and_hide_the_latency():
    machine = Machine(32, 16, 1, 2**15, 2**18, rates=Rates(2, 5))
    for kernel in micro_kernels(machine):
        assert kernel.rows * kernel.vectors + kernel.vectors + 1 <= 16
        assert kernel.rows * kernel.vectors >= 10
    assert MicroKernel(6, 2) in set(micro_kernels(machine))


def test_no_rows_take_no_time():
    assert predicted_ns(ZEN_4, Candidate(MicroKernel(6, 4), Remainder.EXACT), 0, DENSE) == 0


def test_columns_that_fill_no_panel_take_a_narrower_one():
    candidate = Candidate(MicroKernel(6, 4), Remainder.EXACT)
    whole, more, less = (
        predicted_ns(ZEN_4, candidate, 48, Product(columns, 768)) for columns in (128, 144, 112)
    )
    assert whole < more < 1.4 * whole and 0.8 * whole < less < whole
