"""read_in_place: read rows of a payload through their addresses, without a copy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce

from ragged.analysis.buffers import check_alone, check_free, check_known
from ragged.arith.fold import plus, times
from ragged.errors import InternalError, ScheduleError
from ragged.ir.build import add, sub, within
from ragged.ir.dtype import DType
from ragged.ir.expr import Buffer, Call, Const, Expr, Function, Param, Ref, Role, Source, Var
from ragged.ir.facts import Range
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site
from ragged.ir.stmt import Block, For
from ragged.prove import holds


def read_in_place(program: Program, buffer: Buffer, begin: str, size: str) -> Rewritten:
    """Read each row of a payload where a new function `begin` says that it begins, in memory of `size` elements.

    before::

        x: payload(float32[num_nodes, 16])
        with kernel:
            for n in serial(num_nodes):
                for i in serial(16):
                    y[n, i] = tanh(x[n, i])

    after `read_in_place(program, x, "begin_of_x", "size_of_x")`::

        size_of_x: input()
        begin_of_x: input(n < num_nodes, storage=int64) = facts(0 <= begin_of_x(n) < size_of_x - 15)
        x: payload(float32[size_of_x], align=4)
        with kernel:
            for n in serial(num_nodes):
                for i in serial(16):
                    y[n, i] = tanh(x[begin_of_x(n) + i])

    Rows are those of the first dimension. The caller passes one memory with its rows in any order and with gaps. Must
    come after every primitive that relies on the distance of rows, which is unknown from here on. A prelude checks that
    all rows are in the memory. The buffer is a new one of the same name.

    Raises:
        ScheduleError: the buffer is no payload, or shares its memory; it has one dimension, rows of an extent that is
            not a constant, or another order in memory than row after row; or one of the names is taken.
    """
    what = f"read_in_place: cannot read rows of '{buffer.name}' where they are"
    check_known(program, buffer, "read_in_place")
    check_alone(program, buffer, "read_in_place")
    for name in (begin, size):
        check_free(program, name, "read_in_place")
    if buffer.role is not Role.PAYLOAD:
        raise ScheduleError(
            what,
            because=f"its role is '{buffer.role.value}': no caller has the rows",
            fix="name a payload",
        )
    rows, extents = buffer.shape[0], [e.value for e in buffer.shape[1:] if isinstance(e, Const)]
    in_order = buffer.order == tuple(range(len(buffer.shape)))
    if not extents or len(extents) != len(buffer.shape) - 1 or not in_order:
        raise ScheduleError(
            what,
            because="they are not elements one after another, the same number in each",
            fix="name a payload with rows of constant extents, in the order of its dimensions",
        )
    row = Var("n")
    memory = Function(size, (), Source.INPUT)
    first = Function(begin, (Param(row, rows),), Source.INPUT, storage=DType.INT64)
    long = reduce(lambda a, b: a * b, map(int, extents))
    inside = Range(first, Const(0), sub(Call(memory), long - 1) if long else add(Call(memory), 1))
    new = replace(buffer, shape=(Call(memory),), dims=(), order=(), align=buffer.dtype.bytes)
    rewriter = _InPlace(old=buffer, new=new, begin=first)
    stages = tuple(replace(stage, body=rewriter.stmt(stage.body)) for stage in program.stages)
    declared = replace(
        program,
        functions=(*program.functions, memory, first),
        buffers=tuple(new if other is buffer else other for other in program.buffers),
        facts=(*program.facts, inside),
        stages=stages,
    )
    _rely(declared, first, inside)
    return rewriter.finish(program, declared)


def _rely(program: Program, begin: Function, inside: Range) -> None:
    """Note that rows lie in the memory because a fact says so, for a prelude to check."""
    (param,) = begin.params
    kernel = next(stage for stage in program.stages if stage.kind is StageKind.KERNEL)
    anywhere = Site(kernel, Block(), (For(param.var, param.extent, Block()),))
    goal = within(Call(begin, (Ref(param.var),)), inside.lower, inside.upper)
    if not holds(program, anywhere, goal):  # asked for what it notes, whatever the answer
        raise InternalError(
            f"that rows begin inside of the memory, as a fact says of '{begin.name}', is not proven"
        )


@dataclass
class _InPlace(Rewriter):
    """Puts the place in the memory where the place in the row was."""

    old: Buffer = field(kw_only=True)
    new: Buffer = field(kw_only=True)
    begin: Function = field(kw_only=True)

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        own, inner = super().access(buffer, indices)
        if buffer is not self.old:
            return own, inner
        place: Expr = Const(0)
        for index, extent in zip(inner[1:], self.old.shape[1:], strict=True):
            place = plus(times(place, extent), index)
        return self.new, (plus(Call(self.begin, (inner[0],)), place),)
