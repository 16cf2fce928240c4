"""A run as a picture: for each row a bar for each peer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from bench.operators.results import Row
from bench.peers.ragged import find

_COLUMNS = 5
_WIDE, _TALL = 2.8, 2.6
"""Inches of one row's picture."""


def plot(rows: Sequence[Row], peak: float, path: Path) -> None:
    """Draw milliseconds with the 10th and 90th percentile, and a line where the peak in GFLOP/s is; write a PNG."""
    names = list(dict.fromkeys(times.peer for row in rows for times in row.peers))
    colors = dict(zip(names, plt.get_cmap("tab20").colors, strict=False))
    columns = min(_COLUMNS, max(1, len(rows)))
    height = max(1, -(-len(rows) // columns))
    figure, axes = plt.subplots(height, columns, figsize=(_WIDE * columns, _TALL * height), squeeze=False)
    for place, row in zip(axes.flat, rows, strict=False):
        _bars(place, row, peak, colors)
    for place in axes.flat[len(rows) :]:
        place.set_axis_off()
    handles = [Rectangle((0, 0), 1, 1, color=colors[name]) for name in names]
    labels = [find(name).label for name in names]
    figure.legend(handles, labels, loc="lower center", ncols=columns, frameon=False, fontsize=8)
    below = 0.2 + 0.2 * -(-len(labels) // columns)
    figure.tight_layout(rect=(0, below / (_TALL * height), 1, 1))
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _bars(axes: Axes, row: Row, peak: float, colors: dict[str, tuple[float, float, float]]) -> None:
    for place, times in enumerate(row.peers):
        spread = times.took
        errors = [[(spread.median - spread.low) / 1000], [(spread.high - spread.median) / 1000]]
        axes.bar(
            place, spread.median / 1000, yerr=errors, color=colors[times.peer], ecolor="#555555", capsize=2
        )
    if row.flops:
        axes.axhline(row.flops / peak / 1e6, color="black", linewidth=1, linestyle="--")
    axes.set_xticks([])
    axes.set_title(f"{row.operator}, {row.shape}", fontsize=9)
    axes.set_ylabel("ms", fontsize=8)
    axes.tick_params(labelsize=8)


def plot_padding(bars: Sequence[tuple[str, float, float]], path: Path) -> None:
    """Draw the work padded in full and padded a little, as multiples of the work without padding; write a PNG."""
    figure, axes = plt.subplots(figsize=(max(4.0, 0.7 * len(bars)), 3))
    places = range(len(bars))
    axes.bar([place - 0.2 for place in places], [padded for _, padded, _ in bars], 0.4, label="padded")
    axes.bar([place + 0.2 for place in places], [partly for _, _, partly in bars], 0.4, label="a little")
    axes.axhline(1, color="black", linewidth=1, linestyle="--")
    axes.set_xticks(list(places), [name for name, _, _ in bars], fontsize=8)
    axes.set_ylabel("of the work without padding", fontsize=8)
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
