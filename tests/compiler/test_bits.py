"""The bits of a result do not change with tiles, threads, the batch or the order of it.

Kernels are compiled with the default schedule of several machines, without one, and with tiles that no rule
chooses, put together of primitives at random; by one thread and by several. The results of each node are compared.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import cortex
from cortex import Node, models
from cortex.compiler import pipeline
from cortex.compiler.pipeline import passes_for
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.share_out import share_out
from ragged.errors import ScheduleError
from ragged.ir.expr import Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten, loops_of
from ragged.machine import Machine, this_machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.unroll import unroll
from ragged.transform.mapping.vectorize import vectorize
from tests.support.cells import child_sum

MODELS = {
    "tree_fc": models.tree_fc(hidden=40, vocab=50),
    "tree_lstm": models.tree_lstm(hidden=24, embed=20, vocab=50),
    "mv_rnn": models.mv_rnn(hidden=19, vocab=50),
    "child_sum": child_sum(hidden=20),
}
ROUNDED = {f"{name} in bf16": MODELS[name] for name in ("child_sum",)}
SIZE = 37
"""A batch that leaves a rest of every tile."""


@dataclass(frozen=True)
class AnyTiles:
    """Puts primitives together at random: splits with tails of both kinds, unrolled and vectorized loops."""

    seed: int
    threads: int = 1

    @property
    def __name__(self) -> str:
        return "default_schedule"

    def __call__(self, program: Program) -> Rewritten:
        choose, schedule = random.Random(self.seed), LoopSchedule(program, trusted=True)
        for var in loops_of(program):
            if choose.random() < 0.6:
                self.change(schedule, var, choose)
        share_out(schedule, self.threads)
        return Rewritten(schedule.program, schedule.forwarding, tuple(schedule.log().splitlines()))

    def change(self, schedule: LoopSchedule, var: Var, choose: random.Random) -> None:
        before = schedule.checkpoint()
        try:
            inner = schedule.apply(split, var, choose.choice([2, 3, 4, 5, 7]), choose.choice([*Tail])).loops[
                var
            ][1]
            schedule.apply(choose.choice([unroll, vectorize]), inner)
        except ScheduleError:
            schedule.restore(before)


@dataclass(frozen=True)
class NoSchedule:
    """Leaves the loops as they are, and shares them out."""

    threads: int = 1
    __name__ = "default_schedule"

    def __call__(self, program: Program) -> Rewritten:
        schedule = LoopSchedule(program, trusted=True)
        share_out(schedule, self.threads)
        return Rewritten(schedule.program, schedule.forwarding)


def machine(vector_bytes: int, vector_registers: int, l2_bytes: int) -> Machine:
    return replace(
        this_machine(), vector_bytes=vector_bytes, vector_registers=vector_registers, l2_bytes=l2_bytes
    )


WAYS = {
    "this machine": None,
    "narrow vectors": DefaultSchedule(machine(16, 16, 64 * 1024)),
    "wide vectors": DefaultSchedule(machine(64, 32, 2**20)),
    "no schedule": NoSchedule(),
    "any tiles": AnyTiles(0),
}


def compiled(monkeypatch, name: str, way: str, threads: int) -> cortex.RecursiveFunction:
    model, schedule = (MODELS | ROUNDED)[name], WAYS[way]
    precision = "bf16" if name in ROUNDED else "float32"
    with monkeypatch.context() as patch:
        if schedule is not None:
            own = replace(schedule, threads=threads)
            patch.setattr(pipeline, "DefaultSchedule", lambda machine, threads, options: own)
            assert any(each.run is own for each in passes_for(threads))
        # A matrix unit adds pairs up in another order: tests/compiler/test_precision.py.
        options = cortex.RecursionOptions(tensorize=False)
        return cortex.compile(
            model,
            model.init_params(seed=1),
            threads=threads,
            precision=precision,
            options=options,
            cache=False,
        )


def structures(name: str, rng: np.random.Generator) -> list[Node]:
    """Return trees of the model: binary ones, or of any arity."""
    binary = name.startswith(("tree_fc", "mv_rnn"))

    def leaf() -> Node:
        x = rng.standard_normal(20).astype(np.float32)
        return Node([], x=x) if name.startswith("child_sum") else Node([], word=int(rng.integers(50)))

    def tree(leaves: int) -> Node:
        if leaves == 1:
            return leaf()
        parts = 2 if binary else int(rng.integers(1, min(leaves, 5) + 1))
        cuts = sorted(rng.choice(np.arange(1, leaves), parts - 1, replace=False)) if parts > 1 else []
        sizes = np.diff([0, *cuts, leaves])
        made = Node([tree(int(size)) for size in sizes]) if parts > 1 else Node([tree(leaves - 1)])
        if name.startswith("child_sum"):
            made = Node(made.children, x=rng.standard_normal(20).astype(np.float32))
        return made

    return [tree(int(leaves)) for leaves in rng.integers(1, 14, SIZE)]


def bits(output: cortex.Output) -> list[dict[str, bytes]]:
    """Return what each structure's nodes hold."""
    names = list(output)
    return [{name: output.nodes(name)[k].tobytes() for name in names} for k in range(output.num_structures)]


