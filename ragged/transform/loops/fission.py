"""fission: one loop as two, over the first and over the second half of its body."""

from __future__ import annotations

from dataclasses import replace

from ragged.analysis.dependence import Copies, find_conflict, storage
from ragged.analysis.site_of import is_named
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Buffer, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site
from ragged.ir.stmt import Alloc, Block, For, If, Label, Let, LoopKind, Stmt, block
from ragged.ir.walk import held, mentions, read, statements, written
from ragged.transform.copy_stmts import Moved
from ragged.transform.legality import labelled, refuse, require_fixed, require_no_team
from ragged.transform.locate import Replace, loop_site


def fission(program: Program, loop: Var, after: Label | Var) -> Rewritten:
    """Let a loop run to its end with the part of its body up to `after`, then again with what comes after that.

    before::

        for n in serial(count):
            node = begin + n
            for i in serial(256):
                t[node, i] = x[node, i]
            for i in serial(256):
                y[node, i] = tanh(t[node, i])

    after `fission(program, n, i)`::

        for n in serial(count):
            node = begin + n
            for i in serial(256):
                t[node, i] = x[node, i]
        for n_rest in serial(count):
            node = begin + n_rest
            for i in serial(256):
                y[node, i] = tanh(t[node, i])

    `after` is a statement or a loop directly in the body; lets that both halves use stand in both. The loop's
    forwarding is (loop, rest).

    Raises:
        ScheduleError: `after` does not stand directly in the loop's body, or is its last; the loop is a team's; a local
            buffer is used in both halves; the first half writes what an extent or a let of the second reads; or the
            second half of an iteration and the first half of a later one are not proven to touch different elements.
    """
    name = after.name
    what = f"fission: cannot cut loop '{loop.name}' after '{name}'"
    site = loop_site(program, loop, "fission")
    old = site.stmt
    assert isinstance(old, For)
    require_no_team(old, what)
    halves = _cut(old.body, after, what)
    if halves is None:
        raise ScheduleError(what, because=f"'{name}' is not in the loop")
    first, second, repeated = halves
    if second == Block():
        raise ScheduleError(what, because=f"nothing comes after '{name}'")
    require_fixed(first, (old.extent, *repeated), what)
    if old.kind is not LoopKind.PARALLEL:
        _require_order(program, site, first, second, loop, what)

    def change(found: For, owner: Rewriter) -> Stmt:
        rest = owner.copied_loop(loop, "rest")
        moved = Moved(values={loop: Ref(rest)}, axes={loop: (rest,)}).stmt(second)
        return block(replace(found, body=first), replace(found, var=rest, body=moved))

    return Replace(loop=loop, change=change).program(program)


def _require_order(program: Program, site: Site, first: Stmt, second: Stmt, loop: Var, what: str) -> None:
    def traded(before: Copies, later: Copies) -> tuple[Expr, ...]:
        return (Binary(BinaryOp.LT, later[loop], before[loop]),)

    conflict = find_conflict(program, labelled(site, first), labelled(site, second), len(site.loops), traded)
    refuse(conflict, what)


def _cut(stmt: Stmt, after: Label | Var, what: str) -> tuple[Stmt, Stmt, list[Expr]] | None:
    """Return `stmt` up to `after`, what comes then, and the lets that both need; None if `after` is not there."""
    match stmt:
        case Block(body=body):
            for k, part in enumerate(body):
                found = _cut(part, after, what)
                if found is not None:
                    return block(*body[:k], found[0]), block(found[1], *body[k + 1 :]), found[2]
            return None
        case Let(body=body):
            found = _cut(body, after, what)
            return None if found is None else _cut_let(stmt, *found)
        case Alloc(body=body):
            found = _cut(body, after, what)
            return None if found is None else (*_cut_local(stmt, found[0], found[1], what), found[2])
        case _ if is_named(stmt, after):
            return stmt, Block(), []
        case For() | If():
            if any(is_named(inner, after) for inner in statements(stmt)):
                inside = f"the loop '{stmt.var.name}'" if isinstance(stmt, For) else "a condition"
                fix = f"fission '{stmt.var.name}' first" if isinstance(stmt, For) else None
                raise ScheduleError(what, because=f"'{after.name}' stands deeper, in {inside}", fix=fix)
            return None
        case _:
            return None


def _cut_let(let: Let, first: Stmt, second: Stmt, needed: list[Expr]) -> tuple[Stmt, Stmt, list[Expr]]:
    """Return the halves of a let's body, each under the let if it uses it."""
    again = _uses(second, let.var)
    if again:
        fresh = Var(let.var.name, let.var.dtype)
        second = replace(let, var=fresh, body=Moved(values={let.var: Ref(fresh)}).stmt(second))
        needed = [*needed, let.value]
    return (replace(let, body=first) if _uses(first, let.var) else first), second, needed


def _cut_local(alloc: Alloc, first: Stmt, second: Stmt, what: str) -> tuple[Stmt, Stmt]:
    """Return the halves of what a local buffer lives in: it goes with the one that uses it."""
    early, late = _touches(first, alloc.buffer), _touches(second, alloc.buffer)
    if early and late:
        name = alloc.buffer.name
        raise ScheduleError(
            what,
            because=f"the local buffer '{name}' is used before and after, and is new in each iteration",
            fix=f"expand_storage first, so that '{name}' has a place for every iteration",
        )
    return (replace(alloc, body=first) if early else first), (replace(alloc, body=second) if late else second)


def _uses(stmt: Stmt, var: Var) -> bool:
    return any(mentions(expr, (var,)) for inner in statements(stmt) for expr in held(inner))


def _touches(stmt: Stmt, buffer: Buffer) -> bool:
    """Return whether `stmt` uses the memory of `buffer`, under whatever name."""
    return any(storage(used) is storage(buffer) for used in read(stmt) | written(stmt))
