"""Calls without end: is memory flat, and does nothing stay behind?

Several threads call one compiled model with whatever comes: single trees, batches, empty batches, chains, linearized
batches, and data that is refused; results are kept for a while or dropped. After each of many rounds everything is
quiet for a moment, and the process is looked at: resident memory, Python's allocated blocks, memory for workspaces,
threads, open files. Some of the answers are compared, bit for bit, with those of a function with one thread.

    python -m bench.soak --calls 1000000

exits with 1 if something grows, from the first half of the rounds to the second. What may: resident memory by a byte a
call, where the smallest lost object takes 16, and by 1 MiB, which the allocator of the C library moves by itself;
Python's blocks by a thousand, as many as the looks themselves take; threads and files not at all.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

import cortex
from cortex import models
from cortex.compiler import Output, RecursiveFunction
from cortex.data import sample_treebank
from ragged.runtime.cores import usable_cores
from ragged.runtime.team import helpers

ROUNDS = 40
WARM = 10  # rounds in which pools fill and the allocator finds its size
CHECKED = 50  # one answer in so many is compared
BYTES_A_CALL, BYTES_FREE, BLOCKS_FREE = 1, 1 << 20, 1000
IDLE_CPU = 0.02  # seconds of processor time in a second of idleness


@dataclass(frozen=True, slots=True)
class Look:
    """The process at one moment, with no call under way. Bytes; `workspaces` are those of idle blocks."""

    calls: int
    seconds: float
    resident: int
    blocks: int
    workspaces: int
    threads: int
    files: int


@dataclass(frozen=True, slots=True)
class Case:
    """Something to call with, and its results, or None if it is refused."""

    data: object
    want: dict[str, list[bytes]] | None


def look(fn: RecursiveFunction, calls: int, begin: float) -> Look:
    """Return the state of this process."""
    gc.collect()
    time.sleep(0.01)  # a thread that has been joined is not yet gone
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return Look(
        calls,
        round(time.perf_counter() - begin, 2),
        pages * os.sysconf("SC_PAGE_SIZE"),
        sys.getallocatedblocks(),
        fn._caller.idle_memory[1],
        len(os.listdir("/proc/self/task")),
        len(os.listdir("/proc/self/fd")),
    )


def thread_names() -> list[str]:
    """Return the name of each thread of this process."""
    return [path.read_text(encoding="utf-8").strip() for path in Path("/proc/self/task").glob("*/comm")]


def bits(out: Output) -> dict[str, list[bytes]]:
    """Return all results as bytes."""
    return {name: [out[name].tobytes(), *(rows.tobytes() for rows in out.nodes(name))] for name in out}


def cases(plain: RecursiveFunction, vocab: cortex.Vocab) -> list[Case]:
    """Return what calls are made with. `plain` has one thread."""
    trees = cortex.read_ptb(sample_treebank(), vocab=vocab)
    lines = sample_treebank().read_text(encoding="utf-8").splitlines()
    rng = random.Random(0)
    data: list[object] = [[], 3, np.arange(5), lines[0], *trees[:20]]
    data += [rng.sample(trees, count) for count in (2, 3, 5, 5, 8, 10, 10, 20)]
    data += [plain.linearize(each) for each in (trees[3], rng.sample(trees, 10))]
    chain: object = 1
    for word in range(60):
        chain = (chain, word % 50)
    data += [chain, [chain, trees[0], lines[1]]]
    good = [Case(each, bits(plain(each))) for each in data]
    return [*good, *(Case(bad, None) for bad in ((1, 2.5), [trees[0], 10**6], [object()], "(no bracket"))]


class Worker:
    """One thread's share of a round: it calls `fn` with cases at random."""

    def __init__(self, fn: RecursiveFunction, pool: Sequence[Case], seed: int) -> None:
        self.fn, self.pool, self.random = fn, pool, random.Random(seed)
        self.faults: list[str] = []
        self.refused = self.checked = 0

    def run(self, calls: int) -> None:
        """Make so many calls; what goes wrong is in `faults` then."""
        kept: deque[Output] = deque(maxlen=8)
        try:
            for _ in range(calls):
                self.call(self.pool[int(self.random.random() * len(self.pool))], kept)
        except Exception as error:
            self.faults.append(f"{type(error).__name__}: {error}")

    def call(self, case: Case, kept: deque[Output]) -> None:
        """Make one call."""
        try:
            out = self.fn(case.data)
        except cortex.DataError:
            self.refused += 1
            if case.want is not None:
                self.faults.append("what the model takes was refused")
            return
        chance = self.random.random()
        if chance < 0.3:
            kept.append(out)
        if case.want is None:
            self.faults.append("what the model does not take was not refused")
        elif chance < 1 / CHECKED:
            self.checked += 1
            if bits(out) != case.want:
                self.faults.append("an answer has other bits")


