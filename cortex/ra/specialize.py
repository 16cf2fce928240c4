"""Conditions that a schedule can specialize: comparisons of payloads or numbers of children with constants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from inspect import signature

from cortex.ra.base import ModelTensor
from cortex.ra.cases import handles
from cortex.ra.expr import Expr, IsLeaf, Read
from cortex.ra.lower import LoweringOptions, count_cases
from cortex.ra.lower.case_facts import atoms, canonical, comparison, separates_leaves, subject
from cortex.ra.model import Model
from cortex.ra.named import check_computed
from cortex.ra.node import NodeVar
from cortex.ra.shapes import counted
from cortex.ra.tensor import IfThenElse, InputTensor, NodeInput
from cortex.ra.walk import subexpressions
from ragged.errors import Location, ScheduleError
from ragged.ir.dtype import DType

MOST_CASES = 64
"""The maximum number of classes of nodes; each has a copy of the statements of a node."""

_EXAMPLE = "return a comparison: lambda n: ra.num_children(n) == 2"
_FIX = "compare ra.num_children(n), or a payload that is one integer, with a number: kind[n] == 3"


def specializable(condition: Expr) -> list[Expr]:
    """Return the atomic conditions of a condition on the structure that a schedule can specialize."""
    return [atom for atom in atoms(condition) if comparison(atom) is not None]


def branch_checks(model: Model, branch: ModelTensor, at: Location | None) -> list[Expr]:
    """Return the atomic conditions of a branch that a schedule can specialize; `ScheduleError` if there are none."""
    name = check_computed("specialize_if_else", model, branch, at)
    if not isinstance(branch, IfThenElse):
        raise ScheduleError(
            f"specialize_if_else: '{name}' has no branches",
            at=at,
            because="it was made by compute",
            fix="name a tensor that if_then_else made",
        )
    checks = specializable(branch.condition)
    if not checks:
        raise ScheduleError(
            f"specialize_if_else: the condition of '{name}' does not tell nodes apart",
            at=at,
            because=f"it is {model.text(branch.condition)}, and nodes are told apart by comparing an integer "
            "payload, or the number of children, with a number",
        )
    return checks


def with_checks(options: LoweringOptions, checks: Iterable[Expr], *, branch: bool) -> LoweringOptions:
    """Return the options with atomic conditions specialized as well; the same where all are already.

    Whether a node is a leaf splits the numbering of nodes, and sorts none: where a `branch` asks for it, the choice
    that there are two cases says all.
    """
    for atom in checks:
        check = comparison(atom)
        assert check is not None
        check = canonical(check)
        if separates_leaves(check):
            options = replace(options, specialized=True)
        if check not in options.checks and not (branch and isinstance(atom, IsLeaf)):
            options = replace(options, checks=(*options.checks, check))
    return options


def requested_checks(model: Model, function: object, at: Location | None) -> tuple[Expr, ...]:
    """Return the atomic conditions of the function given to `specialize`.

    Raises:
        ScheduleError: it is no function of a node, does not return a condition, or a condition cannot be specialized.
    """
    parameters = signature(function).parameters.values() if callable(function) else ()
    named = [parameter for parameter in parameters if parameter.default is parameter.empty]
    if not callable(function) or len(named) != 1:
        takes = f"the function takes {counted(len(named), 'argument')}, and is given a node"
        what = takes if callable(function) else f"{function!r} is no function of a node"
        raise ScheduleError(f"specialize: {what}", at=at, fix=_EXAMPLE)
    condition = function(NodeVar(named[0].name))
    if not isinstance(condition, Expr) or condition.dtype is not DType.BOOL:
        shown = model_text(model, condition) if isinstance(condition, Expr) else repr(condition)
        raise ScheduleError(
            f"specialize: '{shown}' is no condition",
            at=at,
            because="it is a number" if isinstance(condition, Expr) else None,
            fix=_EXAMPLE,
        )
    found = tuple(atoms(condition))
    for atom in found:
        reason = _reason(model, atom)
        if reason is not None:
            raise ScheduleError(
                f"specialize: '{model_text(model, atom)}' does not tell nodes apart",
                at=at,
                because=reason,
                fix=_FIX,
            )
    return found


def check_counts(
    model: Model, before: LoweringOptions, after: LoweringOptions, what: str, at: Location | None
) -> None:
    """Raise a `ScheduleError` if the checks of `after` separate no more classes, or too many."""
    if before == after:
        raise ScheduleError(
            f"{what} is specialized already",
            at=at,
            because="a condition is specialized wherever it stands, in all branches on it at once",
        )
    old, cases = (count_cases(model, replace(c, unrolled=0), MOST_CASES + 1) for c in (before, after))
    if cases > MOST_CASES:
        raise ScheduleError(
            f"{what} would make more than {MOST_CASES} kinds of nodes",
            at=at,
            because="each has loops and code of its own",
            fix="specialize fewer conditions, or conditions of which not all combinations occur",
        )
    tells_leaves = after.specialized and not before.specialized
    if not tells_leaves and cases == old:
        raise ScheduleError(
            f"{what} would change nothing",
            at=at,
            because="at every node the condition is known already, or nothing that is computed there depends on it",
        )


def code(checks: Sequence[Expr]) -> str:
    """Return atomic conditions of a node `n`, joined by `|`, as code."""
    parts = [_code(atom) for atom in checks]
    return parts[0] if len(parts) == 1 else " | ".join(f"({part})" for part in parts)


def _code(atom: Expr) -> str:
    check = comparison(atom)
    if isinstance(atom, IsLeaf):
        return "ra.isleaf(n)"
    return f"ra.{check}" if check is not None and check.payload is None else str(check)


def model_text(model: Model, expr: Expr) -> str:
    """Return an expression with the names of a model, as far as its tensors are of that model."""
    return expr.text(lambda tensor: model.names.get(tensor, tensor.name))


def _reason(model: Model, atom: Expr) -> str | None:
    """Return why an atomic condition cannot be specialized; None if it can be."""
    for part in subexpressions(atom):
        text = model_text(model, part)
        for node in handles(part):
            if not isinstance(node, NodeVar):
                return f"'{text}' is of '{node.text()}', and a node is told by what it is itself"
        match part:
            case Read(tensor=NodeInput() as payload):
                if model.payloads.get(payload.name) is not payload:
                    return f"'{payload.name}' is no payload that the model reads"
                if not payload.dtype.is_int:
                    return f"'{text}' is of {payload.dtype.value}, and nodes are told apart by integers"
                if len(payload.shape) > 1:
                    return f"'{text}' is one number of several that a node carries"
            case Read(tensor=InputTensor()):
                return f"'{text}' is a parameter, and no part of a structure"
            case Read():
                return f"'{text}' is computed, and what nodes there are is known before"
            case _:
                pass
    if comparison(atom) is not None:
        return None
    of_node = any(subject(part)[1] for part in subexpressions(atom))
    return "it is no comparison with a number" if of_node else "it asks for nothing that a node has"
