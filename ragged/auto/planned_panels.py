"""The plan of a product that `ragged.auto.tile_panels` tiled, which a compiled kernel keeps, and its predicted time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from ragged.auto.cost import Product, packing_ns, panels_ns
from ragged.auto.shapes import SizeSum
from ragged.auto.tile_sizes import rows_of_panel, tiles_of
from ragged.ir.expr import Var
from ragged.machine import Machine

_FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class PanelExtents:
    """The extents of a product in one call: `batch` operands are packed, each for `repeats` products of `rows`."""

    batch: int
    repeats: int
    rows: int
    depth: int
    columns: int

    @property
    def times(self) -> int:
        """The number of products of rows and columns."""
        return self.batch * self.repeats


@dataclass(frozen=True, slots=True)
class PlannedPanels:
    """A dense product in panels of vectors and a last one of fewer: its loops, and when the columns are packed.

    Full panels have `vectors`; those of another one are computed one after another.
    `rows` are the loops that are split into tiles, `repeats` the loops around them. With `per_call` each call packs
    the operand, an input; else it was packed when parameters were bound. `tile` is the full tile that was asked for.
    `blocks` are the loops over blocks of rows, which workers share as well as panels. Up to `rows_in_order` rows read
    the operand where it stands: `tile_few_rows`.
    """

    name: str
    batch: tuple[SizeSum, ...]
    repeats: tuple[SizeSum, ...]
    rows: tuple[SizeSum, ...]
    depth: tuple[SizeSum, ...]
    columns: SizeSum
    vectors: int
    per_call: bool
    tile: tuple[int, int] | None = None
    blocks: tuple[Var, ...] = ()
    rows_in_order: int = 0

    def at(self, sizes: Mapping[str, int]) -> PanelExtents:
        """Return the extents at these sizes; raises `UserError` if one is no sum of sizes."""
        groups = (self.batch, self.repeats, self.rows, self.depth, (self.columns,))
        return PanelExtents(*(prod(max(0, each.at(sizes, self.name)) for each in group) for group in groups))

    def product(self, extents: PanelExtents, workers: int) -> Product:
        """Return the product of one repetition; workers share its columns only if there is one repetition.

        Where operands are a batch, `nanoseconds` shares the panels of all.
        """
        return Product(
            extents.columns, extents.depth, workers if extents.times == 1 and not self.batch else 1
        )

    def packed_bytes(self, machine: Machine, extents: PanelExtents) -> int:
        """Return the bytes that a call packs: whole vectors of columns of each operand."""
        return self._read_bytes(machine, extents) if self.per_call and not self._in_order(extents) else 0

    def _read_bytes(self, machine: Machine, extents: PanelExtents) -> int:
        lanes = machine.lanes(_FLOAT_BYTES)
        padded = -(-extents.columns // lanes) * lanes
        return extents.batch * extents.depth * padded * _FLOAT_BYTES

    def _in_order(self, extents: PanelExtents) -> bool:
        return 0 < extents.rows <= self.rows_in_order

    def nanoseconds(self, machine: Machine, extents: PanelExtents, workers: int) -> float:
        """Return the predicted time of all products on so many workers, packing included, in nanoseconds."""
        if not (extents.times and extents.rows and extents.columns):
            return 0.0
        once = panels_ns(
            machine,
            self.vectors,
            lambda vectors, rows: tiles_of(rows_of_panel(machine, vectors, self.tile), rows),
            extents.rows,
            self.product(extents, workers),
            singly=True,
        )
        shares = self._panels(machine, extents.columns) if self.batch else 1  # of each product
        busiest = -(-extents.times * shares // workers) / shares
        from_memory = self.per_call or self._in_order(extents)
        read = self._read_bytes(machine, extents) if from_memory else 0
        return busiest * once + packing_ns(machine, read, workers)

    def tiles(self, machine: Machine, extents: PanelExtents) -> dict[int, int]:
        """Return the number of tiles of the widest panel for each number of rows."""
        if self._in_order(extents):
            return {extents.rows: 1}
        vectors = -(-extents.columns // machine.lanes(_FLOAT_BYTES))
        most = rows_of_panel(machine, self.vectors if vectors >= self.vectors else 1, self.tile)
        return tiles_of(most, extents.rows)

    def _panels(self, machine: Machine, columns: int) -> int:
        """Return the number of panels of so many columns."""
        return -(-columns // (self.vectors * machine.lanes(_FLOAT_BYTES)))

    def panels(self, machine: Machine, extents: PanelExtents) -> str:
        """Return the panels of a call in words."""
        if self._in_order(extents):
            return "rows of the operand in order"
        full, rest = divmod(-(-extents.columns // machine.lanes(_FLOAT_BYTES)), self.vectors)
        last = [f"1 of {rest}"] if rest else []
        return "panels of vectors " + " + ".join([f"{full} x {self.vectors}"] * bool(full) + last)

    def summary(self, machine: Machine, workers: int) -> str:
        """Return the plan for all sizes as one line of text."""
        shape = [" * ".join(map(str, each)) or "1" for each in (self.rows, (self.columns,), self.depth)]
        around = [f" for each of {each}" for each in (*self.batch, *self.repeats)]
        kinds = dict.fromkeys((self.vectors, 1))
        tiles = ", ".join(f"{rows_of_panel(machine, each, self.tile)}x{each}" for each in kinds)
        in_order = f"up to {self.rows_in_order} rows without panels, " if self.rows_in_order else ""
        packed = "packed in each call" if self.per_call else "packed with the parameters"
        return (
            f"columns {self.name}: {' x '.join(shape)}{''.join(around)}, panels of {self.vectors} vectors {packed}, "
            f"tiles {tiles} and fewer rows, {in_order}{workers} workers"
        )


def blocks_of(panels: Iterable[PlannedPanels]) -> tuple[Var, ...]:
    """Return the loops over blocks of rows of all products."""
    return tuple(block for planned in panels for block in planned.blocks)
