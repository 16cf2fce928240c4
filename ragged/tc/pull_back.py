"""From the adjoint of a read at each iteration to its part of the adjoint of an element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from ragged.arith.affine import AffineForm, affine
from ragged.arith.fold import FoldedSubstitution, floordiv, modulo
from ragged.ir.build import both
from ragged.ir.expr import Binary, Const, Expr, Load, Ref, Select, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import Rewriter
from ragged.ir.walk import conjuncts, reads_memory, variables
from ragged.tc.checked import CheckedFunction, CheckedStatement, IndexRange, ranges_at
from ragged.tc.gradient_text import BufferStatement, DefinitionWriter
from ragged.tc.inverse import AccessInverse
from ragged.tc.partials import where
from ragged.tc.prove import holds


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
        element = ranges_at(self.element, domain)
        self.inverse = AccessInverse(self.load, element, ranges, self.statement.indices)
        self.known = element | self.inverse.summed

    def part(self) -> tuple[Expr, dict[Var, IndexRange]]:
        """Return the value to add up, 0 where its conditions do not hold, and the indices to sum over."""
        value = _Replaced(self.load, Load(self.load.buffer, tuple(map(Ref, self.element)))).expr(self.value)
        conditions = [each for each in self.inverse.conditions if not self.holds(each[1])]
        others: list[Expr] = []
        if isinstance(value, Select) and value.if_false == Const(0.0, value.dtype):
            parts = list(conjuncts(value.condition))
            others = [each for each in parts if reads_memory(each)]
            inner = ((None, self.inverse.at(each)) for each in parts)
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
        guard = reduce(both, (each for _, each in conditions), None)
        return where(guard, self.inverse.at(value)), self.inverse.summed

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
        found = {var: _bounds(self.inverse.numerators[var][0], self.known) for var in opened}
        return (
            {var: own for var, own in found.items() if own is not None}
            if None not in found.values()
            else None
        )

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


def _bounds(expr: Expr, known: Mapping[Var, IndexRange]) -> IndexRange | None:
    """Return the range of a sum of multiples of indices; None if it is none."""
    form = affine(expr)
    lower = upper = AffineForm(constant=form.constant)
    for term, factor in form.terms.items():
        own = known.get(term.var) if isinstance(term, Ref) else None
        if variables(*((own.lower, own.upper) if own else (term,))) & known.keys():
            return None
        ends = (
            (affine(own.lower), affine(own.upper).plus(AffineForm(constant=-1)))
            if own
            else (affine(term),) * 2
        )
        low, high = ends if factor > 0 else reversed(ends)
        lower, upper = lower.plus(low, factor), upper.plus(high, factor)
    return IndexRange(lower.expr, upper.plus(AffineForm(constant=1)).expr)


class _Replaced(Rewriter):
    """Puts one expression in the place of another."""

    def __init__(self, old: Expr, new: Expr) -> None:
        super().__init__()
        self.old, self.new = old, new

    def expr(self, expr: Expr) -> Expr:
        return self.new if expr == self.old else super().expr(expr)
