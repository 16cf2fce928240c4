"""The code that checks a fact over the arrays of a call: what a proof assumed is verified before the kernel runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from ragged.arith.affine import affine
from ragged.arith.fold import ONE, ZERO, plus
from ragged.ir.build import sub, within
from ragged.ir.expr import Binary, Call, Expr, Function, Ref, Var
from ragged.ir.fact import Fact, formulas_of
from ragged.ir.formula import Claim, Each, Forall
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import substitute
from ragged.ir.stmt import Block, Check, For, If, Label, Let, Stmt, block
from ragged.ir.walk import subexpressions
from ragged.passes.domain_checks import KnownBounds, domain_conditions, is_identity


def fact_check(fact: Fact, filled: Function | None = None) -> Stmt:
    """Return the statements that end the program where `fact` does not hold.

    ::

        for b in serial(num_batches):
            for i in serial(min(begin(b) + length(b), num_inner) - max(begin(b), 0)):
                n = max(begin(b), 0) + i
                check(left(n) >= begin(b) + length(b), ...)

    The statements are in bounds for any data: before a call with arguments not known to be in the function's domain
    there is a check that they are. Witnesses are the arguments at which the check fails, then the values there.
    Claims that hold for all data are left out, and so are those about `filled`, which a prelude makes true.
    """
    known = KnownBounds()
    parts = (_Emit(fact.subject, filled).formula(formula, known) for formula in formulas_of(fact))
    return block(*parts)


@dataclass(slots=True)
class _Emit:
    """Makes loops of formulas; `values` gives fresh variables for the bound ones; `depth` counts loops."""

    subject: Function
    filled: Function | None
    values: dict[Var, Expr] = field(default_factory=dict)
    depth: int = 0

    def formula(self, formula: Forall, known: KnownBounds) -> Stmt:
        """Return the loops over the variables; what holds without any of them is added to `known`."""
        claims = [claim for claim in formula.claims if self.is_needed(claim)]
        if not claims:
            return Block()
        return self.loops(
            formula, claims, formula.variables, known if not formula.variables else known.copy()
        )

    def is_needed(self, claim: Claim) -> bool:
        """Return whether data can break a claim."""
        called = {part.function for part in subexpressions(claim.condition) if isinstance(part, Call)}
        return self.filled not in called and not is_identity(claim.condition)

    def loops(
        self, formula: Forall, claims: Iterable[Claim], variables: Sequence[Each], known: KnownBounds
    ) -> Stmt:
        """Return the loops over the rest of the variables, and the checks inside."""
        if not variables:
            return self.body(formula.given, claims, known)
        each, *rest = variables
        ranges = [(self.bound(low), self.bound(high)) for low, high in each.ranges]
        guards = [check for pair in ranges for bound in pair for check in self.guards(bound, known)]
        var = Var(each.var.name)
        self.values[each.var] = Ref(var)
        for low, high in ranges:
            known.add(within(Ref(var), low, high))
        low = _folded(BinaryOp.MAX, [low for low, _ in ranges])
        high = _folded(BinaryOp.MIN, [high for _, high in ranges])
        count = affine(sub(high, low)).expr
        if low == ZERO or count == ONE:
            body = self.loops(formula, claims, rest, known)
            return block(*guards, For(var, high, body) if low == ZERO else Let(var, low, body))
        step = Var(f"i_{self.depth}" if self.depth else "i")  # nested loops keep their names when printed
        self.depth += 1
        body = self.loops(formula, claims, rest, known)
        self.depth -= 1
        return block(*guards, For(step, count, Let(var, plus(low, Ref(step)), body)))

    def body(self, given: Expr | None, claims: Iterable[Claim], known: KnownBounds) -> Stmt:
        """Return the checks of the claims, each of which may rely on those before it."""
        if given is not None:
            condition = self.renamed(given)
            guards = self.guards(condition, known)
            known.add(condition)
            return block(*guards, If(condition, self.body(None, claims, known)))
        checks: list[Check] = []
        for claim in claims:
            condition = self.renamed(claim.condition)
            checks += self.guards(condition, known)
            checks.append(self.check(condition, claim.message, map(self.renamed, claim.witness)))
            known.add(condition)
        return block(*checks)

    def guards(self, expr: Expr, known: KnownBounds) -> list[Check]:
        """Return the checks that the calls in an expression are inside of domains."""
        return [
            self.check(condition, _outside(call), call.args)
            for call, condition in domain_conditions(expr, known)
        ]

    def check(self, condition: Expr, message: str, witness: Iterable[Expr]) -> Check:
        return Check(Label(f"{self.subject.name}.fact"), condition, message, tuple(witness))

    def bound(self, expr: Expr) -> Expr:
        """Return the bound of a range over the new variables, its sums folded."""
        return affine(self.renamed(expr)).expr

    def renamed(self, expr: Expr) -> Expr:
        return substitute(expr, self.values)


def _outside(call: Call) -> str:
    """Return the message for a call outside of its function's domain; the witnesses are the arguments."""
    args = ", ".join(f"{{{i}}}" for i in range(len(call.args)))
    return f"{call.function.name}({args}) is outside of its domain"


def _folded(op: BinaryOp, values: Iterable[Expr]) -> Expr:
    return reduce(lambda a, b: Binary(op, a, b), dict.fromkeys(values))
