"""Rules of loops: teams and their barriers, vectors, and what reductions reduce over."""

from __future__ import annotations

from ragged.ir.checks.refusal import refusal
from ragged.ir.expr import Const, Var
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.nesting import Nesting
from ragged.ir.program import Program
from ragged.ir.sites import Branch, Enclosing, Site, sites
from ragged.ir.stmt import (
    CONCURRENT,
    Alloc,
    Barrier,
    BarrierScope,
    For,
    Let,
    LoopKind,
    Reduce,
    lanes_at_most,
)
from ragged.ir.walk import statements, varies

_MEETING = {BarrierScope.TEAM: LoopKind.TEAM, BarrierScope.BLOCK: LoopKind.THREADS}
"""The kind of loop that a barrier of each scope synchronizes."""


def check_reductions(program: Program) -> None:
    """A reduction's axes are loops around it, outermost first, that its place and start do not depend on."""
    for site in sites(program):
        if isinstance(site.stmt, Reduce):
            fault = _reduction_fault(site, site.stmt)
            if fault is not None:
                raise refusal(program, site.stmt, fault)


def check_teams(program: Program) -> None:
    """A team's loop is in no loop of concurrent iterations: there is one team of workers."""
    for site in sites(program):
        if isinstance(site.stmt, For) and site.stmt.kind is LoopKind.TEAM:
            for loop in site.loops:
                if loop.kind in (*CONCURRENT, LoopKind.VECTORIZED):
                    raise refusal(
                        program, site.stmt, f"a team inside the {loop.kind.value} loop '{loop.var.name}'"
                    )


def check_threads(program: Program) -> None:
    """Threads are those of a team's worker, as many for each; they share what is allocated around them alone."""
    for site in sites(program):
        stmt, kinds = site.stmt, [loop.kind for loop in site.loops]
        if isinstance(stmt, For) and stmt.kind is LoopKind.THREADS:
            if LoopKind.TEAM not in kinds:
                raise refusal(program, stmt, "threads outside of a team's loop")
            for loop in site.loops:
                if loop.kind not in (LoopKind.TEAM, LoopKind.SERIAL, LoopKind.UNROLLED):
                    raise refusal(
                        program, stmt, f"threads inside the {loop.kind.value} loop '{loop.var.name}'"
                    )
            if not isinstance(stmt.extent, Const):
                raise refusal(program, stmt, f"the number of threads '{stmt.var.name}' is not constant")
        if isinstance(stmt, Alloc) and stmt.buffer.scope is MemoryScope.SHARED and LoopKind.THREADS in kinds:
            note = f"each thread allocates '{stmt.buffer.name}', which is for all of them"
            raise refusal(program, stmt, note)


def check_vectors(program: Program) -> None:
    """A vectorized loop has a constant extent, or the minimum of one and a number, and plain statements in it."""
    for site in sites(program):
        loop = site.stmt
        if isinstance(loop, For) and loop.kind is LoopKind.VECTORIZED:
            if lanes_at_most(loop) is None:
                raise refusal(program, loop, f"the vectorized loop '{loop.var.name}' has no constant extent")
            for inner in statements(loop.body):
                if isinstance(inner, For | Alloc | Barrier):
                    note = f"the vectorized loop '{loop.var.name}' holds more than plain statements"
                    raise refusal(program, inner, note)


def check_barriers(program: Program) -> None:
    """A barrier is inside the loop that it synchronizes, and all iterations reach it."""
    for site in sites(program):
        if isinstance(site.stmt, Barrier):
            fault = _barrier_fault(site, site.stmt.scope)
            if fault is not None:
                raise refusal(program, site.stmt, fault)


def _nesting(site: Site) -> Nesting:
    nesting = Nesting()
    for outer in site.around:
        match outer:
            case For(var=var):
                nesting = nesting.in_loop(var)
            case Let(var=var, value=value):
                nesting = nesting.in_let(var, value)
            case Alloc(buffer=buffer):
                nesting = nesting.in_alloc(buffer)
            case Branch():
                pass
    return nesting


def _reduction_fault(site: Site, reduce: Reduce) -> str | None:
    nesting = _nesting(site)
    loops = {loop.var: loop for loop in site.loops}
    outside = nesting.loops[: nesting.depth.get(reduce.buffer, 0)]
    for var in reduce.axes:
        if var not in loops:
            return f"it reduces over '{var.name}', which is no loop around it"
        if var in outside:
            return (
                f"it reduces over '{var.name}', and '{reduce.buffer.name}' is new in each iteration of that"
            )
        if loops[var].kind in CONCURRENT:
            return f"it reduces over '{var.name}', a loop with concurrent iterations"
        if var in nesting.loops_of(*reduce.indices):
            return f"it reduces over '{var.name}', which its place depends on"
        if var in nesting.loops_of(reduce.init):
            return f"it reduces over '{var.name}', which its start depends on"
    if list(reduce.axes) != [var for var in nesting.loops if var in reduce.axes]:
        return "its axes are not in the order of the loops"
    return None


def _barrier_fault(site: Site, scope: BarrierScope) -> str | None:
    """Return why some worker or thread may miss the barrier at `site`: a condition depends on its index.

    A condition around a barrier of a block may depend on the worker, which is the same for all threads of the block.
    """
    noun = "worker" if scope is BarrierScope.TEAM else "thread"
    kind = _MEETING[scope]
    around = [k for k, o in enumerate(site.around) if isinstance(o, For) and o.kind is kind]
    if not around:
        return (
            "a barrier outside a team's loop" if noun == "worker" else "a block's barrier outside its threads"
        )
    meeting, inside = site.around[around[-1]], site.around[around[-1] + 1 :]
    assert isinstance(meeting, For)
    tainted = {meeting.var}
    for outer in inside:
        fault = _divergence(outer, tainted, noun)
        if fault is not None:
            return f"not every {noun} comes to this barrier: {fault}"
        if isinstance(outer, For) and outer.kind is LoopKind.THREADS:
            tainted.add(outer.var)
        if isinstance(outer, Let) and varies(outer.value, tainted):
            tainted.add(outer.var)
    return None


def _divergence(outer: Enclosing, tainted: set[Var], noun: str) -> str | None:
    match outer:
        case For(var=var, kind=LoopKind.PARALLEL):
            return f"it is in the parallel loop '{var.name}'"
        case For(var=var, extent=extent) if varies(extent, tainted):
            return f"how often the loop '{var.name}' runs depends on the {noun}"
        case Branch(condition=condition) if varies(condition, tainted):
            return f"a condition around it depends on the {noun}"
        case _:
            return None
