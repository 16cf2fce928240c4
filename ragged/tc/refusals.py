"""Refusals of range inference: the index, the accesses that bound it, a counterexample, and a `where` to paste."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from ragged.arith.index_intervals import Bounds, bounds_of, truth_of, value_of
from ragged.errors import Location
from ragged.ir.expr import Const, Expr, Var
from ragged.ir.walk import variables
from ragged.polyhedral.context import PolyhedralLimitError
from ragged.polyhedral.largest_range import largest_range
from ragged.tc import tree as tc
from ragged.tc.accesses import DimensionAccess, accesses_of
from ragged.tc.checked import CheckedFunction, CheckedStatement, IndexRange
from ragged.tc.errors import TcError
from ragged.tc.parse import parse
from ragged.tc.ranges import extent_of, open_indices
from ragged.tc.size_text import size_text
from ragged.tc.text import expression_text, statement_text

Accepted = Callable[[tc.Definition, bool], bool]
"""Whether a definition has ranges that are all in bounds; if the flag is set, for all sizes."""

_SMALL = 4
"""The value of every size in a counterexample for which no sizes are given."""


def no_range(function: CheckedFunction, statement: CheckedStatement, accepted: Accepted) -> TcError:
    """Return the error for a statement with an index that has no range."""
    var = open_indices(statement)[0]
    accesses = [each for each in accesses_of(function, statement) if var in variables(each.index)]
    return TcError(
        "range",
        f"the index '{var.name}' of '{statement_text(statement.source)}' has no range",
        at=_place(statement, var),
        because=_why_open(statement, var, accesses),
        example=_open_example(function, statement, var, accesses),
        fix=_where(_proposed(function, statement, accepted)),
    )


def outside(
    function: CheckedFunction,
    statement: CheckedStatement,
    access: DimensionAccess,
    sizes: Mapping[Var, int],
    accepted: Accepted,
) -> TcError:
    """Return the error for an access that is out of bounds with these sizes."""
    domain = access.domain
    assert domain is not None, "all domains are known"
    names = ", ".join(f"'{var.name}'" for var in statement.all_indices if var in access.variables)
    others = [
        f"{var.name} in {_range_text(own)}"
        for var, own in statement.ranges.items()
        if var in access.variables
    ]
    intervals = _intervals(statement, sizes)
    return TcError(
        "range",
        f"{access.text} is out of bounds"
        + (f" for some {names} of '{statement_text(statement.source)}'" if names else ""),
        at=access.load.at,
        because=f"its dimension {access.position} needs {size_text(domain.lower)} <= {size_text(access.index)} < "
        f"{size_text(domain.upper)}"
        + (f", and {' and '.join(others)} by the other accesses" if others else ""),
        example=_corner(statement, [access], intervals, sizes),
        fix=_where(_smaller(function, statement, access, accepted)),
    )


def empty(
    statement: CheckedStatement, var: Var, sizes: Mapping[Var, int], function: CheckedFunction
) -> TcError:
    """Return the error for an index that has no values with these sizes."""
    own = statement.ranges[var]
    extent = bounds_of(extent_of(own), points_of(sizes).get)
    assert extent is not None and extent[0] == extent[1], "sizes say how long a range is, or nothing has to"
    given = any(
        isinstance(each, tc.RangeClause) and each.index == var.name for each in statement.source.clauses
    )
    accesses = () if given else accesses_of(function, statement)
    bounding = [each.text for each in accesses if var in each.variables]
    return TcError(
        "range",
        f"the range {_range_text(own)} of the index '{var.name}' of '{statement_text(statement.source)}' is "
        + ("empty" if extent[0] == 0 else "negative"),
        at=_place(statement, var),
        because=f"{', '.join(dict.fromkeys(bounding))} bound it" if bounding else None,
        example=f"{_sizes_text(sizes)}: {value_of(own.lower, sizes)}:{value_of(own.upper, sizes)}"
        if sizes
        else None,
        fix="sizes for which it has values" if sizes else None,
    )


def divides_by_zero(statement: CheckedStatement, var: Var, part: Expr, sizes: Mapping[Var, int]) -> TcError:
    """Return the error for an index of which the range has a quotient by 0 with these sizes."""
    text, fix = _range_text(statement.ranges[var]), "sizes with which no divisor is 0"
    what = f"the range {text} of the index '{var.name}' divides by 0 in {size_text(part)}"
    return TcError("range", what, at=_place(statement, var), example=_sizes_text(sizes), fix=fix)


# --- reasons and numbers -----------------------------------------------------------------------------------


def _place(statement: CheckedStatement, var: Var) -> Location:
    named = (name.at for name in statement.source.indices if name.id == var.name)
    clauses = (
        each.at
        for each in statement.source.clauses
        if isinstance(each, tc.RangeClause) and each.index == var.name
    )
    return next(named, next(clauses, statement.at))


def _why_open(statement: CheckedStatement, var: Var, accesses: Sequence[DimensionAccess]) -> str:
    missing = set(open_indices(statement))
    reasons = []
    for access in accesses:
        others = sorted(other.name for other in (access.variables & missing) - {var})
        where = f"dimension {access.position} of {access.text}"
        if access.domain is None:
            reasons.append(f"the extent of {where} is not known")
        elif others:
            reasons.append(f"{where} bounds it together with '{', '.join(others)}'")
        elif access.reads_data:
            reasons.append(f"{where} is read from data")
        else:
            reasons.append(f"the values that {where} allows have no first and last one that is known")
    return (
        "; ".join(dict.fromkeys(reasons))
        or "no tensor is read at it, in this statement or at its dimension in others"
    )


def _open_example(
    function: CheckedFunction, statement: CheckedStatement, var: Var, accesses: Sequence[DimensionAccess]
) -> str:
    sizes = {each: _SMALL for each in (*function.sizes.values(), *function.scalars.values())}
    intervals = _intervals(statement, sizes)
    for each in open_indices(statement):
        intervals[each] = 0, _SMALL - 1
    corner = _corner(statement, accesses, intervals, sizes)
    if corner is not None:
        return f"{corner}, and a smaller range of one index leaves a larger one to another"
    return f"{var.name} in 0:1 and {var.name} in 0:2 are both in bounds"


def _corner(
    statement: CheckedStatement,
    accesses: Sequence[DimensionAccess],
    intervals: Mapping[Var, Bounds],
    sizes: Mapping[Var, int],
) -> str | None:
    """Return values of the indices, each the first or the last of its range, at which an access is out of bounds."""
    for access in accesses:
        fixed = access.domain is not None and access.domain.is_fixed(statement.all_indices)
        if access.domain is None or not fixed or access.reads_data:
            continue
        own = [var for var in statement.all_indices if var in access.variables]
        if not intervals.keys() >= set(own):
            continue
        low, high = (value_of(bound, sizes) for bound in (access.domain.lower, access.domain.upper))
        for corner in product(*(dict.fromkeys(intervals[var]) for var in own)):
            point = {
                **{var: (value, value) for var, value in zip(own, corner, strict=True)},
                **points_of(sizes),
            }
            found = bounds_of(access.index, point.get)
            if access.condition is not None and truth_of(access.condition, point.get) is False:
                continue  # it is not read there
            if found is not None and not (low <= found[0] and found[1] < high):
                at = ", ".join(f"{var.name} = {value}" for var, value in zip(own, corner, strict=True))
                read = _read_at(access, point)
                at = f"{at} " if at else ""
                return (
                    f"{_sizes_text(sizes)}: {at}reads {read}, and dimension {access.position} is {low}:{high}"
                )
    return None


def _read_at(access: DimensionAccess, point: Mapping[Var, Bounds]) -> str:
    places = [bounds_of(index, point.get) for index in access.load.indices]
    shown = [
        str(place[0]) if place is not None and place[0] == place[1] else size_text(index)
        for place, index in zip(places, access.load.indices, strict=True)
    ]
    return f"{access.version.name}({', '.join(shown)})"


def _intervals(statement: CheckedStatement, sizes: Mapping[Var, int]) -> dict[Var, Bounds]:
    return {
        var: (value_of(own.lower, sizes), value_of(own.upper, sizes) - 1)
        for var, own in statement.ranges.items()
        if own.is_fixed(statement.all_indices)
    }


def points_of(sizes: Mapping[Var, int]) -> dict[Var, Bounds]:
    """Return sizes as intervals of one value each."""
    return {var: (value, value) for var, value in sizes.items()}


def _sizes_text(sizes: Mapping[Var, int]) -> str:
    return ", ".join(f"{var.name} = {value}" for var, value in sizes.items()) or "always"


def _range_text(own: IndexRange) -> str:
    return f"{size_text(own.lower)}:{size_text(own.upper)}"


# --- a `where` to paste ------------------------------------------------------------------------------------


def _where(clauses: Sequence[tuple[str, str]] | None) -> str | None:
    return None if clauses is None else f"where {', '.join(f'{name} in {text}' for name, text in clauses)}"


def _proposed(
    function: CheckedFunction, statement: CheckedStatement, accepted: Accepted
) -> list[tuple[str, str]] | None:
    """Return ranges for open indices with which the definition is accepted: as far as what they index, or one value."""
    missing = open_indices(statement)
    for chosen in (missing[:1], missing):
        options = [[*_extents(function, statement, var), "0:1"] for var in chosen]
        for texts in product(*options):
            clauses = [(var.name, text) for var, text in zip(chosen, texts, strict=True)]
            if _accepts(function, statement, clauses, accepted):
                return clauses
    least = [(var.name, "0:1") for var in missing]
    return least if _accepts(function, statement, least, accepted, for_all_sizes=False) else None


def _extents(function: CheckedFunction, statement: CheckedStatement, var: Var) -> Iterator[str]:
    for access in accesses_of(function, statement):
        if var in variables(access.index) and access.domain is not None:
            yield f"0:{size_text(extent_of(access.domain))}"
    for declared in function.definition.outputs:
        if declared.name == statement.target.name and declared.dims and var in statement.indices:
            yield f"0:{expression_text(declared.dims[statement.indices.index(var)])}"
    for name in function.sizes:
        yield f"0:{name}"


def _smaller(
    function: CheckedFunction, statement: CheckedStatement, access: DimensionAccess, accepted: Accepted
) -> list[tuple[str, str]] | None:
    """Return a range of one index of an access that keeps all accesses in bounds."""
    sizes = tuple(function.sizes.values())
    for var in (each for each in statement.all_indices if each in variables(access.index)):
        known = {other: (own.lower, own.upper) for other, own in statement.ranges.items() if other is not var}
        bounded = [
            each.bounded()
            for each in accesses_of(function, statement)
            if var in each.variables and not each.reads_data and each.domain is not None
        ]
        try:
            found = largest_range(var, bounded, known, sizes)
        except PolyhedralLimitError:
            continue
        if found is not None and not _is_nothing(found):
            clauses = [(var.name, _range_text(IndexRange(*found)))]
            if _accepts(function, statement, clauses, accepted):
                return clauses
    return None


def _is_nothing(found: tuple[Expr, Expr]) -> bool:
    extent = extent_of(IndexRange(*found))
    return isinstance(extent, Const) and extent.value <= 0


def _accepts(
    function: CheckedFunction,
    statement: CheckedStatement,
    clauses: Sequence[tuple[str, str]],
    accepted: Accepted,
    *,
    for_all_sizes: bool = True,
) -> bool:
    """Return whether the definition is accepted with further ranges in one statement."""
    definition = function.definition
    if statement.source not in definition.statements:
        return False  # of a function that is called
    names = {name for name, _ in clauses}
    kept = [
        each
        for each in statement.source.clauses
        if not (isinstance(each, tc.RangeClause) and each.index in names)
    ]
    added = ", ".join(f"{name} in {text}" for name, text in clauses)
    (sample,) = parse(f"def f() -> (x) {{ x = 0 where {added} }}")
    assert isinstance(sample.statements[0], tc.Comprehension)
    new = replace(statement.source, clauses=(*kept, *sample.statements[0].clauses))
    statements = tuple(new if each is statement.source else each for each in definition.statements)
    return accepted(replace(definition, statements=statements), for_all_sizes)
