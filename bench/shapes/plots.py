"""A run as pictures: for each workload the share of peak over its shapes, a line for each peer."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

from bench.peers.shapes import EVERY, find
from bench.shapes.results import ShapesResult

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
    columns = min(_COLUMNS, max(1, len(keys)))
    height = -(-len(keys) // columns)
    figure, grid = plt.subplots(
        height, columns, figsize=(_WIDE * columns, _TALL * height + 0.6), squeeze=False
    )
    for axes in grid.flat[len(keys) :]:
        axes.set_axis_off()
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
    figure.savefig(path, dpi=110)
    plt.close(figure)
