"""From a definition to a function with ranges: every access is proven in bounds, or has its check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ragged.analysis.obligations import divisions
from ragged.arith.affine import affine
from ragged.arith.fold import FoldedSubstitution
from ragged.arith.index_intervals import Bounds, bounds_of, truth_of, value_of
from ragged.ir.expr import Binary, Const, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.walk import loads, mentions, reads_memory, subexpressions, variables
from ragged.tc import tree as tc
from ragged.tc.check import check
from ragged.tc.checked import CheckedFunction, IndexRange, SizeCheck, TensorVersion
from ragged.tc.errors import TcError, refuse_call
from ragged.tc.prove import AccessCheck, Outcome, check_accesses, holds
from ragged.tc.ranges import RangeSolver, extent_of, order_indices, range_of_data
from ragged.tc.refusals import divides_by_zero, empty, no_range, outside, points_of
from ragged.tc.size_text import COMPARED, size_text


@dataclass(frozen=True, slots=True)
class AnalysedFunction:
    """A function with the ranges of its indices, and how each access is kept in bounds."""

    function: CheckedFunction
    library: Mapping[str, tc.Definition]
    checks: tuple[AccessCheck, ...]
    size_checks: tuple[SizeCheck, ...]

    def accepted(self, definition: tc.Definition, for_all_sizes: bool) -> bool:
        """Return whether a definition like this one has ranges that are all in bounds, if asked for all sizes."""
        return _accepted(definition, self.library, for_all_sizes)

    def check_sizes(self, sizes: Mapping[Var, int]) -> None:
        """Refuse sizes with which a range is empty and none of them is 0, or an access is out of bounds.

        A scalar that is 0 leaves the ranges empty that it stands in, but none may be divided by 0.

        Raises:
            TcError: of phase "range".
        """
        known = points_of(sizes).get
        for statement in self.function.statements:
            for var, own in statement.ranges.items():
                for division in (*divisions(own.lower), *divisions(own.upper)):
                    if bounds_of(division.divisor, known) == (0, 0):
                        raise divides_by_zero(statement, var, division.expr, sizes)
        zeros = [var for var, value in sizes.items() if not value]
        nothing = zeros and all(any(not extent for _, extent in d) for d in self.domains(sizes).values())
        some_zero = any(var in zeros for var in self.function.sizes.values())
        for statement in self.function.statements:
            for var in statement.all_indices:
                own = statement.ranges[var]
                if not own.is_fixed(statement.all_indices):
                    continue
                extent = value_of(own.upper, sizes) - value_of(own.lower, sizes)
                may_be_empty = some_zero or mentions(own.lower, zeros) or mentions(own.upper, zeros)
                if extent < (0 if may_be_empty else 1) and not nothing:
                    raise empty(statement, var, sizes, self.function)
        for size_check in self.size_checks:
            _require(size_check, sizes)
        if self.function.scalars:
            for each in self.checks:
                _require_bits(each, self._intervals(each, sizes))
        for each in self.checks:
            if each.outcome is Outcome.SIZES and not self._inside(each, sizes):
                raise outside(self.function, each.statement, each.access, sizes, self.accepted)

    def check_bits(self, scalars: Mapping[Var, int]) -> None:
        """Refuse scalars of more than 32 bits in indices, conditions and ranges: kernels check what these add up to.

        Raises:
            TcError: of phase "call".
        """
        ranges = (own for each in self.function.statements for own in each.ranges.values())
        exprs = [bound for own in ranges for bound in (own.lower, own.upper)]
        exprs += [part for each in self.checks for part in (each.access.index, each.access.condition) if part]
        for var in variables(*exprs) & scalars.keys():
            if not -(2**31) <= scalars[var] < 2**31:
                raise refuse_call(
                    self.function,
                    f"is given {var.name} = {scalars[var]}",
                    because="extents vary with an index, and what indices are made of is from -2^31 to 2^31 - 1 then",
                )

    def _intervals(self, check: AccessCheck, sizes: Mapping[Var, int]) -> dict[Var, Bounds]:
        """Return the values of sizes and of the indices of a statement."""
        return {
            **points_of(sizes),
            **{
                var: (value_of(own.lower, sizes), value_of(own.upper, sizes) - 1)
                for var, own in check.statement.ranges.items()
            },
        }

    def _inside(self, check: AccessCheck, sizes: Mapping[Var, int]) -> bool:
        intervals = self._intervals(check, sizes)
        if any(low > high for low, high in intervals.values()):
            return True  # no iteration, no access
        found, domain = bounds_of(check.access.index, intervals.get), check.access.domain
        assert domain is not None, "all domains are known"
        if found is None:
            return True  # the kernel checks it
        if value_of(domain.lower, sizes) <= found[0] and found[1] < value_of(domain.upper, sizes):
            return True
        given = FoldedSubstitution(values={var: Const(value) for var, value in sizes.items()})
        ranges = {
            var: IndexRange(given.expr(own.lower), given.expr(own.upper))
            for var, own in check.statement.ranges.items()
        }
        return not _is_exact(check.access.index) and holds(
            self.function, given.expr(check.access.goal), ranges
        )

    def domains(self, sizes: Mapping[Var, int]) -> dict[str, tuple[tuple[int, int], ...]]:
        """Return the lower bound and the extent of each dimension of each output."""
        found = {}
        for name, version in self.function.outputs.items():
            assert version.domain is not None, "all domains are known"
            lower = [value_of(own.lower, sizes) for own in version.domain]
            upper = [value_of(own.upper, sizes) for own in version.domain]
            found[name] = tuple((low, max(high - low, 0)) for low, high in zip(lower, upper, strict=True))
        return found


def _is_exact(index: Expr) -> bool:
    """Return whether an index takes both ends of its interval: it is a sum of multiples of variables."""
    return all(isinstance(term, Ref) for term in affine(index).terms)


def analyse(definition: tc.Definition, library: Mapping[str, tc.Definition]) -> AnalysedFunction:
    """Return a definition with its names and types checked, and the ranges of its indices.

    Raises:
        TcError: of phase "check" or "range".
    """
    function = check(definition, library)
    solver = RangeSolver(function)
    failed = solver.solve()
    if failed is not None:
        raise no_range(function, failed, lambda other, for_all: _accepted(other, library, for_all))
    for statement in function.statements:
        order_indices(statement)
        for var in statement.all_indices:
            own = statement.ranges[var]
            read = next(loads(own.lower, own.upper), None)
            if read is not None:
                raise range_of_data(statement, var, read)
            extent = extent_of(own)
            if isinstance(extent, Const) and extent.value <= 0:
                raise empty(statement, var, {}, function)
    for name, version in function.outputs.items():
        _require_start(function, name, version)
    resolved = (_resolved(each, solver) for each in function.size_checks)
    size_checks = tuple(each for each in resolved if each.one != each.other)
    found = AnalysedFunction(function, library, tuple(check_accesses(function)), size_checks)
    _refuse_constants(found)
    return found


def _require_start(function: CheckedFunction, name: str, version: TensorVersion) -> None:
    """Refuse an output with extents that vary and an index that begins elsewhere than at 0: results have no `lower`."""
    for position, own in enumerate(version.domain or ()):
        if function.varies and own.lower != Const(0):
            raise TcError(
                "range",
                f"dimension {position} of '{name}' begins elsewhere than at 0",
                at=version.at,
                because="the extents of this function vary with an index, and its results are stored from 0 on",
                fix="a range from 0 on by where, and the difference added where tensors are read",
            )


def _resolved(check: SizeCheck, solver: RangeSolver) -> SizeCheck:
    return replace(check, one=solver.resolved(check.one), other=solver.resolved(check.other))


def _refuse_constants(found: AnalysedFunction) -> None:
    """Refuse what no sizes can mend."""
    for each in found.size_checks:
        if not variables(each.one, each.other):
            _require(each, {})
    for check_ in found.checks:
        domain = check_.access.domain
        assert domain is not None, "all domains are known"
        bounds: list[Expr] = [domain.lower, domain.upper]
        for own in check_.statement.ranges.values():
            bounds += (own.lower, own.upper)
        free = variables(check_.access.index, *bounds) - set(check_.statement.ranges)
        if check_.outcome is Outcome.SIZES and not free and not found._inside(check_, {}):
            raise outside(found.function, check_.statement, check_.access, {}, found.accepted)


def _require_bits(check: AccessCheck, intervals: Mapping[Var, Bounds]) -> None:
    """Refuse scalars with which an index, or the condition that keeps it inside, exceeds 64 bits.

    What is computed of data has a check in the kernel, which takes scalars for numbers of 32 bits.
    """
    condition = check.access.condition
    for root in (check.access.index, *(() if condition is None else (condition,))):
        bits = 31 if reads_memory(root) else 63
        for part in subexpressions(root):
            found = bounds_of(part, intervals.get) if part.dtype.is_int else None
            if found is not None and not (found[0] >= -(2**bits) and found[1] < 2**bits):
                raise TcError(
                    "range",
                    f"'{size_text(part)}' exceeds {bits + 1} bits",
                    at=check.access.load.at,
                    because=f"it is {found[0] if found[0] < -(2**bits) else found[1]} for the scalars of this call",
                )


def _require(check: SizeCheck, sizes: Mapping[Var, int]) -> None:
    """Refuse sizes for which a check does not hold."""
    one, other = value_of(check.one, sizes), value_of(check.other, sizes)
    if truth_of(Binary(check.op, Const(one), Const(other))):
        return
    because, fix = "are declared equal", None
    if check.op is not BinaryOp.EQ:
        because = "are the bounds of what is written, and of the tensor as it was written before"
        fix = "sizes for which it lies inside, or a smaller range by where"
    raise TcError(
        "range",
        f"{check.text} is {one}, and has to be {COMPARED[check.op]}{other}",
        at=check.at,
        because=f"{size_text(check.one)} and {size_text(check.other)} {because}",
        fix=fix,
    )


def _accepted(definition: tc.Definition, library: Mapping[str, tc.Definition], for_all_sizes: bool) -> bool:
    """Return whether a definition has ranges, and accesses in bounds for all sizes or for those of its checks."""
    function = check(definition, library)
    if RangeSolver(function).solve() is not None:
        return False
    for statement in function.statements:
        for own in statement.ranges.values():
            extent = extent_of(own)
            if isinstance(extent, Const) and extent.value <= 0:
                return False
    checks = check_accesses(function)
    return not for_all_sizes or all(each.outcome is not Outcome.SIZES for each in checks)
