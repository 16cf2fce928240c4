"""The part of docs/evidence/performance.md that tells of ragged operators, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.ceilings import Ceilings
from bench.machine import Machine, date_of
from bench.markdown import markdown_table
from bench.operators.results import Padding, Refused, Row, Settings, Tables, Times, Variation
from bench.peers.ragged import OWN, find
from bench.report import as_ms, as_ratio


@dataclass(frozen=True, slots=True)
class OperatorsDocument:
    """A run's JSON, read: docs/evidence/benchmarks.md says what each field means."""

    command: list[str]
    at: int
    machine: Machine
    settings: Settings
    ceilings: Ceilings
    rows: list[Row]
    refused: list[Refused]


def operators_part(runs: Sequence[OperatorsDocument]) -> str:
    """Return for each run a table for each operator, and the peers that were not timed."""
    return "\n\n".join(["## Ragged operators", *map(_run_part, runs)])


def threads_part(runs: Sequence[OperatorsDocument]) -> str:
    """Return the table of how many times as fast more threads are, of runs of the same cases."""
    runs = sorted(runs, key=lambda run: run.settings.threads)
    found = {
        (run.settings.threads, row.operator, row.shape): _of(row, OWN) for run in runs for row in run.rows
    }
    numbers = list(dict.fromkeys(run.settings.threads for run in runs))
    cells = []
    for name in dict.fromkeys((row.operator, row.shape) for run in runs for row in run.rows):
        alone, *more = (found.get((number, *name)) for number in numbers)
        took = ("" if each is None else as_ms(each.took.median) for each in (alone, *more))
        faster = (
            "" if alone is None or each is None else as_ratio(alone.took.median / each.took.median)
            for each in more
        )
        cells.append((*name, *took, *faster))
    heads = (*(f"{number} threads" for number in numbers), *(f"gain of {each}" for each in numbers[1:]))
    said = [
        f"Milliseconds, of `{_command_of(runs[0])}`, and the same with other numbers of threads; last, how many",
        "times as fast more threads are. vgemm of one product shares what is inside it.",
    ]
    table = markdown_table(("operator", "shape", *heads), cells)
    return "\n".join(["## Ragged operators and threads", "", *said, "", *table])


def variations_part(rows: Sequence[Variation]) -> str:
    """Return the table of variants of operators."""
    cells, last = [], ("", "")
    for row in rows:
        here = (row.operator, row.shape)
        names = ("", "") if here == last else here
        cells.append((*names, row.variant, f"{as_ms(1000 * row.ms.median)}", f"{row.gain:.2f} x"))
        last = here
    said = [
        "Milliseconds of operators of ours under several schedules, of `python -m bench.gains`, and how many times",
        "faster than the first one each is.",
    ]
    table = markdown_table(("operator", "sizes", "variant", "ms", "gain"), cells)
    return "\n".join(["## What optimizations of ragged loops gain", "", *said, "", *table])


def tables_part(rows: Sequence[Tables]) -> str:
    """Return the table of bytes and times of the tables of an encoder layer."""
    cells = []
    for row in rows:
        sizes = (row.sparse_bytes, row.graph_bytes, row.fusion_bytes, row.compiled_bytes)
        times = (row.sparse, row.graph, row.fusion, row.compiled)
        pairs = zip(sizes, times, strict=True)
        own = (f"{size / 1000:.1f} KB, {time.median:.0f} us" for size, time in pairs)
        cells.append((row.shape, "yes" if row.shared else "no", *own))
    said = [
        "What an encoder layer's tensors are read with, of `python -m bench.prelude`: bytes, and microseconds to fill",
        "them. The schemes and the fused loops are NumPy's; *compiled* is what calls on new lengths do before their",
        "kernels, of a function for each operator, or where tables are *shared* of the layer as one function.",
    ]
    table = markdown_table(
        ("lengths", "shared", "sparse", "dimension graph", "fused loops", "compiled"), cells
    )
    return "\n".join(["## Tables of lengths", "", *said, "", *table])


def padding_part(rows: Sequence[Padding]) -> str:
    """Return the table of what padding costs an encoder layer."""
    cells = [
        (
            row.shape,
            str(row.batch),
            f"{row.flops / 1e9:.1f}",
            f"{row.padded:.2f} x",
            f"{row.partly:.2f} x",
            *(f"{each / 1e6:.1f}" for each in (row.padded_bytes, row.ragged_bytes, row.fused_bytes)),
        )
        for row in rows
    ]
    said = [
        "What padding costs an encoder layer, computed by `python -m bench.padding`: work, as a multiple of that",
        "without padding, where sequences are padded to the longest or as far as tiles would need; and megabytes of",
        "activations, padded, ragged, and without scores, which ours does not store.",
    ]
    heads = (
        "lengths",
        "batch",
        "GFLOP",
        "padded",
        "a little",
        "padded, MB",
        "ragged, MB",
        "without scores, MB",
    )
    return "\n".join(["## Padding", "", *said, "", *markdown_table(heads, cells)])


def _command_of(run: OperatorsDocument) -> str:
    return f"python -m bench.ragged {' '.join(run.command[1:])}".rstrip()


def _run_part(run: OperatorsDocument) -> str:
    said = [
        f"Of `{_command_of(run)}`, {date_of(run.at)}; {run.machine.processor}, {run.settings.threads} threads,",
        f"{run.ceilings.gflops:.0f} GFLOP/s.",
        "Milliseconds, and in brackets how many times as long as ours a peer takes. *Of peak* is our share of those",
        "GFLOP/s.",
    ]
    parts = ["\n".join(said)]
    for operator in dict.fromkeys(row.operator for row in run.rows):
        rows = [row for row in run.rows if row.operator == operator]
        parts.append("\n".join([f"### {operator}", "", *_of_operator(rows, run.ceilings.gflops)]))
    if run.refused:
        parts.append("\n".join(["### Not timed", "", *(_refusal(each) for each in run.refused)]))
    return "\n\n".join(parts)


def _of_operator(rows: Sequence[Row], peak: float) -> list[str]:
    peers = list(dict.fromkeys(times.peer for row in rows for times in row.peers))
    cells = []
    for row in rows:
        own = _of(row, OWN)
        took = (_cell(_of(row, peer), own) for peer in peers)
        share = "" if own is None or own.gflops is None else f"{own.gflops / peak:.0%}"
        cells.append((row.shape, *took, share))
    return markdown_table(("shape", *(find(peer).label for peer in peers), "of peak"), cells)


def _of(row: Row, peer: str) -> Times | None:
    return next((times for times in row.peers if times.peer == peer), None)


def _cell(times: Times | None, own: Times | None) -> str:
    if times is None:
        return ""
    ratio = "" if own is None or own is times else f" ({as_ratio(times.took.median / own.took.median)})"
    return f"{as_ms(times.took.median)}{ratio}"


def _refusal(refused: Refused) -> str:
    shape = "" if refused.shape is None else f" {refused.shape}"
    last = refused.why.strip().splitlines()[-1]
    return f"- {find(refused.peer).label} was not timed on {refused.operator}{shape}: {last}"
