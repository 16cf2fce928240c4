"""Loops that run beyond their extent: guards of reads, bounds of writes, arguments of functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.accesses import sites_writing
from ragged.analysis.obligations import index_obligations
from ragged.arith.affine import affine
from ragged.arith.fold import ONE, ZERO
from ragged.errors import ScheduleError
from ragged.ir.build import both, zero
from ragged.ir.expr import Binary, Buffer, Call, Expr, Load, Ref, Role, Select, Var
from ragged.ir.index import contents
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.rewrite import substitute
from ragged.ir.sites import Site
from ragged.ir.stmt import Alloc, For, Let, Reduce, Stmt, Store
from ragged.ir.walk import mentions
from ragged.prove import Context, Proof, Unproven
from ragged.prove.context_rewriter import ContextRewriter

_GIVEN = (Role.PAYLOAD, Role.PARAMETER)


def surroundings(site: Site) -> Context:
    """Return the loops, lets and conditions around `site`."""
    return Context(
        tuple((loop.var, loop.extent) for loop in site.loops),
        tuple(site.lets.items()),
        tuple(site.conditions),
    )


@dataclass
class PadExtent(ContextRewriter):
    """Extends a loop to a longer extent with all accesses in bounds; `assumed` are the facts used.

    Elements beyond an argument, or that no statement wrote, read as zero. `context` has the loops, lets and conditions
    around the loop, `what` the refusal. `changed` are the variables with other values in the new iterations.
    """

    loop: For = field(kw_only=True)
    what: str = field(kw_only=True)
    changed: set[Var] = field(default_factory=set)
    inner: frozenset[Var] = field(init=False)

    def __post_init__(self) -> None:
        self.inner = frozenset(contents(self.loop.body).loops)

    def loop_up_to(self, extent: Expr) -> For:
        """Return the loop with another extent, not below the old one."""
        self.changed.add(self.loop.var)
        with self.inside(replace(self.context, loops=(*self.context.loops, (self.loop.var, extent)))):
            return replace(self.loop, extent=extent, body=self.stmt(self.loop.body))

    # --- statements --------------------------------------------------------------------------------------------

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement where it stands."""
        match stmt:
            case For(var=var, extent=value) | Let(var=var, value=value):
                if mentions(value, self.changed):
                    self.changed.add(var)
                return super().stmt(stmt)
            case Alloc(buffer=buffer) if any(mentions(extent, self.changed) for extent in buffer.shape):
                because = f"'{buffer.name}' is as large as an iteration needs it"
                raise ScheduleError(self.what, because=because)
            case Store(buffer=buffer, indices=indices) | Reduce(buffer=buffer, indices=indices):
                self.require_stored(buffer, indices)
                return super().stmt(stmt)
            case _:
                return super().stmt(stmt)

    def require_stored(self, buffer: Buffer, indices: Sequence[Expr]) -> None:
        """Raise `ScheduleError` unless the written element is proven to be in bounds."""
        for index, extent in zip(indices, buffer.shape, strict=True):
            for goal in _inside(index, extent):
                found = self.answer(goal)
                if isinstance(found, Unproven):
                    raise self.too_short(buffer, "written", index, extent, found)

    # --- expressions -------------------------------------------------------------------------------------------

    def expr(self, expr: Expr) -> Expr:
        """Rewrite an expression where it is evaluated."""
        match expr:
            case Load(buffer=buffer, indices=indices, at=at):
                return self.load(Load(buffer, self.exprs(indices), at))
            case Call(function=function, args=args, at=at):
                return self.call(Call(function, self.exprs(args), at))
            case _:
                return super().expr(expr)

    def load(self, load: Load) -> Expr:
        """Return a load, of zero where it goes beyond what a caller gave.

        Where an index depends on loops inside of this one, it is zero in all new iterations: that stays as it is while
        those loops run.
        """
        inside: Expr | None = None
        before = Binary(BinaryOp.LT, Ref(self.loop.var), self.loop.extent)
        for position, (index, extent) in enumerate(zip(load.indices, load.buffer.shape, strict=True)):
            given = load.buffer.role in _GIVEN
            if not given and mentions(index, self.changed) and not self.is_written(load, position):
                inside = before
            for goal in _inside(index, extent):
                with self.where(inside):
                    found = self.answer(goal)
                if isinstance(found, Proof):
                    continue
                if not given:
                    raise self.too_short(load.buffer, "read", index, extent, found)
                apart = mentions(goal, self.inner) and self.holds_before(before, goal)
                inside = both(inside, before if apart else goal)
        if inside is None:
            return load
        return Select(inside, load, zero(load.dtype))

    def holds_before(self, before: Expr, goal: Expr) -> bool:
        """Return whether a goal is proven where the condition `before` holds."""
        with self.where(before):
            return isinstance(self.answer(goal), Proof)

    def is_written(self, load: Load, position: int) -> bool:
        """Return whether an index is below the end of what a loop writes, or where the iteration writes itself.

        Others are read in the iterations that there were before alone.
        """
        index = load.indices[position]
        for site in sites_writing(self.asked, (load.buffer,)):
            if isinstance(site.stmt, Store):
                at = site.stmt.indices[position]
                if at == index:
                    return True
                ends = (loop.extent for loop in site.loops if at == Ref(loop.var))
                if any(isinstance(self.answer(Binary(BinaryOp.LT, index, end)), Proof) for end in ends):
                    return True
        return False

    def call(self, call: Call) -> Call:
        """Return a call that has a value: of the last iteration's where the new ones have none."""
        unproven = self.first_unproven(call)
        if unproven is None:
            return call
        last = affine(Binary(BinaryOp.SUB, self.loop.extent, ONE)).expr
        held = {self.loop.var: Binary(BinaryOp.MIN, Ref(self.loop.var), last)}
        again = Call(call.function, tuple(substitute(arg, held) for arg in call.args), call.at)
        if again == call or self.first_unproven(again) is not None:
            raise ScheduleError(
                self.what,
                because=f"{expr_text(call)} is not proven to have a value beyond the loop's end",
                example=unproven.example,
            )
        return again

    def first_unproven(self, call: Call) -> Unproven | None:
        """Return why a call, its arguments apart, may have no value, or None if it has one."""
        inside = {access.condition for arg in call.args for access in index_obligations(arg)}
        for access in index_obligations(call):
            if access.condition not in inside:
                found = self.answer(access.condition)
                if isinstance(found, Unproven):
                    return found
        return None

    # --- what is known -----------------------------------------------------------------------------------------

    def answer(self, goal: Expr) -> Proof | Unproven:
        """Prove a goal here; what speaks of nothing that changed holds as it did."""
        if not mentions(goal, self.changed):
            return Proof(frozenset())
        return super().answer(goal)

    def too_short(
        self, buffer: Buffer, done: str, index: Expr, extent: Expr, found: Unproven
    ) -> ScheduleError:
        """Return the refusal of an access that is not proven to be inside of what is stored."""
        return ScheduleError(
            f"{self.what}: '{buffer.name}' is too short",
            because=f"'{buffer.name}' is {done} at {expr_text(index)}, and holds {expr_text(extent)}",
            example=found.example,
            fix=f"store '{buffer.name}' up to such a multiple",
        )


def _inside(index: Expr, extent: Expr) -> Iterable[Expr]:
    """Return the two halves of what is asked of an index."""
    return Binary(BinaryOp.LE, ZERO, index), Binary(BinaryOp.LT, index, extent)
