"""A run as a picture: for each row the time of each peer over ours."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

from bench.peers.tc import OWN, find
from bench.tc.results import TcResult
from bench.tc.workloads import RANDOM


def plot(result: TcResult, path: Path) -> None:
    """Draw the medians over ours, above 1 where ours is faster, and write a PNG."""
    rows = [row for row in result.rows if row.group != RANDOM and row.of(OWN) is not None]
    peers = list(dict.fromkeys(each.peer for row in rows for each in row.peers if each.peer != OWN))
    figure, axes = plt.subplots(figsize=(max(6.0, 0.55 * len(rows)), 5))
    width = 0.8 / max(1, len(peers))
    for place, peer in enumerate(peers):
        points = [
            (number + place * width, times.p50 / own.p50)
            for number, row in enumerate(rows)
            if (times := row.of(peer)) is not None and (own := row.of(OWN)) is not None
        ]
        axes.bar([x for x, _ in points], [y for _, y in points], width, label=find(peer).label)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_ylabel("time over ours")
    axes.set_xticks(range(len(rows)), [row.label for row in rows], rotation=60, ha="right", fontsize=7)
    if peers:
        axes.legend(fontsize=7, ncols=3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
