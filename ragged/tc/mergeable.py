"""Dimensions of tensors that can be merged: pairs of indices that all statements use together alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from ragged.ir import expr as ir
from ragged.ir.walk import mentions, operands, subexpressions, variables
from ragged.tc.checked import CheckedFunction, CheckedStatement, TensorVersion

Pair: TypeAlias = tuple[CheckedStatement, ir.Var, ir.Var]
"""Indices of a statement, one after the other."""
Place: TypeAlias = tuple[TensorVersion, int]
"""A dimension of a tensor, and the one after it."""
Use: TypeAlias = tuple[TensorVersion, tuple[ir.Expr, ...]]
"""A tensor that a statement reads or writes, and the indices."""


@dataclass
class MergeCandidates:
    """Pairs of indices and places of tensors that agree with each other in all statements.

    Reductions of tensors in `kept` stay over the indices of the text.
    """

    function: CheckedFunction
    kept: Collection[str]
    uses: dict[CheckedStatement, list[Use]] = field(init=False)

    def component(self) -> tuple[set[Pair], set[Place]] | None:
        """Return pairs and places that can only be merged together, those of the first statement that has some."""
        self.uses = {each: list(_uses(each, self.function)) for each in self.function.statements}
        pairs, places = self.agreeing()
        for first in (each for each in self.pairs() if each in pairs):
            found, reached = self.connected(first, places)
            apart = all(
                one[0] is not other[0] or len({*one[1:], *other[1:]}) == 4
                for one in found
                for other in found - {one}
            )
            if apart and not any((version, place + 1) in reached for version, place in reached):
                return found, reached
        return None

    def pairs(self) -> Iterator[Pair]:
        """Yield the indices that stand next to each other on the left or in a reduction, with ranges from 0 on."""
        for statement in self.function.statements:
            reduced = () if statement.target.name in self.kept else statement.reduced
            for group in (statement.indices, reduced):
                for one, other in pairwise(group):
                    if all(statement.ranges[var].lower == ir.Const(0) for var in (one, other)):
                        yield statement, one, other

    def agreeing(self) -> tuple[set[Pair], set[Place]]:
        """Return the pairs with indices that are used in places alone, and the places that only pairs are used in."""
        pairs = {each for each in self.pairs() if not _is_used_otherwise(*each)}
        places = {(version, place) for version in self.tensors() for place in range(version.rank - 1)}
        while True:
            own = set(pairs)
            misused = {
                (use[0], place)
                for statement, uses in self.uses.items()
                for use in uses
                for place in range(use[0].rank - 1)
                if not self.is_pair(statement, use, place, own)
            }
            kept = places - misused
            pairs = {each for each in own if self.is_in_places(each, kept)}
            if kept == places and pairs == own:
                return pairs, places
            places = kept

    def tensors(self) -> Iterator[TensorVersion]:
        """Yield the tensors that indices are not read from: a message about an index names the dimensions of those."""
        nested = {
            part.buffer
            for statement in self.function.statements
            for root in (statement.value, *statement.witnesses)
            for load in subexpressions(root)
            if isinstance(load, ir.Load)
            for index in load.indices
            for part in subexpressions(index)
            if isinstance(part, ir.Load)
        }
        for buffer, version in self.function.versions.items():
            if buffer not in nested and version.domain is not None:
                yield version

    def is_pair(self, statement: CheckedStatement, use: Use, place: int, pairs: set[Pair]) -> bool:
        """Return whether a use has a pair in a place, with the ranges of the tensor's dimensions."""
        version, indices = use
        match indices[place : place + 2]:
            case ir.Ref(var=one), ir.Ref(var=other) if (statement, one, other) in pairs and version.domain:
                return (statement.ranges[one], statement.ranges[other]) == version.domain[place : place + 2]
            case _:
                return False

    def is_in_places(self, pair: Pair, places: set[Place]) -> bool:
        """Return whether all uses of the indices of a pair are in places."""
        statement, *both = pair
        for version, indices in self.uses[statement]:
            for place, index in enumerate(indices):
                for later, var in enumerate(both):
                    at = place - later  # where the pair begins
                    whole = at >= 0 and indices[at : at + 2] == tuple(map(ir.Ref, both))
                    if mentions(index, (var,)) and not (whole and (version, at) in places):
                        return False
        return True

    def connected(self, first: Pair, places: set[Place]) -> tuple[set[Pair], set[Place]]:
        """Return the pairs and the places that a pair reaches through uses."""
        used: dict[Pair, set[Place]] = {}
        for statement, uses in self.uses.items():
            for version, indices in uses:
                for place, (one, other) in enumerate(pairwise(indices)):
                    if (version, place) in places and isinstance(one, ir.Ref) and isinstance(other, ir.Ref):
                        used.setdefault((statement, one.var, other.var), set()).add((version, place))
        found, reached = {first}, set(used.get(first, ()))
        while True:
            new = {pair for pair, own in used.items() if pair not in found and own & reached}
            if not new:
                return found, reached
            found |= new
            reached = reached.union(*(used[pair] for pair in new))


def _uses(statement: CheckedStatement, function: CheckedFunction) -> Iterator[Use]:
    own = tuple(map(ir.Ref, statement.indices))
    yield statement.target, own
    for version in (statement.previous, statement.earlier if statement.partial else None):
        if version is not None:
            yield version, own
    for root in (statement.value, *statement.witnesses):
        for part in subexpressions(root):
            if isinstance(part, ir.Load):
                yield function.versions[part.buffer], part.indices


def _is_used_otherwise(statement: CheckedStatement, one: ir.Var, other: ir.Var) -> bool:
    """Return whether a statement uses one of two indices elsewhere than as an index of a tensor."""
    bounds = [bound for own in statement.ranges.values() for bound in (own.lower, own.upper)]
    if {one, other} & variables(*bounds):
        return True
    pending: list[ir.Expr] = [statement.value]
    while pending:
        part = pending.pop()
        if isinstance(part, ir.Ref) and part.var in (one, other):
            return True
        if not isinstance(part, ir.Load):
            pending += operands(part)
    return False
