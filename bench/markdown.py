"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(heads: Sequence[str], cells: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, its first column to the left and all others to the right."""
    rule = ["---", *("---:" for _ in heads[1:])]
    return ["| " + " | ".join(line) + " |" for line in (heads, rule, *cells)]
