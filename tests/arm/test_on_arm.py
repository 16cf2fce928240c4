"""Kernels for aarch64, compiled here and saved, run in an emulator: the bits that this machine's own code gives.

NEON and SVE are the same programs with other vectors. `make arm` runs these tests.
"""

from __future__ import annotations

from functools import cache
from unittest.mock import patch

import hypothesis
import numpy as np
import pytest

import cortex
import ragged
from cortex import ra
from ragged.compiled.target_machine import machine_of
from ragged.errors import DataError
from ragged.ir.parser import parse
from ragged.ops import compiled as kept
from tests.arm.emulator import emulated
from tests.ragged.ops.batches import normal, rows
from tests.ragged.ops.operators import CALLS
from tests.support.agreement import check_agreement, interpreted
from tests.support.library import library
from tests.support.random_structures import batches

pytestmark = pytest.mark.arm

NEON = ("llvm -mcpu=neoverse-n1", "neoverse-n1")
SVE = ("llvm -mcpu=neoverse-v1 -vector-width=256", "max,sve-max-vq=2")
"""Targets, and the processors of qemu that have no more than they promise."""
EXACT = ("tree_fc", "dag_rnn, word")
"""Models without tanh and sigmoid, which the interpreter takes from NumPy: it has the same bits."""
MODELS = tuple(name for name in library() if "projected" not in name or name.startswith("lstm"))
"""Every model, of words and of vectors; vectors that are projected before are read alike by all cells."""
BOTH = pytest.mark.parametrize("target", [NEON, SVE], ids=["neon", "sve"])


@cache
def structures(plan):
    """Return a batch of several structures, not all of them of one node."""
    settings = hypothesis.settings(max_examples=500, database=None, derandomize=True)
    wanted = batches(plan)
    return hypothesis.find(
        wanted, lambda b: len(b) > 2 and sum(bool(n.children) for n in b) > 1, settings=settings
    )


@cache
def on_host(name):
    """Return a model's parameters, a batch, and what this machine's own code computes of it: once for both targets."""
    model = library()[name]
    params, batch = model.init_params(seed=1), structures(model.plan())
    return params, batch, cortex.compile(model, params, threads=2)(batch)


def check(name, target, cpu, workers=2):
    model = library()[name]
    params, batch, host = on_host(name)
    arm = emulated(cortex.compile(model, params, target=target, threads=2), cpu=cpu, workers=workers)
    linearized = arm.linearize(batch)
    found = arm(linearized)
    nodes = [{key: found.nodes(key)[i] for key in found} for i in range(len(batch))]
    check_agreement(nodes, ra.evaluate(model, params, batch), name)
    assert all(found[key].tobytes() == host[key].tobytes() for key in found)
    if name in EXACT:
        for mine, theirs in zip(
            nodes, interpreted(parse(arm.show("loops")), linearized, params), strict=True
        ):
            assert all(mine[key].tobytes() == theirs[key].tobytes() for key in mine)
    return arm


@BOTH
@pytest.mark.parametrize("name", MODELS)
def test_models(name, target):
    arm = check(name, *target)
    assert ("sve256" in arm._parts.kernel.kernel.executable.features) == (target is SVE)


def test_wide_models_use_scalable_vectors():
    model = cortex.models.tree_fc(hidden=40, vocab=9)
    params, batch = model.init_params(seed=0), [((1, 2), (3, (4, 5))), (1, 2), 3]
    function = cortex.compile(model, params, target=SVE[0], threads=2)
    assert "fmla\tz" in function.show("asm")
    found, host = emulated(function, cpu=SVE[1])(batch), cortex.compile(model, params, threads=2)(batch)
    assert all(found[key].tobytes() == host[key].tobytes() for key in found)


def test_more_workers_than_processors():
    check("tree_lstm, word", *NEON, workers=16)


def test_an_odd_number_of_workers_on_scalable_vectors():
    check("mv_rnn", *SVE, workers=3)


def values(result):
    """Return the bits of an operator's result."""
    return (result.values if isinstance(result, ragged.RaggedArray) else np.asarray(result)).tobytes()


def called(operator, target, cpu):
    """Return the result of an operator's call that was compiled for aarch64."""
    real = ragged.compile

    def compile_for_arm(program, params=None, **_):
        return emulated(real(program, params, target=target, threads=2), cpu=cpu)

    with (
        patch.object(ragged, "compile", compile_for_arm),
        patch.object(kept, "_kept", {}),
        patch.object(kept.Options, "machine", machine_of(target)),
    ):
        return operator()


@cache
def called_on_host(operator):
    """Return the bits that this machine's own code gives: once for both targets."""
    return values(operator())


WIDE = {
    "vgemm": lambda: ragged.ops.vgemm(
        [normal(k, n, 37) for k, n in enumerate((5, 40))], [normal(9, 37, 33)] * 2
    ),
    "softmax": lambda: ragged.ops.softmax(rows([0, 3, 50], 2, 5)),
    "matmul": lambda: ragged.ops.matmul(normal(0, 23, 40), normal(1, 40, 50)),
}
"""Calls of more than a vector, with remainders."""


@BOTH
@pytest.mark.parametrize("name", CALLS)
def test_operators(name, target):
    assert values(called(CALLS[name], *target)) == called_on_host(CALLS[name])


@BOTH
@pytest.mark.parametrize("name", WIDE)
def test_wide_operators(name, target):
    assert values(called(WIDE[name], *target)) == called_on_host(WIDE[name])


def test_a_check_that_fails_there_is_reported_here():
    t, w = ragged.dim("t"), ragged.dim("w")
    table = ragged.parameter("table", [(ragged.dim("v"), 5), (w, 3)])
    index = ragged.input_tensor("index", [(t, ragged.size("T"))], dtype="int32")
    y = ragged.compute("Y", [(t, ragged.size("T")), (w, 3)], lambda i, j: table[index[i], j])
    arm = emulated(ragged.compile(y, {"table": normal(0, 5, 3)}, target=NEON[0], threads=2), cpu=NEON[1])
    assert values(arm(index=np.array([4, 0], np.int32))) == normal(0, 5, 3)[[4, 0]].tobytes()
    with pytest.raises(DataError, match="7"):
        arm(index=np.array([1, 7], np.int32))
