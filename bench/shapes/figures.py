"""DietCode's figures for this machine: categories by k (figure 12), grids (13), and its cost model's factors (14).

Figures 7 and 10, strategies for the rows that fill no tile, are the workload `remainders` of `bench.shapes`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from bench.peers.shapes.compiled_tiles import Overlapping, tile_of
from bench.shapes.problems import Dense, ShapesProblem
from bench.shapes.results import Category, Factors, Figures, GridPoint
from ragged.auto.cost import Product
from ragged.auto.cover import Cover, best_times, covers
from ragged.auto.microkernel import candidates
from ragged.auto.voting import padding_factor, performance, spatial_factor, voted_by_choices
from ragged.machine import Machine, this_machine

_COLUMNS, _DEPTH = 2304, 768
_HALVES = (3, 5, 9, 17, 33)
"""Rows of the figure of factors, in halves of a tile: the last tile repeats half of its rows."""


def measure_figures(lengths: Sequence[int], threads: int, seconds: float) -> Figures:
    """Measure a dense layer of `lengths` times 16 rows with one micro-kernel; each number of rows for `seconds`."""
    machine = this_machine()
    rows, vectors = tile_of(machine)
    longest = 16 * max(lengths)
    whole = [rows * count for count in _counts(max(1, longest // rows))]
    odd = sorted({rows * halves // 2 for halves in _HALVES} | {longest - rows // 2})
    every = sorted({*whole, *odd})
    labels = tuple(f"{each} rows" for each in every)
    shapes = tuple(Dense(each, _DEPTH, _COLUMNS) for each in every)
    problem = ShapesProblem("figures", labels, shapes, threads)
    own = Overlapping(problem)
    predicted = own.details()["predicted"] or {}
    gflops = {sizes.rows: sizes.flops / _nanoseconds(own, problem, sizes, seconds) for sizes in shapes}
    rates = {
        sizes.rows: sizes.flops / (1000 * predicted[label])
        for label, sizes in zip(labels, shapes, strict=True)
        if label in predicted
    }
    tile = (rows, vectors * machine.lanes(4))
    local = gflops[whole[-1]] * _factor(whole[-1], tile, threads)
    panels = -(-_COLUMNS // tile[1])
    return Figures(
        f"{rows}x{vectors}",
        threads,
        *_categories(machine, lengths, vectors),
        [GridPoint(each // rows * panels, gflops[each], rates.get(each)) for each in whole],
        [_factors(each, tile, threads, local, gflops[each]) for each in (whole[0], *odd, whole[-1])],
    )


def _counts(most: int) -> list[int]:
    """Return numbers of tiles: all up to 16, then about four in each octave."""
    later = np.geomspace(16, max(16, most), 1 + 4 * max(1, most // 16).bit_length()).astype(int)
    return sorted({*range(1, min(16, most) + 1), *(int(each) for each in later if each <= most), most})


def _nanoseconds(own: Overlapping, problem: ShapesProblem, sizes: Dense, seconds: float) -> float:
    call = own.call(sizes, problem.operands(sizes))
    times: list[int] = []
    until = time.monotonic() + seconds
    call()
    while len(times) < 3 or time.monotonic() < until:
        begin = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - begin)
    return float(np.median(times))


def _factor(rows: int, tile: tuple[int, int], threads: int) -> float:
    """Return f_spatial * f_pad: how many times as long as its useful part a grid takes that fills all waves."""
    grid = -(-rows // tile[0]) * -(-_COLUMNS // tile[1])
    return spatial_factor(grid, threads, 1.0) * padding_factor((rows, _COLUMNS), tile)


def _factors(rows: int, tile: tuple[int, int], threads: int, local: float, measured: float) -> Factors:
    """Return the factors of equation 3; k is 1, as a kernel of this machine ends with its last tile."""
    grid = -(-rows // tile[0]) * -(-_COLUMNS // tile[1])
    return Factors(
        rows,
        local,
        spatial_factor(grid, threads, 1.0),
        padding_factor((rows, _COLUMNS), tile),
        performance(local, (rows, _COLUMNS), tile, threads, 1.0),
        measured,
    )


def _categories(
    machine: Machine, lengths: Sequence[int], vectors: int
) -> tuple[list[Category], list[Category]]:
    """Return the paper's categories for the least k that gives each, and ours for each price of code.

    They are of as many rows as there are lengths: 16 of each are whole tiles, for which one category is the best.
    """
    products, space = [Product(_COLUMNS, _DEPTH)], list(candidates(machine, vectors))
    rows = dict.fromkeys(range(1, max(lengths) + 1), 1.0)
    best = best_times(machine, [(space, products)], rows)
    voted: dict[Cover, int] = {}
    for choices, cover in voted_by_choices(machine, space, products, rows, best):
        voted.setdefault(cover, choices)
    joint = covers(machine, space, products, rows, best)
    return [_category(each, k) for each, k in voted.items()], [_category(each, None) for each in joint]


def _category(cover: Cover, choices: int | None) -> Category:
    return Category(choices, len(cover.variants), cover.code_bytes, 1 / cover.loss)
