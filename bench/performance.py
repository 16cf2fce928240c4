"""Writes docs/evidence/performance.md from the JSON of runs of the benchmarks.

    python -m bench.performance RESULT [--sizes RESULT] [--growth RESULT] [--threads RESULT ...] [--memory RESULT]
        [--linearizing RESULT] [--sequences RESULT] [--gains RESULT] [--ragged RESULT ...] [--variations RESULT]
        [--ragged-threads RESULT ...] [--scaling RESULT] [--tables RESULT] [--padding RESULT] [--out FILE]

RESULT is what `python -m bench.recursive --json RESULT` wrote; `--sizes` names that of a run over many hidden sizes,
`--growth` that of one over many batch sizes, `--threads` those of runs with different numbers of threads, `--sequences`
that of a run over sequences, `--linearizing` that of `python -m bench.linearize`, `--memory` that of `python -m
bench.memory`, `--gains` that of `python -m bench.optimizations`, `--ragged` those of `python -m bench.ragged`,
`--ragged-threads` the same with different numbers of threads, `--variations` that of `python -m bench.gains`,
`--scaling` that of `python -m bench.scaling`, `--tables` that of `python -m bench.prelude`, `--padding` that of
`python -m bench.padding`. `make performance` runs all of them, and this.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bench.documents import Document, Linearizing, Others
from bench.operators.page import OperatorsDocument
from bench.operators.report import SCHEMA as OPERATORS_SCHEMA
from bench.operators.results import Padding, Tables, Variation
from bench.page import page
from bench.report import SCHEMA
from bench.results import Gained, Weighed
from bench.scaling_page import ScalingDocument

T = TypeVar("T")

_PAGE = Path(__file__).resolve().parents[1] / "docs" / "evidence" / "performance.md"


def read(path: Path) -> Document:
    """Return a run of `bench.recursive`; `ValueError` if the file is of another form."""
    return msgspec.convert(_of_schema(path, SCHEMA), Document)


def read_operators(path: Path) -> OperatorsDocument:
    """Return a run of `bench.ragged`; `ValueError` if the file is of another form."""
    return msgspec.convert(_of_schema(path, OPERATORS_SCHEMA), OperatorsDocument)


def _of_schema(path: Path, schema: int) -> dict[str, Any]:
    given = _json(path)
    if given.get("schema") != schema:
        raise ValueError(f"{path}: schema {given.get('schema')}, not {schema}: measure again")
    return given


def _linearizing(path: Path) -> list[Linearizing]:
    return msgspec.convert(_json(path)["timings"], list[Linearizing])


def _rows(path: Path | None, kind: type[T], part: str = "rows") -> list[T]:
    return [] if path is None else [msgspec.convert(row, kind) for row in _json(path)[part]]


def _json(path: Path) -> dict[str, Any]:
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="bench.performance", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("result", type=Path, help="what `bench.recursive --json` wrote")
    parser.add_argument("--sizes", type=Path, help="the same of a run over many hidden sizes")
    parser.add_argument("--growth", type=Path, help="the same of a run over many batch sizes")
    parser.add_argument(
        "--threads",
        type=Path,
        nargs="+",
        default=[],
        help="the same of runs with different numbers of threads",
    )
    parser.add_argument("--memory", type=Path, help="what `bench.memory --json` wrote")
    parser.add_argument("--gains", type=Path, help="what `bench.optimizations --json` wrote")
    parser.add_argument("--linearizing", type=Path, help="what `bench.linearize --json` wrote")
    parser.add_argument("--sequences", type=Path, help="the same of a run over sequences")
    parser.add_argument(
        "--ragged", type=Path, nargs="+", default=[], help="what runs of `bench.ragged --json` wrote"
    )
    parser.add_argument(
        "--ragged-threads",
        type=Path,
        nargs="+",
        default=[],
        help="the same with different numbers of threads",
    )
    parser.add_argument("--variations", type=Path, help="what `bench.gains --json` wrote")
    parser.add_argument("--scaling", type=Path, help="what `bench.scaling --json` wrote")
    parser.add_argument("--tables", type=Path, help="what `bench.prelude --json` wrote")
    parser.add_argument("--padding", type=Path, help="what `bench.padding --json` wrote")
    parser.add_argument("--out", type=Path, default=_PAGE, help="the page")
    given = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    sizes, growth, sequences = (
        None if path is None else read(path) for path in (given.sizes, given.growth, given.sequences)
    )
    others = Others(
        sizes,
        growth,
        sequences,
        [read(path) for path in given.threads],
        linearizing=[] if given.linearizing is None else _linearizing(given.linearizing),
        memory=_rows(given.memory, Weighed),
        gains=_rows(given.gains, Gained),
        rewritten=_rows(given.gains, Gained, "rewritten"),
        ragged=[read_operators(path) for path in given.ragged],
        ragged_threads=[read_operators(path) for path in given.ragged_threads],
        variations=_rows(given.variations, Variation),
        tables=_rows(given.tables, Tables),
        padding=_rows(given.padding, Padding),
        scaling=None if given.scaling is None else msgspec.convert(_json(given.scaling), ScalingDocument),
    )
    given.out.write_text(page(read(given.result), others), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
