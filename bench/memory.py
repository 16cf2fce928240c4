"""How much memory a call takes at its peak, beside what must be there at once (CORTEX, figure 12).

    python -m bench.memory [--workloads NAME ...] [--peers NAME ...] [--batch N] [--json FILE] [--quick]

Each peer runs in a process of its own, with its model made and one tree computed; then by how much its resident memory
grows while it computes a batch, three times. Answers are compared first. What must be there at once is counted: level
after level, the states of nodes that some parent still waits for, of the level itself, and of roots.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from math import prod
from pathlib import Path

from rich import box
from rich.table import Table

from bench.answers import largest_error, oracle
from bench.command import check_names, check_peers, names, page, write_json
from bench.machine import about
from bench.peers import PEERS, find
from bench.peers.job import Array
from bench.process import PeerFailed, PeerProcess
from bench.results import Weighed
from bench.trees import Tree, flatten, nodes, read_treebank
from bench.workloads import RECURSIVE, WORKLOADS, Case, make_case
from cortex.data import sample_treebank
from ragged.runtime.cores import usable_cores

SCHEMA = 1
SEED = 0
_REPEATS = 3
_WIDTH = 120
_PEERS = ("cortex", "dynet", "torch-nodes", "torch-levels", "numpy", "onednn")


def least_bytes(case: Case, trees: Sequence[Tree]) -> int:
    """Return the most bytes of states that are there at once while a batch is computed level by level."""
    shapes = (placeholder.shape[1:] for placeholder, _ in case.model.outputs.values())
    state = 4 * sum(prod(int(extent) for extent in shape if isinstance(extent, int)) for shape in shapes)
    height: dict[int, int] = {}
    until: dict[int, int] = {}
    for node in nodes(trees):  # children come before their parents
        height[id(node)] = max((1 + height[id(child)] for child in node.children), default=0)
        for child in node.children:
            until[id(child)] = max(until.get(id(child), 0), height[id(node)])
    levels = max(height.values(), default=0) + 1
    changes = [0] * (levels + 1)
    for each, made in height.items():
        changes[made] += 1
        changes[until.get(each, levels - 1) + 1] -= 1
    alive = most = 0
    for change in changes:
        alive += change
        most = max(most, alive)
    return most * state


def measure(case: Case, peers: Sequence[str]) -> tuple[Weighed, list[str]]:
    """Weigh each peer that computes the case rightly; return what was found, and why others are not in it."""
    (batches,) = case.batches
    trees, wanted = case.of(batches.timed[0]), oracle(case)
    grown: dict[str, int] = {}
    missing: list[str] = []
    for peer in peers:
        found = _weighed(case, peer, wanted)
        if isinstance(found, int):
            grown[peer] = found
        else:
            missing.append(f"{find(peer).label}, {case.workload.cell.value}: {found}")
    count, least = len(nodes(trees)), least_bytes(case, trees)
    return Weighed(case.workload.cell.value, case.job.hidden, batches.size, count, least, grown), missing


def _weighed(case: Case, name: str, wanted: dict[int, dict[str, Array]]) -> int | str:
    """Return by how many bytes a peer grows, or why it is not weighed."""
    flat = [flatten(tree) for tree in case.trees]
    try:
        with PeerProcess(name, case.job.threads) as peer:
            peer.wait()
            why = peer.build(case.job, flat)
            if why is not None:
                return why
            error = largest_error(case, peer, wanted)
            if not error <= find(name).largest_error:
                return f"its answers are off by {error:.1e}"
        with PeerProcess(name, case.job.threads) as peer:  # a new one, which has kept nothing of those calls
            peer.wait()
            peer.build(case.job, flat)
            return peer.weigh(case.batches[0].timed[0], _REPEATS)
    except PeerFailed as failure:
        return str(failure).strip().splitlines()[-1]


def _table(rows: Sequence[Weighed]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("model", "hidden", "batch", "nodes", "at once, MB"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    peers = list(dict.fromkeys(peer for row in rows for peer in row.peers))
    for peer in peers:
        table.add_column(f"{find(peer).label}, MB", justify="right")
    for row in rows:
        found = (f"{row.peers[peer] / 1e6:.1f}" if peer in row.peers else "" for peer in peers)
        sizes = (str(row.hidden), str(row.batch), str(row.nodes), f"{row.least / 1e6:.1f}")
        table.add_row(row.workload, *sizes, *found)
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="bench.memory", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trees", type=Path, default=sample_treebank(), help="bracketed binary trees")
    parser.add_argument("--workloads", type=names, default=list(RECURSIVE), help=", ".join(RECURSIVE))
    parser.add_argument("--peers", type=names, default=list(_PEERS), help=f"{', '.join(PEERS)}, or modules")
    parser.add_argument("--batch", type=int, default=100, help="structures in the batch")
    parser.add_argument("--threads", type=int, default=usable_cores(), help="for every peer")
    parser.add_argument("--json", type=Path, help="where to write the result")
    parser.add_argument("--quick", action="store_true", help="tiny: to see that all works, not how much")
    given = parser.parse_args(arguments)
    check_names(parser, "workload", given.workloads, WORKLOADS)
    check_peers(parser, given.peers, find)
    rows: list[Weighed] = []
    console, treebank = page(_WIDTH), read_treebank(given.trees)
    for name in given.workloads:
        hidden = 16 if given.quick else WORKLOADS[name].hidden[0]
        case = make_case(
            WORKLOADS[name], hidden, treebank, [given.batch], rounds=1, threads=given.threads, seed=SEED
        )
        row, missing = measure(case, given.peers)
        rows.append(row)
        for line in missing:
            console.print(line)
    console.print(_table(rows))
    if given.json is not None:
        settings = {"threads": given.threads, "trees": given.trees.name, "seed": SEED, "repeats": _REPEATS}
        found = {"schema": SCHEMA, **about(), "settings": settings, "rows": [asdict(row) for row in rows]}
        write_json(found, given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
