"""The predicted time of products with a parameter: closed form, from the machine's rates, without a run.

DietCode, section 4.2, for CPUs. Its f_local, the time of a micro-kernel in one core, follows from issue rates, load
ports, latency and the cache that each operand is read from (as in Low et al., TOMS 2016, for BLIS); f_spatial is the
share of the busiest worker. Remainders are tiles like any others, so that f_pad is the rows that overlapping tiles
repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from ragged.auto.microkernel import Candidate, MicroKernel
from ragged.machine import Machine

Tiles: TypeAlias = Callable[[int, int], Mapping[int, int]]
"""How many tiles of each number of rows a panel of so many vectors has for so many rows."""

_FLOAT_BYTES = 4
_TILE_CYCLES = 30
"""Cycles of a tile besides its steps and stores: a mispredicted branch, and addresses."""
_OVERLAP = 4
"""Exponent of the power mean of a step's resources, in cycles: a second resource that is as busy costs 19 %, one
that is half as busy 1.5 %. A larger exponent would be a processor with more perfect overlap."""
_BARRIER_NS = 1500
"""Nanoseconds of a barrier of all workers, and of the cache misses after it."""


@dataclass(frozen=True, slots=True)
class Product:
    """Rows times a packed parameter of `depth` rows and `columns` columns, shared by `workers`.

    `shared` says whether workers share its columns; else each takes a part of the rows, and reads all of the parameter.
    """

    columns: int
    depth: int
    workers: int = 1
    shared: bool = True


@cache
def tile_cycles(machine: Machine, kernel: MicroKernel, depth: int, panel_rate: int, row_rate: int) -> float:
    """Return the cycles of one tile: f_local.

    `panel_rate` and `row_rate` are the bytes per cycle of the caches that the panel and the rows are read from. A step
    of the reduction takes a little longer than the slowest of: multiply-adds, loads, the next addition to a sum, and
    reading.
    """
    rates, sums = machine.rates, kernel.rows * kernel.vectors
    resources = (
        sums / rates.multiply_adds,
        (kernel.vectors + kernel.rows) / rates.loads,
        rates.latency,
        kernel.vectors * machine.vector_bytes / panel_rate + kernel.rows * _FLOAT_BYTES / row_rate,
    )
    step = float(sum(cycles**_OVERLAP for cycles in resources) ** (1 / _OVERLAP))
    return depth * step + sums + _TILE_CYCLES


def predicted_ns(machine: Machine, candidate: Candidate, rows: int, product: Product) -> float:
    """Return the time of a product of so many rows, in nanoseconds."""
    return panels_ns(machine, candidate.kernel.vectors, lambda _, own: candidate.tiles(own), rows, product)


def panels_ns(
    machine: Machine,
    vectors: int,
    tiles: Tiles,
    rows: int,
    product: Product,
    *,
    singly: bool = False,
) -> float:
    """Return the time of a product in panels of so many vectors and a last one of the rest, in nanoseconds.

    With `singly` the vectors of the rest are computed one after another.
    """
    if not rows:
        return 0.0
    lanes = machine.lanes(_FLOAT_BYTES)
    full, rest = divmod(-(-product.columns // lanes), vectors)
    last, times = (1, rest) if singly else (rest, 1)
    share = -(-rows // product.workers) if not product.shared else rows
    cycles = {
        each: _panel_cycles(machine, tiles(each, share), share, product, each)
        for each in (vectors, last)
        if each
    }
    if product.shared and product.workers > 1:
        total = -(-(full + bool(rest)) // product.workers) * cycles[vectors]
    else:
        total = full * cycles[vectors] + (times * cycles[last] if rest else 0.0)
    return total * 1000 / machine.rates.mhz + (_BARRIER_NS if product.workers > 1 else 0)


def _panel_cycles(
    machine: Machine, tiles: Mapping[int, int], rows: int, product: Product, vectors: int
) -> float:
    """Return the cycles of all tiles of one panel, the first of which brings the panel nearer."""
    depth = product.depth
    panel_bytes = vectors * machine.vector_bytes * depth
    weights = product.columns * depth * _FLOAT_BYTES
    first = machine.read_bytes(weights / product.workers if product.shared else weights)
    again = max(machine.read_bytes(2 * panel_bytes), first)
    row_rate = machine.read_bytes(rows * depth * _FLOAT_BYTES + panel_bytes)
    cycles = 0.0
    for number, (count, times) in enumerate(tiles.items()):
        kernel = MicroKernel(count, vectors)
        nearer = tile_cycles(machine, kernel, depth, again, row_rate)
        cycles += times * nearer
        if number == 0:
            cycles += tile_cycles(machine, kernel, depth, first, row_rate) - nearer
    return cycles


def packing_ns(machine: Machine, size: int, workers: int) -> float:
    """Return the time in which workers read and write `size` bytes each once, in nanoseconds."""
    return 2 * size / machine.read_bytes(2 * size) / workers * 1000 / machine.rates.mhz
