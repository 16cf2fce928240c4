"""Ranges of indices, found in rounds (section 3.1 of the paper).

In each round the accesses with exactly one index without a range bound it, by the largest range that stays in bounds
for all values of the others; ranges of `where` come first. What stays open takes its range from other statements that
use the index on the same dimension of a tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ragged.arith.affine import affine
from ragged.arith.fold import FoldedSubstitution
from ragged.arith.index_intervals import bounds_of
from ragged.ir.expr import Binary, Const, Expr, Load, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.walk import variables
from ragged.polyhedral.context import PolyhedralLimitError
from ragged.polyhedral.largest_range import BoundedIndex, largest_range
from ragged.tc.accesses import accesses_of
from ragged.tc.checked import CheckedFunction, CheckedStatement, IndexRange, SizeCheck
from ragged.tc.errors import TcError
from ragged.tc.prove import covers
from ragged.tc.text import statement_text


@dataclass
class RangeSolver:
    """Finds the ranges of a function's indices and the domains of its tensors, which it notes in the function."""

    function: CheckedFunction
    values: dict[Var, Expr] = field(default_factory=dict)
    """Extents by the sizes of called functions."""

    def solve(self) -> CheckedStatement | None:
        """Find all ranges; return the first statement with an index that has none."""
        statements = self.function.statements
        while True:
            before = self._count()
            for statement in statements:
                self._resolve_aliases()
                self._rounds(statement)
                self._finish(statement)
            if self._count() == before and not self._adopt():
                break
        self._resolve_aliases()
        return next((each for each in statements if open_indices(each)), None)

    def _count(self) -> int:
        return sum(len(each.ranges) for each in self.function.statements) + sum(
            version.domain is not None for version in self.function.versions.values()
        )

    def _resolve_aliases(self) -> None:
        """Put extents in place of the sizes of called functions, in the statements that use them."""
        new = {
            var: extent_of(version.domain[position])
            for var, (version, position) in self.function.aliases.items()
            if var not in self.values and version.domain is not None
        }
        if not new:
            return
        self.values |= new
        place = FoldedSubstitution(values=self.values)
        for each in self.function.statements:
            each.value = place.expr(each.value)
            each.ranges = {
                var: IndexRange(place.expr(own.lower), place.expr(own.upper))
                for var, own in each.ranges.items()
            }

    # --- one statement -------------------------------------------------------------------------------------

    def _rounds(self, statement: CheckedStatement) -> None:
        for everywhere in (False, True):
            while self._round(statement, everywhere=everywhere):
                pass

    def _round(self, statement: CheckedStatement, *, everywhere: bool) -> bool:
        """Give ranges to the indices that stand alone; return whether there were any.

        An access bounds an index where its condition holds; if that leaves no end, `everywhere` if it is at the index
        itself, as `w(k)` is in `t >= k ? x(t - k) * w(k) : 0.0`, or the condition is about nothing that it is at.
        An index that stands in the condition alone, as k in `k != 1 ? x(t) : 0.0`, is bounded elsewhere.
        """
        missing = set(open_indices(statement))
        if not missing:
            return False
        bounding: dict[Var, dict[BoundedIndex, None]] = {}
        for access in accesses_of(self.function, statement):
            if access.domain is None or access.reads_data:
                continue
            conditional = not everywhere or access.is_kept_inside
            alone = (access.variables if conditional else variables(access.index)) & missing
            if len(alone) == 1 and alone <= variables(*access.load.indices):
                (var,) = alone
                bounding.setdefault(var, {})[access.bounded(conditional=conditional)] = None
        found = {var: self._largest(statement, var, tuple(bounded)) for var, bounded in bounding.items()}
        solved = {var: own for var, own in found.items() if own is not None}
        statement.ranges |= solved
        return bool(solved)

    def _largest(
        self, statement: CheckedStatement, var: Var, bounded: Sequence[BoundedIndex]
    ) -> IndexRange | None:
        known = {other: (own.lower, own.upper) for other, own in statement.ranges.items()}
        sizes = tuple(self.function.sizes.values())
        try:
            found = largest_range(var, bounded, known, sizes)
        except PolyhedralLimitError:
            single = [each for each in bounded if _expressible(each, var, known, sizes)]
            if not single or len(single) == len(bounded):
                return None
            return self._largest(statement, var, single)
        return None if found is None else IndexRange(*found)

    def _finish(self, statement: CheckedStatement) -> None:
        """Note the domain of a statement's target, when the ranges of its indices are known."""
        if statement.target.domain is not None or any(
            var not in statement.ranges for var in statement.indices
        ):
            return
        earlier = statement.earlier
        own = tuple(statement.ranges[var].over(statement.indices) for var in statement.indices)
        if earlier is None or (earlier.domain is None and earlier in self.function.initial.values()):
            statement.target.domain = own
            if earlier is not None:
                earlier.domain = own
        elif earlier.domain is not None:
            statement.target.domain = self._joined(statement, earlier.domain, own)

    def _joined(
        self, statement: CheckedStatement, earlier: tuple[IndexRange, ...], own: tuple[IndexRange, ...]
    ) -> tuple[IndexRange, ...]:
        """Return the domain of a statement's target; elements outside of its ranges keep the earlier values."""
        if own == earlier:
            return own
        if statement.previous is None and covers(self.function, own, earlier):
            return own
        statement.partial = True
        if statement.previous is None and not covers(self.function, earlier, own):
            self._require_inside(statement, earlier, own)
        return earlier

    def _require_inside(
        self, statement: CheckedStatement, earlier: tuple[IndexRange, ...], own: tuple[IndexRange, ...]
    ) -> None:
        """Have each call see that a statement writes elements of a tensor which there are already."""
        for position, (old, new) in enumerate(zip(earlier, own, strict=True)):
            for what, one, op, other in (
                ("first", new.lower, BinaryOp.GE, old.lower),
                ("end of the", new.upper, BinaryOp.LE, old.upper),
            ):
                text = f"the {what} index along dimension {position} of '{statement.target.name}', written again,"
                self.function.size_checks.append(SizeCheck(one, other, text, statement.at, op))

    def resolved(self, expr: Expr) -> Expr:
        """Return an expression with the extents that the sizes of called functions stand for."""
        return FoldedSubstitution(values=self.values).expr(expr)

    # --- other statements ----------------------------------------------------------------------------------

    def _adopt(self) -> bool:
        """Give one index the range that another statement has on the same dimension of a tensor."""
        for statement in self.function.statements:
            for var in open_indices(statement):
                for name, position in self._dimensions(statement, var):
                    found = self._elsewhere(statement, var, name, position)
                    if found is not None:
                        statement.ranges[var] = found
                        return True
        return False

    def _dimensions(self, statement: CheckedStatement, var: Var) -> Iterator[tuple[str, int]]:
        """Yield the tensors and dimensions that an index stands at alone."""
        if var in statement.indices:
            yield statement.target.name, statement.indices.index(var)
        for access in accesses_of(self.function, statement):
            if access.index == Ref(var):
                yield access.version.name, access.position

    def _elsewhere(
        self, statement: CheckedStatement, index: Var, name: str, position: int
    ) -> IndexRange | None:
        """Return the range of another index at the same dimension; of one that varies if both are written there."""
        written = name == statement.target.name and index in statement.indices
        for other in self.function.statements:
            if other is statement:
                continue
            for var, own in other.ranges.items():
                if (name, position) not in self._dimensions(other, var):
                    continue
                if own.is_fixed(other.all_indices):
                    return own
                if written and name == other.target.name and var in other.indices:
                    return own.over(other.indices).at(map(Ref, statement.indices))
        return None


