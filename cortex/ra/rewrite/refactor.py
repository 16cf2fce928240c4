"""Recursive refactoring: an operator on a child's result moves to the child (CORTEX section 3.1, Figure 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cortex.ra.base import ModelTensor, N
from cortex.ra.expr import ChildReduce, Expr, Index, Read
from cortex.ra.lower.zeros import Zeros
from cortex.ra.model import Model
from cortex.ra.named import check_computed, check_operator
from cortex.ra.node import ChildAt, ChildVar, Node
from cortex.ra.rewrite.parts import ChildParts, Children, Of, Refuse
from cortex.ra.rewrite.rebuild import with_tensors
from cortex.ra.structure import Dag
from cortex.ra.tensor import Body, Compute, InputTensor, Placeholder, dense
from ragged.errors import Location, ModelError, ScheduleError
from ragged.ir.ops import Combiner


@dataclass(frozen=True, slots=True)
class Refactored:
    """A model after recursive refactoring.

    `current` maps each compute of the old model to its replacement; `finite` are the parameters that must be finite for
    both models to compute the same values.
    """

    model: Model
    current: Mapping[ModelTensor, Body]
    finite: frozenset[InputTensor]


def refactor(model: Model, op: ModelTensor) -> Refactored:
    """Return the model in which each node computes for its parent the part of `op` that depends on it.

    before::

        hs[n, i] = sum(h_ph[k, i] for k in children(n))
        Uh[n, i] = sum(U[i, j] * hs[n, j] for j < 4)
        h[n, i] = tanh(Uh[n, i])

    after::

        Uh[n, i] = sum(Uh_up_ph[k, i] for k in children(n))
        h[n, i] = tanh(Uh[n, i])
        Uh_up[n, i] = sum(U[i, j] * h[n, j] for j < 4)

    The new output is a state, not a result of the model. A product with a sum over the children becomes the sum of the
    products, which changes the order of the reduction. `ScheduleError` if `op` is not a compute of the model, runs over
    a Dag, reads no child, or reads more than one child knows.
    """
    at = Location.capture()
    name = check_computed("refactor", model, op, at)
    if isinstance(model.structure, Dag):
        raise ScheduleError(
            f"refactor: '{name}' runs over a Dag",
            at=at,
            because="a node that several parents share has no one place in their recursion: what moves across its "
            "edges would be computed again for each (CORTEX, section 3.1)",
            fix="refactor models over ra.Tree() and ra.Sequence(); compute_once moves what one child gives",
        )
    return _moved("refactor", model, op, at)


def compute_once(model: Model, op: ModelTensor) -> Refactored:
    """Return the model in which each node computes once the part of `op` that its parents take from it.

    before::

        Uh[n, k, i] = sum(U[i, j] * h_ph[k, j] for j < 4)
        h[n, i] = tanh(sum(Uh[n, k, i] for k in children(n)))

    after::

        Uh[n, k, i] = Uh_up_ph[k, i]
        h[n, i] = tanh(sum(Uh[n, k, i] for k in children(n)))
        Uh_up[n, i] = sum(U[i, j] * h[n, j] for j < 4)

    It is `refactor` restricted to values of one child: results keep their bits, and over DAGs it saves work.
    `ScheduleError` if `op` is not a compute of the model, or reads anything but one child's results.
    """
    at = Location.capture()
    check_computed("compute_once", model, op, at)
    return _moved("compute_once", model, op, at, alone=True)


def _moved(
    primitive: str, model: Model, op: ModelTensor, at: Location | None, *, alone: bool = False
) -> Refactored:
    """Return the model in which the part of `op` moved to the child; with `alone`, to one child, not to a sum."""
    compute = _operator(primitive, model, op, at)
    name = model.name(compute)

    def refuse(expr: Expr | None, because: str) -> ScheduleError:
        why = because if expr is None else f"'{model.text(expr)}': {because}"
        return ScheduleError(f"{primitive}: '{name}' cannot move to the child", at=at, because=why)

    found = ChildParts(dict(model.outputs.values()), model.name, refuse)
    part, of = found.of(compute)
    if alone and of is Children.SUM:
        raise refuse(None, "it takes in the sum over all children, not one of them")
    if any(part is body for _, body in model.outputs.values()):
        raise ScheduleError(
            f"{primitive}: there is nothing of '{name}' to move",
            at=at,
            because=f"of one child it is '{model.name(part)}', which the child returns already",
            fix="name an operator that computes with it",
        )
    default, finite = _without_child(compute, of, found.reads, refuse)
    state = f"{name}_up"
    while state in (*model.inputs, *model.payloads, *model.outputs, *model.heads, *model.after):
        state += "_up"
    placeholder = Placeholder(f"{state}_ph", (N, *dense(compute)), compute.dtype, default, at=at)
    current = with_tensors(model, {compute: _reading(compute, placeholder, of)})
    outputs = {key: (ph, current[body]) for key, (ph, body) in model.outputs.items()}
    moved, _ = ChildParts(dict(outputs.values()), model.name, refuse).of(compute)
    outputs[state] = (placeholder, moved)
    try:
        heads = {key: current[body] for key, body in model.heads.items()}
        after = {key: current[body] for key, body in model.after.items()}
        changed = Model(outputs, model.structure, model.states | {state}, heads, after)
    except ModelError as error:
        raise refuse(None, f"the model would be illegal: {error.what}") from error
    return Refactored(changed, current, frozenset(finite))


def _operator(primitive: str, model: Model, op: ModelTensor, at: Location | None) -> Compute:
    """Return `op` as a compute that may move."""
    compute = check_operator(primitive, model, op, at)
    name = model.name(compute)
    if not compute.calls:
        raise ScheduleError(
            f"{primitive}: '{name}' takes in nothing that a child returned",
            at=at,
            because="it lies on no way from a node to its parent, so that the recursion cannot be cut there",
            fix="hoist_inputs computes before the recursion what does not depend on it",
        )
    if not compute.dtype.is_float:
        raise ScheduleError(
            f"{primitive}: '{name}' holds integers",
            at=at,
            because="what a node returns to its parent are floats",
        )
    return compute


def _without_child(
    compute: Compute, of: Of, reads: Iterable[Read], refuse: Refuse
) -> tuple[float | None, set[InputTensor]]:
    """Return the part's default for a missing child, None if it is never read, and the parameters to be finite."""
    defaults = [read.tensor.default for read in reads if isinstance(read.tensor, Placeholder)]
    missing = of is Children.SUM or (isinstance(of, int) and defaults and None not in defaults)
    if not missing:
        return None, set()
    zeros = Zeros(lambda condition: None, childless=True)
    if not zeros.holds(compute.body):
        raise refuse(None, "it is not known to be zero where there is no child")
    return (0.0 if isinstance(of, int) else None), zeros.finite


def _reading(compute: Compute, placeholder: Placeholder, of: Of) -> Compute:
    """Return the compute at the parent: the value of each child, or their sum."""
    node = compute.node

    def returned(child: Node) -> Read:
        indices: tuple[Index, ...] = (child, *compute.indices)
        return Read(placeholder, indices, dtype=compute.dtype, at=compute.at)

    body: Expr
    match of:
        case int(position):
            body = returned(ChildAt(node, position))
        case Children.EACH:
            assert compute.child is not None
            body = returned(compute.child)
        case _:
            child = ChildVar(node, "k")
            body = ChildReduce(Combiner.SUM, child, returned(child), dtype=compute.dtype, at=compute.at)
    return Compute(
        compute.name,
        compute.shape,
        compute.dtype,
        node,
        compute.child,
        compute.indices,
        body,
        calls=True,
        at=compute.at,
    )
