"""How long models take to compile, in a fresh process and without the cache, and what takes it.

The models are those of the library, and nodes of many layers.

    python -m bench.compile [--models NAME ...] [--threads N] [--json FILE]

Seconds are of the processor, not of the clock: other work on the machine changes them little. Parts exclude each other:
"proofs" is what the prover takes inside of "passes" and "schedule", the steps of the loop schedule. "cached" is what a
compile takes in one more fresh process, which finds the code in the cache; imports are not part of it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from bench.command import check_names, names, page, write_json
from bench.machine import about
from bench.process import ROOT, fair_environment
from cortex import models, ra

SCHEMA = 2
_WIDTH = 180
_STATED = "llvm -mcpu=znver4 -num-cores=2"
"""What counts are of: they do not change with the machine that they are taken on."""
_SIZES: dict[str, Any] = {"hidden": 256, "embed": 300, "vocab": 20_000}


def dense_layers(count: int, hidden: int, vocab: int) -> ra.Model:
    """Return a model with `count` dense layers in each inner node, over the sum of the states of its children.

    It shows how compile time grows with the size of a node: parameters are emb (vocab, hidden) and, of each layer,
    W0.. (hidden, hidden) and b0.. (hidden,).
    """
    N, H = ra.N, hidden
    emb, word = ra.input_tensor("emb", (vocab, H)), ra.node_input("word", dtype="int32")
    h_ph = ra.placeholder((N, H), name="h_ph")
    leaf = ra.compute((N, H), lambda n, i: emb[word[n], i], name="leaf")
    x = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]), name="x")
    for layer in range(count):
        x = _dense(layer, x, H)
    h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, x), name="h")
    return ra.recursion_op({"h": (h_ph, h)}, structure=ra.Tree(max_children=2))


def _dense(layer: int, x: Any, width: int) -> Any:
    W, b = ra.input_tensor(f"W{layer}", (width, width)), ra.input_tensor(f"b{layer}", (width,))
    made = (ra.N, width)
    total = ra.compute(made, lambda n, i: ra.sum(width, lambda j: W[i, j] * x[n, j]), name=f"sum{layer}")
    return ra.compute(made, lambda n, i: ra.tanh(total[n, i] + b[i]), name=f"layer{layer}")


MODELS: dict[str, Callable[[], ra.Model]] = {
    "tree_sum": partial(models.tree_sum, 256, 20_000),
    "tree_fc": partial(models.tree_fc, 256, 20_000),
    "tree_rnn": partial(models.tree_rnn, **_SIZES),
    "tree_lstm": partial(models.tree_lstm, **_SIZES),
    "tree_lstm_64": partial(models.tree_lstm, **_SIZES | {"hidden": 64}),
    "tree_gru": partial(models.tree_gru, **_SIZES),
    "simple_tree_gru": partial(models.simple_tree_gru, **_SIZES),
    "mv_rnn_64": partial(models.mv_rnn, 64, 2_000),
    "dag_rnn": partial(models.dag_rnn, 256, 300),
    "lstm": partial(models.lstm, **_SIZES),
    "gru": partial(models.gru, **_SIZES),
    "nary_tree_lstm_2": partial(models.nary_tree_lstm, **_SIZES, arity=2),
    "nary_tree_lstm_6": partial(models.nary_tree_lstm, **_SIZES, arity=6),
    "dense_4": partial(dense_layers, 4, 256, 20_000),
    "dense_16": partial(dense_layers, 16, 256, 20_000),
}
PARTS = ("imports", "lowering", "passes", "schedule", "proofs", "tir", "llvm", "load", "other")
COUNTS = ("steps", "proofs", "questions", "z3_checks")


class Profile:
    """Seconds by part and numbers of calls: of functions that `watch` puts itself in place of."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.counts: Counter[str] = Counter()
        self._parts = ["other"]
        self._since = 0.0  # the process began in "imports", see `_profiled`
        self._undo: list[Callable[[], None]] = []

    def switch(self, part: str) -> None:
        """Count the time since the last switch as the part's."""
        now = time.process_time()
        self.seconds[part] += now - self._since
        self._since = now

    def watch(self, owner: Any, name: str, part: str | None = None, count: str | None = None) -> None:
        """Count the calls of a function of a module or class as `count`, and their time as `part`."""
        function = getattr(owner, name)

        @wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if count is not None:
                self.counts[count] += 1
            if part is None:
                return function(*args, **kwargs)
            self.switch(self._parts[-1])
            self._parts.append(part)
            try:
                return function(*args, **kwargs)
            finally:
                self.switch(self._parts.pop())

        setattr(owner, name, watched)
        self._undo.append(lambda: setattr(owner, name, function))

    def __enter__(self) -> Profile:
        """Watch the compiler."""
        import z3

        from cortex.ra.schedule import RecursionSchedule
        from ragged.codegen import build
        from ragged.compiled import generate
        from ragged.prove import prover, query
        from ragged.prove.shared_answers import SHARED_ANSWERS
        from ragged.schedule.loop_schedule import LoopSchedule

        SHARED_ANSWERS.clear()  # counts do not depend on what the process compiled before
        self.watch(RecursionSchedule, "lower", "lowering")
        self.watch(generate, "run_passes", "passes")
        self.watch(LoopSchedule, "apply", "schedule", "steps")
        self.watch(prover.Prover, "prove", "proofs", "proofs")
        self.watch(query.Query, "__init__", count="questions")
        self.watch(z3.Solver, "check", count="z3_checks")
        self.watch(build, "stage_function", "tir")
        self.watch(build, "_build", "llvm")
        self.watch(build.Generated, "object_code", "llvm")
        self.watch(generate, "link", "load")
        self.watch(generate, "load_kernel", "load")
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the compiler as it was."""
        for undo in self._undo:
            undo()


def count(model: ra.Model, threads: int = 2) -> dict[str, int]:
    """Return how often `COUNTS` happen from a model to the program that code is generated for, of a stated machine."""
    from cortex.compiler.pipeline import passes_for
    from cortex.ra.schedule import default_schedule
    from ragged.passes.pipeline import run_passes

    with Profile() as profile:
        run_passes(default_schedule(model).lower(), passes_for(threads, target=_STATED))
    return {name: profile.counts[name] for name in COUNTS}


def _cached(name: str, threads: int) -> float:
    """Return what a compile takes in this process, which has done nothing else; the cache may have the code."""
    import cortex

    model = MODELS[name]()
    params = model.init_params(seed=0)
    begin = time.process_time()
    cortex.compile(model, params, threads=threads, cache=True)
    return round(time.process_time() - begin, 3)


def _profiled(name: str, threads: int) -> dict[str, dict[str, float]]:
    """Compile a model in this process, which has done nothing else."""
    import cortex
    from cortex.compiler import pipeline  # noqa: F401  # with it, TVM and Z3

    profile = Profile()
    profile.switch("imports")
    model = MODELS[name]()
    params = model.init_params(seed=0)
    with profile:
        profile._since = time.process_time()  # parameters are not part of it
        cortex.compile(model, params, threads=threads, cache=False)
        profile.switch("other")
    return {
        "seconds": {part: round(profile.seconds[part], 3) for part in PARTS},
        "counts": {name: profile.counts[name] for name in COUNTS},
    }


def measure(name: str, threads: int) -> dict[str, Any]:
    """Compile a model in fresh processes; return seconds by part and counts without the cache, and seconds with it."""
    found: dict[str, Any] = _in_process("--one", name, threads, cache="")
    with tempfile.TemporaryDirectory() as folder:
        _in_process("--one-cached", name, threads, cache=folder)
        return found | {"cached": _in_process("--one-cached", name, threads, cache=folder)}


def _in_process(what: str, name: str, threads: int, cache: str) -> Any:
    command = [sys.executable, "-m", "bench.compile", what, name, "--threads", str(threads)]
    env = fair_environment(threads) | {"CORTEX_CACHE_DIR": cache, "RAGGED_CACHE_DIR": cache}
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=env)
    return json.loads(done.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="bench.compile", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", type=names, default=list(MODELS), help=f"of {', '.join(MODELS)}")
    parser.add_argument("--threads", type=int, default=2, help="for how many threads to compile")
    parser.add_argument("--one", choices=tuple(MODELS), help=argparse.SUPPRESS)
    parser.add_argument("--one-cached", choices=tuple(MODELS), help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, help="where to write the result")
    options = parser.parse_args(arguments)
    if options.one or options.one_cached:
        cached = options.one_cached
        print(
            json.dumps(
                _cached(cached, options.threads) if cached else _profiled(options.one, options.threads)
            )
        )
        return 0
    check_names(parser, "model", options.models, MODELS)
    table = Table("model", "total", *PARTS, "cached", *COUNTS, box=box.SIMPLE)
    results = {}
    for name in options.models:
        found = results[name] = measure(name, options.threads)
        seconds, counts = found["seconds"], found["counts"]
        times = (sum(seconds.values()), *(seconds[part] for part in PARTS), found["cached"])
        table.add_row(name, *(f"{each:.2f}" for each in times), *(str(counts[each]) for each in COUNTS))
    page(_WIDTH).print(table)
    if options.json:
        write_json({"schema": SCHEMA, "machine": about(), "models": results}, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
