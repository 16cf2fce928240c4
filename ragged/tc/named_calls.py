"""Calls of elementwise functions as tensors of their own, so that a gradient computes each of them once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ragged.ir.elementwise import Elementwise
from ragged.ir.expr import Expr, Load, Ref, Select, Unary, Var
from ragged.ir.rewrite import Rewriter, substitute
from ragged.ir.walk import loads, mentions
from ragged.tc.checked import AXES, CheckedFunction, CheckedStatement, IndexRange, TensorVersion

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
    namer = _Namer(function)
    for statement in function.statements:
        namer.add(statement)
    return replace(function, statements=namer.statements, versions=namer.versions)


@dataclass
class _Namer:
    function: CheckedFunction
    statements: list[CheckedStatement] = field(default_factory=list)
    known: dict[_Values, TensorVersion] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.versions = dict(self.function.versions)

    def add(self, statement: CheckedStatement) -> None:
        """Add a statement, after those of the calls in it."""
        calls = _Calls(self, statement)
        value = calls.expr(statement.value)
        self.statements.append(statement if value is statement.value else replace(statement, value=value))

    def named(self, statement: CheckedStatement, call: Unary) -> Expr:
        """Return the element of a tensor that a call is; the call itself if it stays."""
        indices = tuple(var for var in statement.all_indices if mentions(call, (var,)))
        reads = list(loads(call))
        if not any(all(mentions(load, (var,)) for var in indices) for load in reads):
            return call
        if call == statement.value and statement.combiner is None and indices == statement.indices:
            return call
        ranges = tuple(statement.ranges[var] for var in indices)
        along = dict(zip(indices, map(Ref, AXES), strict=False))
        version = self.known.get((substitute(call, along), ranges))
        if version is None:
            name = f"{call.op.value}_{statement.target.name}"
            version = TensorVersion(name, call.dtype.value, len(indices), statement.at, domain=ranges)
            own = {var: Ref(Var(var.name)) for var in indices}
            self.known[substitute(call, along), ranges] = self.versions[version.buffer] = version
            self.statements.append(
                CheckedStatement(
                    replace(statement.source, operator="="),
                    version,
                    None,
                    None,
                    None,
                    tuple(each.var for each in own.values()),
                    (),
                    substitute(call, own),
                    (),
                    {own[var].var: each for var, each in zip(indices, ranges, strict=True)},
                )
            )
        return Load(version.buffer, tuple(map(Ref, indices)))


class _Calls(Rewriter):
    """Replaces calls that are evaluated in each iteration of a statement."""

    def __init__(self, namer: _Namer, statement: CheckedStatement) -> None:
        super().__init__()
        self.namer, self.statement = namer, statement

    def expr(self, expr: Expr) -> Expr:
        """Rewrite an expression."""
        if isinstance(expr, Select):
            return expr
        expr = super().expr(expr)
        if isinstance(expr, Unary) and isinstance(expr.op, Elementwise):
            return self.namer.named(self.statement, expr)
        return expr
