"""A model: a checked recursion and the plan derived from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Never

import numpy as np
from numpy.typing import NDArray

from cortex.ilir.plan import Plan
from cortex.ra.base import K, S
from cortex.ra.check import check
from cortex.ra.collect import Recursion
from cortex.ra.demands import derive_plan
from cortex.ra.structure import Structure, Tree
from cortex.ra.tensor import Body, Compute, IfThenElse, Placeholder, UnreadPlaceholder
from cortex.ra.text import listing
from ragged.data.read import is_integer
from ragged.errors import Location, ModelError, UserError
from ragged.ir.dtype import DType


@dataclass(frozen=True, slots=True, eq=False)
class Model(Recursion):
    """The result of `ra.recursion_op` and of the constructors of `cortex.models`; its `repr` is its listing.

    Attributes:
        outputs: by name, the placeholder of a result and the compute that defines it.
        structure: the structures that the recursion runs over.
        states: the outputs that only a node's parent reads; schedule primitives introduce them.
        heads: by name, the computes at roots alone.
        after: by name, the computes of structures, after the recursion.
        inputs, payloads: the parameters and the node inputs by name.
        computes: the tensors computed at each node, in topological order.
        root_computes: the tensors computed at roots, for the heads, in topological order.
        after_computes: the tensors computed after the recursion, of structures and at nodes, in topological order.
        names: each tensor's unique name in listings.

    Raises:
        ModelError: the model breaks a rule of the language (P.1 to P.3, shapes, arity, ...).
    """

    _plan: Plan = field(init=False, repr=False)

    def __post_init__(self) -> None:
        Recursion.__post_init__(self)
        check(self)
        object.__setattr__(self, "_plan", derive_plan(self))

    def plan(self) -> Plan:
        """Return the model's requirements on its structures."""
        return self._plan

    def init_params(self, seed: int = 0) -> dict[str, NDArray[np.generic]]:
        """Return parameters drawn from a normal distribution of deviation 1/sqrt(last extent).

        Each array is C-contiguous, owned by the caller, and depends only on its name, shape, dtype and `seed`, so that
        editing other parts of a model does not change it. Tables of integers are zero. `UserError` if `seed` is no
        integer from 0 up.
        """
        if not is_integer(seed) or seed < 0:
            raise UserError(
                f"init_params: seed={seed!r} is no integer from 0 up", fix="model.init_params(seed=1)"
            )
        return {
            name: np.zeros(tensor.shape, tensor.dtype.numpy)  # type: ignore[arg-type]
            if tensor.dtype.is_int
            else _normal([seed, *name.encode()], tensor.shape)  # type: ignore[arg-type]
            for name, tensor in self.inputs.items()
        }

    def __repr__(self) -> str:
        return listing(self)

    def __getitem__(self, index: object) -> Never:
        name = next(iter(self.results))
        raise ModelError(
            f"a recursion with the output '{name}' is read like a tensor",
            at=Location.capture(),
            because="a model is one recursion: the results of another are known when that has run",
            fix=f'compile it apart, and give its out.nodes("{name}") to the other as a payload',
        )


