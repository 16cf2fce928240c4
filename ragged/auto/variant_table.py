"""The plans that a compiled kernel keeps: the variants of its loops over rows, and their predicted times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from ragged.auto.cost import Product, predicted_ns
from ragged.auto.cover import Cover, Variant
from ragged.errors import UserError
from ragged.machine import Machine

_SAMPLES = (1, 8, 64, 512)
"""Row counts of the times that the table of variants shows, where they are among the variant's."""


@dataclass(frozen=True, slots=True)
class PlannedLoop:
    """A loop over rows: there are `constant` plus `sizes[name]` times each size; `sizes` is None for another extent."""

    name: str
    sizes: dict[str, int] | None
    constant: int
    products: tuple[Product, ...]
    vectors: int
    cover: Cover
    points: tuple[Cover, ...]

    def rows(self, sizes: Mapping[str, int]) -> int:
        """Return the number of rows at these sizes; raises `UserError` if one is missing."""
        if self.sizes is None:
            raise UserError(
                f"plan: the rows of '{self.name}' are no sum of sizes",
                because="lengths decide how many there are",
            )
        missing = [name for name in self.sizes if name not in sizes]
        if missing:
            raise UserError(f"plan: no size '{missing[0]}'", fix=f"f.plan({missing[0]}=...)")
        return self.constant + sum(many * sizes[name] for name, many in self.sizes.items())


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """One product of a call: its rows, the variant that computes them, its tiles by their rows, and predicted time."""

    loop: str
    rows: int
    product: Product
    variant: str
    tiles: dict[int, int]
    nanoseconds: float

    def __str__(self) -> str:
        tiles = " + ".join(f"{times} x {rows}" for rows, times in self.tiles.items()) or "none"
        shape = f"{self.rows} x {self.product.columns} x {self.product.depth}"
        return (
            f"{self.loop}: {shape}, {self.variant}: tiles of rows {tiles}; {self.nanoseconds / 1000:.1f} us"
        )


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
        flops = sum(2 * each.rows * each.product.columns * each.product.depth for each in self.parts)
        return flops / self.nanoseconds if self.nanoseconds else 0.0

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes.items())
        peak = self.gflops / (self.workers * self.core_gflops)
        first = f"{sizes}: {self.nanoseconds / 1000:.1f} us predicted, {self.gflops:.0f} GFLOP/s, {peak:.0%} of peak"
        return "\n".join((first, *(f"  {each}" for each in self.parts)))


@dataclass(frozen=True, slots=True)
class VariantTable:
    """The planned loops of a kernel, for the machine and the number of workers that it was compiled for."""

    machine: Machine
    workers: int
    loops: tuple[PlannedLoop, ...]

    def at(self, sizes: Mapping[str, int]) -> ShapePlan:
        """Return what a call at these sizes runs; raises `UserError` if a size is missing or nothing was planned."""
        if not self.loops:
            raise UserError(
                "plan: nothing of this kernel was planned by its sizes",
                because="that is for products of rows of a size known at the call with parameters; see f.explain()",
            )
        parts = tuple(part for loop in self.loops for part in self._parts(loop, loop.rows(sizes)))
        return ShapePlan(dict(sizes), parts, self.workers, self.machine.gflops)

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
        return "\n".join(line for loop in self.loops for line in self._lines(loop)) or "no variants"

    def _lines(self, loop: PlannedLoop) -> list[str]:
        sizes = loop.sizes or {}
        terms = [name if many == 1 else f"{many} * {name}" for name, many in sizes.items()]
        rows = " + ".join([*terms, str(loop.constant)] if loop.constant else terms) or "all"
        shapes = ", ".join(f"{each.columns} x {each.depth}" for each in loop.products)
        lines = [
            f"loop {loop.name}: {rows} rows by {shapes}, panels of {loop.vectors} vectors, {self.workers} workers"
        ]
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
