"""Tables that index expressions read and the prelude fills, shared by all operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ragged.arith.fold import plus
from ragged.ir.dtype import INDEX, DType
from ragged.ir.expr import Call, Const, Expr, Function, Param, Ref, Source, Var
from ragged.ir.fact import Fact
from ragged.ir.facts import Monotone, PrefixSum, UpperBound
from ragged.ir.rewrite import substitute

Extents: TypeAlias = Sequence[tuple[Var, Expr]]
"""Nested dimensions, outermost first: the index variable and the extent of each."""


@dataclass(frozen=True, slots=True)
class Offsets:
    """`function(0) = 0`, `function(p + 1) = function(p) + volume`; p counts through `domain` in row-major order."""

    function: Function
    domain: tuple[tuple[Var, Expr], ...]
    volume: Expr


@dataclass(frozen=True, slots=True)
class Largest:
    """`function(0)` is the largest `value` in `domain`, zero in an empty one."""

    function: Function
    domain: tuple[tuple[Var, Expr], ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Owners:
    """`function(f)` is the row of element f: `offsets(row) <= f < offsets(row + 1)`."""

    function: Function
    offsets: Offsets


@dataclass(frozen=True, slots=True)
class ValueTable:
    """`function(p)` is `value`, p counting through `domain` in row-major order."""

    function: Function
    domain: tuple[tuple[Var, Expr], ...]
    value: Expr


Table: TypeAlias = Offsets | Largest | Owners | ValueTable


@dataclass
class PreludeTables:
    """The tables of one program, created on request; equal requests share a table.

    `functions` are the declarations, each after those that it uses; `facts` are the facts about them.
    """

    functions: list[Function] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    _known: dict[tuple[object, ...], Table] = field(default_factory=dict)
    _places: dict[int, Var] = field(default_factory=dict)

    def offsets(self, domain: Extents, volume: Expr, count: Expr, length: Expr | None, at: Var) -> Function:
        """Return the prefix sums of `volume` over `domain`, which has `count` points.

        `length` is the volume as a function of the row-major position `at`, if it is one.
        """
        key = ("offsets", *self._shape(domain, volume))
        found = self._known.get(key)
        if found is None:
            name = self._name(f"{_short(volume)}_begin")
            place = Var("p")
            params = (Param(place, plus(count, Const(1))),)
            function = Function(name, params, Source.PRELUDE, storage=INDEX)
            found = self._add(key, Offsets(function, tuple(domain), volume))
            if length is None:
                self.facts.append(Monotone(function))
            else:
                self.facts.append(PrefixSum(function, self._length(name, length, at, count)))
        return found.function

    def largest(self, domain: Extents, value: Expr) -> Expr:
        """Return the largest `value` in `domain`."""
        key = ("largest", *self._shape(domain, value))
        found = self._known.get(key)
        if found is None:
            name = self._name(f"most_{_short(value)}")
            function = Function(name, (Param(Var("p"), Const(1)),), Source.PRELUDE, storage=INDEX)
            found = self._add(key, Largest(function, tuple(domain), value))
            match value:
                case Call(function=own, args=args) if args == tuple(Ref(var) for var, _ in domain):
                    self.facts.append(UpperBound(function, own))
                case _:
                    pass
        return Call(found.function, (Const(0),))

    def values(self, domain: Extents, value: Expr, count: Expr, dtype: DType = DType.INT32) -> Function:
        """Return `value` at each of the `count` points of `domain`, stored as `dtype`."""
        key = ("values", dtype, *self._shape(domain, value))
        found = self._known.get(key)
        if found is None:
            name = self._name(f"{_short(value)}_values")
            function = Function(name, (Param(Var("p"), count),), Source.PRELUDE, storage=dtype)
            found = self._add(key, ValueTable(function, tuple(domain), value))
        return found.function

    def _add(self, key: tuple[object, ...], table: Table) -> Table:
        self.functions.append(table.function)
        self.tables.append(table)
        self._known[key] = table
        return table

    def _length(self, name: str, length: Expr, at: Var, count: Expr) -> Function:
        """Return the summand of a prefix sum, as a function of the row-major position."""
        match length:
            case Call(function=function, args=(Ref(),)):  # which is of `at`, the only variable of a length
                return function
            case _:
                param = Var("p")
                body = substitute(length, {at: Ref(param)})
                own = Function(self._name(f"{name}_length"), (Param(param, count),), Source.EXPRESSION, body)
                self.functions.append(own)
                return own

    def _name(self, wanted: str) -> str:
        taken = {function.name for function in self.functions}
        return next(
            n for n in (wanted, *(f"{wanted}_{i}" for i in range(1, len(taken) + 2))) if n not in taken
        )

    def _shape(self, domain: Extents, value: Expr) -> tuple[Expr, ...]:
        """Return nested extents, and then an expression, with canonical variables."""
        own: dict[Var, Expr] = {}
        shape: list[Expr] = []
        for level, (var, extent) in enumerate(domain):
            shape.append(substitute(extent, own))
            own[var] = Ref(self._places.setdefault(level, Var(f"i{level}")))
        return (*shape, substitute(value, own))


def _short(expr: Expr) -> str:
    return expr.function.name if isinstance(expr, Call) else "rows"
