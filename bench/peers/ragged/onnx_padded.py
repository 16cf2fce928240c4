"""ONNX Runtime on padded batches, with its fused attention, which is told how long each sequence is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import onnxruntime

from bench.operators.problems import (
    Array,
    Inputs,
    Operator,
    Problem,
    Rows,
    Scores,
    outside,
    pad_rows,
    pad_scores,
    split_rows,
)
from bench.peers.ragged.onnx_graph import make_model, make_softmax
from bench.peers.ragged.peer import Prepared, RaggedPeer
from bench.peers.ragged.torch_layer import LAYER_PARTS, MASKED

Outputs: TypeAlias = list[Array]


class Measured(RaggedPeer):
    """Batches are as long as their longest sequence."""

    operators = LAYER_PARTS | MASKED | {Operator.SOFTMAX}

    def __init__(self, problem: Problem) -> None:
        model = make_softmax() if problem.operator is Operator.SOFTMAX else make_model(problem)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = problem.threads
        self._session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def prepare(self, inputs: Inputs) -> Prepared[Outputs]:
        """See `RaggedPeer`."""
        match inputs:
            case Rows(lengths=lengths, values=values):
                feed = {"x": pad_rows(split_rows(values, lengths)), "lengths": lengths}
                return self._prepared(feed, lambda y: [y[0][i, :n] for i, n in enumerate(lengths)])
            case Scores(lengths=lengths):
                mask = np.where(outside(lengths), -np.inf, 0).astype(np.float32)[:, None, None, :]
                feed = {"x": pad_scores(inputs.matrices()), "mask": mask}
                return self._prepared(feed, lambda y: [y[0][i, :, :n, :n] for i, n in enumerate(lengths)])
            case _:
                raise ValueError("only sequences are padded here")

    def _prepared(self, feed: dict[str, Any], read: Callable[[Outputs], list[Array]]) -> Prepared[Outputs]:
        taken = {each.name for each in self._session.get_inputs()}
        given = {name: array for name, array in feed.items() if name in taken}
        return Prepared(lambda: self._session.run(None, given), read)