def scheduled(fn):
    """Whether primitives were applied besides those that passes before and after a schedule apply."""
    steps = re.findall(r"s\.apply\((\w+)", fn.show("schedule"))
    return bool(set(steps) - {"pair_products", "read_in_place"})


NAMES = (*MODELS, *ROUNDED)
QUICK = {
    ("tree_fc", "this machine"),
    ("tree_fc", "narrow vectors"),
    ("tree_fc", "no schedule"),
    ("tree_fc", "any tiles"),
    ("tree_lstm", "any tiles"),
    ("child_sum in bf16", "narrow vectors"),
}
QUICK_TEAMS = {("tree_fc", "this machine", 2), ("tree_fc", "any tiles", 3), ("mv_rnn", "any tiles", 2)}
"""What `make test` compares: every schedule of a model that is compiled quickly, and few of the others."""


def cases(every: Iterable[tuple[Any, ...]], quick: Collection[tuple[Any, ...]]) -> list[Any]:
    """Return parameters of a test; all but the quick ones are left to `make thorough`."""
    return [pytest.param(*case, marks=() if case in quick else pytest.mark.thorough) for case in every]


@pytest.fixture(scope="module")
def reference(request):
    """The model's name, structures, and the bits of each as one thread computes it alone, without a schedule."""
    name = request.param
    batch = structures(name, np.random.default_rng(7))
    with pytest.MonkeyPatch.context() as patch:
        fn = compiled(patch, name, "no schedule", 1)
    assert "vectorized" not in fn.show("loops") and not scheduled(fn)
    return name, batch, [bits(fn([each]))[0] for each in batch]


@pytest.mark.parametrize(("reference", "way"), cases(product(NAMES, WAYS), QUICK), indirect=["reference"])
def test_tiles_and_batches_change_no_bit(reference, way, monkeypatch):
    name, batch, want = reference
    fn = compiled(monkeypatch, name, way, 1)
    assert scheduled(fn) == (way != "no schedule")
    check_every_batch(fn, batch, want)


@pytest.mark.parametrize(
    ("reference", "way", "threads"),
    cases(product(NAMES, ("this machine", "any tiles"), (2, 3)), QUICK_TEAMS),
    indirect=["reference"],
)
def test_threads_change_no_bit(reference, way, threads, monkeypatch):
    name, batch, want = reference
    fn = compiled(monkeypatch, name, way, threads)
    check_every_batch(fn, batch, want)
    fn._spin_ns = lambda nodes, batches: 10**10  # every worker takes part, however busy the machine is
    assert bits(fn(batch)) == want
    assert bits(fn(batch[::-1])) == want[::-1]


@pytest.mark.parametrize("reference", ["tree_lstm"], indirect=True)
def test_many_more_workers_than_processors_change_no_bit(reference, monkeypatch):
    name, batch, want = reference
    fn = compiled(monkeypatch, name, "this machine", 64)
    for _ in range(3):
        assert bits(fn(batch)) == want


def check_every_batch(fn: cortex.RecursiveFunction, batch: list[Node], want: list[dict[str, bytes]]) -> None:
    """Run structures alone, all together, and in other orders and company."""
    assert [bits(fn([each]))[0] for each in batch[:9]] == want[:9]
    assert bits(fn(batch)) == want
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(SIZE)[: SIZE - 11 * seed]
        assert bits(fn([batch[k] for k in order])) == [want[k] for k in order]
