"""The tables that ragged tensors are read with, under CoRa's scheme and under that of sparse tensors (section 7.4).

    python -m bench.prelude [--sets NAME,NAME] [--batches N,N] [--threads N] [--json FILE] [--quick]

For an encoder layer: bytes, and microseconds to fill them. Of both schemes in NumPy: *of each operator*, nothing is
shared; *shared*, a tensor's arrays are filled once for all operators that touch it. The arrays of fused loops are the
same under both. *Compiled* are the preludes of `ragged.ops`, of the layer's operators compiled one by one and of the
layer as one function: all that a call on new lengths does before its kernel (Tables 7 and 8).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from time import perf_counter_ns

import numpy as np
from rich import box
from rich.table import Table

import ragged
from bench.command import check_names, numbers, page, write_json
from bench.lengths import LENGTH_SETS, Lengths, draw_batches
from bench.machine import about
from bench.operators.cases import SEED
from bench.operators.problems import Sizes, draw_params
from bench.operators.results import Tables
from bench.operators.schemes import (
    Index,
    fusion_arrays,
    graph_arrays,
    layer_needs,
    sparse_arrays,
    storage_arrays,
    total_bytes,
)
from bench.results import Spread, spread
from ragged.ops import LayerNorm, Linear, MultiheadAttention, TransformerEncoderLayer
from ragged.runtime.cores import usable_cores

SCHEMA = 2
_WIDTH = 130
_REPEATS = 30
_CALLS = 5
"""How often compiled functions are run: with their kernels."""


def functions_of(sizes: Sizes, threads: int, *, shared: bool) -> list[tuple[ragged.RaggedFunction, int]]:
    """Return an encoder layer as one function if `shared`, else its operators' functions, each with its rows' width."""
    params = draw_params(sizes, SEED)
    if shared:
        layer = TransformerEncoderLayer(sizes.hidden, sizes.heads, sizes.ff, threads=threads)
        layer.load_state_dict(params)
        return [(layer.function, sizes.hidden)]
    operators: dict[str, MultiheadAttention | LayerNorm | Linear] = {
        "self_attn.": MultiheadAttention(sizes.hidden, sizes.heads, threads=threads),
        "norm1.": LayerNorm(sizes.hidden, threads=threads),
        "linear1.": Linear(sizes.hidden, sizes.ff, activation="relu", threads=threads),
        "linear2.": Linear(sizes.ff, sizes.hidden, threads=threads),
        "norm2.": LayerNorm(sizes.hidden, threads=threads),
    }
    for prefix, operator in operators.items():
        own = {name.removeprefix(prefix): each for name, each in params.items() if name.startswith(prefix)}
        operator.load_state_dict(own)
    return [
        (operator.function, sizes.ff if prefix == "linear2." else sizes.hidden)
        for prefix, operator in operators.items()
    ]


def measure(
    shape: str,
    lengths: Lengths,
    sizes: Sizes,
    functions: Sequence[tuple[ragged.RaggedFunction, int]],
    *,
    shared: bool,
) -> Tables:
    """Fill the tables of one batch under both schemes and by compiled preludes, several times."""
    needs = layer_needs(sizes, len(lengths), shared=shared)
    builds: list[Callable[[], list[Index]]] = [
        lambda: storage_arrays(needs, lengths, sparse_arrays),
        lambda: storage_arrays(needs, lengths, graph_arrays),
        lambda: [array for _ in range(needs.fused) for array in fusion_arrays(lengths)],
    ]
    profiles = []
    for function, width in functions:
        rows = np.zeros((int(lengths.sum()), width), np.float32)
        profiles.append(function.profile(_CALLS, x=ragged.array(rows, lengths=lengths)))
    took = [each.prelude_us for each in profiles]
    sparse, graph, fusion = (total_bytes(build()) for build in builds)
    compiled_bytes = sum(each.table_bytes for each in profiles)
    compiled = Spread(*(sum(getattr(each, name) for each in took) for name in ("median", "low", "high")))
    sizes_of_tables = (sparse, graph, fusion, compiled_bytes)
    times = [spread(_times(build)) for build in builds]
    return Tables(shape, shared, *sizes_of_tables, times[0], times[1], times[2], compiled)


def _times(build: Callable[[], object]) -> list[float]:
    times = []
    for _ in range(_REPEATS):
        begin = perf_counter_ns()
        build()
        times.append((perf_counter_ns() - begin) / 1000)
    return times


def _table(rows: Sequence[Tables]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("lengths", "arrays"):
        table.add_column(heading)
    schemes = ("sparse", "graph", "fused loops", "compiled")
    for heading in (*(f"{each}, KB" for each in schemes), *(f"{each}, us" for each in schemes)):
        table.add_column(heading, justify="right")
    for row in rows:
        sizes = (row.sparse_bytes, row.graph_bytes, row.fusion_bytes, row.compiled_bytes)
        times = (row.sparse, row.graph, row.fusion, row.compiled)
        cells = (*(f"{each / 1000:.1f}" for each in sizes), *(f"{each.median:.0f}" for each in times))
        table.add_row(row.shape, "shared" if row.shared else "of each operator", *cells)
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="bench.prelude", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(LENGTH_SETS))
    parser.add_argument("--batches", type=numbers, default=[32, 128], help="sequences in a batch: 32,128")
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--json", type=Path, help="where to write the result")
    parser.add_argument("--quick", action="store_true", help="a narrow layer: its tables are the same")
    given = parser.parse_args(arguments)
    check_names(parser, "length set", given.sets, LENGTH_SETS)
    sizes = Sizes(32, 8, 32) if given.quick else Sizes()
    functions = {shared: functions_of(sizes, given.threads, shared=shared) for shared in (False, True)}
    rows = []
    for name in given.sets:
        for batch in given.batches:
            (lengths,) = draw_batches(LENGTH_SETS[name], batch, 1, SEED)
            rows += [
                measure(f"{name}, {batch}", lengths, sizes, own, shared=shared)
                for shared, own in functions.items()
            ]
    page(_WIDTH).print(_table(rows))
    if given.json is not None:
        settings = {"batches": given.batches, "threads": given.threads, "seed": SEED, "repeats": _REPEATS}
        found = {
            "schema": SCHEMA,
            **about(),
            "settings": {**settings, "calls": _CALLS},
            "rows": [asdict(row) for row in rows],
        }
        write_json(found, given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
