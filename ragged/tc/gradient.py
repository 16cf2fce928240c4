"""Gradients: from a function to the definition of its reverse, as text of the language.

The statements are gone through from the last to the first. A statement that reads `V(g(i,r))` adds to the adjoint of V
the adjoint of its target times the derivative of its right side: at each element of V summed over the iterations that
read it (`ragged.tc.inverse`), so that each element has one writer. What the derivatives read is computed again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ragged.arith.fold import FoldedSubstitution
from ragged.ir.build import both
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Cast, Const, Expr, Load, Ref, Select, Var
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.walk import loads, reads_memory, variables
from ragged.tc import tree as tc
from ragged.tc.checked import (
    CheckedFunction,
    CheckedStatement,
    IndexRange,
    TensorVersion,
    domain_over,
    ranges_at,
)
from ragged.tc.errors import refuse
from ragged.tc.gradient_arguments import chosen_parameters
from ragged.tc.gradient_text import BufferStatement, DefinitionWriter
from ragged.tc.named_calls import name_calls
from ragged.tc.partials import negated, partials, product, total, where
from ragged.tc.pull_back import PullBack
from ragged.tc.ranges import difference
from ragged.tc.types import computed, converted, is_float

_LAST = Const(2**31 - 1)
"""A position after all others."""


def gradient_of(
    function: CheckedFunction, free: Sequence[str], wrt: Sequence[str] | None, saved: Collection[str]
) -> tc.Definition:
    """Return the definition of the gradients of a function's parameters `wrt`; if it is None, of the `free` floats.

    Its parameters are the function's, then those of its outputs that are `saved` and read, then `d_NAME` for each
    output of floats, the gradient of a number by it. Its outputs are `d_NAME` for each of `wrt`, in that order.

    Raises:
        TcError: of phase "check": a name is no parameter or output, or is of integers, or an output that is no
            parameter is read before it is written.
    """
    chosen = chosen_parameters(function, free, wrt, saved)
    return _Reverse(name_calls(function), chosen, saved).definition()


@dataclass
class _Adjoint:
    """The adjoint of a version: a sum of parts, each summed over indices of its own, at the indices `element`."""

    element: tuple[Var, ...]
    parts: list[tuple[Expr, dict[Var, IndexRange]]] = field(default_factory=list)
    given: Buffer | None = None


class _Reverse:
    def __init__(self, function: CheckedFunction, wrt: Sequence[str], saved: Collection[str]) -> None:
        self.function = function
        self.wrt = wrt
        self.writer = DefinitionWriter(function, saved)
        self.adjoints: dict[TensorVersion, _Adjoint] = {}
        self.saved = {function.outputs[name]: name for name in saved}
        self.active = self._active()

    def _active(self) -> set[TensorVersion]:
        """Return the versions of floats that depend on the parameters that are asked for."""
        found = {self.function.parameters[name] for name in self.wrt}
        for statement in self.function.statements:
            reads = {self.function.versions[part.buffer] for part in loads(statement.value)}
            if is_float(statement.target.type) and found & {*reads, statement.previous, statement.earlier}:
                found.add(statement.target)
        return found

    def definition(self) -> tc.Definition:
        for name, version in self.function.outputs.items():
            if is_float(version.type):
                self.adjoint(version).given = self.writer.cotangent(name, version)
        for statement in reversed(self.function.statements):
            if statement.target in self.adjoints and statement.target in self.active:
                self.through(statement, self.finished(statement.target, f"d_{statement.target.name}"))
        for name in self.wrt:
            version = self.function.parameters[name]
            self.adjoint(version)
            self.writer.result(name, self.finished(version, f"d_{name}", result=True))
        return self.writer.definition(self.saved)

    # --- adjoints ------------------------------------------------------------------------------------------

    def adjoint(self, version: TensorVersion, names: Sequence[str] = ()) -> _Adjoint:
        """Return the adjoint of a version; its indices get `names` where they have none of a statement."""
        if version not in self.adjoints:
            own = next((each for each in self.function.statements if each.target is version), None)
            chosen = [var.name for var in own.indices] if own is not None else names or _names(version)
            self.adjoints[version] = _Adjoint(tuple(map(Var, chosen)))
        return self.adjoints[version]

    def finished(self, version: TensorVersion, name: str, *, result: bool = False) -> Buffer:
        """Write the statements of an adjoint; return what stands for it."""
        own = self.adjoints[version]
        if own.given is not None and not own.parts and not result:
            return own.given
        assert version.domain is not None, "all domains are known"
        ranges = ranges_at(own.element, version.domain)
        dtype = computed(version.type)
        whole = None if own.given is None else self.given(own.given, version, own.element)
        for value, summed in own.parts:
            if not summed:
                whole = total(whole, value)
        sums = [(value, summed) for value, summed in own.parts if summed]
        if whole is None and not sums:
            whole = Cast(dtype, Const(0.0, DType.FLOAT32))
        if isinstance(whole, Load) and not sums and not result:
            same = self.writer.domains.get(whole.buffer) == version.domain
            if same and whole.indices == tuple(map(Ref, own.element)) and whole.dtype is dtype:
                return whole.buffer
        buffer = self.writer.tensor(name, version.type, version.domain)
        if whole is not None:
            self.writer.backward.append(BufferStatement(buffer, own.element, "=", whole, ranges))
        for value, summed in sums:
            operator = "+=!" if whole is None else "+="
            whole = value
            self.writer.backward.append(
                BufferStatement(buffer, own.element, operator, value, ranges | summed)
            )
        return buffer

    def given(self, buffer: Buffer, version: TensorVersion, indices: Sequence[Var]) -> Expr:
        """Return an element of an adjoint: one that a call gives is stored from 0 on."""
        assert version.domain is not None
        places = zip(indices, version.domain, strict=True)
        shifted = (
            difference(Ref(var), own.lower) if buffer in self.writer.cotangents else Ref(var)
            for var, own in places
        )
        return Load(buffer, tuple(shifted))

    def wanted(self, load: Load) -> bool:
        return self.function.versions.get(load.buffer) in self.active

    def add(self, statement: CheckedStatement, load: Load, value: Expr, seed: Expr) -> None:
        """Add `value`, the adjoint of a read at each iteration of a statement, to that of the version that is read.

        `seed` is the adjoint of the statement's target.
        """
        version = self.function.versions[load.buffer]
        assert version.domain is not None
        own = self.adjoint(
            version, [_name_of(statement, *each) for each in zip(load.indices, version.domain, strict=True)]
        )
        pull_back = PullBack(self.function, statement, load, value, own.element, seed, self.writer)
        own.parts.append(pull_back.part())

    def pass_on(self, statement: CheckedStatement, version: TensorVersion, value: Expr) -> None:
        """Add `value` at the indices of a statement's target to the adjoint of the version before it."""
        if version in self.active:
            own = self.adjoint(version)
            at: dict[Var, Expr] = dict(zip(statement.indices, map(Ref, own.element), strict=True))
            own.parts.append((FoldedSubstitution(values=at).expr(value), {}))

    # --- statements ----------------------------------------------------------------------------------------

    def through(self, statement: CheckedStatement, buffer: Buffer) -> None:
        """Add to the adjoints of what a statement reads, from that of its target, which stands in `buffer`."""
        seed = self.given(buffer, statement.target, statement.indices)
        before, dtype = None, computed(statement.target.type)
        if statement.previous is not None:
            before = converted(_element(statement, statement.previous), dtype)
        match statement.combiner:
            case None | Combiner.SUM:
                body, rest = seed, seed
            case Combiner.PROD:
                body, rest = self.of_product(statement, seed, before)
            case Combiner.MIN | Combiner.MAX:
                body, rest = self.of_winner(statement, seed, before)
        inside = statement.inside
        if statement.previous is not None:
            self.pass_on(
                statement, statement.previous, rest if inside is None else Select(inside, rest, seed)
            )
        elif statement.partial and statement.earlier is not None and inside is not None:
            self.pass_on(statement, statement.earlier, where(negated(inside), seed))
        stored = _element(statement, statement.target) if _keeps_value(statement) else None
        found = partials(_value(statement), body, self.wanted, stored)
        for value, number in Counter(found.values()).items():
            if number > 1 and not statement.reduced and not isinstance(value, Load):
                kept = self.helper(statement, "d", "=", value, statement.target.type)
                found = {load: kept if own == value else own for load, own in found.items()}
        for load, value in found.items():
            self.add(statement, load, value, seed)

    def of_product(self, statement: CheckedStatement, seed: Expr, before: Expr | None) -> tuple[Expr, Expr]:
        """Return the adjoints of a factor and of what the product starts from: products of all other factors.

        Zeros are counted, and left out of the product: so nothing is divided by one.
        """
        value = _value(statement)
        if before is not None:
            seed, outer = product(seed, before), seed
        else:
            outer = seed
        if not statement.reduced:
            return seed, product(outer, value)
        zero, one = Const(0.0, value.dtype), Const(1.0, value.dtype)
        none = Binary(BinaryOp.EQ, value, zero)
        zeros = self.helper(statement, "zeros", "+=!", Select(none, Const(1), Const(0)), "int32")
        others = self.helper(statement, "others", "*=!", Select(none, one, value), statement.target.type)
        alone = where(Binary(BinaryOp.EQ, zeros, Const(1)), others)
        all_ = where(Binary(BinaryOp.EQ, zeros, Const(0)), Binary(BinaryOp.DIV, others, value))
        rest = where(Binary(BinaryOp.EQ, zeros, Const(0)), others)
        return product(seed, Select(none, alone, all_)), product(outer, rest)

    def of_winner(self, statement: CheckedStatement, seed: Expr, before: Expr | None) -> tuple[Expr, Expr]:
        """Return the adjoints of a candidate and of what a minimum or a maximum starts from: the first winner's."""
        target = _element(statement, statement.target)
        loses = None if before is None else negated(Binary(BinaryOp.EQ, before, target))
        rest = seed if before is None else where(Binary(BinaryOp.EQ, before, target), seed)
        compared = [statement.value] * bool(statement.reduced) + [before] * (before is not None)
        if not all(isinstance(each, Load) and self.function.versions[each.buffer].given for each in compared):
            self.saved.pop(statement.target, None)  # what it is compared with is computed here
        if not statement.reduced:
            return where(loses, seed), rest
        value = _value(statement)
        if not isinstance(value, Load):
            name, ranges = (
                f"values_{statement.target.name}",
                {v: statement.ranges[v] for v in statement.all_indices},
            )
            domain = domain_over(statement.all_indices, statement.ranges)
            buffer = self.writer.tensor(name, statement.target.type, domain)
            self.writer.before[statement] = BufferStatement(buffer, statement.all_indices, "=", value, ranges)
            value = self.writer.bodies[statement] = Load(buffer, tuple(map(Ref, statement.all_indices)))
        if any(not statement.ranges[var].is_fixed(statement.all_indices) for var in statement.reduced[1:]):
            raise refuse(
                f"the gradient of '{statement.target.name}' is not defined: extents of its reduction vary",
                statement.source.at,
                because="the first of several equal elements is found by the number of its iteration",
                fix="one index for each minimum or maximum, in a statement of its own",
            )
        place: Expr = Const(0)
        for var in statement.reduced:
            own = statement.ranges[var]
            extent, index = difference(own.upper, own.lower), difference(Ref(var), own.lower)
            place = Binary(BinaryOp.ADD, Binary(BinaryOp.MUL, place, extent), index)
        candidate = Select(Binary(BinaryOp.EQ, value, target), place, _LAST)
        first = self.helper(statement, "first", "min=!", candidate, "int32")
        won = Binary(BinaryOp.EQ, place, first)
        return where(won if loses is None else both(loses, won), seed), rest

    def helper(self, statement: CheckedStatement, what: str, operator: str, value: Expr, type_: str) -> Expr:
        """Write a reduction over the iterations of a statement; return its element at the target's indices."""
        domain = domain_over(statement.indices, statement.ranges)
        buffer = self.writer.tensor(f"{what}_{statement.target.name}", type_, domain)
        ranges = {var: statement.ranges[var] for var in statement.all_indices}
        self.writer.backward.append(BufferStatement(buffer, statement.indices, operator, value, ranges))
        return Load(buffer, tuple(map(Ref, statement.indices)))


def _element(statement: CheckedStatement, version: TensorVersion) -> Expr:
    return Load(version.buffer, tuple(map(Ref, statement.indices)))


def _value(statement: CheckedStatement) -> Expr:
    """Return the right side in the type that the target is computed in."""
    return converted(statement.value, computed(statement.target.type))


def _names(version: TensorVersion) -> list[str]:
    return [f"i{position}" for position in range(version.rank)]


def _name_of(statement: CheckedStatement, index: Expr, own: IndexRange) -> str:
    """Return what to call an element's index: as an index of the statement in it, or as a size in small letters."""
    if not reads_memory(index):
        for var in statement.all_indices:
            if var in variables(index):
                return var.name
    return own.upper.var.name.lower() if isinstance(own.upper, Ref) else "i"


def _keeps_value(statement: CheckedStatement) -> bool:
    """Return whether a target's elements are the values of the right side, not rounded to a narrower type."""
    type_ = statement.target.type
    return statement.combiner is None and type_ == computed(type_).value
