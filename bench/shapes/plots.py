"""A run as pictures: for each workload the share of peak over its shapes, a line for each peer."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench.peers.shapes import EVERY, find
from bench.shapes.results import Figures, ShapesResult

_COLUMNS, _WIDE, _TALL = 3, 4.6, 3.0
"""Plots in a row, and inches of each."""


def plot(result: ShapesResult, path: Path) -> None:
    """Draw the median's share of the measured peak for each shape, and write a PNG."""
    peaks = {each.workers: each.gflops for each in result.ceilings}
    keys = list(dict.fromkeys((row.workload, row.threads) for row in result.rows))
    peers = list(dict.fromkeys(each.peer for row in result.rows for each in row.peers))
    order = [*(name for name in EVERY if name in peers), *(peer for peer in peers if peer not in EVERY)]
    palette = plt.get_cmap("tab20").colors
    colors = {peer: palette[place % len(palette)] for place, peer in enumerate(order)}
    drawn = [] if result.figures is None else [_draw_categories, _draw_grid]
    columns = min(_COLUMNS, max(1, len(keys) + len(drawn)))
    height = -(-(len(keys) + len(drawn)) // columns)
    figure, grid = plt.subplots(
        height, columns, figsize=(_WIDE * columns, _TALL * height + 0.6), squeeze=False
    )
    for axes in grid.flat[len(keys) + len(drawn) :]:
        axes.set_axis_off()
    for axes, draw in zip(grid.flat[len(keys) :], drawn, strict=False):
        assert result.figures is not None
        draw(axes, result.figures)
        axes.tick_params(labelsize=7)
        axes.legend(fontsize=7, frameon=False)
    for axes, key in zip(grid.flat, keys, strict=False):
        rows = [row for row in result.rows if (row.workload, row.threads) == key]
        for peer in order:
            points = [
                (place, row.flops / each.took.median / peaks[key[1]] / 10)
                for place, row in enumerate(rows)
                for each in row.peers
                if each.peer == peer
            ]
            if points:
                style = {"marker": "."} if len(points) < 20 else {}
                axes.plot(*zip(*points, strict=True), color=colors[peer], linewidth=1.2, **style)
        step = max(1, len(rows) // 8)
        axes.set_xticks(
            range(0, len(rows), step), [row.label for row in rows[::step]], fontsize=7, rotation=30
        )
        axes.set_ylim(0, 105)
        axes.set_title(f"{key[0]}, {key[1]} threads, % of peak", fontsize=9)
        axes.tick_params(labelsize=7)
    lines = [plt.Line2D([], [], color=colors[peer]) for peer in order]
    figure.legend(
        lines, [find(peer).label for peer in order], loc="lower center", ncols=4, frameon=False, fontsize=8
    )
    figure.tight_layout(rect=(0, 0.6 / (_TALL * height + 0.6), 1, 1))
    figure.savefig(path, dpi=64)
    plt.close(figure)


def _draw_categories(axes: Axes, of: Figures) -> None:
    """Draw DietCode's figure 12: what bytes of code buy, by votes and chosen jointly."""
    for name, found, style in (("by votes", of.voted, "o"), ("jointly", of.joint, ".-")):
        axes.plot(
            [each.code_bytes for each in found], [100 * each.share for each in found], style, label=name
        )
    axes.set_xscale("log")
    axes.set_title("figure 12: % of the best tiles over bytes of code", fontsize=9)


def _draw_grid(axes: Axes, of: Figures) -> None:
    """Draw DietCode's figure 13: the throughput of one tile over the size of the grid."""
    tiles = [each.tiles for each in of.grid]
    axes.plot(tiles, [each.gflops for each in of.grid], ".-", label="measured")
    axes.plot(tiles, [each.predicted or float("nan") for each in of.grid], "--", label="predicted")
    axes.set_xscale("log")
    axes.set_title(f"figure 13: GFLOP/s over tiles {of.tile}, {of.threads} threads", fontsize=9)
