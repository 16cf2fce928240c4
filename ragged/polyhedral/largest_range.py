"""The largest range of an index that keeps accesses in bounds, as section 3.1 of the paper on Tensor Comprehensions.

The range is the same for all values of the indices that have one: the quantifier is universal, so that the ranges of a
statement are a box.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

from ragged.ir.build import within
from ragged.ir.expr import Binary, Const, Expr, Ref, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.printer import expr_text
from ragged.ir.walk import subexpressions
from ragged.polyhedral.bound_exprs import expr_of
from ragged.polyhedral.context import isl_context
from ragged.polyhedral.formula_text import FormulaText


@dataclass(frozen=True, slots=True)
class BoundedIndex:
    """An obligation: where `condition` holds (None: everywhere), `lower <= index < upper`."""

    index: Expr
    lower: Expr
    upper: Expr
    condition: Expr | None = None

    @property
    def formula(self) -> Expr:
        """The obligation as one expression."""
        inside = within(self.index, self.lower, self.upper)
        if self.condition is None:
            return inside
        return Binary(BinaryOp.OR, Unary(UnaryOp.NOT, self.condition), inside)


def largest_range(
    var: Var, bounded: Sequence[BoundedIndex], known: Mapping[Var, tuple[Expr, Expr]], sizes: Sequence[Var]
) -> tuple[Expr, Expr] | None:
    """Return the lower and the exclusive upper bound of `var`: the largest range with all of `bounded` kept.

    `known` are the ranges of the other indices, assumed not to be empty; `sizes` are variables that are not negative.
    None if the values that `var` may have are no range, or one without end.

    Raises:
        PolyhedralLimitError: the obligations are no sums of multiples of indices, or too complex.
    """
    formulas = [each.formula for each in bounded]
    used = {part.var for each in formulas for part in subexpressions(each) if isinstance(part, Ref)}
    others = [each for each in known if each in used]
    text = FormulaText((var, *others))
    conditions = [text.condition(each) for each in formulas]
    boxes = [(text.integer(lower), text.integer(upper)) for lower, upper in map(known.__getitem__, others)]
    nonnegative = [text.integer(Ref(size)) for size in sizes]
    parameters = f"[{', '.join(text.parameters)}]"
    context = " and ".join(
        [f"{each} >= 0" for each in nonnegative] + [f"{low} < {high}" for low, high in boxes]
    )
    box = [f"{low} <= {text.names[each]} < {high}" for each, (low, high) in zip(others, boxes, strict=True)]
    broken = " or ".join(f"not ({each})" for each in conditions)
    own = text.names[var]
    point = ", ".join([own, *(text.names[each] for each in others)])
    with isl_context() as isl:
        from islpy import Set, dim_type

        assumed = Set.read_from_str(isl, f"{parameters} -> {{ : {context or '1 = 1'} }}")
        bad = Set.read_from_str(
            isl, f"{parameters} -> {{ [{point}] : {' and '.join([*box, f'({broken})'])} }}"
        )
        bad = bad.project_out(dim_type.set, 1, len(others))
        good = Set.read_from_str(isl, f"{parameters} -> {{ [{own}] }}").subtract(bad)
        good = good.intersect_params(assumed).coalesce().gist_params(assumed).coalesce()
        positive = " and ".join([f"{each} >= 1" for each in nonnegative])
        some = Set.read_from_str(isl, f"{parameters} -> {{ : {positive or '1 = 1'} }}").intersect(assumed)
        return _range(good, assumed, some, text.parameters)


def _range(good: Any, assumed: Any, some: Any, parameters: Mapping[str, Expr]) -> tuple[Expr, Expr] | None:
    """Return the bounds of a set of numbers; None if it has gaps or no end.

    They leave no values where the set has none, among parameters `some`: those for which no size is 0.
    """
    from islpy import AstBuild, Map, PwAff, dim_type

    context = good.get_ctx()
    if not (good.dim_has_lower_bound(dim_type.set, 0) and good.dim_has_upper_bound(dim_type.set, 0)):
        return None
    upwards = good.apply(Map.read_from_str(context, "{ [a] -> [b] : a <= b }"))
    downwards = good.apply(Map.read_from_str(context, "{ [a] -> [b] : b <= a }"))
    if not upwards.intersect(downwards).is_subset(good):
        return None
    build = AstBuild.from_context(assumed)

    def built(bound: Any) -> Expr:
        return expr_of(build.expr_from_pw_aff(bound), parameters)

    sides = _sides(good.get_basic_sets()) if good.n_basic_set() == 1 else None
    if sides is None or not _are_empty_elsewhere(sides, good, some):
        nothing = some.subtract(good.params())
        zero = PwAff.read_from_str(context, f"[{', '.join(parameters)}] -> {{ [0] }}").intersect_params(
            nothing
        )
        lower, upper = good.dim_min(0), good.dim_max(0).add_constant_val(1)
        return built(lower.union_add(zero)), built(upper.union_add(zero))
    return _joined(BinaryOp.MAX, map(built, sides[0])), _joined(BinaryOp.MIN, map(built, sides[1]))


def _sides(basic_sets: Sequence[Any]) -> tuple[list[Any], list[Any]] | None:
    """Return the lower and the exclusive upper bounds of a set as its constraints have them; None if there are none."""
    from islpy import PwAff, dim_type

    lower: list[Any] = []
    upper: list[Any] = []
    for each in basic_sets[0].get_constraints():
        sign = each.get_coefficient_val(dim_type.set, 0).to_python()
        if sign:
            bound = each.get_bound(dim_type.set, 0)
            if each.is_equality() or bound.involves_dims(dim_type.in_, 0, 1):
                return None
            bound = bound.project_domain_on_params()
            exact = bound.ceil() if sign > 0 else bound.floor().add_constant_val(1)
            (lower if sign > 0 else upper).append(PwAff.from_aff(exact))
    return (lower, upper) if lower and upper else None


def _are_empty_elsewhere(sides: tuple[list[Any], list[Any]], good: Any, some: Any) -> bool:
    """Return whether bounds leave no values where a set has none, for which it may name parameters alone."""
    pairs = (low.lt_set(high) for low, high in product(*sides))
    return bool(reduce(lambda lhs, rhs: lhs.intersect(rhs), pairs).intersect(some).is_subset(good.params()))


def _joined(op: BinaryOp, given: Iterable[Expr]) -> Expr:
    bounds = list(given)
    numbers = [each for each in bounds if isinstance(each, Const)]
    best = [max(numbers, key=_value) if op is BinaryOp.MAX else min(numbers, key=_value)] if numbers else []
    others = sorted((each for each in bounds if not isinstance(each, Const)), key=expr_text)
    return reduce(lambda lhs, rhs: Binary(op, lhs, rhs), [*others, *best])


def _value(number: Const) -> int:
    return int(number.value)
