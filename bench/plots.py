"""A run as a picture: for each row a bar for each peer, and the roofline under them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from bench.peers import find
from bench.results import Row

_COLUMNS = 4
_WIDE, _TALL = 3.8, 2.8
"""Inches of one row's picture."""


def plot(rows: Sequence[Row], path: Path) -> None:
    """Draw milliseconds end to end, with the 10th and 90th percentile over batches, and write a PNG."""
    names = list(dict.fromkeys(times.peer for row in rows for times in row.peers))
    colors = dict(zip(names, plt.get_cmap("tab10").colors, strict=False))
    columns = min(_COLUMNS, max(1, len(rows)))
    height = -(-len(rows) // columns)
    figure, axes = plt.subplots(height, columns, figsize=(_WIDE * columns, _TALL * height), squeeze=False)
    for place, row in zip(axes.flat, rows, strict=False):
        _bars(place, row, colors)
    for place in axes.flat[len(rows) :]:
        place.set_axis_off()
    handles: list[Artist] = [Rectangle((0, 0), 1, 1, color=colors[name]) for name in names]
    handles += [Line2D([], [], color="black", linestyle="--"), Line2D([], [], color="gray", linestyle=":")]
    labels = [*(find(name).label for name in names), "roofline", "kernel alone"]
    across = 2 * columns
    figure.legend(handles, labels, loc="lower center", ncols=across, frameon=False, fontsize=8)
    below = 0.2 + 0.2 * -(-len(labels) // across)
    figure.tight_layout(rect=(0, below / (_TALL * height), 1, 1))
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _bars(axes: Axes, row: Row, colors: dict[str, tuple[float, float, float]]) -> None:
    for place, times in enumerate(row.peers):
        spread = times.end_to_end
        errors = [[(spread.median - spread.low) / 1000], [(spread.high - spread.median) / 1000]]
        axes.bar(
            place, spread.median / 1000, yerr=errors, color=colors[times.peer], ecolor="#555555", capsize=2
        )
        if times.kernel is not None:
            axes.hlines(
                times.kernel.median / 1000, place - 0.4, place + 0.4, color="white", linestyles="dotted"
            )
    axes.axhline(row.roofline / 1000, color="black", linewidth=1, linestyle="--")
    axes.set_yscale("log")
    axes.set_xticks([])
    axes.set_title(f"{row.workload} {row.hidden}, batch {row.batch}", fontsize=9)
    axes.set_ylabel("ms", fontsize=8)
    axes.tick_params(labelsize=8)
