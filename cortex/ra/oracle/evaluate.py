"""`ra.evaluate`: an explicit stack over one structure, children before parents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cortex.ilir.plan import Payload, Plan, Presence, StructureKind
from cortex.linearize.forest import Forest
from cortex.linearize.options import check_words
from cortex.linearize.reference import (
    Structure,
    StructureNode,
    check_carried,
    payload_value,
    read_structures,
)
from cortex.linearize.vocab import Vocab
from cortex.ra.base import ModelTensor
from cortex.ra.given import require_model
from cortex.ra.model import Model
from cortex.ra.oracle.after import StructureRun
from cortex.ra.oracle.node import NodeRun, Results
from cortex.ra.structure import Dag, Sequence, Tree
from cortex.ra.tensor import NodeInput, dense
from ragged.data.parameters import as_numpy, check_params
from ragged.data.read import BFLOAT16
from ragged.errors import DataError

Outputs = dict[str, NDArray[np.float64]]
"""A structure's results by name: (nodes, ...) in post-order rows, heads (roots, ...), of the structure (1, ...)."""


def evaluate(
    model: Model,
    params: Mapping[str, Any],
    structure: object,
    *,
    vocab: Vocab | None = None,
    children: str | tuple[str, ...] | None = None,
    payloads: Mapping[str, str] | None = None,
) -> Outputs | list[Outputs]:
    """Run the recursion as recursion, in float64 NumPy.

    Args:
        model: what `ra.recursion_op` or a constructor of `cortex.models` returned.
        params: an array for each of `model.inputs`, of its shape; NumPy or torch. Read as float64.
        structure: whatever a compiled function takes, except what `fn.linearize` returned.
        vocab: the numbers of the words in bracketed strings.
        children: the names of the attributes that hold a node's children.
        payloads: the attribute or key of a payload that has another name in the model.

    Returns:
        The results by name, each (nodes, ...) in float64, in post-order rows, owned by the caller, heads (roots, ...)
        and what is computed of the structure (1, ...); for a list or a `Forest`, a list of such results, one for each
        structure.

    Raises:
        UserError: `model` is none; or `vocab` is given, and the model reads no word or has a smaller table.
        ModelError: parameters are missing, extra, or of another shape.
        DataError: the structure is none, or a node lacks a child or a payload that the model reads there,
            or no node carries a payload.

    Example:
        >>> evaluate(model, model.init_params(), (1, 2))["h"].shape
        (3, 256)
    """
    model = require_model("evaluate", model)
    check_words(vocab, model.plan(), "evaluate")
    arrays = {name: _wide(array) for name, array in check_params(model.inputs, params).items()}
    tensors: dict[ModelTensor, NDArray[Any]] = {model.inputs[name]: array for name, array in arrays.items()}
    declared = {tensor: _payload(tensor) for tensor in model.payloads.values()}
    kind = {Tree: StructureKind.TREE, Dag: StructureKind.DAG, Sequence: StructureKind.SEQUENCE}
    plan = Plan(kind[type(model.structure)], 1, None, tuple(declared.values()), model.plan().positions)
    read = read_structures(plan, structure, vocab=vocab, children=children, payloads=payloads)
    runs = [_Run(model, tensors, declared, index) for index in range(len(read))]
    with np.errstate(all="ignore"):
        outputs = [run.outputs(one) for run, one in zip(runs, read, strict=True)]
    check_carried(plan.payloads, [node for one in read for node in one.nodes], payloads)
    # A batch is exactly a list: nltk's trees are subclasses of list.
    return outputs if type(structure) is list or isinstance(structure, Forest) else outputs[0]


class _Run:
    """One structure's recursion."""

    def __init__(
        self,
        model: Model,
        parameters: Mapping[ModelTensor, NDArray[Any]],
        payloads: Mapping[NodeInput, Payload],
        index: int,
    ) -> None:
        self.model = model
        self.parameters = parameters
        self.payloads = payloads
        self.index = index
        self.results: dict[StructureNode, Results] = {}
        self.roots: dict[StructureNode, list[NDArray[Any]]] = {}

    def outputs(self, structure: Structure) -> Outputs:
        """Return the results of every node, by rows."""
        self.roots = {root: [] for root in structure.roots}
        for root in structure.roots:
            self.call(root)
        rows = [self.results[node] for node in structure.nodes]
        run = StructureRun(
            self.parameters, self.payload, self.results, structure.nodes[-1], nodes=structure.nodes
        )
        heads = {
            name: np.array([rows[at] for rows in self.roots.values()], np.float64).reshape(
                len(self.roots), *dense(body)
            )
            for at, (name, body) in enumerate(self.model.heads.items())
        }
        after = {name: run.tensor(body)[None] for name, body in self.model.after.items()}
        return (
            heads
            | after
            | {
                name: np.array([row[placeholder] for row in rows], np.float64).reshape(
                    len(rows), *dense(placeholder)
                )
                for name, (placeholder, _) in self.model.results.items()
            }
        )

    def call(self, root: StructureNode) -> None:
        """Compute a node's results after those of its children; each node once, however many parents it has."""
        stack = [root]
        while stack:
            node = stack[-1]
            waiting = [c for c in node.children if c is not None and c not in self.results]
            if waiting and node not in self.results:
                stack += reversed(waiting)
                continue
            stack.pop()
            if node not in self.results:
                run = NodeRun(self.parameters, self.payload, self.results, node)
                self.results[node] = {ph: run.tensor(body) for ph, body in self.model.outputs.values()}
                if node in self.roots:
                    self.roots[node] = [run.tensor(body) for body in self.model.heads.values()]

    def payload(self, tensor: NodeInput, node: StructureNode) -> NDArray[Any]:
        """Return what a node carries, or its default, in float64 or int64."""
        payload = self.payloads[tensor]
        value = node.payload(tensor.name)
        if value is None and tensor.default is None:
            raise DataError(
                f"evaluate: structure {self.index}, node {node.where()} carries no '{tensor.name}'",
                because="the model reads it at this node, and gives it no default",
            )
        if value is None:
            return _wide(np.full(payload.shape, payload.default))
        array = as_numpy(value)
        if array.dtype == BFLOAT16:
            array = array.astype(np.float32)
        if array.shape == payload.shape and array.dtype.kind == payload.dtype.numpy.kind:
            return _wide(array)
        # Whatever else it may be written as, or the error that says what is wrong with it.
        return _wide(payload_value(payload, self.index, node))


def _payload(tensor: NodeInput) -> Payload:
    default = tensor.default if tensor.default is not None else -1 if tensor.dtype.is_int else 0.0
    return Payload(tensor.name, tensor.dtype, dense(tensor), Presence.NOWHERE, default, None)


def _wide(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)
