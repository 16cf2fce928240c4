"""Where rows of a workspace are stored when later ones reuse the storage of dead ones."""

from __future__ import annotations

from typing import NamedTuple

from ragged.ir.expr import Expr, Function


class RowRange(NamedTuple):
    """The `length` rows from `begin` on, which one iteration writes; they are stored from row `first` on."""

    begin: Expr
    length: Expr
    first: Expr


class Pointer(NamedTuple):
    """A function that gives rows of earlier iterations: `function(n)` of row n, such as a child of a node.

    With `via`, `function(e)` for `via(n) <= e < via(n + 1)`, such as the edges of a node.
    """

    function: Function
    via: Function | None = None


class RowMap(NamedTuple):
    """Where rows are stored: row n in row `row(n)` of `extent`.

    `pointers` give the rows of earlier iterations that an iteration reads, `last` the rows that are read after the
    loop. Precondition, of the caller: `row(n) = row(m)` for another row m only if every iteration with a pointer to m
    comes before the one that writes n, which is not the one after m's own, and no function of `last` gives m.
    """

    row: Function
    extent: Expr
    pointers: tuple[Pointer, ...]
    last: tuple[Function, ...]
