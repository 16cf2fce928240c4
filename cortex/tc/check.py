"""Checks of the statements of a recursive comprehension, before ranges are found."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cortex.tc.ranges import children_indices, dense_indices
from cortex.tc.symbols import Symbols
from ragged.tc import tree as tc
from ragged.tc.errors import refuse
from ragged.tc.text import expression_text


def check_statements(symbols: Symbols, statements: Sequence[tc.Comprehension]) -> None:
    """Raise a `TcError` for a statement that recursive functions do not have."""
    written: set[str] = set()
    for statement in statements:
        _check(symbols, statement, written)
        written.add(statement.target.id)


def reduced_indices(symbols: Symbols, source: tc.Comprehension) -> list[str]:
    """Return the indices of the right side alone: children first, then dense ones."""
    left = {index.id for index in source.indices}
    names = (*children_indices(source), *dense_indices(symbols, source))
    return [name for name in names if name not in left]


def _check(symbols: Symbols, source: tc.Comprehension, written: Collection[str]) -> None:
    """Refuse what the language of recursive functions does not have."""
    indices = [index.id for index in source.indices]
    if indices[:1] != [symbols.node]:
        raise refuse(
            f"the first index of '{source.target.id}' is not the node '{symbols.node}'",
            source.at,
            fix=f"{source.target.id}({', '.join([symbols.node, *indices])})",
        )
    if len(set(indices)) != len(indices):
        raise refuse("an index stands twice on the left", source.at)
    for name, clause in children_indices(source).items():
        node = tc.Name(symbols.node, clause.at)
        if clause.members.name != "children" or [
            each.id for each in clause.members.arguments if isinstance(each, tc.Name)
        ] != [node.id]:
            raise refuse(
                f"'{name}' is an index over '{expression_text(clause.members)}'",
                clause.at,
                fix=f"where {name} in children({symbols.node})",
            )
    if source.operator.rstrip("!") not in ("=", "+=", "max="):
        raise refuse(
            f"'{source.operator}' reduces no tensor of a recursive function",
            source.at,
            fix="+=! or max=!",
        )
    reduced = reduced_indices(symbols, source)
    if reduced and source.operator == "=":
        raise refuse(
            f"'{reduced[0]}' is an index of the right side alone, and '=' does not specify a reduction",
            source.at,
            fix=f"{source.target.id}({', '.join(indices)}) +=! ...",
        )
    if source.operator in ("+=", "max=") and source.target.id not in written:
        raise refuse(
            f"'{source.operator}' starts from the values of '{source.target.id}', which has none",
            source.at,
            fix=f"'{source.operator}!' starts from the neutral element",
        )
    if any(isinstance(each, tc.ExistsClause) for each in source.clauses):
        raise refuse("'exists' is no clause of a recursive function", source.at)
