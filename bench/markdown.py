"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(names: Sequence[str], heads: Sequence[str], cells: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table: columns of `names`, then of `heads`; the first to the left, others to the right."""
    columns = (*names, *heads)
    rule = ["---", *("---:" for _ in columns[1:])]
    return ["| " + " | ".join(line) + " |" for line in (columns, rule, *cells)]
