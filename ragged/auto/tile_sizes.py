"""Sizes of register tiles: how many rows, vectors and lanes of a contraction are computed at once."""

from __future__ import annotations

from ragged.analysis.contractions import Contraction, extent_of
from ragged.analysis.masked_lanes import MASKED_LANES
from ragged.auto.options import ScheduleOptions
from ragged.ir.dtype import DType
from ragged.ir.stmt import For
from ragged.machine import Machine

_SEVERAL = 4
"""From so many full tiles on, a smaller tile for the remainder costs less than tiles of fewer rows throughout."""

_PANEL_ROWS = (12, 8, 6, 4, 3, 2)
"""Rows of a tile of 1 to 4 vectors: as many as there are accumulators, 24 rows being tiles of each kind. More than 12
rows exceed the ways of the L1 cache where they are a power of two of bytes apart."""

_BYTES_WITHOUT_MASKS = 16
"""Bytes of vectors, SSE's and NEON's, of which no part can be loaded alone."""
_NEARLY = 1.2
"""So much longer than multiply-adds alone may tiles of one vector take."""
_REMAINDER_ROWS = 4
"""The most rows of a tile for a remainder: tiles of 4, 2 and 1 are less code than halves of 12, and few are of one."""


def rows_of_tile(contraction: Contraction, machine: Machine, options: ScheduleOptions) -> int:
    """Return the rows of a contraction's tile: more where its columns are few.

    With rows for several tiles there may be a remainder; else the number divides the rows.
    """
    if contraction.vector is None or contraction.rows is None or contraction.rows is contraction.vector:
        return 1
    vectors = vectors_of(contraction, machine)
    most_rows, most_vectors = options.tile_on(machine, vectors)
    most = most_rows * max(1, most_vectors // vectors)
    return most if extent_of(contraction.rows) >= _SEVERAL * most else dividing_rows(contraction, most)


def vectors_of(contraction: Contraction, machine: Machine) -> int:
    """Return the number of vectors that hold a contraction's columns; of scalars if it is not vectorized."""
    loop = contraction.vector if contraction.vector is not None else contraction.outputs[-1]
    lanes, short = vector_of(contraction, machine)
    return -(-extent_of(loop) // lanes) if short else num_vectors(extent_of(loop), lanes)


def vector_of(contraction: Contraction, machine: Machine) -> tuple[int, bool]:
    """Return the lanes of a contraction's vectors, 1 if it has none, and whether the last one has fewer columns.

    That is so of float32, and of packed pairs, where vectors of fewer lanes for the columns that are left over would be
    more vectors. What is not packed is read by masked loads, which processors with vectors of 16 bytes do not have.
    """
    if contraction.vector is None or contraction.vector_operand is None:
        return 1, False
    extent, most = extent_of(contraction.vector), machine.lanes(4)
    whole = next((lanes for lanes in MASKED_LANES if extent <= lanes < most), most)
    narrower = narrowed(most, extent)
    fewer = -(-extent // whole) < num_vectors(extent, narrower)
    dtype, masked = contraction.vector_operand.dtype, machine.vector_bytes > _BYTES_WITHOUT_MASKS
    packed = contraction.packed is not None and dtype in (DType.FLOAT32, DType.BFLOAT16X2)
    readable = packed or (masked and dtype is DType.FLOAT32)
    if fewer and readable and whole in MASKED_LANES:
        return whole, True
    return narrower, False


def rows_of_packing(contraction: Contraction, rows: int, machine: Machine, options: ScheduleOptions) -> int:
    """Return the rows by which a tile's columns are chosen: those of full tiles, also for the remainder.

    One packing of a parameter then serves both.
    """
    most, _ = options.tile_on(machine, vectors_of(contraction, machine))
    few = (
        contraction.packed is not None and contraction.rows is not None and extent_of(contraction.rows) < most
    )
    return most if few else rows


def loop_over_gates(contraction: Contraction, columns: For, sums: int, machine: Machine) -> For | None:
    """Return a loop over contractions of the same rows, a cell's gates, to be one tile; None if there is none.

    One gate alone has too few accumulators to hide the latency of multiply-adds. Those of all gates, with a vector of
    columns of each, must fit in registers.
    """
    others = [each for each in contraction.outputs if each is not contraction.rows and each is not columns]
    if contraction.packed is None or len(others) != 1 or sums >= machine.accumulators:
        return None
    count = extent_of(others[0])
    held = count * sums + count + 1
    return others[0] if count > 1 and held <= machine.vector_registers else None


def panel_vectors(machine: Machine, tile: tuple[int, int] | None = None) -> int:
    """Return the vectors of a panel, the columns of a packed operand that a tile computes at once: those of `tile`."""
    if tile is not None:
        return tile[1]
    return 4 if machine.vector_registers >= 32 else 2


def rows_of_panel(machine: Machine, vectors: int, tile: tuple[int, int] | None = None) -> int:
    """Return the rows of a tile of so many vectors: those of `tile` if it has as many, else as many as fit.

    Its accumulators, a vector of each column block and a broadcast element of the other operand stay in registers.
    """
    if tile is not None and vectors == tile[1]:
        return tile[0]
    fitting = (rows for rows in _PANEL_ROWS if rows * vectors + vectors < machine.vector_registers)
    return next(fitting, 1)


def rows_of_remainder(rows: int) -> int:
    """Return the rows of the next smaller tile, for rows that do not fill tiles of so many: 4, 2 or 1."""
    return min(_REMAINDER_ROWS, 1 << ((rows - 1).bit_length() - 1))


def tiles_of(most: int, rows: int) -> dict[int, int]:
    """Return the number of tiles for each number of rows: `most` rows, then 4, 2 and 1 for the rest."""
    tiles = {}
    while rows:
        full, rows = divmod(rows, most)
        if full:
            tiles[most] = full
        most = rows_of_remainder(most) if most > 1 else 1
    return tiles


def rows_of_loop(extent: int, most: int, vectors: int, accumulators: int) -> int:
    """Return the rows of the tiles that a loop of `extent` rows is fastest in: up to `most`, as many as can be.

    A tile takes the time of its multiply-adds, or their latency, that `accumulators` of them hide.
    """
    return min(
        range(max(min(most, extent), 1), 0, -1), key=lambda rows: _slots(extent, rows, vectors, accumulators)
    )


def fills_tiles(extent: int, most: int, vectors: int, accumulators: int) -> bool:
    """Return whether a loop's rows are tiled without those of the loop around it.

    Rows of several loops are read by an address each: an operand of one multiply-add where a tile has one vector, and
    then tiles of one loop may take longer than the multiply-adds of all rows.
    """
    rows = rows_of_loop(extent, most, vectors, accumulators)
    return extent % most == 0 or (
        vectors == 1 and _slots(extent, rows, vectors, accumulators) <= _NEARLY * extent
    )


def _slots(extent: int, rows: int, vectors: int, accumulators: int) -> int:
    """Return the multiply-adds that could be begun while the tiles of so many rows, and of what they leave, run."""
    tiles = tiles_of(rows, extent).items()
    return sum(count * max(of_tile * vectors, accumulators) for of_tile, count in tiles)


def dividing_rows(contraction: Contraction, most: int) -> int:
    """Return the largest number of rows up to `most` that divides all rows."""
    if most == 1 or contraction.rows is None:
        return 1
    return next(count for count in range(most, 0, -1) if extent_of(contraction.rows) % count == 0)


def narrowed(lanes: int, extent: int) -> int:
    """Return `lanes`, halved until the extent fills them."""
    while lanes > extent:
        lanes //= 2
    return lanes


def num_vectors(extent: int, lanes: int) -> int:
    """Return the number of vectors that hold the columns, the last ones narrower."""
    return extent // lanes + (extent % lanes).bit_count()


def vectors_at_once(count: int, most: int) -> int:
    """Return how many of `count` vectors to compute at once: a divisor, unless the largest one is small."""
    even = max(n for n in range(1, most + 1) if count % n == 0)
    return even if 2 * even >= min(count, most) else min(count, most)
