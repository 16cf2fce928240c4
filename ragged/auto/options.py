"""Options of the default schedule, each with the reason for its default."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from ragged.auto.microkernel import most_rows
from ragged.errors import ScheduleError, UserError
from ragged.machine import Machine

_WHY = "why"
_ROWS, _VECTORS = 4, 4
"""Rows of a tile if its matrices stay in the first cache, and vectors of a tile. Others have as many rows as fit."""
_WIDE_ROWS, _WIDE_VECTORS = 5, 5
"""Rows and vectors of a wider tile, of as many accumulators, for columns that are multiples of it or nearly."""
_WIDE_GAIN = 0.95
"""The part of the time of other tiles that a wider one has to take at most."""
_CHAINS = 2
"""Accumulators of a tile of few vectors without parameters, as a multiple of those that hide the latency."""
_ROWS_PER_WORKER, _ROWS_PER_WORKER_ON_UNIT = 12, 8
"""Rows of a level per worker from which workers share rows; fewer on a matrix unit, where a row takes less time."""
_UNROLL, _LONG = 4, 64
"""Unroll factor of reductions of at least so many elements."""

REMAINDERS = ("exact", "balanced", "overlapping")
"""The values of `ragged.auto.microkernel.Remainder`."""
CATEGORIES = ("ranges", "votes")
"""How row counts are grouped: `ragged.auto.cover.covers`, or `ragged.auto.voting.voted_covers`."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ScheduleOptions:
    """Numbers and switches of the default loop schedule. None changes the order of a sum, nor a bit of a result.

    Attributes:
        tile: rows and vectors of a contraction's register tile; rows * vectors accumulators. None: (4, 4); (6, 4) for
            matrices larger than the first cache; (5, 5) where columns are multiples of five vectors, or nearly;
            (12, 2) for matrices larger than the second cache with few columns;
            up to 8 rows where no operand is a parameter and there are one or two vectors. Of a product of two inputs
            the vectors are those of a packed panel; None: four with 32 registers, else two, and as many rows as fit.
        remainder: what computes the rows that fill no tile, in a loop over rows of a number that is known at the call:
            "exact" tiles of fewer rows, the last two tiles "balanced", or a full tile "overlapping" the one before.
            None: as is predicted to be fastest; where `tile` is set, one row at a time.
        categories: how the numbers of rows are grouped into variants: "ranges" of them, chosen together for predicted
            time and bytes of code, or the "votes" of each for the tiles that suit it best (DietCode, section 4.3).
        row_vectors: vectors of a tile of one row.
        rows_per_tile: rows of a loop over rows that are computed together; None: as many as a tile has.
        slice_vectors: the most vectors of a column slice, the columns that a worker takes at a time.
        share_columns: whether workers share the columns of a level where there are enough, instead of its rows.
        min_rows_per_worker: rows of a level per worker from which workers share its rows, where the matrices fit into
            a worker's second cache. None: 12 (8 on a matrix unit), or fewer where so many rows read as many bytes as
            the matrices have.
        replicate_rows: whether each worker recomputes cheap producer rows to remove a barrier.
        rolling_buffers: whether temporaries of a level hold the rows of the longest level instead of all rows.
        gather_block_rows: rows per worker of an outermost loop that are gathered (copied) together before use.
        fuse_nests: whether dense nests that follow each other are fused at their common outer loops.
        per_node_matrices: whether contractions of parameter matrices with a row's own matrix use the layouts, fused
            row loops and slices of `order_storage`, `fuse_row_loops` and `fuse_slices`.
        tensorize: whether contractions of pairs of bfloat16 run on the processor's matrix unit, where it has one.
        reroll: whether contractions of one operand with several parameters (gates) become one nest over one table.
        reduction_unroll: elements per iteration of a reduction loop; fewer where they do not divide its length. None:
            4 for 64 elements or more, else 1.
        scalar_reduction_unroll: the same for reductions that have no vectorizable columns.
        max_stack_bytes: bytes of temporaries on the stack of rows that are computed together.

    Raises:
        UserError: a number is below 1, or a switch is not a bool.
    """

    tile: tuple[int, int] | None = field(
        default=None,
        metadata={
            _WHY: "16 accumulators hide the latency of a multiply-add; 24 read a large matrix less often"
        },
    )
    remainder: str | None = field(
        default=None, metadata={_WHY: "chosen with the tile by predicted time and bytes of code"}
    )
    categories: str = field(default="ranges", metadata={_WHY: "of all ranges, those of least predicted time"})
    row_vectors: int = field(default=8, metadata={_WHY: "8 accumulators hide the latency of a multiply-add"})
    rows_per_tile: int | None = field(default=None, metadata={_WHY: "a tile's rows run together"})
    slice_vectors: int = field(default=8, metadata={_WHY: "a slice is as wide as one or two tiles"})
    share_columns: bool = field(
        default=True, metadata={_WHY: "a worker's columns of the weights stay in its own cache"}
    )
    min_rows_per_worker: int | None = field(
        default=None, metadata={_WHY: "each row is read by one worker, instead of every row by all workers"}
    )
    replicate_rows: bool = field(
        default=True, metadata={_WHY: "recomputing a few rows takes less time than a barrier"}
    )
    rolling_buffers: bool = field(
        default=True, metadata={_WHY: "the next level reuses the same rows, which are in the cache"}
    )
    gather_block_rows: int = field(
        default=24, metadata={_WHY: "gathered rows and their results fit into the second cache"}
    )
    fuse_nests: bool = field(
        default=True, metadata={_WHY: "rows pass from nest to nest in caches, without a barrier"}
    )
    per_node_matrices: bool = field(
        default=True,
        metadata={_WHY: "reductions over contiguous elements vectorize, and each row is read once"},
    )
    tensorize: bool = field(
        default=True, metadata={_WHY: "one instruction adds 16 pairs for each of 16 rows and columns"}
    )
    reroll: bool = field(default=True, metadata={_WHY: "gates in one nest are one pass over one table"})
    reduction_unroll: int | None = field(
        default=None, metadata={_WHY: "a long reduction branches less often; code of a short one stays small"}
    )
    scalar_reduction_unroll: int = field(
        default=8,
        metadata={_WHY: "contiguous elements of a row are loaded as one vector instead of gathered"},
    )
    max_stack_bytes: int = field(default=96 * 1024, metadata={_WHY: "a worker's caches hold them"})

    def __post_init__(self) -> None:
        """Refuse values of the wrong type or range."""
        tile: object = (_ROWS, _VECTORS) if self.tile is None else self.tile
        if not (isinstance(tile, tuple) and len(tile) == 2 and all(map(_is_count, tile))):
            raise UserError(f"options: tile={tile!r} is not two numbers from 1 up", fix="(rows, vectors)")
        if self.remainder is not None and self.remainder not in REMAINDERS:
            raise UserError(f"options: remainder={self.remainder!r} is none of {', '.join(REMAINDERS)}")
        if self.categories not in CATEGORIES:
            raise UserError(f"options: categories={self.categories!r} is none of {', '.join(CATEGORIES)}")
        counts = {
            name: getattr(self, name)
            for name in (
                "row_vectors",
                "rows_per_tile",
                "slice_vectors",
                "min_rows_per_worker",
                "gather_block_rows",
                "reduction_unroll",
                "scalar_reduction_unroll",
                "max_stack_bytes",
            )
        }
        for name, value in counts.items():
            if not _is_count(value) and (
                value is not None or name not in ("rows_per_tile", "reduction_unroll", "min_rows_per_worker")
            ):
                raise UserError(f"options: {name}={value!r} is not a number from 1 up")
        for name in (
            "share_columns",
            "replicate_rows",
            "rolling_buffers",
            "fuse_nests",
            "per_node_matrices",
            "tensorize",
            "reroll",
        ):
            if type(getattr(self, name)) is not bool:
                raise UserError(f"options: {name}={getattr(self, name)!r} is neither True nor False")

    def tile_on(self, machine: Machine, vectors: int = _VECTORS) -> tuple[int, int]:
        """Return the most rows and vectors of a tile on a machine, for columns of so many vectors."""
        if self.tile is not None:
            return self.tile
        held = _WIDE_ROWS * _WIDE_VECTORS + _WIDE_VECTORS + 1  # with an element of a row
        if held < machine.vector_registers and vectors > _VECTORS:
            least = min(tiles_cost(vectors, width) for width in range(1, _VECTORS + 1))
            if tiles_cost(vectors, _WIDE_VECTORS) <= _WIDE_GAIN * least:
                return _WIDE_ROWS, _WIDE_VECTORS
        return max(_ROWS, most_rows(machine, _VECTORS)), _VECTORS

    def tile_rows(self, machine: Machine, matrices: int, vectors: int, row: int) -> tuple[int, ...]:
        """Return candidates for the rows of a tile, best first.

        `matrices` and `row` are bytes: of the parameters in the contractions, and of what one row of them reads
        besides. `vectors` are those of the longest dimension of columns.
        """
        if self.rows_per_tile is not None:
            return (self.rows_per_tile,)
        rows, most_vectors = self.tile_on(machine, vectors)
        if self.tile is not None:
            return (rows,)
        if not matrices:
            sums = machine.accumulators
            return (max(_ROWS, min(sums, -(-_CHAINS * sums // vectors))), _ROWS)
        if rows == _ROWS:
            return (rows,)
        few_columns = 2 * vectors <= most_vectors
        if matrices > machine.l2_bytes and few_columns and 2 * rows * row <= machine.l1_bytes // 2:
            return (2 * rows, rows, _ROWS)
        return (rows, _ROWS) if matrices > machine.l1_bytes else (_ROWS,)

    def on_unit(self, machine: Machine) -> bool:
        """Return whether contractions of pairs use the machine's matrix unit."""
        return machine.matrix_unit and self.tensorize

    def rows_per_worker(self, matrices: int, rows: int, *, on_unit: bool = False) -> int:
        """Return the rows of a level per worker from which workers share rows.

        `matrices` and `rows` are bytes: of all parameters, and of what one row reads of earlier rows.
        """
        most = _ROWS_PER_WORKER_ON_UNIT if on_unit else _ROWS_PER_WORKER
        return self.min_rows_per_worker or max(1, min(most, matrices // max(1, rows)))

    def unroll_for(self, length: int) -> int:
        """Return the largest unroll factor of a reduction of `length` elements."""
        if self.reduction_unroll is not None:
            return self.reduction_unroll
        return _UNROLL if length >= _LONG else 1

    def check(self, machine: Machine) -> None:
        """Raise `ScheduleError` if a tile has more accumulators than the machine has registers."""
        rows, vectors = self.tile_on(machine)
        for name, held, shape in (
            ("tile", rows * vectors, f"{rows} rows of {vectors} vectors"),
            ("row_vectors", self.row_vectors, "a row"),
        ):
            if held > machine.vector_registers:
                raise ScheduleError(
                    f"options: {name}={(rows, vectors) if name == 'tile' else held} does not fit in registers",
                    because=f"{shape} are {held} accumulators; the machine has {machine.vector_registers} registers",
                    fix="fewer rows, or fewer vectors",
                )

    def __repr__(self) -> str:
        """Return the call that constructs the options, without defaults."""
        changed = (f"{name}={value!r}" for name, value in self.changed().items())
        return f"{type(self).__name__}({', '.join(changed)})"

    def changed(self) -> dict[str, Any]:
        """Return the options that are not the default, by name."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {each.name: values[each.name] for each in fields(self) if values[each.name] != each.default}

    def notes(self) -> Iterator[str]:
        """Yield a comment for each option that is not the default: its value, the default and its reason."""
        changed = self.changed()
        for each in fields(self):
            if each.name in changed:
                value = changed[each.name]
                yield f"# {each.name}={value!r} is set; {each.default!r} by default: {each.metadata[_WHY]}"


def tiles_cost(vectors: int, width: int) -> float:
    """Return the cost of so many vectors of columns in tiles of `width`, the last of which is as wide, in vectors.

    A tile costs half a vector more for the rows that it reads.
    """
    return -(-vectors // width) * (width + 0.5)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 1


DEFAULT = ScheduleOptions()
"""The options where none are set."""
