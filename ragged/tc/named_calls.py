"""Calls of elementwise functions as tensors of their own, so that each of them is computed once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ragged.ir.elementwise import Elementwise
from ragged.ir.expr import Expr, Load, Ref, Select, Unary, Var
from ragged.ir.rewrite import Rewriter, substitute
from ragged.ir.walk import loads, mentions, variables
from ragged.tc.checked import (
    AXES,
    CheckedFunction,
    CheckedStatement,
    IndexRange,
    TensorVersion,
    domain_over,
    ranges_at,
)

_Values: TypeAlias = tuple[Expr, tuple[IndexRange, ...]]
"""A call with the axes of its tensor in place of its indices, and their ranges."""


def name_calls(function: CheckedFunction) -> CheckedFunction:
    """Return the same function with a tensor for the values of each elementwise function that it calls.

    before::

        total(n) +=! exp(I(n,d) - top(n))
        O(n,d) = exp(I(n,d) - top(n)) / total(n)

    after::

        exp_total(n,d) = exp(I(n,d) - top(n))
        total(n) +=! exp_total(n,d)
        O(n,d) = exp_total(n,d) / total(n)

    A call stays where it is if no tensor that it reads has as many elements as its values, as those of the sum of a row
    and a column; and under a condition, without which it might read out of bounds.
    """
    return _named(function, None).renamed()


def share_calls(function: CheckedFunction) -> CheckedFunction:
    """Return the same function, with a tensor for the values of calls that several statements make (`name_calls`).

    They make them in the same order of indices, so that their loops can be fused, and a row of values stays in cache.
    """
    made = _named(function, None).made
    shared = {each for each, statements in made.items() if len(statements) > 1}
    return _named(function, shared).renamed() if shared else function


def _named(function: CheckedFunction, wanted: Collection[_Values] | None) -> _Namer:
    namer = _Namer(function, wanted)
    for statement in function.statements:
        namer.add(statement)
    return namer


@dataclass
class _Namer:
    """Gives calls tensors: those that are `wanted`, or all if that is None. `made` has the statements of each call."""

    function: CheckedFunction
    wanted: Collection[_Values] | None
    statements: list[CheckedStatement] = field(default_factory=list)
    known: dict[_Values, TensorVersion] = field(default_factory=dict)
    made: dict[_Values, set[CheckedStatement]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.versions = dict(self.function.versions)

    def renamed(self) -> CheckedFunction:
        """Return the function with the statements so far."""
        return replace(self.function, statements=self.statements, versions=self.versions)

    def add(self, statement: CheckedStatement) -> None:
        """Add a statement, after those of the calls in it."""
        value = _Calls(self, statement).expr(statement.value)
        self.statements.append(statement if value is statement.value else replace(statement, value=value))

    def element(self, statement: CheckedStatement, call: Unary, value: Unary) -> Expr:
        """Return the element of a tensor that a call is, or its `value`, the call with the calls in it replaced."""
        indices = tuple(var for var in statement.all_indices if mentions(call, (var,)))
        if not any(all(mentions(load, (var,)) for var in indices) for load in loads(call)):
            return value
        domain = domain_over(indices, statement.ranges)
        if any({*statement.all_indices} & variables(own.lower, own.upper) for own in domain):
            return value  # a range varies with an index that the call does not depend on
        key = substitute(call, dict(zip(indices, map(Ref, AXES), strict=False))), domain
        self.made.setdefault(key, set()).add(statement)
        whole = call == statement.value and statement.combiner is None and indices == statement.indices
        if (whole and key not in self.known) or (self.wanted is not None and key not in self.wanted):
            return value
        if key not in self.known:
            self.known[key] = self.version(statement, value, indices, domain)
        return Load(self.known[key].buffer, tuple(map(Ref, indices)))

    def version(
        self,
        statement: CheckedStatement,
        value: Unary,
        indices: tuple[Var, ...],
        domain: tuple[IndexRange, ...],
    ) -> TensorVersion:
        """Return the tensor of a call's values, computed before a statement."""
        name = f"{value.op.value}_{statement.target.name}"
        found = TensorVersion(name, value.dtype.value, len(indices), statement.at, domain=domain)
        self.versions[found.buffer] = found
        own = {var: Var(var.name) for var in indices}
        self.statements.append(
            CheckedStatement(
                source=replace(statement.source, operator="="),
                target=found,
                previous=None,
                earlier=None,
                combiner=None,
                indices=tuple(own.values()),
                reduced=(),
                value=substitute(value, {var: Ref(new) for var, new in own.items()}),
                witnesses=(),
                ranges=ranges_at(tuple(own.values()), domain),
            )
        )
        return found


class _Calls(Rewriter):
    """Replaces calls that are evaluated in each iteration of a statement."""

    def __init__(self, namer: _Namer, statement: CheckedStatement) -> None:
        super().__init__()
        self.namer, self.statement = namer, statement

    def expr(self, expr: Expr) -> Expr:
        """Rewrite an expression."""
        if isinstance(expr, Select):
            return expr
        value = super().expr(expr)
        if isinstance(expr, Unary) and isinstance(expr.op, Elementwise):
            assert isinstance(value, Unary)
            return self.namer.element(self.statement, expr, value)
        return value
