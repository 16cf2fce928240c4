"""The schedule of a program of ragged operators: decisions on storage and padding, then rewritings of its loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeAlias

from ragged.api.attach import check_attached
from ragged.api.lower import Lowered, lower
from ragged.api.program import Decisions, decide_parts, tensors_of
from ragged.api.tensors import Kind, Loop, Tensor, TensorDim
from ragged.errors import Location, ModelError, ScheduleError
from ragged.ir.expr import Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Forwarding, Rewritten
from ragged.passes.discharge_checks import discharge_checks
from ragged.schedule.fuse import fuse
from ragged.schedule.fuse_ragged import fuse_ragged
from ragged.schedule.parallel import parallel
from ragged.schedule.reorder import reorder
from ragged.schedule.schedule import Schedule as LoopSchedule
from ragged.schedule.split import Tail, split
from ragged.schedule.unroll import unroll
from ragged.schedule.vectorize import vectorize

P = ParamSpec("P")
LoopLike: TypeAlias = Loop | Var
"""A loop of an operator as it was declared, or a loop that a primitive made."""


class Schedule:
    """How operators are stored and computed (CoRa, section 4.1).

    First come decisions on storage and padding (`pad_loop`, `pad_dimension`, `compute_at`, `fuse_dimensions`,
    `reorder_dimensions`), which are checked together when the loops are made; then rewritings of loops. A refused
    primitive leaves the schedule as it was. What is left open the compiler's own schedule decides.

    Example::

        s = Schedule(B)
        s.pad_loop(B.loops[1], 2)
        s.pad_dimension(B.dims[1], 4)
        s.fuse_loops(B.loops[0], B.loops[1])
        print(s.lower())
    """

    def __init__(self, *outputs: Tensor, name: str | None = None) -> None:
        for output in outputs:
            if output.kind is not Kind.COMPUTED:
                raise ModelError(f"Schedule: '{output.name}' is not computed", at=Location.capture())
        if not outputs:
            raise ModelError("Schedule: there is nothing to compute", at=Location.capture())
        self.outputs = outputs
        self.name = name or outputs[-1].name
        self.tensors = tensors_of(outputs)
        self.decisions = Decisions()
        decide_parts(self.tensors, self.decisions)
        self._decided: list[str] = []
        self._lowered: Lowered | None = None
        self._loops: LoopSchedule | None = None

    # --- decisions -----------------------------------------------------------------------------------------

    def pad_loop(self, loop: Loop, multiple: int) -> None:
        """Run a loop up to a multiple, over elements that nobody looks at; storage has to extend as far.

        What it reads beyond the end of an input's row is zero. Padding a reduction would change its value: refused.

        Raises:
            ScheduleError: it is the loop of a reduction, or the multiple is less than 1. That storage is too short is
                found when loops are made.
        """
        what = f"pad_loop: cannot pad loop '{loop.name}'"
        self._own(loop.tensor, what)
        if loop.position >= len(loop.tensor.dims):
            raise ScheduleError(
                what,
                at=Location.capture(),
                because="it is the loop of a reduction: more of it would be another value",
                fix="split it with a peeled tail",
            )
        self._decide(what, multiple)
        self.decisions.loops[loop.tensor, loop.position] = multiple
        self._decided.append(f"s.pad_loop({loop.tensor.name}.loops[{loop.position}], {multiple})")

    def pad_dimension(self, dim: TensorDim, multiple: int) -> None:
        """Store a dimension up to a multiple. Inputs have to come stored so: `x.with_padding(...)`.

        Raises:
            ScheduleError: the dimension is of no tensor here, or the multiple is less than 1.
        """
        assert dim.tensor is not None, "the dimensions of a tensor know it"
        what = f"pad_dimension: cannot pad dimension '{dim.dim.name}' of '{dim.tensor.name}'"
        self._own(dim.tensor, what)
        self._decide(what, multiple)
        self.decisions.storage[dim.tensor, dim.position] = multiple
        self._decided.append(f"s.pad_dimension({dim.tensor.name}.dims[{dim.position}], {multiple})")

    def compute_at(self, tensor: Tensor, loop: Loop) -> None:
        """Compute a tensor inside a loop of the nest that uses it, and store no more of it than one iteration uses.

        Its outermost dimensions are those of the loops around, and every use of it reads it at their indices.

        Raises:
            ScheduleError: it is an output, its dimensions are others, or something outside of the loop reads it.
        """
        what = f"compute_at: cannot compute '{tensor.name}' in loop '{loop.name}' of '{loop.tensor.name}'"
        self._own(tensor, what)
        self._own(loop.tensor, what)
        self._decide(what, 1)
        depth = loop.position + 1
        self._check_at(what, tensor, loop.tensor, depth)
        self.decisions.at[tensor] = (loop.tensor, depth)
        self._decided.append(f"s.compute_at({tensor.name}, {loop.tensor.name}.loops[{loop.position}])")

    def fuse_dimensions(self, outer: TensorDim, inner: TensorDim) -> None:
        """Store two neighbouring dimensions as one: of a box, or the tiles of a dimension of any length.

        Raises:
            ScheduleError: they are not neighbours of one tensor. That they make no one dimension is found when loops
                are made.
        """
        tensor = self._computed("fuse_dimensions", outer, inner)
        groups = list(self._groups(tensor))
        first = next(k for k, group in enumerate(groups) if outer.position in group)
        if (
            first + 1 >= len(groups)
            or groups[first][-1] != outer.position
            or groups[first + 1][0] != inner.position
        ):
            raise ScheduleError(
                f"fuse_dimensions: '{outer.dim.name}' and '{inner.dim.name}' of '{tensor.name}' are not stored side "
                "by side, in this order",
                at=Location.capture(),
            )
        groups[first : first + 2] = [(*groups[first], *groups[first + 1])]
        self.decisions.groups[tensor] = tuple(groups)
        self._decided.append(
            f"s.fuse_dimensions({tensor.name}.dims[{outer.position}], {tensor.name}.dims[{inner.position}])"
        )

    def reorder_dimensions(self, *dims: TensorDim) -> None:
        """Store a tensor's dimensions in this order; fused ones go by their first.

        Raises:
            ScheduleError: they are not all of one tensor, or an extent would come before what it depends on.
        """
        tensor = self._computed("reorder_dimensions", *dims)
        groups = {group[0]: group for group in self._groups(tensor)}
        if sorted(groups) != sorted(each.position for each in dims):
            raise ScheduleError(
                f"reorder_dimensions: ({', '.join(each.dim.name for each in dims)}) are not all dimensions of "
                f"'{tensor.name}', each once",
                at=Location.capture(),
            )
        self.decisions.groups[tensor] = tuple(groups[each.position] for each in dims)
        listed = ", ".join(f"{tensor.name}.dims[{each.position}]" for each in dims)
        self._decided.append(f"s.reorder_dimensions({listed})")

    # --- loops ---------------------------------------------------------------------------------------------

    def fuse_loops(self, outer: LoopLike, inner: LoopLike) -> Var:
        """Make one loop of two that stand directly inside each other; rows of any length too (CoRa, section 5.1)."""
        loops = self.loops
        first, second = self.loop(outer), self.loop(inner)
        before = loops.checkpoint()
        try:
            (fused,) = loops.apply(fuse, first, second).loops[first]
        except ScheduleError:
            loops.restore(before)
            (fused,) = loops.apply(fuse_ragged, first, second).loops[first]
        return fused

    def split(self, loop: LoopLike, factor: int, tail: Tail = Tail.GUARD) -> tuple[Var, ...]:
        """Make two loops of one, over blocks of `factor` iterations and inside of a block; returns the new loops."""
        own = self.loop(loop)
        return self.loops.apply(split, own, factor, tail).loops[own]

    def reorder(self, *loops: LoopLike) -> None:
        """Bring loops that stand directly inside each other into this order."""
        self.loops.apply(reorder, tuple(map(self.loop, loops)))

    def parallel(self, loop: LoopLike) -> None:
        """Run a loop's iterations at once."""
        self.loops.apply(parallel, self.loop(loop))

    def vectorize(self, loop: LoopLike) -> None:
        """Run a loop as one vector."""
        self.loops.apply(vectorize, self.loop(loop))

    def unroll(self, loop: LoopLike) -> None:
        """Write a loop's iterations out in the code."""
        self.loops.apply(unroll, self.loop(loop))

    def apply(
        self, primitive: Callable[Concatenate[Program, P], Rewritten], *args: P.args, **kwargs: P.kwargs
    ) -> Forwarding:
        """Apply any primitive of `ragged.schedule` to the loops; returns what became of loops and statements."""
        resolved: list[Any] = [self.loop(arg) if isinstance(arg, Loop) else arg for arg in args]
        return self.loops.apply(primitive, *resolved, **kwargs)

    @property
    def loops(self) -> LoopSchedule:
        """The program's loops and the primitives applied to them; made when they are first asked for."""
        return self._make()

    def _make(self) -> LoopSchedule:
        if self._loops is None:
            self._lowered = lower(self.name, self.outputs, self.decisions)
            self._loops = LoopSchedule(discharge_checks(self._lowered.program).program)
        return self._loops

    @property
    def lowered(self) -> Lowered:
        """The naive program, and what became of the operators in it."""
        self._make()
        assert self._lowered is not None
        return self._lowered

    def loop(self, loop: LoopLike) -> Var:
        """Return the variable of a loop as it is now.

        Raises:
            ScheduleError: it has become several, or none.
        """
        schedule = self.loops
        if isinstance(loop, Var):
            return loop
        own = self.lowered.loops.get((loop.tensor, loop.position))
        now = () if own is None else schedule.forwarding.loops.get(own, ())
        if len(now) != 1:
            raise ScheduleError(
                f"loop '{loop.name}' of '{loop.tensor.name}' is "
                + (f"{len(now)} loops now" if now else "none of its own"),
                at=Location.capture(),
                fix="name one of those that the primitive returned"
                if now
                else "name the loop that it is now part of",
            )
        return now[0]

    def lower(self) -> Program:
        """Return the program as it is now; it prints."""
        return self.loops.program

    def preludes(self) -> tuple[Program, ...]:
        """Return the programs that fill the tables of the program as it is now, in the order in which they run."""
        return self.lowered.preludes(self.lower())

    def log(self) -> str:
        """Return the steps so far, as code that takes them again."""
        loops = "" if self._loops is None else self._loops.log()
        return "\n".join([*self._decided, *([loops] if loops else [])])

    # --- what is refused -----------------------------------------------------------------------------------

    def _own(self, tensor: Tensor, what: str) -> None:
        if tensor not in self.tensors:
            raise ScheduleError(
                what, at=Location.capture(), because=f"'{tensor.name}' is not of this program"
            )

    def _decide(self, what: str, multiple: int) -> None:
        if type(multiple) is not int or multiple < 1:
            raise ScheduleError(what, at=Location.capture(), because=f"{multiple!r} is no multiple")
        if self._loops is not None:
            raise ScheduleError(
                what,
                at=Location.capture(),
                because="the loops have been made",
                fix="decide on storage and padding before loops are rewritten or printed",
            )

    def _computed(self, what: str, *dims: TensorDim) -> Tensor:
        tensors = {each.tensor for each in dims}
        tensor = next(iter(tensors)) if len(tensors) == 1 else None
        if tensor is None or tensor.kind is not Kind.COMPUTED or tensor not in self.tensors:
            raise ScheduleError(
                f"{what}: the dimensions are not of one tensor that is computed here",
                at=Location.capture(),
                because="inputs are stored as callers hold them",
            )
        self._decide(what, 1)
        return tensor

    def _groups(self, tensor: Tensor) -> tuple[tuple[int, ...], ...]:
        plain = tuple((position,) for position in range(len(tensor.dims)))
        return self.decisions.groups.get(tensor, plain)

    def _check_at(self, what: str, tensor: Tensor, consumer: Tensor, depth: int) -> None:
        check_attached(what, tensor, consumer, depth, self.tensors, self.outputs, self.decisions)
