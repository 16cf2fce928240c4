"""Operators as ONNX graphs, in the form that ONNX Runtime's own optimizer for transformers gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from bench.operators.problems import Array, Operator, Problem

_MICROSOFT = "com.microsoft"
_EPS = 1e-5
_OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid(_MICROSOFT, 1)]
_IR_VERSION = 9


def make_model(problem: Problem) -> ModelProto:
    """Return the model of an operator on rows: `x` (sequences, rows, hidden), `lengths` (sequences,) to `y`."""
    nodes = _nodes(problem)
    used = {name for node in nodes for name in node.input}
    constants = {name: array for name, array in _constants(problem).items() if name in used}
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["sequences", "rows", "hidden"])]
    if "lengths" in used:
        inputs.append(helper.make_tensor_value_info("lengths", TensorProto.INT32, ["sequences"]))
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["sequences", "rows", "width"])]
    stored = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, problem.operator.value, inputs, outputs, stored)
    return helper.make_model(graph, opset_imports=_OPSETS, ir_version=_IR_VERSION)


def make_softmax() -> ModelProto:
    """Return the model `y` = softmax(`x` + `mask`), of scores (sequences, heads, rows, rows)."""
    shape = ["sequences", "heads", "rows", "columns"]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    mask = helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["sequences", 1, 1, "columns"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
    nodes = [_node("Add", ["x", "mask"], "sum"), _node("Softmax", ["sum"], "y", axis=-1)]
    graph = helper.make_graph(nodes, "softmax", [x, mask], [y])
    return helper.make_model(graph, opset_imports=_OPSETS, ir_version=_IR_VERSION)


def _constants(problem: Problem) -> dict[str, Array]:
    """Return the weights; ONNX multiplies rows with (in, out)."""
    found = {}
    for name, array in problem.params().items():
        product = name.endswith("weight") and array.ndim == 2
        found[name] = np.ascontiguousarray(array.T) if product else array
    return found


def _nodes(problem: Problem) -> list[NodeProto]:
    match problem.operator:
        case Operator.LINEAR:
            return _linear1("x", "y")
        case Operator.LAYER_NORM:
            norm = ["norm1.weight", "norm1.bias"]
            return [_node("LayerNormalization", ["x", *norm], "y", axis=-1, epsilon=_EPS)]
        case Operator.ATTENTION | Operator.MASKED_ATTENTION:
            biased = _node("Add", ["product", "self_attn.out_proj.bias"], "y")
            return [*_attention(problem, "product"), biased]
        case Operator.ENCODER_LAYER:
            return [
                *_attention(problem, "product"),
                _skip_norm("norm1", ["product", "x"], "self_attn.out_proj.bias", "h"),
                *_linear1("h", "wide"),
                _node("MatMul", ["wide", "linear2.weight"], "narrow"),
                _skip_norm("norm2", ["narrow", "h"], "linear2.bias", "y"),
            ]
        case _:
            raise ValueError(f"{problem.operator.value} has no rows")


def _attention(problem: Problem, y: str) -> list[NodeProto]:
    """Return attention without the last bias, which the norm after it adds."""
    inputs = ["x", "self_attn.in_proj_weight", "self_attn.in_proj_bias", "lengths"]
    heads, masked = problem.sizes.heads, int(problem.operator is Operator.MASKED_ATTENTION)
    return [
        _node("Attention", inputs, "seen", num_heads=heads, unidirectional=masked, domain=_MICROSOFT),
        _node("MatMul", ["seen", "self_attn.out_proj.weight"], y),
    ]


def _linear1(x: str, y: str) -> list[NodeProto]:
    return [
        _node("MatMul", [x, "linear1.weight"], f"{y}.product"),
        _node("Add", [f"{y}.product", "linear1.bias"], f"{y}.sum"),
        _node("Relu", [f"{y}.sum"], y),
    ]


def _skip_norm(norm: str, added: Sequence[str], bias: str, y: str) -> NodeProto:
    inputs = [*added, f"{norm}.weight", f"{norm}.bias", bias]
    return _node("SkipLayerNormalization", inputs, y, epsilon=_EPS, domain=_MICROSOFT)


def _node(kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> NodeProto:
    return helper.make_node(kind, inputs, [output], **attributes)
