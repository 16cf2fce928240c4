"""The listing of a model: inputs, computes at a node, and outputs."""

from __future__ import annotations

from cortex.ra.base import ModelTensor
from cortex.ra.collect import Recursion
from cortex.ra.shapes import described
from cortex.ra.tensor import Body, Compute, IfThenElse, NodeInput, Placeholder, UnreadPlaceholder


def listing(recursion: Recursion) -> str:
    """Return the model as text, one line for each tensor in topological order.

    Example::

        recursion over Tree(max_children=2)
        parameters
          emb (10000, 256) float32
        payloads
          word () int32
        placeholders
          rnn_ph (ra.N, 256)
        at each node
          leaf[n, i] = emb[word[n], i]  where i < 256
          ...
        outputs
          h = body
    """
    lines = [f"recursion over {recursion.structure}"]
    lines += _section("parameters", [_declared(t, t.shape) for t in recursion.inputs.values()])
    lines += _section("payloads", [_payload(t) for t in recursion.payloads.values()])
    lines += _section(
        "placeholders",
        [_placeholder(recursion, p) for p in recursion.placeholders if not isinstance(p, UnreadPlaceholder)],
    )
    lines += _section("at each node", [_definition(recursion, tensor) for tensor in recursion.computes])
    states = [
        f"{recursion.name(placeholder)} = {recursion.name(body)}"
        for name, (placeholder, body) in recursion.outputs.items()
        if name in recursion.states
    ]
    lines += _section("read by the parent alone", states)
    outputs = [f"{name} = {recursion.name(body)}" for name, (_, body) in recursion.results.items()]
    lines += _section("outputs", outputs)
    lines += _section("at each root", [_definition(recursion, tensor) for tensor in recursion.root_computes])
    heads = [f"{name} = {recursion.name(body)}" for name, body in recursion.heads.items()]
    lines += _section("outputs of roots", heads)
    lines += _section("after the recursion", [_definition(recursion, t) for t in recursion.after_computes])
    after = [f"{name} = {recursion.name(body)}" for name, body in recursion.after.items()]
    return "\n".join(lines + _section("outputs of structures", after))


def _section(title: str, lines: list[str]) -> list[str]:
    return [title, *(f"  {line}" for line in lines)] if lines else []


def _declared(tensor: ModelTensor, shape: tuple[object, ...]) -> str:
    return f"{tensor.name} {described(shape)} {tensor.dtype.value}"  # type: ignore[arg-type]


def _payload(tensor: NodeInput) -> str:
    default = "" if tensor.default is None else f", {tensor.default} where a node carries none"
    return _declared(tensor, tensor.shape[1:]) + default


def _placeholder(recursion: Recursion, tensor: Placeholder) -> str:
    default = "" if tensor.default is None else f", {tensor.default} where there is no child"
    return f"{recursion.name(tensor)} {described(tensor.shape)}{default}"


def _definition(recursion: Recursion, tensor: Body) -> str:
    name = recursion.name(tensor)
    match tensor:
        case Compute(node=node, child=child, indices=indices, body=body):
            arguments = [
                node.name,
                *([] if child is None else [child.name]),
                *(index.name for index in indices),
            ]
            extents = ", ".join(f"{index.name} < {index.extent}" for index in indices)
            bounds = f"  where {extents}" if extents else ""
            return f"{name}[{', '.join(arguments)}] = {recursion.text(body)}{bounds}"
        case IfThenElse(node=node, condition=condition, then=then, orelse=orelse):
            choice = f"{recursion.name(then)} if {recursion.text(condition)} else {recursion.name(orelse)}"
            return f"{name}[{node.name}] = {choice}"
