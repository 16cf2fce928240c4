"""share_nest: a team shares two nested loops, where it shared the outer one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ragged.analysis.accesses import accesses
from ragged.analysis.buffers import TEMPORARY, check_alone, is_size_expr
from ragged.arith.fold import ONE, ZERO, at_least_zero, plus, times
from ragged.errors import ScheduleError
from ragged.ir.build import sub
from ragged.ir.expr import Binary, Buffer, Expr, Ref, Var
from ragged.ir.index import contents
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import sites
from ragged.ir.stmt import Barrier, For, If, Let, LoopKind, Stmt, block
from ragged.ir.walk import all_expressions, flat, mentions, read, statements, written
from ragged.prove import holds
from ragged.transform.locate import loop_site
from ragged.transform.loops.loop_nests import is_total
from ragged.transform.mapping.work_sharing import begin_of_share


def share_nest(program: Program, loop: Var, inner: Var) -> Rewritten:
    """Share the iterations of a worker's loop and of the last loop in it as those of one loop.

    before::

        for w in team(workers):
            first = w * panels // workers
            for p_s in serial((w + 1) * panels // workers - first):
                p = first + p_s
                for k in serial(n):
                    t[w, k] = x[p, k]
                for b in parallel(blocks):
                    y[p, b] = t[w, b] + 1.0

    after `share_nest(program, p_s, b)`::

        for w in team(workers):
            first = w * (panels * blocks) // workers
            for p_s_b in serial((w + 1) * (panels * blocks) // workers - first):
                p = (first + p_s_b) // blocks
                b = (first + p_s_b) % blocks
                if p_s_b == 0 or b == 0:
                    for k in serial(n):
                        t[w, k] = x[p, k]
                y[p, b] = t[w, b] + 1.0

    Few iterations of the outer loop leave no worker idle then. What stands before the inner loop fills temporaries of
    a worker; it is repeated where a worker's share begins in the middle. As with any number of workers, an iteration of
    the outer loop finds in them what it has filled alone. An inner extent that may be negative is taken as `max(m, 0)`.
    The forwarding of both loops is the new one.

    Raises:
        ScheduleError: `loop` is no share of a team with a barrier on either side, or nothing; `inner` is no parallel
            loop that ends its iterations, or its extent depends on them; workers or threads meet in it; or what stands
            before writes something else than temporaries of a worker, which nothing outside of the loop uses, or
            reads what the loop writes.
    """
    what = f"share_nest: cannot share the iterations of '{loop.name}' and '{inner.name}'"
    share = _share_of(program, loop, what)
    last = share.parts[-1]
    if not isinstance(last, For) or last.var is not inner or last.kind is not LoopKind.PARALLEL:
        raise ScheduleError(
            what,
            because=f"'{inner.name}' is no parallel loop that ends the iterations of '{loop.name}'",
            fix="name the last loop directly inside; parallel first",
        )
    if mentions(last.extent, (share.team.var, share.place.var)) or not is_total(last.extent):
        raise ScheduleError(
            what, because=f"how often '{inner.name}' runs depends on '{loop.name}', or is not always known"
        )
    _require_alike(share, what)
    _require_repeatable(program, share, what)
    extent = last.extent
    if not holds(program, loop_site(program, inner, "share_nest"), Binary(BinaryOp.LE, ZERO, extent)):
        extent = at_least_zero(extent)

    return _WithInner(share=share, inner=last, extent=extent).program(program, kinds=(StageKind.KERNEL,))


@dataclass(frozen=True, slots=True)
class _Share:
    """A worker's share of `count` iterations: from `first` on, each of which binds its `place` and runs `parts`."""

    team: For
    count: Expr
    first: Let
    loop: For
    place: Let

    @property
    def parts(self) -> tuple[Stmt, ...]:
        """The statements of an iteration."""
        return flat(self.place.body)

    def with_inner(self, inner: For, extent: Expr, owner: Rewriter) -> Stmt:
        """Return the share of the iterations of both loops."""
        fused = owner.copied_loop(self.loop.var, inner.var.name)
        owner.loop_copies.setdefault(inner.var, []).append(fused)
        index = plus(Ref(self.first.var), Ref(fused))
        body: Stmt = inner.body
        if self.parts[:-1]:
            new, begun = (Binary(BinaryOp.EQ, Ref(each), ZERO) for each in (fused, inner.var))
            body = block(If(Binary(BinaryOp.OR, new, begun), block(*self.parts[:-1])), body)
        body = Let(inner.var, Binary(BinaryOp.MOD, index, extent), body, inner.at)
        body = Let(self.place.var, Binary(BinaryOp.FLOORDIV, index, extent), body, self.place.at)
        count = times(self.count, extent)
        worker, workers = Ref(self.team.var), self.team.extent
        end = sub(begin_of_share(plus(worker, ONE), count, workers), self.first.var)
        shared = replace(self.loop, var=fused, extent=end, body=body)
        return replace(self.first, value=begin_of_share(worker, count, workers), body=shared)


@dataclass
class _WithInner(Rewriter):
    share: _Share = field(kw_only=True)
    inner: For = field(kw_only=True)
    extent: Expr = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        if stmt is self.share.first:
            return self.share.with_inner(self.inner, self.extent, self)
        return super().stmt(stmt)


def _share_of(program: Program, loop: Var, what: str) -> _Share:
    """Return the share that a loop goes through; nothing but barriers and conditions is around it in its team."""
    loop_site(program, loop, "share_nest")
    for site in sites(program):
        team = site.stmt
        if isinstance(team, For) and team.kind is LoopKind.TEAM and loop in contents(team).loops:
            for part, beside in _parts(team.body):
                found = _matched(team, part)
                if found is not None and found.loop.var is loop and all(map(_meets, beside)):
                    return found
    raise ScheduleError(
        what,
        because=f"'{loop.name}' is no worker's share of a loop, of as many iterations for each, between barriers",
        fix="distribute_over_team first",
    )


def _parts(
    body: Stmt, before: Stmt | None = None, after: Stmt | None = None
) -> Iterator[tuple[Stmt, tuple[Stmt | None, Stmt | None]]]:
    """Yield the statements of a team, and those under conditions on sizes, each with those right before and after."""
    parts = (before, *flat(body), after)
    for last, part, following in zip(parts, parts[1:], parts[2:], strict=False):
        assert part is not None, "only the ends are missing"
        yield part, (last, following)
        if isinstance(part, If) and is_size_expr(part.condition):
            for branch in (part.then, part.orelse):
                if branch is not None:
                    yield from _parts(branch, last, following)


def _meets(stmt: Stmt | None) -> bool:
    """Return whether all workers of a team are there at once: at a barrier, at its begin or its end."""
    return stmt is None or isinstance(stmt, Barrier)


def _matched(team: For, part: Stmt) -> _Share | None:
    match part:
        case (
            Let(
                value=Binary(op=BinaryOp.FLOORDIV, lhs=Binary(op=BinaryOp.MUL, rhs=count)),
                body=For(kind=LoopKind.SERIAL, body=Let() as place) as loop,
            ) as first
        ):
            worker, begin = Ref(team.var), Ref(first.var)
            shared = first.value == begin_of_share(worker, count, team.extent)
            whole = loop.extent == sub(begin_of_share(plus(worker, ONE), count, team.extent), first.var)
            if shared and whole and place.value == plus(begin, Ref(loop.var)):
                return _Share(team, count, first, loop, place)
        case _:
            pass
    return None


def _require_alike(share: _Share, what: str) -> None:
    """Return if an iteration does the same whichever worker runs it, and with whichever others."""
    for stmt in statements(share.place.body):
        match stmt:
            case Barrier(label=label):
                raise ScheduleError(what, because=f"workers meet in it, at '{label.name}'")
            case For(kind=LoopKind.THREADS, var=var):
                raise ScheduleError(what, because=f"the threads of '{var.name}' run in it")
            case _:
                pass
    for expr in all_expressions(share.place.body):
        if mentions(expr, (share.first.var, share.loop.var)):
            raise ScheduleError(
                what, because=f"an iteration depends on where the share begins: {expr_text(expr)}"
            )


def _require_repeatable(program: Program, share: _Share, what: str) -> None:
    """Return if a worker may run what stands before the inner loop once for all iterations of that loop that it has."""
    before = block(*share.parts[:-1])
    own = set(contents(before).buffers)
    for buffer in written(before) - own:
        check_alone(program, buffer, "share_nest")
        if not _is_private(program, share, buffer) or buffer in written(share.parts[-1]):
            raise ScheduleError(
                what,
                because=f"'{buffer.name}', which is written before the inner loop, is no temporary of a worker "
                "that this loop alone uses, and the inner one only reads",
            )
    for buffer in (read(before) & written(share.loop)) - own:
        raise ScheduleError(
            what,
            because=f"'{buffer.name}', which is read before the inner loop, is written in '{share.loop.var.name}'",
        )


def _is_private(program: Program, share: _Share, buffer: Buffer) -> bool:
    """Return whether each worker has a part of its own of a temporary, and uses it in the share's loop alone."""
    found = accesses(program, buffer)
    inside = all(any(outer is share.loop for outer in each.site.around) for each in found)
    own = (all(each.indices[d] == Ref(share.team.var) for each in found) for d in range(len(buffer.shape)))
    return buffer.role in TEMPORARY and inside and any(own)
