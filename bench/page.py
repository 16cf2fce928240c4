"""docs/evidence/performance.md as text: tables of what a run of `bench.recursive` found, in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bench.documents import Document, Linearizing, Others
from bench.goals import goals_of, lines_of
from bench.machine import date_of
from bench.markdown import markdown_table
from bench.operators.page import operators_part, padding_part, tables_part, threads_part, variations_part
from bench.peers import BY_HAND, OWN, find
from bench.report import as_ms, as_ratio
from bench.results import Gained, Row, Spread, Times, Weighed
from bench.scaling_page import scaling_part

_NAMES = ("model", "hidden", "batch")


def page(run: Document, others: Others | None = None) -> str:
    """Return the page of a run, with what others found."""
    others = others or Others()
    parts = [
        _head(run),
        _goals(run.rows),
        _end_to_end(run.rows),
        _from_arrays(run.rows),
        _where_time_goes(run.rows),
        _linearizing(others.linearizing),
        _sizes(others.sizes),
        _growth(others.growth),
        _threads(others.threads),
        _gains(others.gains),
        _rewritten(others.rewritten),
        _memory(others.memory),
        _sequences(others.sequences),
        *(part(rows) for part, rows in _ragged_parts(others) if rows),
        "" if others.scaling is None else scaling_part(others.scaling),
        _missing([run, *(each for each in others.runs if each is not None)]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _ragged_parts(others: Others) -> tuple[tuple[Callable[[Any], str], Sequence[Any]], ...]:
    return (
        (operators_part, others.ragged),
        (threads_part, others.ragged_threads),
        (variations_part, others.variations),
        (tables_part, others.tables),
        (padding_part, others.padding),
    )


def _head(run: Document) -> str:
    machine = run.machine
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    lines = [
        "# Performance",
        "",
        "Written by `python -m bench.performance` from what this command found, in one run:",
        "",
        f"    {_command(run)}",
        "",
        f"{date_of(run.at)}, {machine.processor}, {machine.cores} cores, {machine.system}; "
        f"{run.settings['threads']} threads for every peer; load {machine.load:.1f} when it ended. {versions}.",
        "",
        "[benchmarks.md](benchmarks.md) says what is measured and how. Answers were compared with the recursion in",
        "float64 before anything was timed. Times are milliseconds: the median over batches, and in brackets the 10th",
        "and the 90th percentile.",
        "",
    ]
    for ceilings in run.ceilings:
        reads = ", ".join(f"{each.cache} {each.gbs:.0f}" for each in ceilings.bandwidths)
        lines.append(f"- {ceilings.workers} threads: {ceilings.gflops:.0f} GFLOP/s; read GB/s: {reads}")
    return "\n".join(lines)


def _goals(rows: Sequence[Row]) -> str:
    goals = goals_of(rows)
    if not goals:
        return ""
    cells = [
        (
            *_name(goal.row),
            f"{goal.share:.0%}",
            _met(goal.share >= goal.wanted_share),
            as_ms(goal.end_to_end),
            as_ms(goal.bound),
            _met(goal.end_to_end <= goal.bound),
            as_ratio(goal.by_hand),
            as_ratio(goal.best),
        )
        for goal in goals
    ]
    heads = ("of roofline", "met", "end to end", "bound", "met", "C++ by hand", "best peer")
    said = [
        "The bound is the roofline over the share that is wanted of it, 40 ns a node and 10 us. *C++ by hand* is what",
        "it takes from flat arrays over what Cortex takes; *best peer* is the same of the fastest other, end to end.",
        "Both compute in float32.",
    ]
    return "\n".join(
        [
            "## Goals",
            "",
            *(f"- {line}" for line in lines_of(goals)),
            "",
            *said,
            "",
            *markdown_table((*_NAMES, *heads), cells),
        ]
    )


def _end_to_end(rows: Sequence[Row]) -> str:
    notes = [f"- {find(name).label}: {find(name).note}" for name in _peers(rows) if find(name).note]
    table = _peers_table(rows, "end_to_end")
    return "\n".join(["## End to end, from Python objects", "", *notes, *([""] if notes else []), *table])


def _from_arrays(rows: Sequence[Row]) -> str:
    said = "A call on prepared arrays; of DyNet, on a graph that is there."
    return "\n".join(["## From flat arrays", "", said, "", *_peers_table(rows, "arrays")])


def _where_time_goes(rows: Sequence[Row]) -> str:
    cells = []
    for row in rows:
        own = _of(row, OWN)
        if own is None or own.kernel is None or own.arrays is None:
            continue
        total, arrays, kernel = (each.median for each in (own.end_to_end, own.arrays, own.kernel))
        parts = (max(0.0, total - arrays), kernel, max(0.0, arrays - kernel))
        shares = (f"{part:.0f} us ({part / sum(parts):.0%})" for part in parts)
        cells.append((*_name(row), f"{row.nodes:.0f}", *shares, f"{1000 * parts[0] / row.nodes:.0f} ns"))
    if not cells:
        return ""
    heads = ("nodes", "linearizing", "kernel", "the call", "linearizing a node")
    said = [
        "What Cortex takes end to end: linearizing is what a call on objects takes longer than one on arrays, and the",
        "call what that takes longer than the kernel. Each is a difference of medians.",
    ]
    return "\n".join(["## Where the time goes", "", *said, "", *markdown_table((*_NAMES, *heads), cells)])


def _linearizing(timings: Sequence[Linearizing]) -> str:
    if not timings:
        return ""
    kinds = list(dict.fromkeys(timing.kind for timing in timings))
    batches = list(dict.fromkeys(timing.trees for timing in timings if timing.nodes > 1))
    cells = []
    for kind in kinds:
        leaf, *others = [timing for timing in timings if timing.kind == kind]
        cells.append(
            (kind, f"{leaf.fastest / 1000:.2f}", *(f"{each.fastest / each.nodes:.1f}" for each in others))
        )
    heads = ("one leaf, us", *(f"{trees} trees, ns a node" for trees in batches))
    said = "Of `python -m bench.linearize`: the fastest call on a binary TreeLSTM's structures, all its costs included."
    return "\n".join(["## Linearizing", "", said, "", *markdown_table(("kind", *heads), cells)])


def _sizes(run: Document | None) -> str:
    if run is None:
        return ""
    said = f"From flat arrays, of `{_command(run)}`."
    table = _peers_table(run.rows, "arrays", among=(OWN, BY_HAND))
    return "\n".join(["## Latency and hidden size", "", said, "", *table])


def _growth(run: Document | None) -> str:
    if run is None:
        return ""
    said = f"End to end, of `{_command(run)}`. Below, nanoseconds a node."
    of_nodes = [
        (*_name(row), f"{row.nodes:.0f}", *(_a_node(row, name) for name in _peers(run.rows)))
        for row in run.rows
    ]
    heads = ("nodes", *(find(name).label for name in _peers(run.rows)))
    tables = (
        "\n".join(table)
        for table in (_peers_table(run.rows, "end_to_end"), markdown_table((*_NAMES, *heads), of_nodes))
    )
    return "\n\n".join(["## Latency and batch size", said, *tables])


def _a_node(row: Row, peer: str) -> str:
    times = _of(row, peer)
    return "" if times is None else f"{1000 * times.end_to_end.median / row.nodes:.0f}"


def _threads(runs: Sequence[Document]) -> str:
    if not runs:
        return ""
    runs = sorted(runs, key=_threads_of)
    rows = [row for run in runs for row in run.rows]
    peers = [name for name in _peers(rows) if any(_spread(_of(row, name), "arrays") for row in rows)]
    found = {(_threads_of(run), *_name(row)): row for run in runs for row in run.rows}
    names = dict.fromkeys(_name(row) for run in runs for row in run.rows)
    numbers = list(dict.fromkeys(map(_threads_of, runs)))
    cells = [
        (
            *name,
            *(_of_threads(found.get((number, *name)), peer) for peer in peers for number in numbers),
        )
        for name in names
    ]
    heads = [f"{find(peer).label}, {number}" for peer in peers for number in numbers]
    said = [
        "From flat arrays. The number after a name is how many threads it has. Of",
        f"`{_command(runs[0])}`, and the same with other numbers of threads.",
    ]
    return "\n".join(["## Latency and threads", "", *said, "", *markdown_table((*_NAMES, *heads), cells)])


def _threads_of(run: Document) -> int:
    return int(str(run.settings["threads"]))


def _of_threads(row: Row | None, peer: str) -> str:
    return "" if row is None else _spread(_of(row, peer), "arrays")


def _gains(rows: Sequence[Gained]) -> str:
    if not rows:
        return ""
    variants = list(dict.fromkeys(row.variant for row in rows))
    sizes = list(dict.fromkeys((row.workload, row.hidden, row.batch) for row in rows))
    found = {(row.workload, row.hidden, row.batch, row.variant): row for row in rows}
    cells = []
    for variant in variants:
        mine = [found[(*size, variant)] for size in sizes if (*size, variant) in found]
        cells.append((variant, *(f"{as_ms(row.us.median)} ({row.gain:.1f} x)" for row in mine)))
    heads = [f"{workload} {hidden}, batch {batch}" for workload, hidden, batch in sizes]
    said = [
        "Milliseconds of the kernel, of `python -m bench.optimizations`: each line has what those above it have.",
        "In brackets how many times faster than the first it is.",
    ]
    table = markdown_table(("switched on", *heads), cells)
    return "\n".join(["## What optimizations gain", "", *said, "", *table])


def _rewritten(rows: Sequence[Gained]) -> str:
    if not rows:
        return ""
    cells = [
        (
            row.workload,
            str(row.hidden),
            str(row.batch),
            row.variant,
            as_ms(row.us.median),
            f"{row.gain:.2f} x",
        )
        for row in rows
    ]
    said = [
        "Milliseconds of the kernel of models with their recursion unrolled or refactored, of",
        "`python -m bench.optimizations`, and how many times faster than the model as it is.",
    ]
    table = markdown_table((*_NAMES, "recursion", "ms", "gain"), cells)
    return "\n".join(["## Unrolled and refactored recursion", "", *said, "", *table])


def _memory(rows: Sequence[Weighed]) -> str:
    if not rows:
        return ""
    peers = list(dict.fromkeys(peer for row in rows for peer in row.peers))
    cells = [
        (
            row.workload,
            str(row.hidden),
            str(row.batch),
            f"{row.nodes}",
            f"{row.least / 1e6:.1f}",
            *(f"{row.peers[peer] / 1e6:.1f}" if peer in row.peers else "" for peer in peers),
        )
        for row in rows
    ]
    heads = ("nodes", "at once", *(find(peer).label for peer in peers))
    said = [
        "Megabytes by which a process grows at its peak while it computes a batch, of `python -m bench.memory`. *At",
        "once* is what must be there at once: states that parents wait for, and those of the level that is computed",
        "and of roots.",
    ]
    return "\n".join(["## Peak memory", "", *said, "", *markdown_table((*_NAMES, *heads), cells)])


def _sequences(run: Document | None) -> str:
    if run is None:
        return ""
    said = f"LSTM and GRU, of `{_command(run)}`; {run.settings['threads']} threads. End to end, from Python objects:"
    tables = (_peers_table(run.rows, what) for what in ("end_to_end", "arrays"))
    first, second = ("\n".join(table) for table in tables)
    return "\n\n".join(["## Sequences", said, first, "From flat arrays:", second])


def _missing(runs: Sequence[Document]) -> str:
    lines = []
    for refused in (each for run in runs for each in run.refused):
        size = "" if refused.hidden is None else f" {refused.hidden}"
        last = refused.why.strip().splitlines()[-1]
        lines.append(f"- {find(refused.peer).label} was not timed on {refused.workload}{size}: {last}")
    absent = [each for run in runs for each in run.absent]
    for peer, why in dict.fromkeys((each.peer, each.why) for each in absent):
        workloads = dict.fromkeys(each.workload for each in absent if (each.peer, each.why) == (peer, why))
        lines.append(f"- {find(peer).label} is not in {', '.join(workloads)}: {why}")
    return "\n".join(["## What is missing", "", *dict.fromkeys(lines)]) if lines else ""


def _name(row: Row) -> tuple[str, str, str]:
    return row.workload, str(row.hidden), str(row.batch)


def _command(run: Document) -> str:
    return f"python -m bench.recursive {' '.join(run.command[1:])}".rstrip()


def _peers_table(rows: Sequence[Row], what: str, among: Iterable[str] | None = None) -> list[str]:
    """Return the table of these times of every peer that has some, beside the roofline; of no other than `among`."""
    named = _peers(rows) if among is None else among
    names = [name for name in named if any(_spread(_of(row, name), what) for row in rows)]
    cells = [
        (*_name(row), *(_spread(_of(row, name), what) for name in names), as_ms(row.roofline)) for row in rows
    ]
    return markdown_table((*_NAMES, *(find(name).label for name in names), "roofline"), cells)


def _peers(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(times.peer for row in rows for times in row.peers))


def _of(row: Row, peer: str) -> Times | None:
    return next((times for times in row.peers if times.peer == peer), None)


def _spread(times: Times | None, what: str) -> str:
    took: Spread | None = None if times is None else getattr(times, what)
    return "" if took is None else f"{as_ms(took.median)} ({as_ms(took.low)}-{as_ms(took.high)})"


def _met(met: bool) -> str:
    return "yes" if met else "no"
