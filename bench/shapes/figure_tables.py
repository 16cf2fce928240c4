"""DietCode's figures 12 to 14 as tables in Markdown; figures 7 and 10 are the sweep `remainders`."""

from __future__ import annotations

from collections.abc import Iterator

from bench.markdown import markdown_table
from bench.shapes.results import Figures


def figure_tables(of: Figures | None) -> Iterator[str]:
    """Yield a section for each figure, none without figures."""
    if of is None:
        return
    cells = [
        [
            "jointly" if each.choices is None else f"by votes, k = {each.choices}",
            str(each.variants),
            f"{each.code_bytes:,}",
            f"{each.share:.1%}",
        ]
        for each in (*of.voted, *of.joint)
    ]
    said = "Predicted, for all numbers of rows up to the longest T; by votes for the least k of each."
    heads = ("categories", "variants", "bytes of code", "share of the best tile at each number of rows")
    yield "\n".join(["## DietCode, figure 12", "", said, "", *markdown_table(heads, cells)])
    cells = [
        [f"{each.tiles:,}", f"{each.gflops:.1f}", "" if each.predicted is None else f"{each.predicted:.1f}"]
        for each in of.grid
    ]
    said = f"The tile {of.tile}, {of.threads} threads: throughput over the size of the grid."
    columns = ("tiles", "GFLOP/s", "predicted")
    yield "\n".join(["## DietCode, figure 13", "", said, "", *markdown_table(columns, cells)])
    cells = [
        [
            f"{each.rows:,}",
            *(f"{factor:.3f}" for factor in (each.spatial, each.padding)),
            *(f"{rate:.1f}" for rate in (each.local, each.predicted, each.measured)),
        ]
        for each in of.factors
    ]
    said = "Equation 3 with f_local measured on the largest grid, and k = 1: a model without caches."
    factors = ("rows", "f_spatial", "f_pad", "f_local, GFLOP/s", "predicted", "measured")
    yield "\n".join(["## DietCode, figure 14", "", said, "", *markdown_table(factors, cells)])
