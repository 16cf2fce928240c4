"""The schedule of a program of ragged operators: decisions on storage and padding, then rewritings of its loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, TypeAlias

from ragged.api.balance import Balancing, balance, remap
from ragged.api.lower import LoweredOperators, lower
from ragged.api.named_parts import NamedParts
from ragged.api.program import refuse
from ragged.api.signature import Order, Policy, RaggedSignature, ShareTable
from ragged.api.tensors import Loop, RaggedTensor
from ragged.api.tile_rows import TilingSchedule
from ragged.api.values import ValueLike, as_index
from ragged.errors import ScheduleError
from ragged.ir.expr import Expr, Ref, Var
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Forwarding, Rewritten, substitute
from ragged.ir.rule_record import RuleRecord, rules_to_json
from ragged.ir.walk import mentions
from ragged.passes.discharge_checks import discharge_checks
from ragged.passes.drop_unused import drop_unused
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.compute_at import compute_at
from ragged.transform.code.hoist_loads import hoist_loads
from ragged.transform.code.inline import inline
from ragged.transform.code.simplify_guards import simplify_guards
from ragged.transform.loops.fuse import fuse
from ragged.transform.loops.fuse_horizontally import fuse_horizontally
from ragged.transform.loops.fuse_ragged import fuse_ragged
from ragged.transform.loops.loop_nests import find_nest
from ragged.transform.loops.pad_loop import pad_loop
from ragged.transform.loops.partition_loop import partition_loop
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.unroll import unroll
from ragged.transform.mapping.parallel import parallel
from ragged.transform.mapping.vectorize import vectorize
from ragged.transform.storage.cache_read import cache_read

P = ParamSpec("P")
LoopLike: TypeAlias = Loop | Var
"""A loop of an operator as it was declared, or a loop that a primitive made."""


class RaggedSchedule(TilingSchedule, NamedParts):
    """How operators are stored and computed (CoRa, section 4.1).

    First come decisions on storage and padding (`pad_loop`, `pad_dimension`, `compute_at`, `split_dimension`,
    `fuse_dimensions`, `reorder_dimensions`), checked together when the loops are made; then transforms of loops, which
    may name a declared loop as long as it is one loop. A refused step leaves the schedule as it was. The default
    schedule decides the rest.

    Example::

        s = Schedule(B)
        s.pad_loop(B.loops[1], 2)
        s.fuse_loops(B.loops[0], B.loops[1])
    """

    def __init__(self, *outputs: RaggedTensor, name: str | None = None) -> None:
        super().__init__(*outputs, name=name)
        self._made: tuple[LoweredOperators, LoopSchedule] | None = None
        self._balances: list[Balancing] = []
        self.rules: tuple[RuleRecord, ...] = ()
        self.operator = ""  # see `Signature.operator`

    def fuse_loops(self, outer: LoopLike, inner: LoopLike, pad: int = 1) -> Var:
        """Fuse two perfectly nested loops, over rows of any length too (CoRa, section 5.1); returns the new loop.

        With `pad` it runs up to a multiple (bulk padding, section 4.1): results must be stored as far, by
        `fuse_dimensions(..., pad=...)`; inputs read as zero beyond their end.

        Raises:
            ScheduleError: they are not perfectly nested, a prelude cannot know the rows, or an access would be beyond
                what is stored.
        """
        first, second = self.loop(outer), self.loop(inner)
        what = f"fuse_loops: cannot fuse the loops '{first.name}' and '{second.name}'"
        nest = find_nest(self.loops.program, (first, second), what)
        before = self.loops.checkpoint()
        if mentions(nest.extent(1), (first,)):
            (fused,) = self.loops.apply(fuse_ragged, first, second, tables=True).loops[first]
        else:
            (fused,) = self.loops.apply(fuse, first, second).loops[first]
        if pad == 1:
            return fused
        try:
            return self.loops.apply(pad_loop, fused, pad).loops[fused][0]
        except ScheduleError:
            self.loops.restore(before)
            raise

    def fuse_horizontally(self, first: LoopLike, second: LoopLike) -> Var:
        """Fuse two adjacent, independent loops into one parallel loop."""
        one, other = self.loop(first), self.loop(second)
        return self.loops.apply(fuse_horizontally, one, other).loops[one][0]

    def split_loop(self, loop: LoopLike, factor: int, tail: Tail = Tail.GUARD) -> tuple[Var, ...]:
        """Split a loop into blocks of `factor` iterations; returns the new loops. Reductions keep their order.

        The last block has a guard in each iteration, is shorter (`tail=Tail.SHORT`), or is a third loop
        (`tail=Tail.PEEL`).
        """
        own = self.loop(loop)
        return self.loops.apply(split, own, factor, tail).loops[own]

    def partition_loop(self, loop: LoopLike, at: ValueLike | str) -> tuple[Var, ...]:
        """Partition a loop into two, before `at` and from it on (operation splitting); returns both.

        `at` is an index over the dimensions around, as in an extent, or text over the loops around.

        Example::

            whole, rest = s.partition_loop(C.loops[2], n(batch) // 16 * 16)
        """
        own = self.loop(loop)
        edge = self.index(at, own) if isinstance(at, str) else self._placed(at, loop)
        return self.loops.apply(partition_loop, own, edge).loops[own]

    def remap(self, loop: LoopLike, work: ValueLike, policy: Policy = Policy.DEALT) -> Var:
        """Run the outermost iterations of an operator in an order by their `work` (CoRa's thread remapping).

        With `Policy.DEALT` every worker's share has as many iterations and about as much work; with `LONGEST_FIRST`
        shares are of equal work, fewer and longer iterations for the first workers. `work` is an integer over the
        loop's dimension, as in an extent. Equal lengths share an order.

        Raises:
            ScheduleError: the loop is not outermost or not parallel, or its extent is not known before a call.

        Example::

            s.remap(C.loops[0], m(batch) * n(batch) * k(batch))
        """
        made, balances = remap(self.loops, self.lowered, self.loop(loop), work, policy)
        self._balances += balances
        return made

    def balance(self, loop: LoopLike, work: ValueLike) -> None:
        """Give workers contiguous shares of equal work, and not of as many iterations (CoRa's load balancing).

        `loop` is an outermost loop, or one of those that `fuse_loops` made one; `work` is that of an iteration, an
        integer over the dimensions of these loops, as in an extent. Calls of equal lengths have the same shares.

        Raises:
            ScheduleError: the loop is not outermost or not parallel, or its extent or work is not known before a call.

        Example::

            s.fuse_loops(C.loops[0], C.loops[1])
            s.balance(C.loops[1], m(batch) * k(batch))
        """
        self._balances.append(balance(self.loops, self.lowered, self.loop(loop), work))

    def reorder(self, *loops: LoopLike) -> None:
        """Interchange perfectly nested loops into this order."""
        self.loops.apply(reorder, tuple(map(self.loop, loops)))

    def parallel(self, loop: LoopLike) -> None:
        """Run a loop's iterations in parallel."""
        self.loops.apply(parallel, self.loop(loop))

    def vectorize(self, loop: LoopLike) -> None:
        """Run a loop as one vector."""
        self.loops.apply(vectorize, self.loop(loop))

    def unroll(self, loop: LoopLike) -> None:
        """Unroll a loop."""
        self.loops.apply(unroll, self.loop(loop))

    def compute_at(self, tensor: RaggedTensor, loop: LoopLike) -> None:
        """Compute a tensor inside a loop of the nest that reads it, and store what an iteration reads.

        Before loops are changed every read must be at their indices, and their dimensions its outermost ones.
        Afterwards reads may be at others: the region that an iteration reads follows from them (CoRa, section 5.2).

        Raises:
            ScheduleError: it is an output, is read outside of the loop, or at regions that are not known.

        Example::

            s.compute_at(P, s.split_loop(Y.loops[0], 16)[0])  # Y reads P[i - 1], P[i] and P[i + 1]
        """
        if isinstance(loop, Loop) and not self.decided:
            super().compute_at(tensor, loop)
            return
        self._own(tensor, f"compute_at: cannot compute '{tensor.name}'")
        self.loops.apply(compute_at, self.lowered.buffers[tensor], self.loop(loop))

    def inline(self, tensor: RaggedTensor) -> None:
        """Compute a tensor's elements where they are read, without storing them.

        Raises:
            ScheduleError: it is an output or a reduction, or is not computed in the loops that read it: `compute_at`.
        """
        self._own(tensor, f"inline: cannot inline '{tensor.name}'")
        self.loops.apply(inline, self.lowered.buffers[tensor])

    def cache_read(self, tensor: RaggedTensor, loop: LoopLike) -> None:
        """Copy the elements of a tensor that a loop's body reads to a buffer, at the start of each iteration."""
        self._own(tensor, f"cache_read: cannot copy '{tensor.name}'")
        self.loops.apply(cache_read, self.lowered.buffers[tensor], self.loop(loop))

    def hoist_loads(self, loop: LoopLike) -> None:
        """Hoist loop-invariant look-ups of offsets, lengths and rows (CoRa, section 7.4)."""
        self.loops.apply(hoist_loads, self.loop(loop))

    def simplify_guards(self, loop: LoopLike | None = None) -> None:
        """Remove conditions with a known outcome, in a loop or everywhere."""
        self.loops.apply(simplify_guards, None if loop is None else self.loop(loop))

    def apply(
        self, primitive: Callable[Concatenate[Program, P], Rewritten], *args: P.args, **kwargs: P.kwargs
    ) -> Forwarding:
        """Apply any primitive of `ragged.transform`; returns the map from old loops and statements to new ones."""
        current: list[Any] = [self.loop(arg) if isinstance(arg, Loop) else arg for arg in args]
        return self.loops.apply(primitive, *current, **kwargs)

    @property
    def decided(self) -> bool:
        """True when the loops have been made, and nothing is left to decide."""
        return self._made is not None

    @property
    def loops(self) -> LoopSchedule:
        """The program's loops and the primitives applied to them; made when they are first asked for."""
        return self._make()[1]

    def _make(self) -> tuple[LoweredOperators, LoopSchedule]:
        if self._made is None:
            lowered = lower(self.name, self.outputs, self.decisions)
            self._made = lowered, LoopSchedule(discharge_checks(lowered.program).program)
        return self._made

    @property
    def lowered(self) -> LoweredOperators:
        """The naive program, and the operators' buffers and loops in it."""
        return self._make()[0]

    @property
    def signature(self) -> RaggedSignature:
        """The arguments, parameters and results of the compiled function, and the texts of its operators."""
        given, rules = self.lowered.signature, rules_to_json(self.rules)
        texts = {"ragged": to_text(self.lowered.program), "schedule": self.log(), "decisions": rules}
        orders = tuple(each.array for each in self._balances if isinstance(each.array, Order))
        shares = tuple(each.array for each in self._balances if isinstance(each.array, ShareTable))
        return replace(given, texts=texts, orders=orders, shares=shares, operator=self.operator)

    def loop(self, loop: LoopLike | str, nth: int | None = None) -> Var:
        """Return the variable of a loop as it is now; one may be named, as `log` does.

        Raises:
            ScheduleError: it has become several, or none.
        """
        schedule = self.loops
        if isinstance(loop, str):
            return schedule.loop(loop, nth)
        if isinstance(loop, Var):
            return loop
        own = self.lowered.loops.get((loop.tensor, loop.position))
        now = () if own is None else schedule.forwarding.loops.get(own, ())
        if len(now) != 1:
            refuse(
                f"loop '{loop.name}' of '{loop.tensor.name}' is "
                + (f"{len(now)} loops now" if now else "none of its own"),
                fix="name one of those that the primitive returned"
                if now
                else "name the loop that it is now part of",
            )
        return now[0]

    def _placed(self, at: ValueLike, loop: LoopLike) -> Expr:
        """Return an expression of dimensions over the variables of the loops around."""
        lowered = self.lowered
        known: dict[Var, Expr] = {}
        for (tensor, position), var in lowered.loops.items():
            if position < len(tensor.dims) and (not isinstance(loop, Loop) or tensor is loop.tensor):
                known[tensor.dims[position].dim.var] = Ref(var)
        return substitute(lowered.functions.expr(as_index(at, "partition_loop").expr), known)

    def lower(self) -> Program:
        """Return the program as it is now, without functions that it no longer uses; it prints."""
        return drop_unused(self.loops.checked()).program

    def preludes(self) -> tuple[Program, ...]:
        """Return the programs that fill the tables of the current program, in order."""
        return self.preludes_of(self.lower())

    def preludes_of(self, program: Program) -> tuple[Program, ...]:
        """Return the programs that fill the tables that `program` reads."""
        return self.lowered.preludes(program, {each.array.name: each.table for each in self._balances})

    def log(self) -> str:
        """Return the steps so far, as code that takes them again on a schedule `s` of the same operators."""
        loops = "" if self._made is None else self.loops.log()
        return "\n".join([*self._decided, *([loops] if loops else [])])
