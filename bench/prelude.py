"""The arrays that ragged tensors are read with, under CoRa's scheme and under that of sparse tensors (section 7.4).

    python -m bench.prelude [--sets NAME ...] [--batch N] [--json FILE]

For an encoder layer: bytes, and microseconds to build them, both schemes in NumPy. *Of each operator*: nothing is
shared; *shared*: a tensor's arrays are built once for all operators that touch it. The arrays of fused loops are the
same under both. It is about schemes: how long the prelude of a compiled layer takes is not measured here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter_ns

from rich import box
from rich.table import Table

from bench.command import check_names, page, write_json
from bench.lengths import LENGTH_SETS, draw_batches
from bench.machine import about
from bench.operators.cases import SEED
from bench.operators.problems import Sizes
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

SCHEMA = 1
_WIDTH = 110
_REPEATS = 30


@dataclass(frozen=True, slots=True)
class Row:
    """A length set: whether arrays are shared; bytes and microseconds of each scheme and of the fused loops."""

    shape: str
    shared: bool
    sparse_bytes: int
    graph_bytes: int
    fusion_bytes: int
    sparse: Spread
    graph: Spread
    fusion: Spread


def measure(name: str, batch: int, *, shared: bool) -> Row:
    """Build one batch's arrays under both schemes, several times."""
    (lengths,) = draw_batches(LENGTH_SETS[name], batch, 1, SEED)
    needs = layer_needs(Sizes(), batch, shared=shared)
    builds: list[Callable[[], list[Index]]] = [
        lambda: storage_arrays(needs, lengths, sparse_arrays),
        lambda: storage_arrays(needs, lengths, graph_arrays),
        lambda: [array for _ in range(needs.fused) for array in fusion_arrays(lengths)],
    ]
    sparse, graph, fusion = (total_bytes(build()) for build in builds)
    return Row(name, shared, sparse, graph, fusion, *(spread(_times(build)) for build in builds))


def _times(build: Callable[[], object]) -> list[float]:
    times = []
    for _ in range(_REPEATS):
        begin = perf_counter_ns()
        build()
        times.append((perf_counter_ns() - begin) / 1000)
    return times


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("lengths", "arrays"):
        table.add_column(heading)
    for heading in (
        "sparse, KB",
        "graph, KB",
        "fused loops, KB",
        "sparse, us",
        "graph, us",
        "fused loops, us",
    ):
        table.add_column(heading, justify="right")
    for row in rows:
        sizes = [f"{each / 1000:.1f}" for each in (row.sparse_bytes, row.graph_bytes, row.fusion_bytes)]
        times = [f"{each.median:.0f}" for each in (row.sparse, row.graph, row.fusion)]
        table.add_row(row.shape, "shared" if row.shared else "of each operator", *sizes, *times)
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="bench.prelude", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(LENGTH_SETS))
    parser.add_argument("--batch", type=int, default=32, help="sequences in a batch")
    parser.add_argument("--json", type=Path, help="where to write the result")
    given = parser.parse_args(arguments)
    check_names(parser, "length set", given.sets, LENGTH_SETS)
    rows = [measure(name, given.batch, shared=shared) for name in given.sets for shared in (False, True)]
    page(_WIDTH).print(_table(rows))
    if given.json is not None:
        found = {
            "schema": SCHEMA,
            **about(),
            "settings": {"batch": given.batch, "seed": SEED, "repeats": _REPEATS},
            "rows": [asdict(row) for row in rows],
        }
        write_json(found, given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
