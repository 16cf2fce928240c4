"""ONNX Runtime: weights are constants, which it packs when the session is made; the other sizes are dynamic axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import NodeProto, TensorProto, helper, numpy_helper

from bench.peers.shapes.peer import Call, ShapesPeer
from bench.shapes.problems import Array, BatchedProduct, Convolution, Dense, ShapesProblem, Sizes

_OPSETS = [helper.make_opsetid("", 18)]
_IR_VERSION = 9


class Measured(ShapesPeer):
    """A session for each matrix of weights. Convolution takes images (batch, channels, side, side), its own form."""

    kinds = frozenset({Dense, BatchedProduct, Convolution})

    def __init__(self, problem: ShapesProblem) -> None:
        self._problem = problem
        self._sessions: dict[object, Any] = {}

    def call(self, sizes: Sizes, operands: Sequence[Array]) -> Call:
        """See `ShapesPeer`."""
        session = self._session(sizes)
        given = [
            np.ascontiguousarray(each.transpose(0, 3, 1, 2)) if each.ndim == 4 else each for each in operands
        ]
        feed = {f"x{number}": array for number, array in enumerate(given)}
        return lambda: session.run(None, feed)

    def array(self, result: Any) -> Array:
        """See `ShapesPeer`."""
        found: Array = result[0]
        return found.transpose(0, 2, 3, 1) if found.ndim == 4 else found

    def _session(self, sizes: Sizes) -> Any:
        key = sizes.transposed if isinstance(sizes, BatchedProduct) else sizes.weights
        if key not in self._sessions:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = self._problem.threads
            model = _model(self._problem, sizes)
            providers = ["CPUExecutionProvider"]
            self._sessions[key] = onnxruntime.InferenceSession(model, options, providers=providers)
        return self._sessions[key]


def _model(problem: ShapesProblem, sizes: Sizes) -> bytes:
    """Return a model of inputs x0, x1 and the output y."""
    nodes, constants, inputs = _nodes(problem, sizes)
    stored = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    given = [
        helper.make_tensor_value_info(f"x{number}", TensorProto.FLOAT, shape)
        for number, shape in enumerate(inputs)
    ]
    rank = len(inputs[0])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [f"y{axis}" for axis in range(rank)])
    graph = helper.make_graph(nodes, "shapes", given, [y], stored)
    return bytes(helper.make_model(graph, opset_imports=_OPSETS, ir_version=_IR_VERSION).SerializeToString())


def _nodes(
    problem: ShapesProblem, sizes: Sizes
) -> tuple[list[NodeProto], dict[str, Array], list[list[str | int]]]:
    """Return the nodes, constants by name, and the dimensions of inputs: a name is a dynamic axis."""
    match sizes:
        case Dense(k=k):
            weights = np.ascontiguousarray(problem.weights(sizes).T)
            return [helper.make_node("MatMul", ["x0", "w"], ["y"])], {"w": weights}, [["rows", k]]
        case Convolution(channels=channels, side=side, kernel=kernel):
            node = helper.make_node("Conv", ["x0", "w"], ["y"], pads=[kernel // 2] * 4)
            return [node], {"w": problem.weights(sizes)}, [["batch", channels, side, side]]
        case BatchedProduct(transposed=transposed):
            shapes: list[list[str | int]] = [["batch", "m", "k"], ["batch", "r", "c"]]
            if not transposed:
                return [helper.make_node("MatMul", ["x0", "x1"], ["y"])], {}, shapes
            turned = helper.make_node("Transpose", ["x1"], ["t"], perm=[0, 2, 1])
            return [turned, helper.make_node("MatMul", ["x0", "t"], ["y"])], {}, shapes
