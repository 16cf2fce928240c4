"""What is known of uninterpreted functions: assumptions about data, each said once, as formulas.

The text of a fact is derived from its fields; its NumPy check (`tests.support.check_facts`), its native check
(`ragged.passes.fact_checks`) and its instances for the prover (`ragged.prove.axioms`) are derived from its formulas. A
call checks the facts that proofs used. `CoRa` section 5 and `CORTEX` Appendix A name the properties that lowering
relies on. What does not follow from single instances is a lemma of `ragged.prove.lemmas`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragged.ir.build import add, sub, within
from ragged.ir.expr import Call, Expr, Function, Ref, Var
from ragged.ir.fact import Fact
from ragged.ir.formula import ONE, ZERO, Claim, Each, Forall, Trigger, at, compare, domain, extent
from ragged.ir.ops import BinaryOp


@dataclass(frozen=True, slots=True)
class Range(Fact):
    """`lower <= f(args) < upper` over the whole domain; the bounds may use the function's own parameters and sizes."""

    function: Function
    lower: Expr
    upper: Expr

    def formulas(self) -> Iterator[Forall]:
        """Yield the bounds of each value."""
        f, params = self.function, tuple(param.var for param in self.function.params)
        value = Call(f, tuple(map(Ref, params)))
        shown = (
            "".join((f.name, "(", ", ".join(f"{{{i}}}" for i in range(len(params))), ")"))
            if params
            else f.name
        )
        first = len(params)
        message = f"{shown} = {{{first}}} is not in [{{{first + 1}}}, {{{first + 2}}})"
        claim = Claim(
            within(value, self.lower, self.upper), message, (*value.args, value, self.lower, self.upper)
        )
        variables = tuple(Each(param.var, ((ZERO, param.extent),)) for param in f.params)
        yield Forall(variables, (claim,), (Trigger((f,), params),))


@dataclass(frozen=True, slots=True)
class Monotone(Fact):
    """`f(i) <= f(i + 1)` (`<` if strict), for a function of one parameter."""

    function: Function
    strict: bool = False

    def formulas(self) -> Iterator[Forall]:
        """Yield the comparison of neighbours; `lemmas.monotone` compares any two values."""
        f, i = self.function, Var("i")
        op = BinaryOp.LT if self.strict else BinaryOp.LE
        after = add(Ref(i), 1)
        text = f"{f.name}({{0}}) = {{1}} is not {op.value} {f.name}({{2}}) = {{3}}"
        claim = Claim(compare(at(f, i), op, at(f, after)), text, (Ref(i), at(f, i), after, at(f, after)))
        yield Forall((Each(i, ((ZERO, sub(extent(f), 1)),)),), (claim,))


@dataclass(frozen=True, slots=True)
class Injective(Fact):
    """Different arguments give different values, for a function of one parameter.

    The native check goes through a table of values (`ragged.passes.check_injective`), in linear time.
    """

    function: Function

    def formulas(self) -> Iterator[Forall]:
        """Yield that the values of two arguments differ."""
        f, i, j = self.function, Var("i"), Var("j")
        text = f"{f.name}({{0}}) = {f.name}({{1}}) = {{2}}, which should differ"
        claim = Claim(compare(at(f, i), BinaryOp.NE, at(f, j)), text, (Ref(j), Ref(i), at(f, i)))
        later = Each(i, domain(f)), Each(j, ((ZERO, Ref(i)),))
        yield Forall(later, (claim,), (Trigger((f,), (i,)), Trigger((f,), (j,))))


@dataclass(frozen=True, slots=True)
class PrefixSum(Fact):
    """`offset(0) = 0`, `offset(i + 1) = offset(i) + length(i)` and `length(i) >= 0`.

    The domain of `offset` has one argument more than that of `length`, which may be an expression of `offset`.
    """

    offset: Function
    length: Function

    def formulas(self) -> Iterator[Forall]:
        """Yield the first offset, and each step."""
        f, g, i = self.offset, self.length, Var("i")
        first, step, after = at(f, ZERO), at(g, i), add(Ref(i), 1)
        counts = compare(extent(f), BinaryOp.EQ, add(extent(g), 1))
        yield Forall(
            (),
            (
                Claim(counts, f"{f.name} has {{0}} values, and {g.name} has {{1}}", (extent(f), extent(g))),
                Claim(compare(first, BinaryOp.EQ, ZERO), f"{f.name}(0) = {{0}} is not 0", (first,)),
            ),
            (Trigger((f, g)),),
        )
        end = add(at(f, i), step)
        text = f"{f.name}({{0}}) = {{1}} is not {f.name}({{2}}) + {g.name}({{2}}) = {{3}}"
        yield Forall(
            (Each(i, domain(g)),),
            (
                Claim(
                    compare(ZERO, BinaryOp.LE, step), f"{g.name}({{0}}) = {{1}} is negative", (Ref(i), step)
                ),
                Claim(compare(at(f, after), BinaryOp.EQ, end), text, (after, at(f, after), Ref(i), end)),
            ),
            (Trigger((f, g), (i,)),),
        )


@dataclass(frozen=True, slots=True)
class UpperBound(Fact):
    """`function(args) <= most(0)` over the whole domain of `function`."""

    most: Function
    function: Function

    def formulas(self) -> Iterator[Forall]:
        """Yield the comparison of each value."""
        f, params, most = self.function, tuple(p.var for p in self.function.params), at(self.most, ZERO)
        value = Call(f, tuple(map(Ref, params)))
        shown = f"{f.name}({', '.join(f'{{{i}}}' for i in range(len(params)))}) = {{{len(params)}}}"
        text = f"{shown} is not <= {self.most.name}(0) = {{{len(params) + 1}}}"
        claim = Claim(compare(value, BinaryOp.LE, most), text, (*value.args, value, most))
        variables = tuple(Each(param.var, ((ZERO, param.extent),)) for param in f.params)
        yield Forall(variables, (claim,), (Trigger((f,), params),))


