"""Facts about nodes that point to others: in which batches, groups and layers these are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ragged.errors import InternalError
from ragged.ir.build import add, sub, within
from ragged.ir.expr import Binary, Call, Const, Expr, Function, Ref, Var
from ragged.ir.fact import Fact
from ragged.ir.formula import ZERO, Claim, Each, Forall, Trigger, at, compare, domain, extent, inside
from ragged.ir.ops import BinaryOp


def _in_range(begin: Function, length: Function, b: Var) -> tuple[Each, Expr, Expr]:
    """Return the variable of a range, and where that range begins and ends."""
    low = at(begin, b)
    return Each(b, domain(begin, length)), low, add(low, at(length, b))


def _pointers(
    n: Var, ranges: tuple[tuple[Expr, Expr], ...], pointer: Function, via: Function | None
) -> tuple[tuple[Each, ...], Var, tuple[Trigger, ...]]:
    """Return the variables of nodes in `ranges` and of their pointers' arguments, the latter, and the triggers."""
    if via is None:
        return (Each(n, (*ranges, *domain(pointer))),), n, (Trigger((pointer,), (n,)),)
    e, after = Var("e"), add(Ref(n), 1)
    nodes = Each(n, (*ranges, (ZERO, sub(extent(via), 1))))
    edges = Each(e, ((at(via, n), at(via, after)), *domain(pointer)))
    return (nodes, edges), e, (Trigger((via,), (n,)), Trigger((pointer,), (e,)))


@dataclass(frozen=True, slots=True)
class Follows(Fact):
    """What a node points to lies in an earlier batch, which is numbered higher.

    For every batch `b` and every `n` in `begin(b) .. begin(b) + length(b)` in the domain: `pointer(n)` (or
    `pointer(e)` for `via(n) <= e < via(n + 1)`, if `via` is given) is at least `begin(b) + length(b)`; where it is
    `optional`, it may be negative instead, and points nowhere.
    """

    pointer: Function
    begin: Function
    length: Function
    via: Function | None = None
    optional: bool = False

    def formulas(self) -> Iterator[Forall]:
        """Yield that each pointer is beyond the node's batch."""
        b, n = Var("b"), Var("n")
        batch, low, end = _in_range(self.begin, self.length, b)
        nodes, e, triggers = _pointers(n, ((low, end),), self.pointer, self.via)
        target = at(self.pointer, e)
        bound = f"{self.begin.name}({{2}}) + {self.length.name}({{2}}) = {{3}}"
        text = f"{self.pointer.name}({{0}}) = {{1}} is below {bound}"
        claim = Claim(compare(target, BinaryOp.GE, end), text, (Ref(e), target, Ref(b), end))
        given = compare(target, BinaryOp.GE, ZERO) if self.optional else None
        yield Forall((batch, *nodes), (claim,), (Trigger((self.begin, self.length), (b,)), *triggers), given)


@dataclass(frozen=True, slots=True)
class Uniform(Fact):
    """What the places of some ranges have in common: `holds`, a comparison of what `function` is there.

    For every `p` in the domains of `begin` and `length` and every `n` in `begin(p) .. begin(p) + length(p)` in the
    domain of `function`: `holds`, which is `function(n) op value` over the function's own parameter. So a range of
    sorted places says what they were sorted by.
    """

    function: Function
    begin: Function
    length: Function
    holds: Expr
    needed: ClassVar[tuple[str, ...]] = (
        "begin",
        "length",
    )  # a loop over a range relies on what its places share

    def __post_init__(self) -> None:
        whole = Call(self.function, tuple(Ref(param.var) for param in self.function.params))
        match self.holds:
            case Binary(op=op, lhs=lhs) if op.is_comparison and lhs == whole:
                return
            case _:
                raise InternalError(
                    f"the condition does not compare '{self.function.name}' of its parameters"
                )

    @staticmethod
    def of(function: Function, op: BinaryOp, value: Expr, begin: Function, length: Function) -> Uniform:
        """Return the fact that `function(n) op value` holds in the ranges."""
        return Uniform(function, begin, length, compare(at(function, function.params[0].var), op, value))

    def formulas(self) -> Iterator[Forall]:
        """Yield the comparison at each place of each range."""
        extent(self.function)
        p, n = Var("p"), self.function.params[0].var
        ranges, low, end = _in_range(self.begin, self.length, p)
        assert isinstance(self.holds, Binary)
        text = f"{self.function.name}({{0}}) = {{1}} is not {self.holds.op.value} {{2}}, and {{0}} is in [{{3}}, {{4}})"
        claim = Claim(self.holds, text, (Ref(n), self.holds.lhs, self.holds.rhs, low, end))
        triggers = Trigger((self.begin, self.length), (p,)), Trigger((self.function,), (n,))
        yield Forall((ranges, Each(n, ((low, end), *domain(self.function)))), (claim,), triggers)


