"""The machine rates of one core of this machine, measured by programs of the IR in a fraction of a second.

Cycles are counted in dependent multiply-adds, of which each takes `Rates.latency`: the ratio of two times needs no
clock. It is the same on a busy machine, as the time of other processes does not count. All is rounded so that noise
does not change a schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from time import perf_counter_ns, thread_time_ns

import numpy as np

from ragged.codegen.build import compile_program
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.machine import Machine, Rates
from ragged.runtime.call import Caller
from ragged.runtime.memory import aligned_empty

SPIN_ALWAYS = 10**9
"""Spin time of a timed call, in nanoseconds: its workers never sleep."""
FLOATS = 256
"""Floats of the accumulators of a loop at its ceiling: 16 registers of 16, or 32 of 8."""
_RUNS = 12
_RUN_NS, _CLOCK_RUN_NS = 1_000_000, 8_000_000
"""How long a run takes, in nanoseconds; longer where the clock is measured: it is higher for a millisecond or two."""
_MOST_BYTES = 96 * 2**20
"""The most bytes that are read to measure a bandwidth."""
_GRID = (4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256)
"""Bytes per cycle that bandwidths are rounded to: about a quarter apart."""
_MHZ = 100

PEAK = """\
program("peak")

workers: call()
steps: call()
a: payload(float32[2], align=4)
out: output(float32[workers, {floats}])

with kernel:
    for w in team(workers):
        x = a[0]
        y = a[1]
        acc = local(float32[{floats}], scope=register)
        for i in unrolled({floats} // 16):
            for l in vectorized(16):
                acc[i * 16 + l]: zero = 0.0
        for s in serial(steps):
            for i in unrolled({floats} // 16):
                for l in vectorized(16):
                    acc[i * 16 + l]: step = fma(acc[i * 16 + l], x, y)
        for i in unrolled({floats} // 16):
            for l in vectorized(16):
                out[w, i * 16 + l] = acc[i * 16 + l]
"""

READ = """\
program("read")

workers: call()
rounds: call()
blocks: call()
x: payload(float32[workers * blocks * 256])
out: output(float32[workers, 256])

with kernel:
    for w in team(workers):
        acc = local(float32[256], scope=register)
        for i in unrolled(16):
            for l in vectorized(16):
                acc[i * 16 + l]: zero = 0.0
        for r in serial(rounds):
            for s in serial(blocks):
                for i in unrolled(16):
                    for l in vectorized(16):
                        acc[i * 16 + l]: step = acc[i * 16 + l] + x[(w * blocks + s) * 256 + i * 16 + l]
        for i in unrolled(16):
            for l in vectorized(16):
                out[w, i * 16 + l] = acc[i * 16 + l]
"""


def measure_rates(machine: Machine, runs: int = _RUNS) -> Rates:
    """Measure one core; rates that cannot be measured, such as memory behind a last cache of 100 MiB, are as stated."""
    values = {"a": np.array([0.5, 1.0], np.float32)}
    latency = machine.rates.latency
    vectors = FLOATS // machine.lanes(4)
    chain_vectors = max(1, 16 // machine.lanes(4))
    chain, peak = (compiled(PEAK.format(floats=floats), 1) for floats in (16, FLOATS))
    step_ns = _step_ns(lambda steps: _cpu_ns(chain, {**values, "steps": steps}), runs, run_ns=_CLOCK_RUN_NS)
    peak_ns = _step_ns(lambda steps: _cpu_ns(peak, {**values, "steps": steps}), runs, run_ns=_CLOCK_RUN_NS)
    cycles_per_ns = max(latency, chain_vectors) / step_ns
    per_cycle = vectors / (peak_ns * cycles_per_ns)
    l3 = machine.l3_bytes
    sizes = {
        "l1": machine.l1_bytes // 2,
        "l2_bytes": machine.l2_bytes // 2,
        "l3_bytes": min(4 * machine.l2_bytes, l3 // 2) if l3 > 2 * machine.l2_bytes else 0,
        "memory_bytes": 2 * max(l3, 4 * machine.l2_bytes),
    }
    rates = {
        name: _read_bytes_per_ns(size, runs) / cycles_per_ns
        for name, size in sizes.items()
        if 0 < size <= _MOST_BYTES
    }
    loads = rates.pop("l1") / machine.vector_bytes
    found = replace(
        machine.rates,
        multiply_adds=max(1, round(per_cycle)),
        loads=max(1, round(loads)),
        mhz=round(cycles_per_ns * 1000 / _MHZ) * _MHZ,
        **{name: min(_GRID, key=lambda each: abs(np.log(each / rate))) for name, rate in rates.items()},
    )
    return replace(found, memory_bytes=min(found.memory_bytes, found.l3_bytes))


def _read_bytes_per_ns(size: int, runs: int) -> float:
    """Return the bandwidth of reading `size` bytes again and again."""
    read = compiled(READ, 1)
    blocks = size // (4 * 256)
    x = aligned_empty((blocks * 256,), np.dtype(np.float32))
    x.fill(1.0)  # memory that has not been written is one page, many times over
    step_ns = _step_ns(
        lambda rounds: _cpu_ns(read, {"x": x, "blocks": blocks, "rounds": rounds}), runs, least=1
    )
    return x.nbytes / step_ns


def _step_ns(
    nanoseconds: Callable[[int], int], runs: int, *, least: int = 1000, run_ns: int = _RUN_NS
) -> float:
    """Return the time of one step: the least of several runs, each of `run_ns` or of `least` steps at the start."""
    steps = enough_steps(nanoseconds, least, run_ns)
    return min(nanoseconds(steps) for _ in range(runs)) / steps


def enough_steps(nanoseconds: Callable[[int], int], count: int, run_ns: int) -> int:
    """Return how many steps take about `run_ns`; one slow call is no reason to take fewer."""
    while (taken := min(nanoseconds(count) for _ in range(3))) < run_ns // 4:
        count *= 2
    return max(1, int(count * run_ns / taken))


def _cpu_ns(call: Caller, values: Mapping[str, object]) -> int:
    """Return the nanoseconds that this thread's processor spends on a call: others do not count."""
    begin = thread_time_ns()
    call(values, spin_ns=SPIN_ALWAYS)  # type: ignore[arg-type]
    return thread_time_ns() - begin


def timed(call: Caller, values: Mapping[str, object]) -> int:
    """Return the nanoseconds of a call."""
    begin = perf_counter_ns()
    call(values, spin_ns=SPIN_ALWAYS)  # type: ignore[arg-type]
    return perf_counter_ns() - begin


@cache
def compiled(text: str, workers: int) -> Caller:
    """Return the compiled kernel of a program's text."""
    return Caller([compile_program(parse(text)).entry(StageKind.KERNEL)], {}, workers=workers)