def recursion_op(
    placeholder: Placeholder | Mapping[str, tuple[Placeholder, Body] | Body],
    body: Body | None = None,
    structure: Structure | None = None,
    *,
    roots: Mapping[str, Compute] | None = None,
    after: Mapping[str, Compute] | None = None,
) -> Model:
    """Close the recursion: define each placeholder, and the structures that it runs over.

    Args:
        placeholder: the placeholder of the only result, then named "h"; or, for each result by name, its placeholder
            and the compute that defines it; or the compute alone, where no node reads the result of a child. A model
            of such results only is a layer without recursion.
        body: the compute that defines the only result.
        structure: `ra.Tree(max_children=None)` unless given, or `ra.Dag()`, `ra.Sequence()`.
        roots: heads by name: computes (ra.N, ...) that are computed at roots alone, after the recursion, such as a
            classifier. A head reads parameters, and at its node payloads and the computes of outputs, directly or
            through computes of its own; `out[name]` has a row for each root. A payload that it reads is carried by
            every node, or has a default.
        after: results of structures by name: computes (ra.S, ...), made after the recursion by `ra.sum_nodes` and
            `ra.max_nodes`; `out[name]` has a row for each structure. What they read of nodes, outputs apart, is
            computed after the recursion too, at all nodes, and may read such computes at children, and computes of
            structures at the node: mean[n, i]. With them `placeholder` may be {}.

    Raises:
        ModelError: the model breaks a rule of the language.

    Example:
        >>> model = recursion_op({"h": (h_ph, h), "c": (c_ph, c)}, structure=Tree(), roots={"logits": logits})
    """
    if isinstance(placeholder, Placeholder):
        outputs: Mapping[str, object] = {"h": (placeholder, body)}
    elif isinstance(placeholder, Mapping):
        outputs = placeholder
    else:
        raise ModelError(
            f"recursion_op: a {type(placeholder).__name__} is neither a placeholder nor results by name",
            at=Location.capture(),
            fix='recursion_op(h_ph, h) for one result, recursion_op({"h": (h_ph, h), "c": (c_ph, c)}) for several',
        )
    closed = {str(name): _output(name, pair) for name, pair in outputs.items()}
    heads = {name: _head(name, body) for name, body in (roots or {}).items()}
    later = {name: _after(name, body) for name, body in (after or {}).items()}
    if structure is not None and not isinstance(structure, Structure):
        raise ModelError(
            f"recursion_op: structure={structure!r} is no structure",
            at=Location.capture(),
            fix="ra.Tree(), ra.Dag() or ra.Sequence()",
        )
    return Model(closed, structure or Tree(), heads=heads, after=later)


def _output(name: object, pair: object) -> tuple[Placeholder, Body]:
    if not isinstance(name, str):
        raise ModelError(
            f"recursion_op: the name of an output is of type {type(name).__name__}, not a string",
            at=Location.capture(),
            fix='recursion_op({"h": (h_ph, h), "c": (c_ph, c)})',
        )
    _refuse_of_structures(name, pair)
    match pair:
        case (Placeholder() as placeholder, (Compute() | IfThenElse()) as body):
            return placeholder, body
        case (Compute() | IfThenElse()) as body if K not in body.shape:
            return UnreadPlaceholder(f"{name}_ph", body.shape, DType.FLOAT32, at=body.at), body
        case _:
            raise ModelError(
                f"recursion_op: output '{name}' is not a placeholder and its compute",
                at=Location.capture(),
                fix='recursion_op({"h": (h_ph, h)}), where h is a compute; {"y": y} if nothing reads y at a child',
            )


def _head(name: str, body: object) -> Body:
    _refuse_of_structures(name, body)
    if isinstance(body, Compute) and K not in body.shape:
        return body
    raise ModelError(
        f"recursion_op: head '{name}' is no compute over nodes",
        at=Location.capture(),
        fix='roots={"logits": ra.compute((ra.N, C), lambda n, i: ...)}, which reads outputs: h[n, j]',
    )


def _refuse_of_structures(name: str, body: object) -> None:
    if isinstance(body, Compute) and S in body.shape:
        raise ModelError(
            f"recursion_op: '{name}' is computed of structures",
            at=Location.capture(),
            because="it has a value for each structure, when the recursion has ended",
            fix=f'after={{"{name}": ...}}',
        )


def _after(name: str, body: object) -> Body:
    if isinstance(body, Compute) and S in body.shape:
        return body
    raise ModelError(
        f"recursion_op: '{name}' is no compute over structures",
        at=Location.capture(),
        fix='after={"mean": ra.compute((ra.S, C), lambda s, i: ra.sum_nodes(s, lambda n: h[n, i]) / ra.num_nodes(s))}',
    )


def _normal(seed: list[int], shape: tuple[int, ...]) -> NDArray[np.generic]:
    deviation = 1 / np.sqrt(shape[-1]) if shape else 1.0
    # What NumPy makes of one number is no array.
    return np.asarray(np.random.default_rng(seed).standard_normal(shape) * deviation, np.float32)
