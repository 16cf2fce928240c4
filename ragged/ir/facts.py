"""What is known of uninterpreted functions: a closed list.

A fact is an assumption about data. Each kind has a Z3 axiom (`ragged.prove`), a NumPy check
(`ragged.ir.check_facts`) and a generated native check (`ragged.passes.check_facts`) that a call runs for the
facts that proofs used. `CoRa` section 5 and `CORTEX` Appendix A name the properties that lowering relies on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ragged.errors import InternalError
from ragged.ir.expr import Expr, Function
from ragged.ir.ops import BinaryOp


@dataclass(frozen=True, slots=True)
class Range:
    """`lower <= f(args) < upper` over the whole domain; the bounds may use the function's own parameters and sizes."""

    function: Function
    lower: Expr
    upper: Expr


@dataclass(frozen=True, slots=True)
class Monotone:
    """`f(i) <= f(i + 1)` (`<` if strict), for a function of one parameter."""

    function: Function
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Injective:
    """Different arguments give different values, for a function of one parameter."""

    function: Function


@dataclass(frozen=True, slots=True)
class PrefixSum:
    """`offset(0) = 0`, `offset(i + 1) = offset(i) + length(i)` and `length(i) >= 0`.

    `offset` has one argument more in its domain than `length`, whose source may be an expression of `offset`.
    """

    offset: Function
    length: Function


@dataclass(frozen=True, slots=True)
class Owner:
    """`owner(f)` is a row of `offset` that place f is in: `offset(owner(f)) <= f < offset(owner(f) + 1)`.

    A row is an argument of `offset` but the last one. This is CoRa's map f_fo from a fused loop to the outer one.
    """

    owner: Function
    offset: Function


@dataclass(frozen=True, slots=True)
class Tiling:
    """The ranges `begin(b) .. begin(b) + length(b)` tile `[0, total)`, the first at its end, each next one below.

    `begin(0) = first`, `begin(0) + length(0) = total`, `begin(b + 1) + length(b + 1) = begin(b)`,
    `begin(last) = 0`, and no length is negative.
    """

    begin: Function
    length: Function
    first: Expr
    total: Expr


@dataclass(frozen=True, slots=True)
class Follows:
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


@dataclass(frozen=True, slots=True)
class Uniform:
    """What the places of some ranges have in common: one comparison of what `function` is there, `op` and `value`.

    For every `p` in the domains of `begin` and `length` and every `n` in `begin(p) .. begin(p) + length(p)` in the
    domain of `function`: `function(n) op value`. The value may use the function's own parameter and sizes. So a range
    of sorted places says what they were sorted by.
    """

    function: Function
    op: BinaryOp
    value: Expr
    begin: Function
    length: Function

    def __post_init__(self) -> None:
        if not self.op.is_comparison:
            raise InternalError(f"Uniform: '{self.op.value}' compares nothing")


@dataclass(frozen=True, slots=True)
class Layered:
    """The tops of step `s` are each of a group of its own, and their heights are in layer `s`.

    For every `s` and every `t` in `begin(s) .. begin(s + 1)` in the domain: `group(top(t)) = t` and
    `s * layers < height(top(t)) <= (s + 1) * layers`.
    """

    top: Function
    begin: Function
    group: Function
    height: Function
    layers: int


@dataclass(frozen=True, slots=True)
class Descends:
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


Fact: TypeAlias = (
    Range | Monotone | Injective | PrefixSum | Owner | Tiling | Follows | Layered | Descends | Uniform
)
