"""What the resident team costs: a barrier, a call, waking, and sharing processors with torch's and NumPy's pools.

Those libraries' threads stay awake for milliseconds after a matrix product and hold the processors that a team wants;
a team that stays awake would hold theirs. So calls are timed by themselves, with cold caches (after a sum over 4 MiB,
which no pool takes part in), and right after a product of torch's and of NumPy's; and the products by themselves and
right after a call. All in turns, so that what else the machine does is spread over everything; microseconds. Run it
on a machine with nothing else to do, without OPENBLAS_CORETYPE and OMP_WAIT_POLICY:

    python -m bench.team
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

import cortex
from cortex import models
from ragged.codegen.build import compile_program
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller
from ragged.runtime.cores import usable_cores

BARRIERS = """\
program("barriers")

workers: call()
steps: call()
out: output(int64[workers])

with kernel:
    for w in team(workers):
        for s in serial(steps):
            barrier(team)
        out[w] = w
"""
STEPS, TURNS, REPEATS, UNCOUNTED = 10_000, 6, 40, 5
SPIN_NS = 100_000
TREE = ((((1, 2), (3, 4)), ((5, 6), (7, 8))), (((1, 2), (3, 4)), ((5, 6), (7, 8))))

Action = Callable[[], object]


def timed(action: Action, before: Action) -> list[int]:
    """Return the nanoseconds of `action`, each time after `before`."""
    time.sleep(0.02)  # everybody falls asleep
    times = []
    for _ in range(UNCOUNTED + REPEATS):
        before()
        begin = time.perf_counter_ns()
        action()
        times.append(time.perf_counter_ns() - begin)
    return times[UNCOUNTED:]


def in_turns(pairs: dict[tuple[str, str], tuple[Action, Action]]) -> dict[tuple[str, str], dict[str, float]]:
    """Return the spread of the first of each pair after the second, in microseconds."""
    times: dict[tuple[str, str], list[int]] = {name: [] for name in pairs}
    for _ in range(TURNS):
        for name, (action, before) in pairs.items():
            times[name] += timed(action, before)
    return {name: spread(found) for name, found in times.items()}


def spread(times: Sequence[int]) -> dict[str, float]:
    """Return the least, the median and the 90th percentile in microseconds of times in nanoseconds."""
    low, median, high = (float(time) / 1000 for time in np.percentile(times, (0, 50, 90)))
    return {"least": round(low, 2), "median": round(median, 2), "90 %": round(high, 2)}


def nothing() -> None:
    """Do nothing."""


def barriers(workers: int) -> tuple[Caller, dict[str, object]]:
    """Return a kernel of nothing but barriers, and what one costs, in nanoseconds, and calls with none."""
    call = Caller([compile_program(parse(BARRIERS)).entry(StageKind.KERNEL)], {}, workers=workers)
    run = partial(call, spin_ns=SPIN_NS)
    empty, full = timed(lambda: run({"steps": 0}), nothing), timed(lambda: run({"steps": STEPS}), nothing)
    asleep = timed(lambda: run({"steps": 0}), lambda: time.sleep(0.001))
    found = {
        "barrier, ns": round((min(full) - min(empty)) / STEPS, 1),
        "call": spread(empty),
        "call after sleep": spread(asleep),
    }
    return call, found


def fight(workers: int, call: Caller) -> dict[tuple[str, str], dict[str, float]]:
    """Return what calls and products cost by themselves and after each other."""
    model = models.tree_lstm(hidden=256, embed=8, vocab=100)
    params = model.init_params(seed=0)
    functions = {threads: cortex.compile(model, params, threads=threads) for threads in (1, workers)}
    batch = functions[1].linearize(TREE)
    assert functions[1](batch)["h"].tobytes() == functions[workers](batch)["h"].tobytes()
    a, b = torch.randn(512, 512), np.random.default_rng(0).standard_normal((512, 512)).astype(np.float32)
    large = np.ones(1 << 20, np.float32)
    ours: dict[str, Action] = {
        f"100 barriers, {workers} workers": lambda: call({"steps": 100}, spin_ns=SPIN_NS),
        "tree_lstm 256, 1 thread": lambda: functions[1](batch),
        f"tree_lstm 256, {workers} threads": lambda: functions[workers](batch),
    }
    products: dict[str, Action] = {"torch.mm 512": lambda: torch.mm(a, a), "NumPy @ 512": lambda: b @ b}
    befores = {"alone": nothing, "cold": lambda: large.sum(), **products}
    pairs = {(name, before): (run, first) for name, run in ours.items() for before, first in befores.items()}
    afters = {"alone": nothing, "after ours": ours[f"tree_lstm 256, {workers} threads"]}
    pairs |= {
        (name, after): (run, first) for name, run in products.items() for after, first in afters.items()
    }
    return in_turns(pairs)


def idle_seconds() -> float:
    """Return the processor time that this process takes in a second in which it does nothing."""
    time.sleep(0.5)  # torch's threads take their time to fall asleep
    begin = time.process_time()
    time.sleep(1.0)
    return round(time.process_time() - begin, 4)


def table(found: dict[tuple[str, str], dict[str, float]]) -> str:
    """Return the fight as text: median and 90th percentile, and the median as a multiple of that alone."""
    lines = [f"{'':28} {'right after':14} {'median':>9} {'90 %':>9} {'x alone':>8}"]
    for (name, before), times in found.items():
        ratio = times["median"] / found[name, "alone"]["median"]
        lines.append(f"{name:28} {before:14} {times['median']:>9.1f} {times['90 %']:>9.1f} {ratio:>8.2f}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="a file to write everything to")
    options = parser.parse_args(arguments)
    workers = max(2, usable_cores())
    call, result = barriers(workers)
    found = fight(workers, call)
    result |= {
        "machine": platform.processor() or platform.machine(),
        "system": platform.release(),
        "cores": usable_cores(),
        "load": os.getloadavg()[0],
        "torch": torch.__version__,
        "NumPy": np.__version__,
        "repeats": TURNS * REPEATS,
        "idle_cpu": idle_seconds(),
    }
    print(table(found), *(f"{name}: {value}" for name, value in result.items()), sep="\n")
    if options.json:
        rows = [{"what": name, "after": before, **times} for (name, before), times in found.items()]
        options.json.write_text(json.dumps({**result, "fight": rows}, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
