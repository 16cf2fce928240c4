"""What single optimizations of CoRa gain, each switched on beside the same operator without it.

    python -m bench.gains [--sets NAME ...] [--batch N] [--threads N] [--rounds N] [--json FILE] [--quick]

Padding (figures 12 and 22): a linear layer over rows, from sequences padded to the longest to all rows as one loop;
padded in part, with its rows copied to padded ones and back or read as they are. Operation splitting (figures 14, 20
and 21): products of matrices, those of attention among them, whole panels of columns apart from the last one, and whole
tiles of rows apart from what is left; sums up to the diagonal apart from the triangle at it. Horizontal fusion: two
such loops as one. Load hoisting (figure 23): a softmax over scores with offsets that are looked up once a row. Masks
(figure 18): causal attention over all scores or those of triangles alone. Options of attention: each such that it
changes no answer, so that the gain of one is what it costs. Producers in loops of their consumers
(section 5.2): a chain of stencils, in nests of their own or computed at each sequence or block of rows. All variants of
an operator are compared with each other before they are timed; then they take turns.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from time import perf_counter_ns

import numpy as np
from rich import box
from rich.table import Table

from bench.command import check_names, page, write_json
from bench.lengths import LENGTH_SETS, draw_batches
from bench.machine import about
from bench.operators.attention_variants import (
    OptionVariant,
    attention_products,
    masked_variants,
    option_variants,
)
from bench.operators.cases import SEED
from bench.operators.results import Variation
from bench.operators.variants import (
    Variant,
    linear_variants,
    softmax_variants,
    stencil_variants,
    trmm_variants,
    vgemm_variants,
)
from bench.results import spread
from ragged.runtime.cores import usable_cores

SCHEMA = 1
_WIDTH = 140


def measure(
    operator: str, shape: str, variants: Sequence[Variant | OptionVariant], threads: int, rounds: int
) -> list[Variation]:
    """Compile the variants, compare their answers, and time them in turns."""
    calls = [variant.call(threads) for variant in variants]
    answers = [variant.rows(call()) for variant, call in zip(variants, calls, strict=True)]
    for variant, answer in zip(variants, answers, strict=True):
        for own, first in zip(answer, answers[0], strict=True):
            error = np.abs(own - first).max(initial=0.0) / max(1.0, np.abs(first).max(initial=0.0))
            if not error <= 1e-5:
                raise SystemExit(f"{operator}, {variant.name}: off by {error:.1e}")
    times: list[list[float]] = [[] for _ in variants]
    for _ in range(rounds):
        for call, mine in zip(calls, times, strict=True):
            call()  # what the variant before left in the caches is not its fault
            begin = perf_counter_ns()
            call()
            mine.append((perf_counter_ns() - begin) / 1e6)
    medians = [spread(mine) for mine in times]
    return [
        Variation(operator, shape, variant.name, own, medians[0].median / own.median)
        for variant, own in zip(variants, medians, strict=True)
    ]


def run(options: argparse.Namespace) -> list[Variation]:
    """Measure every operator."""
    rng, rows = np.random.default_rng(SEED), []
    width, side, count = (48, 8, 3) if options.quick else (512, 128, 16)
    for name in options.sets:
        (lengths,) = draw_batches(LENGTH_SETS[name], options.batch, 1, SEED)
        shape = f"{name}, {width} features"
        rows += measure(
            "linear", shape, linear_variants(lengths, width, rng), options.threads, options.rounds
        )
        variants = softmax_variants(lengths, rng)
        rows += measure("softmax", f"{name}, scores", variants, options.threads, options.rounds)
        variants = stencil_variants(lengths, width, rng)
        rows += measure("stencils", shape, variants, options.threads, options.rounds)
        heads, head = (2, 16) if options.quick else (8, 64)
        variants = masked_variants(lengths, heads, head, rng)
        rows += measure("attention", f"{name}, causal", variants, options.threads, options.rounds)
        options_of_attention = option_variants(lengths, heads, head, rng)
        rows += measure("attention", name, options_of_attention, options.threads, options.rounds)
        for what, sizes in attention_products(lengths, heads, head).items():
            variants = vgemm_variants(sizes, rng)
            rows += measure("vgemm", f"{name}, {what}", variants, options.threads, options.rounds)
    sizes = rng.integers(4, 12, (count, 3)) * side + rng.integers(1, 60, (count, 3))
    variants = vgemm_variants(sizes, rng)
    rows += measure("vgemm", f"{count} products", variants, options.threads, options.rounds)
    order = side * 8 + 40  # the last panel of columns is not full
    variants = trmm_variants(order, rng)
    return rows + measure("trmm", str(order), variants, options.threads, options.rounds)


def _table(rows: Sequence[Variation]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("operator", "sizes", "variant"):
        table.add_column(heading)
    for heading in ("ms", "10-90 %", "gain"):
        table.add_column(heading, justify="right")
    last = ("", "")
    for row in rows:
        shown = ("", "") if (row.operator, row.shape) == last else (row.operator, row.shape)
        last = (row.operator, row.shape)
        low_high = f"{row.ms.low:.3g}-{row.ms.high:.3g}"
        table.add_row(*shown, row.variant, f"{row.ms.median:.3g}", low_high, f"{row.gain:.2f} x")
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="bench.gains", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", type=lambda text: text.split(","), default=["mnli", "race"])
    parser.add_argument("--batch", type=int, default=32, help="sequences in a batch")
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, help="where to write the result")
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes: to see that all works, not how fast"
    )
    given = parser.parse_args(arguments)
    check_names(parser, "length set", given.sets, LENGTH_SETS)
    rows = run(given)
    page(_WIDTH).print(_table(rows))
    if given.json is not None:
        settings = {"threads": given.threads, "batch": given.batch, "rounds": given.rounds, "seed": SEED}
        found = {"schema": SCHEMA, **about(), "settings": settings, "rows": [asdict(row) for row in rows]}
        write_json(found, given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
