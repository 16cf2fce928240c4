"""Answers of the solver that the programs of a process share.

Two programs may ask one question of functions that differ in identity alone: recursive models have the same structures.
What the solver is given follows from a text, the key here, so that its answer is the same one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock

from ragged.errors import InternalError
from ragged.ir.expr import Buffer, Call, Expr, Function, Var
from ragged.ir.fact import Fact, formulas_of
from ragged.ir.text.decl_out import fact_text, function_text
from ragged.ir.text.expr_out import show
from ragged.ir.text.names import Names
from ragged.ir.walk import subexpressions
from ragged.prove.answers import Answer, Proof, Refuted
from ragged.prove.lemmas import LEMMAS
from ragged.prove.question import Question


def facts_about(question: Question, facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return, in their order, the facts that can say something of the calls in a question, or of each other's.

    A fact says something where each trigger of one of its formulas matches a call; of a lemma, where any function of
    the fact is called.
    """
    reached, chosen = set(_called(_exprs(question))), set[int]()
    while True:
        near = [k for k, fact in enumerate(facts) if k not in chosen and _says_something(fact, reached)]
        if not near:
            return tuple(fact for k, fact in enumerate(facts) if k in chosen)
        chosen.update(near)
        for k in near:
            reached.update(_functions_of(facts[k]))


def _exprs(question: Question) -> Iterator[Expr]:
    about = question.about
    yield question.goal
    yield from (expr for _, expr in (*about.loops, *about.lets))
    yield from about.conditions


def _called(exprs: Iterable[Expr]) -> Iterator[Function]:
    """Yield the functions that expressions call, and those of the extents and bodies of these."""
    for expr in exprs:
        for part in subexpressions(expr):
            if isinstance(part, Call):
                yield from _with_declared(part.function)


def _with_declared(function: Function) -> Iterator[Function]:
    yield function
    extents = [param.extent for param in function.params]
    yield from _called(extents if function.body is None else (*extents, function.body))


def _functions_of(fact: Fact) -> Iterator[Function]:
    for function in fact.functions:
        yield from _with_declared(function)
    yield from _called(fact.exprs)


def _says_something(fact: Fact, reached: set[Function]) -> bool:
    if type(fact) in LEMMAS and not reached.isdisjoint(fact.functions):
        return True
    return any(
        formula.triggers and all(not reached.isdisjoint(trigger.functions) for trigger in formula.triggers)
        for formula in formulas_of(fact)
    )


def key_of(question: Question, facts: Sequence[Fact], effort: int) -> bytes:
    """Return the digest of a text of all that the solver is given of a question: equal ones have one answer."""
    names, about = Names(), question.about
    lines = [f"{effort}", show(names, question.goal)]
    lines += [f"{names.value(var)} < {show(names, extent)}" for var, extent in about.loops]
    lines += [f"{names.value(var)} = {show(names, value)}" for var, value in about.lets]
    lines += [show(names, condition) for condition in about.conditions]
    for fact in facts:
        with names.scope(*(param.var for param in fact.subject.params)):
            lines.append(f"{names.value(fact.subject)}: {fact_text(names, fact)}")
    declared = 0
    while declared < len(names.values.names):  # what declares a function may call others
        symbol = list(names.values.names)[declared]
        lines.append(_declaration(names, symbol))
        declared += 1
    return sha256("\n".join(lines).encode()).digest()


def _declaration(names: Names, symbol: object) -> str:
    match symbol:
        case Function():
            return f"{symbol.name}, {function_text(names, symbol, [])}"
        case Buffer():
            return f"{names.value(symbol)}: {symbol.role.value} {symbol.dtype.value}"
        case Var():
            return f"{names.value(symbol)}: {symbol.dtype.value}"
        case _:
            raise InternalError(f"a question names a {type(symbol).__name__}")


@dataclass(frozen=True, slots=True)
class _KeptProof:
    facts: tuple[int, ...]
    needed: tuple[int, ...] | None


@dataclass(slots=True)
class SharedAnswers:
    """The answers found last, at most `most`, by their keys; of a proof the positions of its facts and conditions."""

    most: int = 1 << 14
    found: OrderedDict[bytes, Refuted | _KeptProof] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)

    def get(self, key: bytes, facts: Sequence[Fact]) -> Answer | None:
        """Return the answer to a question of that key, about these facts; None if there is none."""
        with self.lock:
            answer = self.found.get(key)
            if answer is None:
                return None
            self.found.move_to_end(key)
        if isinstance(answer, Refuted):
            return answer
        return Proof(frozenset(facts[k] for k in answer.facts), answer.needed)

    def put(self, key: bytes, facts: Sequence[Fact], answer: Answer) -> None:
        """Keep an answer, in place of the one that was asked for least recently if there are too many."""
        kept: Refuted | _KeptProof
        if isinstance(answer, Refuted):
            kept = answer
        else:
            kept = _KeptProof(tuple(k for k, fact in enumerate(facts) if fact in answer.facts), answer.needed)
        with self.lock:
            self.found[key] = kept
            if len(self.found) > self.most:
                self.found.popitem(last=False)

    def clear(self) -> None:
        """Forget all answers."""
        with self.lock:
            self.found.clear()


SHARED_ANSWERS = SharedAnswers()
"""The answers of this process."""
