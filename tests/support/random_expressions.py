"""Random expressions of a model at a place, and the computes that they stand in.

Values stay small, so that what float32 rounds away stays small too: products have a bounded side. Floats are
compared only as they came in: what was computed may fall on either side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cortex import ra
from tests.support.random_atoms import KINDS, Atoms
from tests.support.random_scopes import Known, Scope, conditions, handles

BOUNDED = [
    ra.tanh,
    ra.sigmoid,
    lambda x: ra.exp(-ra.abs(x)),
    lambda x: 0.5 * ra.tanh(x),
    lambda x: x / (1.0 + ra.abs(x)),
]
UNARY = [
    *BOUNDED,
    lambda x: -x,
    ra.abs,
    ra.relu,
    lambda x: ra.log(1.0 + ra.abs(x)),
    lambda x: ra.sqrt(0.25 + ra.abs(x)),
]
BINARY = [
    lambda x, y: x + y,
    lambda x, y: x - 0.5 * y,
    lambda x, y: x * ra.tanh(y),
    lambda x, y: x / (1.5 + ra.abs(y)),
    ra.maximum,
    ra.minimum,
]


@dataclass
class Expressions(Atoms):
    """Draws expressions and computes of one model."""

    def compute(
        self, shape: tuple[int, ...], known: Known, *, recurs: bool = False, children: bool = False
    ) -> Any:
        def function(n: Any, *rest: Any) -> Any:
            kids = (rest[0],) if children else ()
            indices = tuple(zip(rest[len(kids) :], shape, strict=True))
            scope = Scope(n, indices, kids, Known(max(known.low, 1), known.high) if children else known)
            value = self.expr(scope, (1, 2, 2, 3)[self.number(3)])
            if recurs:
                value = value + self.over_children(scope, 1, calls=True)
            return self.choose([*BOUNDED, lambda x: x])(value) if not children else ra.tanh(value)

        dims = (ra.N, *((ra.K,) if children else ()), *shape)
        made = ra.compute(dims, of_arity(function, len(dims)), name=self.name())
        self.tensors.append((made, known))
        return made

    def expr(self, scope: Scope, depth: int) -> Any:
        """Return an expression of floats, of an operator or more if `depth` allows."""
        if scope.made and self.number(4) == 0:
            return self.choose(scope.made)
        value = self.atom(scope) if depth == 0 else self.operation(scope, depth - 1)
        scope.made.append(value)
        return value

    def operation(self, scope: Scope, depth: int) -> Any:
        match self.number(10):
            case 0:
                return self.atom(scope)
            case 9:
                return self.twice(scope)
            case 10:
                return self.pairs(scope)
            case 1:
                return self.choose(UNARY)(self.expr(scope, depth))
            case 2 | 3:
                return self.choose(BINARY)(self.expr(scope, depth), self.expr(scope, depth))
            case 4:
                return self.where(scope, lambda inner: self.expr(inner, depth))
            case 5:
                return self.over_index(scope, depth)
            case 6 | 7:
                return self.over_children(scope, depth)
            case _:
                return self.matrix(scope)

    def where(self, scope: Scope, branch: Callable[[Scope], Any]) -> Any:
        if self.number(1):
            condition, holds, fails = conditions(self.draw, scope.node, scope.known)
            return ra.where(condition, branch(scope.given(holds)), branch(scope.given(fails)))
        return ra.where(self.condition(scope), branch(scope.given()), branch(scope.given()))

    def condition(self, scope: Scope) -> Any:
        """Return a condition on values, or on the children of a child."""
        at = self.choose(handles(scope, KINDS[self.kind][1], self.kind))
        match self.number(5):
            case 0:
                return self.payload("sign", at) > 0.0
            case 1:
                return self.choose([ra.isleaf(at), ra.num_children(at) == 2, ra.num_children(at) < 2])
            case 2:
                return self.integer(scope, 1) >= self.number(2)
            case 3:
                return (self.payload("type", at) == 1) & (self.payload("sign", at) <= 0.25)
            case 4:
                return ~self.condition(scope) | (self.payload("type", at) != 0)
            case _:
                return self.integer(scope, 0) % 2 == 0

    def twice(self, scope: Scope) -> Any:
        """Return an expression that uses a reduction on several ways of a condition."""
        total = self.choose([self.over_children, self.over_index])(scope, 1)
        condition = self.condition(scope)
        ways = [
            lambda: ra.where(condition, total, 0.5 * total),
            lambda: ra.where(condition, total, 0.25) + total,
            lambda: ra.where(condition, 0.25, total) * 0.5 + ra.where(condition, total, -0.25),
        ]
        return self.choose(ways)()

    def pairs(self, scope: Scope) -> Any:
        """Return a sum over pairs of children."""

        def pair(k: Any, m: Any, j: Any) -> Any:
            inner = scope.with_child(k).with_child(m).with_index(j, 2)
            return (
                ra.tanh(self.call(inner, self.choose(self.placeholders), k))
                * ra.tanh(self.call(inner, self.choose(self.placeholders), m))
                * self.expr(inner, 0)
            )

        def inside(k: Any) -> Any:
            return ra.sum_children(scope.node, lambda m: ra.sum(2, lambda j: pair(k, m, j)))

        return 0.25 * ra.sum_children(scope.node, inside)

    def over_index(self, scope: Scope, depth: int) -> Any:
        extent = 1 + self.number(3)

        def body(j: Any) -> Any:
            return self.expr(scope.with_index(j, extent), depth)

        return self.choose([lambda: 0.5 * ra.sum(extent, body), lambda: ra.max(extent, body)])()

    def matrix(self, scope: Scope) -> Any:
        """Return a product of weights, by the type of a node or not, and a vector."""
        vectors = self.vectors(scope)
        if scope.indices and vectors and self.number(1):
            index, rows = self.choose(list(scope.indices))
            extent, element = self.choose(vectors)
            weights = self.parameter((rows, extent))
            return ra.sum(extent, lambda j: weights[index, j] * element(j))
        extent = 1 + self.number(3)
        at = self.choose(handles(scope, KINDS[self.kind][1], self.kind))
        typed = self.number(1)

        def body(j: Any) -> Any:
            inner = scope.with_index(j, extent)
            rows = [self.index(scope, 3)] if scope.indices else []
            weight = self.payload_table((3,), (*rows, j), (*[3 for _ in rows], extent), at) if typed else None
            if weight is None:
                weight = self.parameter((*[3 for _ in rows], extent))[(*rows, j)]
            return weight * ra.tanh(self.expr(inner, 1))

        return ra.sum(extent, body)

    def over_children(self, scope: Scope, depth: int, *, calls: bool = False) -> Any:
        def body(k: Any) -> Any:
            inner = scope.with_child(k)
            return (
                self.call(inner, self.choose(self.placeholders), k) * 0.5
                if calls
                else self.expr(inner, depth)
            )

        if scope.known.low >= 1 and self.number(2) == 0:
            return ra.max_children(scope.node, body)
        if self.number(3) == 0:
            inside = scope.given(Known(max(scope.known.low, 1), scope.known.high))
            largest = ra.max_children(scope.node, lambda k: self.expr(inside.with_child(k), depth))
            return ra.where(ra.isleaf(scope.node), 0.5, largest) + ra.sum_children(scope.node, body)
        return ra.sum_children(scope.node, body)


def of_arity(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return the function with as many arguments as the language asks a compute's function to have."""
    return {
        1: lambda n: function(n),
        2: lambda n, i: function(n, i),
        3: lambda n, i, j: function(n, i, j),
        4: lambda n, k, i, j: function(n, k, i, j),
    }[count]