@dataclass(frozen=True, slots=True)
class Owner(Fact):
    """`owner(f)` is a row of `offset` that place f is in: `offset(owner(f)) <= f < offset(owner(f) + 1)`.

    A row is an argument of `offset` but the last one. This is CoRa's map f_fo from a fused loop to the outer one.
    """

    owner: Function
    offset: Function

    def formulas(self) -> Iterator[Forall]:
        """Yield that each place has a row, and is in it."""
        f, rows = Var("f"), sub(extent(self.offset), 1)
        row = at(self.owner, f)
        begin, end = at(self.offset, row), at(self.offset, add(row, 1))
        text = f"{self.owner.name}({{0}}) = {{1}}"
        yield Forall(
            (Each(f, domain(self.owner)),),
            (
                Claim(within(row, ZERO, rows), f"{text} is not in [0, {{2}})", (Ref(f), row, rows)),
                Claim(
                    within(Ref(f), begin, end),
                    f"{text}, which has the places in [{{2}}, {{3}})",
                    (Ref(f), row, begin, end),
                ),
            ),
            (Trigger((self.owner,), (f,)),),
        )


@dataclass(frozen=True, slots=True)
class Shares(Fact):
    """`begin(0) = 0`, `begin(i) <= begin(i + 1)`, `begin(count) = total`: `count` contiguous shares of `total` things.

    The domain of `begin` has one argument more than there are shares. `lemmas.shares` compares any two values.
    """

    begin: Function
    count: Function
    total: Expr

    def formulas(self) -> Iterator[Forall]:
        """Yield where the first share begins and the last one ends, and the comparison of neighbours."""
        f, i, count = self.begin, Var("i"), Call(self.count)
        counts, first, last = compare(extent(f), BinaryOp.EQ, add(count, 1)), at(f, ZERO), at(f, count)
        yield Forall(
            (),
            (
                Claim(counts, f"{f.name} has {{0}} values for {{1}} shares", (extent(f), count)),
                Claim(
                    compare(ONE, BinaryOp.LE, count), f"{f.name} has {{0}} shares, and needs one", (count,)
                ),
                Claim(compare(first, BinaryOp.EQ, ZERO), f"{f.name}(0) = {{0}} is not 0", (first,)),
                Claim(
                    compare(last, BinaryOp.EQ, self.total),
                    f"{f.name}({{0}}) = {{1}} is not {{2}}",
                    (count, last, self.total),
                ),
            ),
            (Trigger((f,)),),
        )
        after = add(Ref(i), 1)
        text = f"{f.name}({{0}}) = {{1}} is not <= {f.name}({{2}}) = {{3}}"
        claim = Claim(
            compare(at(f, i), BinaryOp.LE, at(f, after)), text, (Ref(i), at(f, i), after, at(f, after))
        )
        yield Forall((Each(i, ((ZERO, count),)),), (claim,))


@dataclass(frozen=True, slots=True)
class Tiling(Fact):
    """The ranges `begin(b) .. begin(b) + length(b)` tile `[0, total)`, the first at its end, each next one below.

    `begin(0) = first`, `begin(0) + length(0) = total`, `begin(b + 1) + length(b + 1) = begin(b)`,
    `begin(last) = 0`, and no length is negative.
    """

    begin: Function
    length: Function
    first: Expr
    total: Expr

    def formulas(self) -> Iterator[Forall]:
        """Yield where the first range is, that each ends where the one before it begins, and where the last begins."""
        f, g, b = self.begin, self.length, Var("b")
        count, here, size, before = extent(f), at(f, b), at(g, b), at(f, sub(Ref(b), 1))
        first, last = at(f, ZERO), add(at(f, ZERO), at(g, ZERO))
        ends = f"{f.name}({{0}}) + {g.name}({{0}}) = {{1}} is not {{2}}"
        counts = compare(count, BinaryOp.EQ, extent(g))
        occurs = (Trigger((f, g)),)
        yield Forall(
            (),
            (
                Claim(counts, f"{f.name} has {{0}} values, and {g.name} has {{1}}", (count, extent(g))),
                Claim(
                    compare(ONE, BinaryOp.LE, count), f"{f.name} has {{0}} values, and needs one", (count,)
                ),
                Claim(
                    compare(first, BinaryOp.EQ, self.first),
                    f"{f.name}(0) = {{0}} is not {{1}}",
                    (first, self.first),
                ),
                Claim(compare(last, BinaryOp.EQ, self.total), ends, (ZERO, last, self.total)),
            ),
            occurs,
        )
        negative = Claim(
            compare(ZERO, BinaryOp.LE, size), f"{g.name}({{0}}) = {{1}} is negative", (Ref(b), size)
        )
        goes_on = Claim(
            compare(add(here, size), BinaryOp.EQ, before), ends, (Ref(b), add(here, size), before)
        )
        at_zero = Claim(compare(here, BinaryOp.EQ, ZERO), f"{f.name}({{0}}) = {{1}} is not 0", (Ref(b), here))
        for low, claim in ((ZERO, negative), (ONE, goes_on), (sub(count, 1), at_zero)):
            yield Forall(
                (Each(b, tuple((low, high) for _, high in domain(f, g))),), (claim,), (Trigger((f, g), (b,)),)
            )
