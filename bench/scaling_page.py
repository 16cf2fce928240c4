"""The part of docs/evidence/performance.md on more cores than the machine has, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.markdown import markdown_table
from bench.report import as_ms, as_ratio
from bench.results import Scaled, TeamCost


@dataclass(frozen=True, slots=True)
class ScalingDocument:
    """What `bench.scaling` wrote: what a team costs here, and the kernels."""

    team: TeamCost
    rows: list[Scaled]


def scaling_part(found: ScalingDocument) -> str:
    """Return the table of what is measured on one thread and on two, and what is predicted of two and of more."""
    errors = [abs(row.error) for row in found.rows]
    barrier, helper = found.team.barrier, found.team.helper
    said = [
        "Milliseconds, of `python -m bench.scaling`: one thread and two are measured; what is *predicted*, of two",
        "threads and of more, is not. A prediction knows the kernel's time on one thread and, of the program for so",
        "many threads, phase by phase the work of the busiest thread, or the bytes over the bandwidth of the memory",
        "that all share, as two threads have it here or a multiple. It adds",
        f"{barrier:.0f} ns for a barrier of two threads, of more in proportion, and {helper:.0f} ns for each thread",
        "more that a call is given to. *Share* is the work of the busiest thread over the mean of all; in brackets is",
        "how many times as fast as one thread. Two threads are",
        f"predicted within {max(errors):.0%} of what is measured, {sum(errors) / len(errors):.0%} in the mean.",
    ]
    return "\n".join(["## More cores", "", *said, "", *markdown_table(*scaling_cells(found.rows))])


def scaling_cells(rows: Sequence[Scaled]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the heads of the columns, and the rows; all kernels are predicted for the same threads and memories."""
    first = rows[0].more
    shares = dict.fromkeys(each.threads for each in first)
    heads = (
        *("kernel", "shape", "1 thread", "2 threads", "predicted", "error"),
        *(f"share of {threads}" for threads in shares),
        *(f"{each.threads} threads, {each.gbs:.0f} GB/s, predicted" for each in first),
    )
    cells = []
    for row in rows:
        imbalance = {each.threads: each.imbalance for each in row.more}
        found = (as_ms(each) for each in (row.one.median, row.two.median, row.check.us))
        cells.append(
            (
                *(row.workload, row.shape, *found, f"{row.error:+.0%}"),
                *(f"{imbalance[threads]:.2f}" for threads in shares),
                *(f"{as_ms(each.us)} ({as_ratio(row.one.median / each.us)})" for each in row.more),
            )
        )
    return heads, cells