def _require_layers(layers: int) -> None:
    if layers < 1:
        raise InternalError(f"{layers} heights make no step")


@dataclass(frozen=True, slots=True)
class Layered(Fact):
    """The tops of step `s` are each of a group of its own, and their heights are in layer `s`.

    For every `s` and every `t` in `begin(s) .. begin(s + 1)` in the domain: `group(top(t)) = t` and
    `s * layers < height(top(t)) <= (s + 1) * layers`.
    """

    top: Function
    begin: Function
    group: Function
    height: Function
    layers: int
    needed: ClassVar[tuple[str, ...]] = ("top",)

    def __post_init__(self) -> None:
        _require_layers(self.layers)

    def formulas(self) -> Iterator[Forall]:
        """Yield what a top of a step is."""
        s, t = Var("s"), Var("t")
        first, last = at(self.begin, s), at(self.begin, add(Ref(s), 1))
        node = at(self.top, t)
        group, height = at(self.group, node), at(self.height, node)
        low = Binary(BinaryOp.MUL, Ref(s), Const(self.layers))
        yield Forall(
            (Each(s, ((ZERO, sub(extent(self.begin), 1)),)), Each(t, ((first, last), *domain(self.top)))),
            (
                Claim(
                    inside(node, (self.group, self.height)),
                    f"{self.top.name}({{0}}) = {{1}} is no node",
                    (Ref(t), node),
                ),
                Claim(
                    compare(group, BinaryOp.EQ, Ref(t)),
                    f"{self.group.name}({{0}}) = {{1}} is not {{2}}, the step's top that it is",
                    (node, group, Ref(t)),
                ),
                Claim(
                    within(height, add(low, 1), add(low, self.layers + 1)),
                    f"{self.height.name}({{0}}) = {{1}} is not in step {{2}}",
                    (node, height, Ref(s)),
                ),
            ),
            (Trigger((self.begin,), (s,)), Trigger((self.top,), (t,))),
        )


@dataclass(frozen=True, slots=True)
class Descends(Fact):
    """What a node points to is lower, and of the node's group unless it lies in a layer below.

    For every `n` in the domain of `height`, with `m = pointer(n)` (or `pointer(e)` for `via(n) <= e < via(n + 1)`, if
    `via` is given): `height(m) < height(n)`, and `group(m) = group(n)` or
    `height(m) <= (height(n) - 1) // layers * layers`. Where it is `optional`, `m` may be negative instead, and points
    nowhere.
    """

    pointer: Function
    group: Function
    height: Function
    layers: int
    via: Function | None = None
    optional: bool = False
    needed: ClassVar[tuple[str, ...]] = ("pointer", "height")

    def __post_init__(self) -> None:
        _require_layers(self.layers)

    def formulas(self) -> Iterator[Forall]:
        """Yield what a pointer leads to."""
        n = Var("n")
        both = self.group, self.height
        nodes, e, triggers = _pointers(n, domain(*both), self.pointer, self.via)
        target = at(self.pointer, e)
        above, below = at(self.height, n), at(self.height, target)
        layer = Binary(BinaryOp.FLOORDIV, sub(above, 1), Const(self.layers))
        own = compare(at(self.group, target), BinaryOp.EQ, at(self.group, n))
        lower = compare(below, BinaryOp.LE, Binary(BinaryOp.MUL, layer, Const(self.layers)))
        text = f"{self.pointer.name}({{0}}) = {{1}}"
        yield Forall(
            nodes,
            (
                Claim(inside(target, both), f"{text} is no node", (Ref(e), target)),
                Claim(
                    compare(below, BinaryOp.LT, above),
                    f"{text} has height {{2}}, and {{3}} has {{4}}",
                    (Ref(e), target, below, Ref(n), above),
                ),
                Claim(
                    Binary(BinaryOp.OR, own, lower),
                    f"{text} is in the step of {{2}}, and not of its group",
                    (Ref(e), target, Ref(n)),
                ),
            ),
            triggers,
            compare(target, BinaryOp.GE, ZERO) if self.optional else None,
        )
