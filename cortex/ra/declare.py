"""Declarations of a model's tensors: inputs, placeholders, computes and branches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from cortex.ra.base import K, N, S, Shape, StructureDim
from cortex.ra.expr import Expr, IndexVar, as_float, lift
from cortex.ra.nested import apart
from cortex.ra.node import ChildVar, NodeVar, StructureVar
from cortex.ra.shapes import (
    assigned_name,
    check_name,
    default_value,
    dense_shape,
    node_shape,
    parameters,
    stored_dtype,
)
from cortex.ra.tensor import Body, Compute, IfThenElse, InputTensor, NodeInput, Placeholder
from ragged.errors import Location, ModelError
from ragged.ir.dtype import INDEX, DType


def input_tensor(name: str, shape: Sequence[int], dtype: str | DType = "float32") -> InputTensor:
    """Declare a parameter: an array of `shape` and `dtype`, bound under `name`.

    Args:
        name: its key among the parameters.
        shape: dense extents, each at least 1.
        dtype: "float32", or "int32" or "int64" for a table of integers.

    Raises:
        ModelError: an illegal name, extent or dtype.

    Example:
        >>> emb = input_tensor("emb", (10_000, 256))
    """
    at = Location.capture()
    check_name("input_tensor", name, at)
    what = f"input_tensor '{name}'"
    return InputTensor(name, dense_shape(what, shape, at), stored_dtype(what, dtype, at), at=at)


def node_input(
    name: str, shape: Sequence[int] = (), dtype: str | DType = "float32", default: float | None = None
) -> NodeInput:
    """Declare a payload: a value that each node carries under `name`.

    Args:
        name: its key among a node's payloads.
        shape: the extents of one node's value, () for a number.
        dtype: "float32", "int32" or "int64".
        default: the value at nodes that carry none; without it such a node is a `DataError` where the model reads it.
            A call in which no node carries the payload is a `DataError` also with a default, as the name may be
            wrong, unless one carries `None`.

    Raises:
        ModelError: an illegal name, extent, dtype or default.

    Example:
        >>> word = node_input("word", dtype="int32", default=-1)
    """
    at = Location.capture()
    check_name("node_input", name, at)
    what = f"node_input '{name}'"
    stored = stored_dtype(what, dtype, at)
    fill = default_value(what, default, stored, at)
    if fill is not None and not math.isfinite(fill):
        raise ModelError(
            f"{what}: the default {fill} is not finite",
            at=at,
            because="a saved function holds it as a number in JSON, which has none that are not",
            fix="a finite default, and ra.where",
        )
    return NodeInput(name, (N, *dense_shape(what, shape, at)), stored, default=fill, at=at)


def placeholder(
    shape: Sequence[StructureDim | int], name: str | None = None, default: float | None = None
) -> Placeholder:
    """Declare the result of the recursion, (ra.N, *dense extents) in float32, before it is defined.

    Args:
        shape: (ra.N, *extents) of the result.
        name: its name in listings; guessed from the assignment otherwise.
        default: every element's value at a child, read by its position, that a node does not have. Without it such a
            read is a `ModelError` or, for a structure that lacks the child, a `DataError`.

    Raises:
        ModelError: the shape does not begin with ra.N, or contains ra.K; or an illegal default.

    Example:
        >>> h_ph = placeholder((N, 256))
    """
    at = Location.capture()
    dims = node_shape("placeholder", shape, at)
    fill = default_value("placeholder", default, DType.FLOAT32, at)
    return Placeholder(name or assigned_name(at, "placeholder"), dims, DType.FLOAT32, fill, at=at)


def compute(
    shape: Sequence[StructureDim | int], function: Callable[..., Any], name: str | None = None
) -> Compute:
    """Compute a value for each node: `function` takes n, then an index for each dense extent.

    Args:
        shape: (ra.N, *extents); or (ra.N, ra.K, *extents) for a value for each child of each node, where `function`
            takes n, then the child k, then the indices; or (ra.S, *extents) for a value for each structure, after the
            recursion, where it takes the structure s, for `ra.sum_nodes`. At a node it is read as `mean[n, i]`.
        function: called once; returns the expression of one element.
        name: the tensor's name in listings; guessed from the assignment otherwise.

    Raises:
        ModelError: an illegal shape, or a function of another number of arguments than dimensions.

    Example:
        >>> leaf = compute((N, 256), lambda n, i: emb[word[n], i])
    """
    at = Location.capture()
    dims = node_shape("compute", shape, at, children=True, structures=True)
    names = parameters("compute", function, dims, at)
    node = StructureVar(names[0]) if dims[0] is S else NodeVar(names[0])
    child = ChildVar(node, names[1]) if K in dims else None
    indices = _indices(names, dims, at)
    body = _element(function(node, *([] if child is None else [child]), *indices))
    label = name or assigned_name(at, "compute")
    if dims[0] is N and child is None:
        body = apart(body, node, indices, label)
    return Compute(label, dims, body.dtype, node, child, indices, body, calls=body.calls, at=at)


def if_then_else(
    shape: Sequence[StructureDim | int], function: Callable[..., Any], name: str | None = None
) -> IfThenElse:
    """Choose between two computes by a condition on the structure.

    The condition may use `ra.isleaf(n)`, `ra.num_children(n)` and integer payloads of the node: `kind[n] == 3`.
    A compute that only branches read is computed where they are taken: under `kind[n] < 3` a table of three rows may
    be indexed by `kind[n]`.

    Args:
        shape: (ra.N, *extents), of both computes.
        function: takes n and an index for each extent, returns (condition, then, else): computes, not their elements.
        name: the tensor's name in listings; guessed from the assignment otherwise.

    Raises:
        ModelError: an illegal shape, or `function` returns anything else.

    Example:
        >>> body = if_then_else((N, 256), lambda n, i: (isleaf(n), leaf, rec))
    """
    at = Location.capture()
    dims = node_shape("if_then_else", shape, at)
    names = parameters("if_then_else", function, dims, at)
    node = NodeVar(names[0])
    indices = _indices(names, dims, at)
    condition, then, orelse = _choice(function(node, *indices), at)
    calls = condition.calls or then.calls or orelse.calls
    label = name or assigned_name(at, "if_then_else")
    return IfThenElse(label, dims, then.dtype, node, condition, then, orelse, calls=calls, at=at)


def _element(value: Any) -> Expr:
    """Return the element that a compute's function returned; a bare number is a float."""
    return lift(value) if isinstance(value, Expr) else as_float(value)


def _indices(names: list[str], dims: Shape, at: Location | None) -> tuple[IndexVar, ...]:
    """Return an index variable for each dense extent, named after the function's parameters."""
    named = zip(names, dims, strict=True)
    return tuple(IndexVar(name, dim, dtype=INDEX, at=at) for name, dim in named if isinstance(dim, int))


def _choice(value: Any, at: Location | None) -> tuple[Expr, Body, Body]:
    """Return the condition and the branches that an if_then_else's function returned."""
    if not isinstance(value, tuple) or len(value) != 3:
        raise ModelError(
            "if_then_else: the function returns (condition, then, else)",
            at=at,
            fix="lambda n, i: (ra.isleaf(n), leaf, inner)",
        )
    condition, then, orelse = value
    for branch in (then, orelse):
        if not isinstance(branch, Body):
            shown = branch.text() if isinstance(branch, Expr) else repr(branch)
            raise ModelError(
                f"if_then_else: '{shown}' is not a compute",
                at=at,
                because="each branch is a tensor of its own, computed at the nodes that take it",
                fix="give the branch a name: ra.compute(shape, lambda n, i: ...)",
            )
    return lift(condition), then, orelse
