"""The plans that a compiled kernel keeps: the variants of its loops over rows, and their predicted times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from ragged.auto.cost import Product, predicted_ns
from ragged.auto.cover import Cover, Variant
from ragged.auto.planned_panels import PanelExtents, PlannedPanels
from ragged.auto.shapes import SizeSum
from ragged.machine import Machine

NO_PRODUCTS = "no products: none of this kernel is tiled by its sizes; see f.explain()"
_SAMPLES = (1, 8, 64, 512)
"""Row counts of the times that the table of variants shows, where they are among the variant's."""


@dataclass(frozen=True, slots=True)
class PlannedLoop:
    """A loop over rows, and what is planned for it."""

    name: str
    extent: SizeSum
    products: tuple[Product, ...]
    vectors: int
    cover: Cover
    points: tuple[Cover, ...]


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """One product of a call: its rows, the variant that computes them, its tiles by their rows, and predicted time.

    It is computed `times` times, which the time includes, as it does packing `packed_bytes` of an input.
    """

    loop: str
    rows: int
    product: Product
    variant: str
    tiles: dict[int, int]
    nanoseconds: float
    times: int = 1
    packed_bytes: int = 0

    def __str__(self) -> str:
        tiles = " + ".join(f"{times} x {rows}" for rows, times in self.tiles.items()) or "none"
        shape = f"{self.rows} x {self.product.columns} x {self.product.depth}"
        shape += f", {self.times} times" if self.times != 1 else ""
        packed = f", {self.packed_bytes} bytes packed" if self.packed_bytes else ""
        time = f"{self.nanoseconds / 1000:.1f} us"
        return f"{self.loop}: {shape}, {self.variant}: tiles of rows {tiles}{packed}; {time}"


@dataclass(frozen=True, slots=True)
class ShapePlan:
    """What a call at these sizes runs, and its predicted time in nanoseconds on `workers` cores of `gflops` each."""

    sizes: dict[str, int]
    parts: tuple[PlannedPart, ...]
    workers: int
    core_gflops: float

    @property
    def nanoseconds(self) -> float:
        """The predicted time of all products."""
        return sum(each.nanoseconds for each in self.parts)

    @property
    def gflops(self) -> float:
        """The predicted rate, a multiply-add as two operations; 0 for no rows."""
        flops = sum(
            2 * each.times * each.rows * each.product.columns * each.product.depth for each in self.parts
        )
        return flops / self.nanoseconds if self.nanoseconds else 0.0

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes.items()) or "all sizes"
        if not self.parts:
            return f"{sizes}: {NO_PRODUCTS}"
        peak = self.gflops / (self.workers * self.core_gflops)
        first = f"{sizes}: {self.nanoseconds / 1000:.1f} us predicted, {self.gflops:.0f} GFLOP/s, {peak:.0%} of peak"
        return "\n".join((first, *(f"  {each}" for each in self.parts)))


@dataclass(frozen=True, slots=True)
class VariantTable:
    """The planned loops of a kernel, for the machine and the number of workers that it was compiled for."""

    machine: Machine
    workers: int
    loops: tuple[PlannedLoop, ...]
    panels: tuple[PlannedPanels, ...] = ()

    def at(self, sizes: Mapping[str, int]) -> ShapePlan:
        """Return what a call at these sizes runs; raises `UserError` if an extent is no sum of sizes."""
        rows = [part for loop in self.loops for part in self._parts(loop, loop.extent.at(sizes, loop.name))]
        panels = [self._panels(each, each.at(sizes)) for each in self.panels]
        return ShapePlan(dict(sizes), (*rows, *panels), self.workers, self.machine.gflops)

    def _panels(self, planned: PlannedPanels, extents: PanelExtents) -> PlannedPart:
        product = planned.product(extents, self.workers)
        return PlannedPart(
            planned.name,
            extents.rows,
            product,
            planned.panels(self.machine, extents),
            planned.tiles(self.machine, extents),
            planned.nanoseconds(self.machine, extents, self.workers),
            extents.times,
            planned.packed_bytes(self.machine, extents),
        )

    def _parts(self, loop: PlannedLoop, rows: int) -> list[PlannedPart]:
        variant = loop.cover.at(rows)
        candidate = variant.candidate
        return [
            PlannedPart(
                loop.name,
                rows,
                product,
                str(candidate),
                candidate.tiles(rows),
                predicted_ns(self.machine, candidate, rows, product),
            )
            for product in loop.products
        ]

    def __str__(self) -> str:
        """Return the variants of each loop, and the points of the trade-off between time and bytes of code."""
        lines = [line for loop in self.loops for line in self._lines(loop)]
        panels = [each.summary(self.machine, self.workers) for each in self.panels]
        return "\n".join((*lines, *panels)) or "no variants"

    def _lines(self, loop: PlannedLoop) -> list[str]:
        shapes = ", ".join(f"{each.columns} x {each.depth}" for each in loop.products)
        panels = f"panels of {loop.vectors} vectors, {self.workers} workers"
        lines = [f"loop {loop.name}: {loop.extent} rows by {shapes}, {panels}"]
        least = 0
        for variant in loop.cover.variants:
            lines.append(self._variant(loop, variant, least))
            least = variant.below or 0
        share = 1 / loop.cover.loss
        lines.append(
            f"  {loop.cover.code_bytes * len(loop.products)} bytes of code, {share:.1%} of the best predicted"
        )
        lines.append("  trade-off, each by code_bytes=:")
        for point in loop.points:
            chosen = "; ".join(map(str, point.variants))
            lines.append(f"    {point.code_bytes * len(loop.products):>6} {1 / point.loss:>6.1%}  {chosen}")
        return lines

    def _variant(self, loop: PlannedLoop, variant: Variant, least: int) -> str:
        samples = [
            rows for rows in _SAMPLES if rows >= least and (variant.below is None or rows < variant.below)
        ]
        times = [f"{rows}: {self._microseconds(loop, variant, rows):.1f}" for rows in samples or [least]]
        size = variant.code_bytes(self.machine) * len(loop.products)
        end = "" if variant.below is None else f" < {variant.below}"
        return f"  {least} <= rows{end}: {variant.candidate}, {size} bytes, us at rows {', '.join(times)}"

    def _microseconds(self, loop: PlannedLoop, variant: Variant, rows: int) -> float:
        found = (predicted_ns(self.machine, variant.candidate, rows, product) for product in loop.products)
        return sum(found) / 1000


def table_to_json(table: VariantTable) -> str:
    """Return a table as JSON text, a listing of a kernel."""
    return msgspec.json.encode(table).decode()


def table_from_json(text: str) -> VariantTable:
    """Return the table that `table_to_json` wrote."""
    return msgspec.json.decode(text, type=VariantTable)
