"""The operators of `ragged.ops` as programs: what each compiles, without its schedule, and data to run it on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from unittest.mock import patch

import numpy as np

import ragged
from ragged import ops
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import Kind, RaggedTensor
from ragged.ops import compiled as kept
from ragged.ops.module import Module
from ragged.processors import PROCESSORS
from tests.ragged.api.running import Data
from tests.ragged.ops.batches import matrices, normal, rows, weights

X = rows([2, 3], 4)
HEADS = rows([2, 3], 2, 2)
MATRICES = matrices([(2, 3), (1, 2)])
TRIANGLE = ops.triangle(normal(0, 3, 3))


def _called(layer: Module, *arrays: object) -> object:
    layer.load_state_dict(weights(layer.shapes))
    assert callable(layer)
    return layer(*arrays)


CALLS: dict[str, Callable[[], object]] = {
    "linear": lambda: _called(ops.Linear(4, 3, activation="relu"), X),
    "softmax": lambda: ops.softmax(MATRICES),
    "layer_norm": lambda: _called(ops.LayerNorm(4), X),
    "attention": lambda: _called(ops.MultiheadAttention(4, 2), X),
    "causal attention": lambda: _called(ops.MultiheadAttention(4, 2, causal=True), X),
    "cross attention": lambda: _called(ops.MultiheadAttention(4, 2), X, rows([1, 2], 4)),
    "sdpa over triangles": lambda: ops.scaled_dot_product_attention(HEADS, HEADS, HEADS, causal=True),
    "encoder layer": lambda: _called(ops.TransformerEncoderLayer(4, 2, 3), X),
    "pooling": lambda: ops.mean_pool(X),
    "elementwise": lambda: ops.add(X, normal(0, 4)),
    "tradd": lambda: ops.tradd(TRIANGLE, TRIANGLE),
    "trmul": lambda: ops.trmul(normal(1, 3, 3), TRIANGLE),
    "vgemm": lambda: ops.vgemm(MATRICES, matrices([(3, 1), (2, 2)])),
    "trmm": lambda: ops.trmm(normal(0, 3, 3), normal(1, 3, 2)),
}
"""A call of each operator, small."""


class _Built(Exception):
    """Ends a call once its schedule is known."""

    def __init__(self, schedule: RaggedSchedule) -> None:
        self.schedule = schedule


@cache
def outputs_of(operator: str) -> tuple[RaggedTensor, ...]:
    """Return the tensors that an operator's program computes."""

    def compiled(program: RaggedSchedule, *_: object, **__: object) -> object:
        raise _Built(program)

    with (
        patch.object(ragged, "compile", compiled),
        patch.object(kept, "_kept", {}),
        patch.object(kept.Options, "machine", PROCESSORS["x86-64-v4"]),  # the same programs on every machine
    ):
        try:
            CALLS[operator]()
        except _Built as built:
            return built.schedule.outputs
    raise AssertionError(f"{operator} compiles nothing")


def unscheduled(operator: str) -> RaggedSchedule:
    """Return an operator's program as it is before any decision."""
    return RaggedSchedule(*outputs_of(operator), name=operator.replace(" ", "_"))


def batch(schedule: RaggedSchedule, lengths: tuple[int, ...], seed: int) -> Data:
    """Return data of sequences, or matrices, of `lengths`; a program with several lengths has them in other orders.

    A size is how many lengths there are.
    """
    functions, draw = schedule.lowered.functions, np.random.default_rng(seed)
    data = Data(dict.fromkeys(functions.sizes, len(lengths)))
    for place, length in enumerate(functions.lengths):
        own = draw.permutation(lengths) if place else np.array(lengths, int)
        data.lengths[length] = {(k,): int(n) for k, n in enumerate(own)}
    for tensor in schedule.tensors:
        if tensor.kind is not Kind.COMPUTED:
            places = list(data.oracle.space(tensor))
            values = draw.standard_normal(len(places)).astype(np.float32)
            data.inputs[tensor] = dict(zip(places, map(float, values), strict=True))
    return data
