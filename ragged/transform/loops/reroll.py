"""reroll: adjacent nests of one form as one nest in a new loop."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import pairwise

from ragged.arith.fold import plus, times
from ragged.errors import ScheduleError
from ragged.ir.dtype import INDEX
from ragged.ir.expr import Buffer, Const, Dim, Expr, Function, Ref, Var
from ragged.ir.index import contents
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import Alloc, Block, For, Label, Let, LoopKind, Stmt
from ragged.ir.walk import leaves, statements


def reroll(program: Program, loops: Sequence[Var], name: str) -> Rewritten:
    """Make one loop over `name` of loops that follow each other directly and differ in numbers of indices alone.

    before::

        for i in serial(256):
            for j in serial(64):
                y[0, i] += W[0, i, j] * x[j]
        for i in serial(256):
            for j in serial(64):
                y[1, i] += W[1, i, j] * x[j]

    after `reroll(program, (i, i), "g")`::

        for g in serial(2):
            for i in serial(256):
                for j in serial(64):
                    y[g, i] += W[g, i, j] * x[j]

    Each number grows by the same step from one to the next. `concat_buffers` brings nests over different buffers into
    this form (CoRa's horizontal fusion, for nests of one shape). The order of everything stays. The forwarding of each
    loop and statement is the one that stands for it in the new loop.

    Raises:
        ScheduleError: there are fewer than two loops, they do not follow each other directly, or they differ otherwise.
    """
    what = f"reroll: cannot make one of the loops {', '.join(repr(loop.name) for loop in loops)}"
    nests = _following(program, loops, what)
    first, numbers = nests[0], [_Numbers.of(nest) for nest in nests]
    for nest in nests[1:]:
        if list(_tokens(nest)) != list(_tokens(first)):
            raise ScheduleError(what, because=f"'{first.var.name}' and the next do not do the same")
    counter = Var(name)
    values: list[Expr] = []
    for row in zip(*numbers, strict=True):
        steps = {later - earlier for earlier, later in pairwise(row)}
        if len(steps) > 1:
            listed = ", ".join(map(str, row))
            raise ScheduleError(
                what, because=f"an index of theirs is {listed}, which no one step leads through"
            )
        values.append(plus(times(Ref(counter), Const(steps.pop())), Const(row[0])))
    rolled = For(counter, Const(len(nests)), _Numbers(values=iter(values)).stmt(first))
    rewriter = _Roll(first=first, others=nests[1:], rolled=rolled)
    for nest in nests[1:]:
        for old, new in zip(contents(nest).loops, contents(first).loops, strict=True):
            rewriter.loop_copies.setdefault(old, []).append(new)
        for gone, kept in zip(leaves(nest), leaves(first), strict=True):
            rewriter.label_copies.setdefault(gone.label, []).append(kept.label)
    return rewriter.program(program)


def _following(program: Program, loops: Sequence[Var], what: str) -> list[For]:
    """Return the loops, which stand directly after each other in one block."""
    for stage in program.stages:
        for stmt in statements(stage.body):
            if not isinstance(stmt, Block):
                continue
            names = [part.var if isinstance(part, For) else None for part in stmt.body]
            if loops and loops[0] in names:
                at = names.index(loops[0])
                found = stmt.body[at : at + len(loops)]
                if len(loops) > 1 and names[at : at + len(loops)] == list(loops):
                    return [part for part in found if isinstance(part, For)]
    raise ScheduleError(
        what, because="they are not two or more loops of one block, each directly after the one before"
    )


def _tokens(
    node: object, bound: dict[object, int] | None = None, *, exact: bool = False
) -> Iterator[Hashable]:
    """Yield what a nest is but for its index constants, unless `exact`, and the names of what it binds."""
    bound = {} if bound is None else bound
    match node:
        case For(kind=LoopKind.VECTORIZED, extent=Const(value=lanes), var=symbol):
            yield lanes  # a vector's length is a number
            bound[symbol] = len(bound)
        case For(var=symbol) | Let(var=symbol):
            bound[symbol] = len(bound)
        case Alloc(buffer=buffer):
            yield from _storage_tokens(buffer, bound)
            bound[buffer] = len(bound)
        case Const(dtype=dtype) if dtype is INDEX and not exact:
            yield "number"
            return
        case Label():
            return
        case _:
            pass
    if isinstance(node, Var | Buffer) and node in bound:
        yield ("bound", bound[node])
    elif isinstance(node, tuple):
        yield len(node)
        for part in node:
            yield from _tokens(part, bound, exact=exact)
    elif is_dataclass(node) and not isinstance(node, Var | Buffer | Function | Dim | type):
        yield type(node).__name__
        for part in fields(node):
            if part.compare:
                yield from _tokens(getattr(node, part.name), bound, exact=exact)
    else:
        yield repr(node) if isinstance(node, float) else node  # NaN is as good as another


def _storage_tokens(buffer: Buffer, bound: dict[object, int]) -> Iterator[Hashable]:
    """Yield what a local buffer is: one is made for all of the nests, so that its extents are the same in each."""
    yield (buffer.dtype, buffer.scope, buffer.order, buffer.align)
    yield from _tokens(buffer.shape, bound, exact=True)
    yield from _tokens(buffer.aliases, bound)


@dataclass
class _Numbers(Rewriter):
    """Visits the index constants of a statement in order: notes them, or puts `values` in their places."""

    values: Iterator[Expr] | None = None
    found: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, stmt: Stmt) -> list[int]:
        """Return the index constants of a statement."""
        visitor = cls()
        visitor.stmt(stmt)
        return visitor.found

    def expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Const) and expr.dtype is INDEX:
            self.found.append(int(expr.value))
            return expr if self.values is None else next(self.values)
        return super().expr(expr)


@dataclass
class _Roll(Rewriter):
    """Puts `rolled` in the place of `first` and takes the others out."""

    first: For = field(kw_only=True)
    others: list[For] = field(kw_only=True)
    rolled: For = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        if stmt is self.first:
            return self.rolled
        if any(stmt is other for other in self.others):
            return Block()
        return super().stmt(stmt)
