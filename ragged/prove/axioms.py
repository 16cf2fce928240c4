"""What each kind of fact says of the calls that occur: instances without quantifiers.

An instance may be weaker than the fact, never stronger: whatever `ragged.ir.check_facts` lets pass
satisfies all of them (the tests compare the two on data). Where an instance is not the definition itself, a
comment says why it follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import assert_never

import z3

from ragged.ir.expr import Binary, Call, Function, Ref
from ragged.ir.facts import (
    Descends,
    Fact,
    Follows,
    Injective,
    Layered,
    Monotone,
    Owner,
    PrefixSum,
    Range,
    Tiling,
    Uniform,
)
from ragged.prove.terms import Occurrence, Term, Translator


def instances(fact: Fact, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    """Yield what `fact` says of `calls`; making the terms may note further calls in `to`."""
    match fact:
        case Range():
            yield from _range(fact, calls, to)
        case Monotone():
            yield from _monotone(fact, calls, to)
        case Injective():
            yield from _injective(fact, calls, to)
        case PrefixSum():
            yield from _prefix_sum(fact, calls, to)
        case Owner():
            yield from _owner(fact, calls, to)
        case Tiling():
            yield from _tiling(fact, calls, to)
        case Follows():
            yield from _follows(fact, calls, to)
        case Uniform():
            yield from _uniform(fact, calls, to)
        case Layered():
            yield from _layered(fact, calls, to)
        case Descends():
            yield from _descends(fact, calls, to)
        case _:
            assert_never(fact)


def _range(fact: Range, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    for call in calls:
        if call.function is fact.function:
            scope = {param.var: arg for param, arg in zip(call.function.params, call.args, strict=True)}
            bounds = z3.And(to.term(fact.lower, scope) <= call.value, call.value < to.term(fact.upper, scope))
            yield z3.Implies(to.domain(call.function, call.args), bounds)


def _monotone(fact: Monotone, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    for i, j in permutations(_arguments(calls, fact.function), 2):
        here, there = to.call(fact.function, i), to.call(fact.function, j)
        # By induction over the steps from i to j. Values are integers: a strict step is at least one.
        rise = there - here >= j - i if fact.strict else here <= there
        yield z3.Implies(z3.And(_inside(fact.function, i, to), _inside(fact.function, j, to), i <= j), rise)


def _injective(fact: Injective, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    for i, j in combinations(_arguments(calls, fact.function), 2):
        same = to.call(fact.function, i) == to.call(fact.function, j)
        yield z3.Implies(z3.And(_inside(fact.function, i, to), _inside(fact.function, j, to), same), i == j)


def _prefix_sum(fact: PrefixSum, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    offset, length = fact.offset, fact.length
    if not _arguments(calls, offset, length):
        return
    zero = to.int(0)
    yield z3.Implies(_inside(offset, zero, to), to.call(offset, zero) == 0)
    for i in _arguments(calls, offset, length):
        here, step, after = to.call(offset, i), to.call(length, i), to.call(offset, i + 1)
        yield z3.Implies(_inside(length, i, to), z3.And(step >= 0, after == here + step))
    places = _arguments(calls, offset)
    for i in places:
        # A sum of lengths, none of which is negative.
        yield z3.Implies(_inside(offset, i, to), to.call(offset, i) >= 0)
    for i, j in permutations(places, 2):
        # The lengths between i and j are not negative.
        both = z3.And(_inside(offset, i, to), _inside(offset, j, to), i <= j)
        yield z3.Implies(both, to.call(offset, i) <= to.call(offset, j))


def _owner(fact: Owner, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    for f in _arguments(calls, fact.owner):
        row = to.call(fact.owner, f)
        begin, end = to.call(fact.offset, row), to.call(fact.offset, row + 1)
        there = z3.And(_inside(fact.offset, row, to), _inside(fact.offset, row + 1, to), begin <= f, f < end)
        yield z3.Implies(_inside(fact.owner, f, to), there)


def _tiling(fact: Tiling, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    begin, length = fact.begin, fact.length
    if not _arguments(calls, begin, length):
        return
    first, total, zero = to.term(fact.first), to.term(fact.total), to.int(0)
    # There is a first range: without one the definition does not hold.
    yield _inside(begin, zero, to)
    yield to.call(begin, zero) == first
    yield first + to.call(length, zero) == total
    batches = _arguments(calls, begin, length)
    for b in batches:
        low, extent = to.call(begin, b), to.call(length, b)
        # Ranges go down from total to 0 and none has a negative length, so all lie between.
        yield z3.Implies(_inside(begin, b, to), z3.And(low >= 0, extent >= 0, low + extent <= total))
        later = z3.And(_inside(begin, b, to), b >= 1)
        # The range before it begins where it ends, and no range begins above the first one.
        yield z3.Implies(later, z3.And(low + extent == to.call(begin, b - 1), low + extent <= first))
        # The last range begins at 0.
        yield z3.Implies(z3.And(_inside(begin, b, to), z3.Not(_inside(begin, b + 1, to))), low == 0)
    for b, c in permutations(batches, 2):
        # The ranges between b and c go down from where b begins to where c ends.
        ordered = z3.And(_inside(begin, b, to), _inside(begin, c, to), b < c)
        yield z3.Implies(ordered, to.call(begin, c) + to.call(length, c) <= to.call(begin, b))


def _follows(fact: Follows, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    begin, length, pointer, via = fact.begin, fact.length, fact.pointer, fact.via
    for b in _arguments(calls, begin, length):
        low, end = to.call(begin, b), to.call(begin, b) + to.call(length, b)
        for e in _arguments(calls, pointer):
            # Which batch there is at b follows from both domains: they are not assumed to be one.
            there = [_inside(begin, b, to), _inside(length, b, to), _inside(pointer, e, to)]
            in_batch = [[low <= n, n < end, *owned] for n, owned in _owners(e, via, calls, to)]
            if via is not None and any(n.eq(low) for n in _arguments(calls, via)):
                # From a place not above `e` to one above it there is a step: a node of the batch has `e`.
                known = [_inside(via, low, to), _inside(via, end, to), low < end]
                in_batch.append([*known, to.call(via, low) <= e, e < to.call(via, end)])
            for owned in in_batch:
                target = to.call(pointer, e)
                nowhere = [target < 0] if fact.optional else []
                yield z3.Implies(z3.And(*there, *owned), z3.Or(target >= end, *nowhere))


def _uniform(fact: Uniform, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    begin, length, function = fact.begin, fact.length, fact.function
    for p in _arguments(calls, begin, length):
        low, end = to.call(begin, p), to.call(begin, p) + to.call(length, p)
        for n in _arguments(calls, function):
            there = [
                _inside(begin, p, to),
                _inside(length, p, to),
                _inside(function, n, to),
                low <= n,
                n < end,
            ]
            holds = Binary(fact.op, Call(function, (Ref(function.params[0].var),)), fact.value)
            yield z3.Implies(z3.And(*there), to.term(holds, {function.params[0].var: n}))


def _layered(fact: Layered, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    begin, top = fact.begin, fact.top
    for s in _arguments(calls, begin):
        first, last = to.call(begin, s), to.call(begin, s + 1)
        for t in _arguments(calls, top):
            node = to.call(top, t)
            height = to.call(fact.height, node)
            there = [
                _inside(begin, s, to),
                _inside(begin, s + 1, to),
                _inside(top, t, to),
                first <= t,
                t < last,
            ]
            layer = z3.And(s * fact.layers < height, height <= (s + 1) * fact.layers)
            known = [_inside(fact.group, node, to), _inside(fact.height, node, to)]
            yield z3.Implies(z3.And(*there), z3.And(*known, to.call(fact.group, node) == t, layer))


def _descends(fact: Descends, calls: Sequence[Occurrence], to: Translator) -> Iterator[Term]:
    group, height, layers = fact.group, fact.height, fact.layers
    for e in _arguments(calls, fact.pointer):
        for n, owned in _owners(e, fact.via, calls, to):
            target = to.call(fact.pointer, e)
            above, below = to.call(height, n), to.call(height, target)
            own = to.call(group, target) == to.call(group, n)
            # A positive divisor: the solver's quotient is the one rounded down.
            lower = below <= (above - 1) / layers * layers
            node = [_inside(each, n, to) for each in (group, height)]
            known = [_inside(each, target, to) for each in (group, height)]
            says = z3.And(*known, below < above, z3.Or(own, lower))
            nowhere = [target < 0] if fact.optional else []
            yield z3.Implies(z3.And(_inside(fact.pointer, e, to), *node, *owned), z3.Or(says, *nowhere))


def _owners(
    e: Term, via: Function | None, calls: Sequence[Occurrence], to: Translator
) -> Iterator[tuple[Term, list[Term]]]:
    """Yield each node whose pointer may stand at `e`, with the conditions that it does."""
    if via is None:
        yield e, []
        return
    for n in _arguments(calls, via):
        inside = [_inside(via, n, to), _inside(via, n + 1, to)]
        yield n, [*inside, to.call(via, n) <= e, e < to.call(via, n + 1)]


def _inside(function: Function, arg: Term, to: Translator) -> Term:
    return to.domain(function, (arg,))


def _arguments(calls: Sequence[Occurrence], *functions: Function) -> list[Term]:
    """Return the arguments at which one of `functions`, each of one parameter, is called, each once."""
    found = {call.args[0].get_id(): call.args[0] for call in calls if call.function in functions}
    return list(found.values())
