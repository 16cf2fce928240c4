"""Ranges of the dense indices of a recursive comprehension: from 0 up to the first value that is out of bounds.

They are found in rounds, as in section 3.1 of the paper: an access with one index without a range bounds that one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import product

from cortex.tc.symbols import Symbols, Tensor, value_at
from ragged.tc import tree as tc
from ragged.tc.errors import TcError, refuse
from ragged.tc.reads import named_in, reads_of
from ragged.tc.text import expression_text, statement_text


def extents_of(
    symbols: Symbols, statements: tuple[tc.Comprehension, ...], outputs: Collection[str]
) -> list[dict[str, int]]:
    """Return for each statement the number of values of each of its dense indices; complete the tensors' extents.

    An index is bounded when all extents are known that bound it. What waits for the extent of an output, which is read
    at children before it is written, is bounded by the others.

    Raises:
        TcError: an index has no range, or one without values ("range").
    """
    found = [_given(symbols, each) for each in statements]
    pairs = list(zip(statements, found, strict=True))
    results = [(one, ranges) for one, ranges in pairs if one.target.id in outputs]
    while True:
        before = _known(symbols, found)
        for statement, ranges in pairs:
            while _round(symbols, statement, ranges):
                pass
            _exchange(symbols, statement, ranges)
        if _known(symbols, found) == before and not any(
            _round(symbols, statement, ranges, partly=True) for statement, ranges in (*results, *pairs)
        ):
            break
    for statement, ranges in zip(statements, found, strict=True):
        for name in dense_indices(symbols, statement):
            if name not in ranges:
                raise TcError(
                    "range",
                    f"the index '{name}' of '{statement_text(statement)}' has no range",
                    at=statement.at,
                    because="no tensor with extents that are known is read at it",
                    fix=f"where {name} in 0:...; or in children({symbols.node}), if it is a node",
                )
    return found


def dense_indices(symbols: Symbols, statement: tc.Comprehension) -> tuple[str, ...]:
    """Return the names of a statement that are dense indices: those of the left side, then those of the right one."""
    lets = {each.name: each.value for each in statement.clauses if isinstance(each, tc.LetClause)}
    nodes = {symbols.node, *children_indices(statement)}
    roots = [statement.value, *lets.values()]
    names = [index.id for index in statement.indices]
    names += [each.index for each in statement.clauses if isinstance(each, tc.RangeClause)]
    pending = [each for root in roots for each in _in_order(root)]
    names += [each.id for each in pending if isinstance(each, tc.Name)]
    other = nodes | lets.keys() | symbols.sizes.keys() | symbols.tensors.keys()
    return tuple(dict.fromkeys(name for name in names if name not in other))


def children_indices(statement: tc.Comprehension) -> dict[str, tc.MembersClause]:
    """Return the indices of a statement that go over children, with their clauses."""
    return {each.index: each for each in statement.clauses if isinstance(each, tc.MembersClause)}


def _in_order(root: tc.TcExpression) -> list[tc.Access | tc.Name]:
    return sorted(named_in(root), key=lambda each: (each.at.line, each.at.column))


def _given(symbols: Symbols, statement: tc.Comprehension) -> dict[str, int]:
    """Return the ranges of `where`, which begin at 0."""
    found: dict[str, int] = {}
    for clause in statement.clauses:
        if isinstance(clause, tc.RangeClause):
            low, high = value_at(clause.lower, symbols.sizes), value_at(clause.upper, symbols.sizes)
            if low != 0 or high is None or high < 1:
                raise TcError(
                    "range",
                    f"the range of '{clause.index}' is no range from 0 up to a number of values",
                    at=clause.at,
                    fix=f"where {clause.index} in 0:N, with N a size or a number from 1 up",
                )
            found[clause.index] = high
    return found


def _known(symbols: Symbols, found: list[dict[str, int]]) -> int:
    extents = (extent for each in symbols.tensors.values() for extent in each.dims)
    return sum(map(len, found)) + sum(extent is not None for extent in extents)


def _accesses(symbols: Symbols, statement: tc.Comprehension) -> Iterator[tuple[Tensor, int, tc.TcExpression]]:
    """Yield the dense indices that tensors are read at, with the tensor and the dimension."""
    for access in reads_of(statement):
        tensor = symbols.tensors.get(access.name)
        if tensor is not None:
            needed = len(tensor.dims) + tensor.before
            if len(access.arguments) != needed:
                what = (
                    f"'{tensor.name}' has {needed} dimensions and is read at {len(access.arguments)} indices"
                )
                raise refuse(what, access.at)
            for position, index in enumerate(access.arguments[tensor.before :]):
                yield tensor, position, index


def _round(
    symbols: Symbols, statement: tc.Comprehension, ranges: dict[str, int], *, partly: bool = False
) -> bool:
    """Give ranges to the indices that stand alone in accesses, and with `partly` to one that other extents may bound.

    Return whether there were any.
    """
    indices = set(dense_indices(symbols, statement))
    bounds: dict[str, int] = {}
    waiting: set[str] = set()
    for tensor, position, index in _accesses(symbols, statement):
        extent = tensor.dims[position]
        names = {each.id for each in named_in(index) if isinstance(each, tc.Name)} & indices
        missing = names - ranges.keys()
        if len(missing) != 1 or not _is_sum(index):
            continue  # what is no sum of multiples of indices is checked with the model
        if extent is None:
            waiting |= missing
            continue
        (name,) = missing
        number = _values_in_bounds(
            symbols, index, name, {each: ranges[each] for each in names - missing}, extent
        )
        if not number:
            raise TcError(
                "range",
                f"dimension {position} of '{tensor.name}' is read at '{expression_text(index)}', out of bounds for "
                f"{name} = 0",
                at=index.at,
                because=f"its extent is {extent}, and indices begin at 0",
            )
        bounds[name] = min(bounds.get(name, number), number)
    left = [index.id for index in statement.indices]
    for name in sorted(bounds, key=lambda each: each not in left):
        if partly or name not in waiting:
            ranges[name] = bounds[name]
            if partly:
                return True
    return bool(bounds.keys() - waiting)


def _is_sum(index: tc.TcExpression) -> bool:
    """Return whether an index is made of names and numbers by sums, differences and products."""
    match index:
        case tc.Name() | tc.NumberLiteral():
            return True
        case tc.Prefix(operand=operand):
            return _is_sum(operand)
        case tc.Infix(op="+" | "-" | "*", lhs=lhs, rhs=rhs):
            return _is_sum(lhs) and _is_sum(rhs)
        case _:
            return False


def _values_in_bounds(
    symbols: Symbols, index: tc.TcExpression, name: str, others: Mapping[str, int], extent: int
) -> int:
    """Return how many values of `name` from 0 up keep `index` in bounds, for the first and last values of `others`."""
    corners = list(product(*((0, number - 1) for number in others.values())))
    for value in range(extent):
        for corner in corners:
            values = {**symbols.sizes, name: value, **dict(zip(others, corner, strict=True))}
            at = value_at(index, values)
            if at is None or not 0 <= at < extent:
                return value
    return extent


def _exchange(symbols: Symbols, statement: tc.Comprehension, ranges: dict[str, int]) -> None:
    """Give the target's extents to the indices on the left, and the reverse."""
    target = symbols.tensors[statement.target.id]
    for position, index in enumerate(statement.indices[target.before :]):
        extent = target.dims[position]
        if extent is not None:
            ranges.setdefault(index.id, extent)
        elif index.id in ranges:
            target.dims[position] = ranges[index.id]
