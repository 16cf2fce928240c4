"""ONNX Runtime: the graphs of those functions that its operators have; all arguments are inputs, as of our calls."""

from __future__ import annotations

from typing import Any

import onnx
import onnxruntime

from bench.peers.tc.peer import Call, TcPeer
from bench.tc.workloads import Operands, Workload

_HEAD = '<ir_version: 10, opset_import: ["" : 21]> graph ({inputs}) => ({outputs}) {{ {nodes} }}'
_GRAPHS: dict[str, tuple[int, str]] = {
    "tmm": (1, "y = Gemm <transB = 1> (A, B)"),
    "c3": (1, "y = Gemm <transB = 1> (I, W)"),
    "tbmm": (1, "t = Transpose <perm = [0, 2, 1]> (Y) y = MatMul (X, t)"),
    "group_convolution": (1, "y = Conv <group = GROUPS> (I, K, B)"),
    "strided_convolution": (1, "y = Conv <strides = [2, 2]> (I, K)"),
    "masked_convolution": (1, "y = Conv <pads = [1, 1, 1, 1]> (I, K)"),
    "max_pooling": (1, "y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (I)"),
    "mlp1": (1, "a = Gemm <transB = 1> (I, W1, B1) y = Relu (a)"),
    "mlp3": (
        3,
        """a = Gemm <transB = 1> (I, W2, B2) y = Relu (a) b = Gemm <transB = 1> (y, W3, B3) y1 = Relu (b)
           c = Gemm <transB = 1> (y1, W4, B4) y2 = Relu (c)""",
    ),
    "layer_norm": (1, "y = LayerNormalization <axis = 1> (I, gamma, beta)"),
    "group_norm": (1, "y = GroupNormalization <num_groups = GROUPS> (I, gamma, beta)"),
    "softmax": (1, "y = Softmax <axis = 1> (I)"),
}
"""Of each function the number of results, y, y1, y2, and the nodes."""


class Measured(TcPeer):
    """A session for each row; groups of channels are channels."""

    functions = frozenset(_GRAPHS)

    def call(self, workload: Workload, operands: Operands) -> Call:
        """See `TcPeer`."""
        feed = dict(operands)
        if "G" in workload.sizes:
            kernels = workload.function == "group_convolution"
            feed = {
                name: each.reshape(-1) if each.ndim == 2
                else each.reshape(-1, *each.shape[2:]) if kernels and name == "K"
                else each.reshape(len(each), -1, *each.shape[3:])
                for name, each in operands.items()
            }  # fmt: skip
        self._groups = workload.sizes.get("G")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        session = onnxruntime.InferenceSession(_model(workload, feed), options, ["CPUExecutionProvider"])
        return lambda: session.run(None, feed)

    def arrays(self, result: Any) -> list[Any]:
        """See `TcPeer`."""
        if self._groups is None:
            return list(result)
        return [each.reshape(len(each), self._groups, -1, *each.shape[2:]) for each in result]


def _model(workload: Workload, feed: Operands) -> bytes:
    count, nodes = _GRAPHS[workload.function]
    inputs = ", ".join(f"float[{','.join(map(str, each.shape))}] {name}" for name, each in feed.items())
    outputs = ", ".join(f"float[] y{place or ''}" for place in range(count))
    text = _HEAD.format(inputs=inputs, outputs=outputs, nodes=nodes)
    model = onnx.parser.parse_model(text.replace("GROUPS", str(workload.sizes.get("G", 1))))
    for each in model.graph.output:
        each.type.tensor_type.ClearField("shape")
    return bytes(model.SerializeToString())
