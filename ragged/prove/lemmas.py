"""What facts say that no single instance of their formulas says: it follows from them by induction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, TypeAlias

import z3

from ragged.ir.expr import Function
from ragged.ir.fact import Fact
from ragged.ir.facts import Monotone, PrefixSum, Shares, Tiling
from ragged.ir.ops import BinaryOp
from ragged.ir.pointer_facts import Follows
from ragged.prove.terms import Occurrence, Term, Translator, combined, implication

Lemma: TypeAlias = Callable[[Any, Sequence[Occurrence], Translator], Iterator[Term]]


def monotone(fact: Monotone, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    """Yield the comparison of any two values, by induction over the steps between them."""
    for i, j in permutations(_arguments(calls, fact.function), 2):
        here, there = to.call(fact.function, i), to.call(fact.function, j)
        # Values are integers: a strict step is at least one.
        rise = there - here >= j - i if fact.strict else _most(here, there)
        yield implication(rise, _inside(fact.function, i, to), _inside(fact.function, j, to), _most(i, j))


def shares(fact: Shares, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    """Yield the comparison of any two beginnings of shares."""
    yield from monotone(Monotone(fact.begin), calls, to)


def prefix_sum(fact: PrefixSum, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    """Yield that offsets are not negative and rise: they are sums of lengths, none of which is negative."""
    offset = fact.offset
    places = _arguments(calls, offset)
    for i in places:
        yield z3.Implies(_inside(offset, i, to), to.call(offset, i) >= 0)
    for i, j in permutations(places, 2):
        premises = _inside(offset, i, to), _inside(offset, j, to), _most(i, j)
        yield implication(_most(to.call(offset, i), to.call(offset, j)), *premises)


def tiling(fact: Tiling, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    """Yield where ranges lie and how any two lie: they go down from `total` to 0, and none has a negative length."""
    begin, length = fact.begin, fact.length
    batches = _arguments(calls, begin, length)
    for b in batches:
        low, extent = to.call(begin, b), to.call(length, b)
        yield z3.Implies(_inside(begin, b, to), z3.And(low >= 0, low + extent <= to.term(fact.total)))
        # No range begins above the first one.
        later = z3.And(_inside(begin, b, to), b >= 1)
        yield z3.Implies(later, low + extent <= to.term(fact.first))
    for b, c in permutations(batches, 2):
        premises = _inside(begin, b, to), _inside(begin, c, to), combined(BinaryOp.LT, b, c)
        yield implication(to.call(begin, c) + to.call(length, c) <= to.call(begin, b), *premises)


def follows(fact: Follows, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    """Yield the fact for a pointer between the edges of a whole batch: some node of the batch has it.

    From an offset not above `e` to one above it there is a step of `via`.
    """
    begin, length, pointer, via = fact.begin, fact.length, fact.pointer, fact.via
    if via is None:
        return
    known = _arguments(calls, via)
    for b in _arguments(calls, begin, length):
        low, end = to.call(begin, b), to.call(begin, b) + to.call(length, b)
        if not any(n.eq(low) for n in known):
            continue
        for e in _arguments(calls, pointer):
            target = to.call(pointer, e)
            between = [low < end, to.call(via, low) <= e, e < to.call(via, end)]
            there = [(begin, b), (length, b), (pointer, e), (via, low), (via, end)]
            inside = [_inside(function, arg, to) for function, arg in there]
            nowhere = [target < 0] if fact.optional else []
            yield z3.Implies(z3.And(*inside, *between), z3.Or(target >= end, *nowhere))


LEMMAS: Mapping[type[Fact], Lemma] = {
    Monotone: monotone,
    PrefixSum: prefix_sum,
    Shares: shares,
    Tiling: tiling,
    Follows: follows,
}


def _inside(function: Function, arg: Term, to: Translator) -> Term:
    return to.domain(function, (arg,))


def _most(low: Term, high: Term) -> Term:
    return combined(BinaryOp.LE, low, high)


def _arguments(calls: Sequence[Occurrence], *functions: Function) -> list[Term]:
    """Return the arguments at which one of `functions`, each of one parameter, is called, each once."""
    found = {call.args[0].get_id(): call.args[0] for call in calls if call.function in functions}
    return list(found.values())
