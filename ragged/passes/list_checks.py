"""The list of checks and proofs that `show("checks")` prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragged.ir.expr import Binary, Const, Expr, Unary
from ragged.ir.fact import Fact
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.printer import expr_text, known_text
from ragged.ir.stmt import Check
from ragged.ir.walk import loads
from ragged.prove import Proof, Unproven


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check, and the prover's answer to its condition."""

    check: Check
    answer: Proof | Unproven


def list_checks(findings: Sequence[CheckResult]) -> tuple[str, ...]:
    """Return a line that counts, one for each condition with the checks that ask it, and one for each fact used.

    ::

        3 checks: 2 proven, 1 kept
        proven: 0 <= left(node) < num_nodes  [h.bound0, lh.bound0]  (by Range of left)
        kept:   0 <= word(node) < 10  [emb.bound0]  (counterexample: word(1) = 10)
        Range of left: n + 1 <= left(n) < num_nodes

    A check is named by its label: `h.bound0` checks the index of h's first dimension.
    """
    groups: dict[tuple[str, str, str], list[str]] = {}
    for finding in findings:
        names = groups.setdefault(_line(finding), [])
        if finding.check.label.name not in names:
            names.append(finding.check.label.name)
    proven = [finding.answer for finding in findings if isinstance(finding.answer, Proof)]
    total = f"{len(findings)} check{'' if len(findings) == 1 else 's'}"
    lines = [f"{total}: {len(proven)} proven, {len(findings) - len(proven)} kept"]
    lines += [f"{word:<7} {what}  [{', '.join(names)}]  {why}" for (word, what, why), names in groups.items()]
    return (*lines, *sorted(map(_fact_line, {fact for proof in proven for fact in proof.facts})))


def because(facts: Iterable[Fact]) -> str:
    """Return the facts of a proof, as text."""
    names = sorted(fact.name for fact in facts)
    return f"(by {', '.join(names)})" if names else "(by the loops' bounds)"


def condition_text(condition: Expr) -> str:
    """Return a check's condition: a range as `low <= index < high`, and where it is asked for."""
    match condition:
        case Binary(op=BinaryOp.OR, lhs=Unary(op=UnaryOp.NOT, operand=path), rhs=rhs):
            return f"{condition_text(rhs)} where {expr_text(path)}"
        case Binary(
            op=BinaryOp.AND,
            lhs=Binary(op=BinaryOp.LE, lhs=Const() as low, rhs=index),
            rhs=Binary(op=BinaryOp.LT, lhs=again, rhs=high),
        ) if index == again:
            return f"{expr_text(low)} <= {expr_text(index)} < {expr_text(high)}"
        case _:
            return expr_text(condition)


def _line(finding: CheckResult) -> tuple[str, str, str]:
    text = condition_text(finding.check.condition)
    match finding.answer:
        case Proof(facts=facts):
            return "proven:", text, because(facts)
        case Unproven(reason=reason, example=example):
            said = reason if example is None else f"{reason}: {example}"
            return "kept:", text, f"({', '.join([*_unknown(finding.check.condition), said])})"


def _unknown(condition: Expr) -> Iterable[str]:
    """Yield a note on the arrays in a condition with elements that no fact bounds."""
    names = dict.fromkeys(part.buffer.name for part in loads(condition))
    if names:
        yield f"no fact says what {' and '.join(names)} holds"


def _fact_line(fact: Fact) -> str:
    return f"{fact.name}: {known_text(fact)}"
