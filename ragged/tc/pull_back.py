"""From the adjoint of a read at each iteration to its part of the adjoint of an element."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TypeGuard

from ragged.arith.affine import affine
from ragged.arith.fold import FoldedSubstitution, floordiv, modulo
from ragged.ir.build import both, within
from ragged.ir.expr import Binary, Const, Expr, Load, Ref, Select, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import Rewriter
from ragged.ir.walk import conjuncts, loads, reads_memory, variables
from ragged.tc.checked import CheckedFunction, CheckedStatement, IndexRange, ranges_at
from ragged.tc.gradient_text import BufferStatement, DefinitionWriter
from ragged.tc.index_sums import bounds_in
from ragged.tc.inverse import AccessInverse
from ragged.tc.partials import where
from ragged.tc.prove import holds
from ragged.tc.running_sums import running_sum


@dataclass
class PullBack:
    """The part that `value`, at each iteration that reads `load`, has in the adjoint at `element`.

    `value` is a multiple of `seed`, an element of the adjoint of the statement's target. Conditions that hold for all
    sizes are left out. Where others say that the seed is in bounds, a sum reads a copy of it with zeros around, and
    between its elements for strides, so that the gradient of a convolution is a convolution without conditions.
    """

    function: CheckedFunction
    statement: CheckedStatement
    load: Load
    value: Expr
    element: Sequence[Var]
    seed: Expr
    writer: DefinitionWriter
    known: dict[Var, IndexRange] = field(init=False)

    def __post_init__(self) -> None:
        domain = self.function.versions[self.load.buffer].domain
        assert domain is not None, "all domains are known"
        ranges = {var: self.statement.ranges[var] for var in self.statement.all_indices}
        element, sizes = ranges_at(self.element, domain), self.function.sizes.values()
        given = list(conjuncts(self.value.condition)) if _is_conditional(self.value) else []
        self.inverse = AccessInverse(self.load, element, ranges, self.statement.indices, given, sizes)
        self.known = element | self.inverse.summed

    def part(self) -> tuple[Expr, dict[Var, IndexRange]]:
        """Return the value to add up, 0 where its conditions do not hold, and the indices to sum over."""
        value = _Replaced(self.load, Load(self.load.buffer, tuple(map(Ref, self.element)))).expr(self.value)
        conditions = [each for each in self.inverse.conditions if not self.holds(each[1])]
        others: list[Expr] = []
        if _is_conditional(value):
            parts = list(conjuncts(value.condition))
            others = [each for each in parts if reads_memory(each)]
            inner = ((None, self._exactly(each)) for each in parts)
            conditions, value = (
                [*conditions, *(each for each in inner if not self.holds(each[1]))],
                value.if_true,
            )
        conditions.sort(key=lambda each: reads_memory(each[1]))
        opened = {var for var, _ in conditions if var is not None}
        bounds = self._padded_ranges(opened, [value, *others])
        if bounds is not None:
            free = [
                each for var, each in conditions if var is None and not variables(each) & self.known.keys()
            ]
            conditions = [(var, each) for var, each in conditions if var is None and each not in free]
            value = _Replaced(self.seed, self._padded(bounds, free)).expr(value)
        elif len(conditions) == len(self.inverse.summed) == 1 and self._is_inside(value):
            (index,), ((_, condition),) = self.inverse.summed, conditions
            term, type_ = (index, condition, self.inverse.at(value)), self.statement.target.type
            found = running_sum(self.writer, type_, self.element, self.known, term, self.holds)
            if found is not None:
                return found, {}
        guard = reduce(both, (each for _, each in conditions), None)
        return where(guard, _Recombined().expr(self.inverse.at(value))), self.inverse.summed

    def _exactly(self, condition: Expr) -> Expr:
        """Return a condition on an iteration, where all others hold: a quotient without a remainder is a number."""
        quotients = [
            Binary(BinaryOp.FLOORDIV, remainder.lhs, remainder.rhs)
            for _, each in self.inverse.conditions
            if isinstance(each, Binary) and each.op is BinaryOp.EQ and each.rhs == Const(0)
            if isinstance(remainder := each.lhs, Binary) and remainder.op is BinaryOp.MOD
        ]
        return _Exact(quotients).expr(self.inverse.at(condition))

    def _is_inside(self, value: Expr) -> bool:
        """Return whether all that a value reads is there for all elements and iterations, whatever the conditions."""
        for load in loads(self.inverse.at(value)):
            version = self.function.versions.get(load.buffer)
            domain = self.writer.domains[load.buffer] if version is None else version.domain
            assert domain is not None, "all domains are known"
            ranges = (own.at(load.indices) for own in domain)
            inside = (
                within(index, own.lower, own.upper) for index, own in zip(load.indices, ranges, strict=True)
            )
            if not all(map(self.holds, inside)):
                return False
        return True

    def holds(self, condition: Expr) -> bool:
        """Return whether a condition holds for all elements, iterations and sizes."""
        return holds(self.function, condition, self.known)

    def _padded_ranges(self, opened: set[Var], values: Sequence[Expr]) -> dict[Var, IndexRange] | None:
        """Return the ranges of a copy of the seed with zeros; None if other reads depend on the conditions as well."""
        alone = [_Replaced(self.seed, Const(0.0, self.seed.dtype)).expr(value) for value in values]
        if not (opened and self.inverse.summed and isinstance(self.seed, Load)):
            return None
        indices = self.statement.indices
        if not all(self.statement.ranges[var].is_fixed(indices) for var in indices):
            return None
        if any(
            variables(each) & opened for each in alone
        ) or not opened <= self.inverse.numerators.keys() & set(self.statement.indices):
            return None
        found = {var: bounds_in(affine(self.inverse.numerators[var][0]), self.known) for var in opened}
        if any(own is None for own in found.values()):
            return None
        return {var: self._of_any_sizes(var, own) for var, own in found.items() if own is not None}

    def _of_any_sizes(self, var: Var, own: IndexRange) -> IndexRange:
        """Return a range that is not negative: of no elements, a copy for exact quotients would be."""
        some = Binary(BinaryOp.LE, own.lower, own.upper)
        if var not in self.inverse.exact or holds(self.function, some, {}):
            return own
        return IndexRange(own.lower, Binary(BinaryOp.MAX, own.upper, own.lower))

    def _padded(self, bounds: Mapping[Var, IndexRange], free: Sequence[Expr]) -> Expr:
        """Write the copy of the seed; return its element for an iteration."""
        indices, guard = self.statement.indices, reduce(both, free, None)
        at: dict[Var, Expr] = {}
        for var in (each for each in indices if each in bounds):
            by, own = self.inverse.numerators[var][1], self.statement.ranges[var]
            if by > 1:
                guard = both(guard, Binary(BinaryOp.EQ, modulo(Ref(var), by), Const(0)))
            at[var] = floordiv(Ref(var), by)
            guard = both(guard, Binary(BinaryOp.LE, own.lower, at[var]))
            guard = both(guard, Binary(BinaryOp.LT, at[var], own.upper))
        ranges = {var: bounds.get(var, self.statement.ranges[var]) for var in indices}
        target = self.statement.target
        buffer = self.writer.tensor(f"padded_{target.name}", target.type, tuple(ranges.values()))
        value = where(guard, FoldedSubstitution(values=at).expr(self.seed))
        self.writer.backward.append(BufferStatement(buffer, indices, "=", value, ranges))
        return Load(buffer, tuple(self.inverse.numerators[v][0] if v in bounds else Ref(v) for v in indices))


def _is_conditional(value: Expr) -> TypeGuard[Select]:
    """Return whether a value is 0 where a condition does not hold."""
    return isinstance(value, Select) and value.if_false == Const(0.0, value.dtype)


class _Exact(Rewriter):
    """Puts `n` in the place of multiples of `n / c` that are multiples of c, where `n % c == 0`."""

    def __init__(self, quotients: Collection[Expr]) -> None:
        super().__init__()
        self.quotients = quotients

    def expr(self, expr: Expr) -> Expr:
        new = super().expr(expr)
        form = affine(new)
        for term, factor in form.terms.items():
            match term:
                case Binary(lhs=whole, rhs=Const(value=by)) if term in self.quotients and factor % by == 0:
                    form = form.plus(form.only([term]), -1).plus(affine(whole), factor // int(by))
                case _:
                    pass
        return form.expr if form != affine(new) else new


class _Recombined(Rewriter):
    """Puts `n` in the place of `n / c * c + n % c` in indices."""

    def expr(self, expr: Expr) -> Expr:
        new = super().expr(expr)
        if not isinstance(new, Load):
            return new
        forms = [affine(index) for index in new.indices]
        places = zip(forms, new.indices, strict=True)
        return replace(
            new, indices=tuple(own.expr if (own := f.recombined()) is not f else i for f, i in places)
        )


class _Replaced(Rewriter):
    """Puts one expression in the place of another."""

    def __init__(self, old: Expr, new: Expr) -> None:
        super().__init__()
        self.old, self.new = old, new

    def expr(self, expr: Expr) -> Expr:
        return self.new if expr == self.old else super().expr(expr)
