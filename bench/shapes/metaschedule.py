"""MetaSchedule, TVM's tuner, on single shapes of the dense workload: a program for each shape, searched by measuring.

    python -m bench.shapes.metaschedule [--lengths 1,43,128] [--trials 64] [--threads N] [--json FILE]

It needs `pip install 'xgboost-cpu>=3,<4' psutil cloudpickle`, and apache-tvm-ffi 0.1.14.post0 first on PYTHONPATH
(`pip install --no-deps --target FOLDER apache-tvm-ffi==0.1.14.post0`): later ones end in `save_json` of a function. A
trial takes some seconds, and TVM answers for no shape that was not searched for: it refuses loops of unknown extent.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import types
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bench.command import numbers, page, write_json
from bench.machine import about
from bench.shapes.problems import Dense, ShapesProblem, reference
from bench.shapes.results import Searched
from bench.shapes.workloads import SEQUENCES
from ragged.runtime.cores import usable_cores

SCHEMA = 1
_INTRINSICS = "tvm.s_tir.tensor_intrin"
_BUILD_SECONDS = 60
_CALLS = 15


def without_intrinsics() -> None:
    """Let TVM import an empty module for its tensor intrinsics: the real one takes half a minute in each process."""
    sys.modules.setdefault(_INTRINSICS, types.ModuleType(_INTRINSICS))


def build(module: Any, target: Any, _: Any) -> Any:
    """Build a candidate, as TVM's builder does but for that import."""
    without_intrinsics()
    from tvm.driver import build as tvm_build
    from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock

    return tvm_build(RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(module), target=target)


def search(length: int, trials: int, threads: int, processor: str) -> Searched:
    """Search for a program of one length, check its answer, and time it."""
    without_intrinsics()
    import tvm
    from tvm import te
    from tvm.s_tir import meta_schedule as ms

    sizes = Dense(SEQUENCES * length, 768, 2304)
    x, w = te.placeholder((sizes.rows, sizes.k), name="X"), te.placeholder((sizes.n, sizes.k), name="W")
    q = te.reduce_axis((0, sizes.k), name="q")
    y = te.compute((sizes.rows, sizes.n), lambda i, j: te.sum(x[i, q] * w[j, q], axis=q), name="Y")
    target = tvm.target.Target({"kind": "llvm", "mcpu": processor, "num-cores": threads})
    rules: Any = "llvm"
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        database = ms.tune_tir(
            te.create_prim_func([x, w, y]),
            target,
            folder,
            trials,
            num_trials_per_iter=min(64, trials),
            builder=ms.builder.LocalBuilder(f_build=build, timeout_sec=_BUILD_SECONDS),
            space=ms.space_generator.PostOrderApply(sch_rules=rules, postprocs=rules, mutator_probs=rules),
            num_tuning_cores=threads,
            seed=0,
        )
        seconds = time.monotonic() - begin
        found = ms.tir_integration.compile_tir(database, te.create_prim_func([x, w, y]), target)
        compiled = build(found.mod, target, None)
    return _timed(sizes, f"T={length}", trials, seconds, compiled, threads)


def _timed(sizes: Dense, label: str, trials: int, seconds: float, compiled: Any, threads: int) -> Searched:
    import tvm

    problem = ShapesProblem("dense", (label,), (sizes,), threads)
    (x,) = problem.operands(sizes)
    arrays = [tvm.runtime.tensor(each) for each in (x, problem.weights(sizes))]
    result = tvm.runtime.empty((sizes.rows, sizes.n), "float32")
    call = compiled["main"]
    times = []
    for _ in range(_CALLS):
        begin = time.perf_counter()
        call(*arrays, result)
        times.append(time.perf_counter() - begin)
    expected = reference(problem, sizes, (x,))
    error = float(np.abs(result.numpy() - expected).max() / max(1.0, np.abs(expected).max()))
    us = float(np.median(times)) * 1e6
    return Searched(label, trials, seconds, us, sizes.flops / us / 1000, error)


def main(arguments: Sequence[str] | None = None) -> int:
    """Search, print and write."""
    parser = argparse.ArgumentParser(
        prog="bench.shapes.metaschedule", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--lengths", type=numbers, default=[1, 43, 128], help="1,43,128")
    parser.add_argument(
        "--trials", type=int, default=64, help="programs that are compiled and timed for each"
    )
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--processor", default=None, help="LLVM's name; the default is this machine's")
    parser.add_argument("--json", type=Path, help="where to write the result")
    given = parser.parse_args(arguments)
    os.environ["TVM_NUM_THREADS"] = str(given.threads)
    processor = given.processor or _this_processor()
    console, rows = page(110), []
    for length in given.lengths:
        found = search(length, given.trials, given.threads, processor)
        console.print(
            f"{found.label}: {found.us:,.0f} us, {found.gflops:.0f} GFLOP/s, off by {found.error:.1e}; "
            f"{found.trials} trials in {found.seconds:.0f} s"
        )
        rows.append(found)
    if given.json is not None:
        write_json(
            {"schema": SCHEMA, **about(["apache-tvm"]), "rows": [asdict(row) for row in rows]}, given.json
        )
    return 0


def _this_processor() -> str:
    without_intrinsics()
    from tvm.target import codegen

    return str(codegen.llvm_get_system_cpu())


if __name__ == "__main__":
    sys.exit(main())
