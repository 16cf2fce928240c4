"""What the resident team costs: a barrier, a call, waking, and a call right after a matrix product of torch's.

Python's threads and torch's stay awake for a while after a product and hold the processors that a team wants. Each
line is the least and the median of many calls, in microseconds; `cpu` says how long the process computed in one second
of idleness. Run it on a machine with nothing else to do: `python -m bench.team`.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable

import numpy as np
import torch

import cortex
from cortex import models
from ragged.codegen.build import compile_program
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller
from ragged.runtime.team import usable_cores

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
STEPS, REPEATS, ALL_COME = 10_000, 300, 10**9


def microseconds(
    action: Callable[[], object], before: Callable[[], object] = lambda: None
) -> dict[str, float]:
    """Return the least and the median time of `action`, each time after `before`."""
    times = []
    for _ in range(REPEATS):
        before()
        begin = time.perf_counter_ns()
        action()
        times.append(time.perf_counter_ns() - begin)
    low, median, high = np.percentile(times, (0, 50, 90)) / 1000
    return {"least": round(low, 2), "median": round(median, 2), "90 %": round(high, 2)}


def barriers(workers: int) -> dict[str, object]:
    """Return the nanoseconds of one barrier, and what calls with and without pauses cost."""
    entry = compile_program(parse(BARRIERS)).entry(StageKind.KERNEL)
    call = Caller([entry], {}, workers=workers)

    def run(steps: int) -> Callable[[], object]:
        return lambda: call({"steps": steps}, patience=ALL_COME)

    empty, full = microseconds(run(0)), microseconds(run(STEPS))
    return {
        "barrier_ns": round((full["least"] - empty["least"]) / STEPS * 1000, 1),
        "call": empty,
        "call_after_sleep": microseconds(run(0), lambda: time.sleep(0.001)),
    }


def after_torch(workers: int) -> dict[str, object]:
    """Return what a small tree costs by itself and right after a matrix product, with one worker and with the team."""
    model = models.tree_lstm(hidden=256, embed=64, vocab=100)
    params, a = model.init_params(seed=0), torch.randn(512, 512)
    tree = ((((1, 2), (3, 4)), ((5, 6), (7, 8))), (((1, 2), (3, 4)), ((5, 6), (7, 8))))
    found: dict[str, object] = {}
    for threads in (1, workers):
        fn = cortex.compile(model, params, threads=threads)
        batch = fn.linearize(tree)
        found[f"{threads} alone"] = microseconds(lambda fn=fn, batch=batch: fn(batch))
        found[f"{threads} after torch.mm"] = microseconds(
            lambda fn=fn, batch=batch: fn(batch), lambda: torch.mm(a, a)
        )
    return found


def idle_seconds() -> float:
    """Return the processor time that this process takes in a second in which it does nothing."""
    time.sleep(0.5)  # torch's threads take their time to fall asleep
    begin = time.process_time()
    time.sleep(1.0)
    return round(time.process_time() - begin, 4)


def main() -> None:
    """Measure and print."""
    workers = usable_cores()
    result = {
        "machine": platform.processor() or platform.machine(),
        "cores": workers,
        "load": os.getloadavg()[0],
        "torch": torch.__version__,
        "repeats": REPEATS,
        "barriers": {count: barriers(count) for count in sorted({2, workers})},
        "fight": after_torch(max(workers, 2)),
        "cpu": idle_seconds(),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
