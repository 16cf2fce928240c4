"""What padding costs an encoder layer, computed from lengths: its share of the work and of the memory.

    python -m bench.padding [--sets NAME ...] [--batches N,N] [--bulk N] [--each N] [--json FILE] [--plot FILE]

CoRa's figures 22 and 19. Work: operations of the layer's products, as multiples of those that no padding is part of;
padded in full, every sequence to its batch's longest, and padded a little, as tiles need it: all rows together to a
multiple of `--bulk`, each sequence's attention matrix to one of `--each`. Memory: bytes of all activations of a forward
pass, padded in full and not at all, and without scores where attention does not materialise them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rich import box
from rich.table import Table

from bench.command import check_names, numbers, page, write_json
from bench.lengths import LENGTH_SETS, Lengths, draw_batches
from bench.operators.cases import SEED
from bench.operators.problems import Sizes
from bench.operators.results import Padding
from bench.operators.work import (
    Extent,
    activation_bytes,
    layer_flops,
    padded_extent,
    ragged_extent,
)

SCHEMA = 1
_WIDTH = 110
_ROUNDS = 16


def compute(name: str, batch: int, bulk: int, each: int) -> Padding:
    """Compute a row."""
    sizes, batches = Sizes(), draw_batches(LENGTH_SETS[name], batch, _ROUNDS, SEED)

    def mean(of: Callable[[Lengths], int]) -> float:
        return float(np.mean([of(lengths) for lengths in batches]))

    def flops(extent: Extent) -> int:
        return sum(layer_flops(sizes, extent).values())

    useful = mean(lambda lengths: flops(ragged_extent(lengths)))
    return Padding(
        name,
        batch,
        useful,
        mean(lambda lengths: flops(padded_extent(lengths))) / useful,
        mean(lambda lengths: flops(ragged_extent(lengths, bulk, each))) / useful,
        mean(lambda lengths: activation_bytes(sizes, padded_extent(lengths))),
        mean(lambda lengths: activation_bytes(sizes, ragged_extent(lengths))),
        mean(lambda lengths: activation_bytes(sizes, ragged_extent(lengths), scores=False)),
    )


def _table(rows: Sequence[Padding]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("lengths")
    headings = ("batch", "GFLOP", "padded", "a little", "padded, MB", "ragged, MB", "without scores, MB")
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        memory = (row.padded_bytes, row.ragged_bytes, row.fused_bytes)
        table.add_row(
            row.shape,
            str(row.batch),
            f"{row.flops / 1e9:.1f}",
            f"{row.padded:.2f} x",
            f"{row.partly:.2f} x",
            *(f"{each / 1e6:.1f}" for each in memory),
        )
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute, print, write and draw."""
    parser = argparse.ArgumentParser(prog="bench.padding", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(LENGTH_SETS))
    parser.add_argument("--batches", type=numbers, default=[32, 64, 128], help="sequences in a batch: 32,64")
    parser.add_argument("--bulk", type=int, default=64, help="all rows together are a multiple of it")
    parser.add_argument("--each", type=int, default=16, help="a sequence's attention is a multiple of it")
    parser.add_argument("--json", type=Path, help="where to write the result")
    parser.add_argument("--plot", type=Path, help="where to draw it, as PNG")
    given = parser.parse_args(arguments)
    check_names(parser, "length set", given.sets, LENGTH_SETS)
    rows = [compute(name, batch, given.bulk, given.each) for name in given.sets for batch in given.batches]
    page(_WIDTH).print(_table(rows))
    if given.json is not None:
        settings = {"bulk": given.bulk, "each": given.each, "rounds": _ROUNDS, "seed": SEED}
        found = {"schema": SCHEMA, "settings": settings, "rows": [asdict(row) for row in rows]}
        write_json(found, given.json)
    if given.plot is not None:
        # Drawing is an extra: without a picture matplotlib is not needed.
        from bench.operators.plots import plot_padding

        bars = [(f"{row.shape}\n{row.batch}", row.padded, row.partly) for row in rows]
        plot_padding(bars, given.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
