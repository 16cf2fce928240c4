"""hoist_loads: move loop-invariant loads and calls before a loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

from ragged.analysis.buffers import READ_ONLY
from ragged.analysis.dependence import storage
from ragged.analysis.obligations import index_obligations
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Select, Var
from ragged.ir.fact import Fact
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site
from ragged.ir.stmt import For, Let, Stmt
from ragged.ir.walk import held, lookups, operands, statements, subexpressions, written
from ragged.passes.assume import assume
from ragged.prove import Proof, answer
from ragged.transform.legality import require_no_lanes
from ragged.transform.locate import Replace, loop_site


def hoist_loads(program: Program, loop: Var) -> Rewritten:
    """Hoist loop-invariant lookups before a loop: offsets and lengths of rows, and elements that it only reads.

    before::

        for b in serial(rows):
            for t in serial(n(b)):
                y[offset(b) + t] = x[offset(b) + t] * scale[b]

    after `hoist_loads(program, t)`::

        for b in serial(rows):
            offset_b = offset(b)
            scale_b = scale[b]
            for t in serial(n(b)):
                y[offset_b + t] = x[offset_b + t] * scale_b

    This is load hoisting (CoRa, section 7.4 and appendix D.7). It hoists the largest expressions of lookups with all
    variables bound outside of the loop, if they are proven to be in bounds before the loop, which may run zero times.
    An element that the program writes may not have been written where the loop does not run: unless the loop is proven
    to run, such a lookup gets a condition, `part[b] if n(b) > 0 else 0.0`. The prelude checks the facts of the proofs.
    A program with nothing to hoist is returned unchanged.

    Raises:
        ScheduleError: there is no such loop, or it is a team's or vectorized.
    """
    site = loop_site(program, loop, "hoist_loads")
    old = site.stmt
    assert isinstance(old, For)
    require_no_lanes(old, f"hoist_loads: cannot hoist out of loop '{loop.name}'", "name a loop around it")
    found, facts = _found(program, site, old)
    if not found:
        return Rewriter().finish(program, program)
    guarded = {expr for expr in found if any(map(_is_computed, subexpressions(expr)))}
    if guarded and isinstance(runs := answer(program, site, _runs(old)), Proof):
        guarded, facts = set(), facts | frozenset(runs.facts)

    def change(_: For, owner: Rewriter) -> Stmt:
        inner: Stmt = replace(old, body=_Looked(values=found).stmt(old.body))
        for expr, var in reversed(found.items()):
            inner = Let(var, _where_it_runs(old, expr) if expr in guarded else expr, inner)
        return inner

    result = Replace(loop=loop, change=change).program(program)
    return replace(result, program=assume(result.program, facts))


def _found(program: Program, site: Site, loop: For) -> tuple[dict[Expr, Var], frozenset[Fact]]:
    """Return what is to be hoisted, with the variable that holds it, and the facts by which it has a value."""
    known = {outer.var for outer in site.around if isinstance(outer, For | Let)}
    changed = {storage(buffer) for buffer in written(loop)}
    found: dict[Expr, Var] = {}
    facts: frozenset[Fact] = frozenset()
    for stmt in statements(loop.body):
        for expr in held(stmt):
            for part in _largest(expr, known, changed):
                if part in found:
                    continue
                proofs = [answer(program, site, access.condition) for access in index_obligations(part)]
                if all(isinstance(proof, Proof) for proof in proofs):
                    found[part] = Var(_name(part), part.dtype)
                    facts |= {fact for proof in proofs if isinstance(proof, Proof) for fact in proof.facts}
    return found, facts


def _is_computed(expr: Expr) -> bool:
    """Return whether an expression reads an element that the program writes."""
    return isinstance(expr, Load) and storage(expr.buffer).role not in READ_ONLY


def _runs(loop: For) -> Expr:
    return Binary(BinaryOp.GT, loop.extent, Const(0, loop.extent.dtype))


def _where_it_runs(loop: For, expr: Expr) -> Expr:
    """Return the expression where the loop runs, and else zero, which nothing reads."""
    return Select(_runs(loop), expr, Const(expr.dtype.numpy.type(0).item(), expr.dtype))


def _largest(expr: Expr, known: Set[Var], changed: Set[Buffer]) -> Iterator[Expr]:
    """Yield the largest parts of an expression that look something up and are the same in each iteration."""
    parts = tuple(subexpressions(expr))
    same = all(
        (not isinstance(part, Ref) or part.var in known)
        and (not isinstance(part, Load) or storage(part.buffer) not in changed)
        for part in parts
    )
    if same and next(lookups(expr), None) is not None:
        yield expr
        return
    for operand in operands(expr):
        yield from _largest(operand, known, changed)


def _name(expr: Expr) -> str:
    """Return a name for what an expression looks up first, and where."""
    first = next(lookups(expr))
    symbol, args = (first.buffer, first.indices) if isinstance(first, Load) else (first.function, first.args)
    return "_".join([symbol.name, *(arg.var.name for arg in args if isinstance(arg, Ref))])


@dataclass
class _Looked(Rewriter):
    """Puts variables in place of what they hold."""

    values: Mapping[Expr, Var] = field(kw_only=True)

    def expr(self, expr: Expr) -> Expr:
        found = self.values.get(expr)
        return super().expr(expr) if found is None else Ref(found, expr.at)