def in_threads(actions: Sequence[Callable[[], None]]) -> None:
    """Run all at once, each in a new thread."""
    threads = [threading.Thread(target=action) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def soak(fn: RecursiveFunction, workers: Sequence[Worker], calls: int) -> list[Look]:
    """Make `calls` calls in rounds and return what was seen after each."""
    share = max(1, calls // ROUNDS // len(workers))
    begin, looks = time.perf_counter(), []
    for number in range(1, ROUNDS + 1):
        in_threads([partial(worker.run, share) for worker in workers])
        looks.append(look(fn, number * share * len(workers), begin))
    return looks


def grown(looks: Sequence[Look], what: str) -> float:
    """Return by how much something grew from the first half of what was seen after warming up to the second."""
    values = [getattr(each, what) for each in looks[WARM:]]
    half = len(values) // 2
    return float(statistics.median(values[half:]) - statistics.median(values[:half]))


def judge(looks: Sequence[Look], others: int, idle_cpu: float) -> list[str]:
    """Return what is not as it should be."""
    calls = (looks[-1].calls - looks[WARM].calls) / 2
    limits = {
        "resident": BYTES_FREE + BYTES_A_CALL * calls,
        "blocks": BLOCKS_FREE,
        "workspaces": BYTES_FREE,
        "threads": 0,
        "files": 0,
    }
    wrong = [
        f"{what} grew by {grown(looks, what):.0f}, over {limit:.0f}"
        for what, limit in limits.items()
        if grown(looks, what) > limit
    ]
    names = thread_names()
    if names.count("ragged-team") != helpers() or len(names) != others + helpers():
        wrong.append(f"of threads there should be {others} and {helpers()} helpers, and there are {names}")
    if idle_cpu > IDLE_CPU:
        wrong.append(f"it computes for {idle_cpu} s in a second of idleness")
    return wrong


def idle_seconds() -> float:
    """Return the processor time that this process takes in a second in which it does nothing."""
    time.sleep(0.1)
    begin = time.process_time()
    time.sleep(1.0)
    return round(time.process_time() - begin, 4)


def measure(calls: int, callers: int, threads: int) -> dict[str, object]:
    """Run the whole and return what was found, its faults among it."""
    tokens = sample_treebank().read_text(encoding="utf-8").split()
    words = sorted({token.rstrip(")") for token in tokens if token.endswith(")")})
    vocab = cortex.Vocab(["<unk>", *words], unk="<unk>")
    model = models.tree_lstm(hidden=16, embed=8, vocab=len(vocab))
    params = model.init_params(seed=0)
    pool = cases(cortex.compile(model, params, vocab=vocab, threads=1), vocab)
    fn = cortex.compile(model, params, vocab=vocab, threads=threads)
    fn._spin_ns = lambda nodes, batches: 20_000  # the team, however small the tree
    workers = [Worker(fn, pool, seed) for seed in range(callers)]
    others = len(thread_names()) - helpers()  # the main one, and libraries'
    gc.collect()
    gc.freeze()  # what compiling left need not be looked through again and again
    looks = soak(fn, workers, calls)
    del fn
    idle_cpu = idle_seconds()
    faults = [
        *dict.fromkeys(fault for worker in workers for fault in worker.faults),
        *judge(looks, others, idle_cpu),
    ]
    return {
        "machine": platform.processor() or platform.machine(),
        "cores": usable_cores(),
        "callers": callers,
        "threads": threads,
        "calls": looks[-1].calls,
        "refused": sum(worker.refused for worker in workers),
        "compared": sum(worker.checked for worker in workers),
        "microseconds a call": round(looks[-1].seconds / looks[-1].calls * 1e6, 1),
        "grown": {
            what: grown(looks, what) for what in ("resident", "blocks", "workspaces", "threads", "files")
        },
        "helpers": helpers(),
        "idle_cpu": idle_cpu,
        "faults": faults,
        "looks": [asdict(each) for each in looks],
    }


def table(result: dict[str, object], looks: Sequence[dict[str, float]]) -> str:
    """Return what was found as text."""
    head = "    calls       s  resident MiB   blocks  workspaces KiB  threads  files"
    lines = [
        f"{each['calls']:>9} {each['seconds']:>7.1f} {each['resident'] / 2**20:>13.2f} {each['blocks']:>8} "
        f"{each['workspaces'] / 2**10:>15.0f} {each['threads']:>8} {each['files']:>6}"
        for each in looks[:: max(1, len(looks) // 20)]
    ]
    rest = [f"{name}: {value}" for name, value in result.items() if name != "looks"]
    return "\n".join([head, *lines, *rest])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return how the process ends: 1 if something is not as it should be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=1_000_000, help="how many calls are made")
    parser.add_argument("--callers", type=int, default=3, help="how many Python threads make them")
    parser.add_argument("--threads", type=int, default=max(2, usable_cores()), help="the model's own threads")
    parser.add_argument("--json", type=Path, help="a file to write everything to")
    options = parser.parse_args(arguments)
    result = measure(options.calls, options.callers, options.threads)
    looks = result["looks"]
    assert isinstance(looks, list)
    print(table(result, looks))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 1 if result["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