def open_indices(statement: CheckedStatement) -> list[Var]:
    """Return the indices without a range."""
    return [var for var in statement.all_indices if var not in statement.ranges]


def order_indices(statement: CheckedStatement) -> None:
    """Put the indices of a reduction after those that their ranges depend on.

    Raises:
        TcError: the range of an index depends on one that comes after it on the left, or on itself ("range").
    """
    before: list[Var] = []
    pending = list(statement.all_indices)
    number = len(statement.indices)
    while pending:
        known = set(statement.all_indices) - set(before)
        found = next((var for var in pending if not known & _bounding(statement, var)), None)
        if found is None or (len(before) < number and found is not pending[0]):
            raise _late(statement, pending[0])
        pending.remove(found)
        before.append(found)
    statement.reduced = tuple(before[number:])


def _bounding(statement: CheckedStatement, var: Var) -> frozenset[Var]:
    own = statement.ranges[var]
    return variables(own.lower, own.upper)


def _late(statement: CheckedStatement, var: Var) -> TcError:
    others = [each for each in statement.all_indices if each in _bounding(statement, var)]
    names = " and ".join(f"'{each.name}'" for each in others)
    fix = f"{names} before '{var.name}' among the indices of '{statement.target.name}'"
    if var in others:
        fix = f"a range of sizes for '{var.name}' by where, such as 0:N of a size N"
    return TcError(
        "range",
        f"the range of '{var.name}' in '{statement_text(statement.source)}' depends on {names}",
        at=statement.at,
        because="the extent of a dimension is a function of the dimensions before it, and that of a sum of the indices "
        "around it",
        fix=fix,
    )


def range_of_data(statement: CheckedStatement, var: Var, load: Load) -> TcError:
    """Return the error for an index of which the range is read from an array."""
    text = statement_text(statement.source)
    what = f"the range of '{var.name}' in '{text}' is read from '{load.buffer.name}'"
    because = "loops are sized before data is read: a row that data choose has a length that data choose"
    return TcError(
        "range", what, at=statement.at, because=because, fix="rows of one length, such as float(B,N) x"
    )


def extent_of(own: IndexRange) -> Expr:
    """Return the number of values of a range, as an expression without needless terms."""
    return difference(own.upper, own.lower)


def difference(upper: Expr, lower: Expr) -> Expr:
    """Return `upper - lower`, simplified."""
    if isinstance(lower, Const) and lower.value == 0:
        return upper
    bounds = bounds_of(Binary(BinaryOp.SUB, upper, lower))
    if bounds is not None and bounds[0] == bounds[1]:
        return Const(bounds[0])
    return affine(upper).plus(affine(lower), -1).expr


def _expressible(
    bounded: BoundedIndex, var: Var, known: dict[Var, tuple[Expr, Expr]], sizes: Sequence[Var]
) -> bool:
    try:
        largest_range(var, [bounded], known, sizes)
    except PolyhedralLimitError:
        return False
    return True
