"""An independent check of a whole schedule: no dependence of the first program is violated in the last.

Each step of a schedule proved its own legality with our prover. Here isl reads back, step by step, which iteration of a
new statement is which one of the old: loops that stay are equal, and so are indices of accesses of buffers that stay.
The dates of two dependent iterations must be in their order in the last program, and equal in its parallel loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ragged.ir.expr import Buffer, Expr, Load, Var
from ragged.ir.program import Program
from ragged.ir.sites import path_to
from ragged.ir.stmt import For, Label, LoopKind, Reduce, Store
from ragged.ir.walk import held, subexpressions
from ragged.polyhedral.context import PolyhedralLimitError
from ragged.schedule.loop_schedule import LoopSchedule
from tests.support.dependences.accesses import DatedStatement, dated_statements
from tests.support.dependences.relations import Dependences, dependences_of


def violated_dependences(first: Program, schedule: LoopSchedule, *, reductions: bool = True) -> list[str]:
    """Return the dependences of `first` that a schedule of it violates, each as text; none if it is right.

    Args:
        first: the program that the schedule started from.
        schedule: made in `recorded_schedules`, of sequential and parallel loops, not yet over workers.
        reductions: whether the updates of an accumulator keep their order.

    Raises:
        PolyhedralLimitError: accesses do not say which iteration is which, or isl gave up.
    """
    with dependences_of(first, reductions=reductions) as known:
        copies = _Copies(known)
        for program, forwarding in schedule.rewritings():
            copies.follow(program, forwarding.labels)
        return list(copies.violations())


class _Copies:
    """The statements that stand for each first one, with the relation from its iterations to theirs."""

    def __init__(self, known: Dependences) -> None:
        self.known = known
        self.parameters = dict(known.accesses.parameters)
        self.names = {each.label: each.name for each in known.accesses.statements}
        self.found: list[tuple[DatedStatement, Any]] = [
            (each, self.read([f"{each.point()} -> {each.point()}"])) for each in known.accesses.statements
        ]

    def read(self, texts: Iterable[str]) -> Any:
        """Return a relation of isl."""
        from islpy import UnionMap

        head = f"[{', '.join(self.parameters)}] -> "
        return UnionMap.read_from_str(self.known.domain.get_ctx(), f"{head}{{ {'; '.join(texts)} }}")

    def follow(self, program: Program, labels: Mapping[Label, tuple[Label, ...]]) -> None:
        """Go on to what stands for the statements in the next program."""
        now = {each.label: each for each in dated_statements(program)}
        found = []
        for statement, relation in self.found:
            copies = [now[label] for label in labels.get(statement.label, ()) if label in now]
            copies = [each for each in copies if not _writes_back(each, copies)]
            if not copies:
                raise PolyhedralLimitError(f"nothing stands for '{statement.label.name}' after a step")
            for copy in copies:
                new = replace(copy, name=self.names.setdefault(copy.label, f"S{len(self.names)}"))
                same = new.label is statement.label and new.loops == statement.loops
                found.append(
                    (new, relation if same else relation.apply_range(self.read([self.step(statement, new)])))
                )
        self.found = found

    def step(self, old: DatedStatement, new: DatedStatement) -> str:
        """Return which iterations of a statement are which of its copy."""
        unknowns: dict[Expr, str] = {}
        before, bounds = old.text(self.parameters, unknowns)
        after, inside = new.text(self.parameters, unknowns, "j")
        parts = [*bounds, *inside]
        parts += [f"{before.names[var]} = {after.names[var]}" for var in old.loops if var in new.loops]
        parts += [*before.said(path_to(old.site).conditions), *after.said(path_to(new.site).conditions)]
        mine, theirs = list(_accessed(old)), list(_accessed(new))
        for (buffer, indices), (other, others) in zip(mine, theirs, strict=False):
            if len(mine) == len(theirs) and buffer is other:
                pairs = zip(indices, others, strict=True)
                parts += [f"{before.integer(a)} = {after.integer(b)}" for a, b in pairs]
        return f"{old.point()} -> {new.point('j')} : {after.all_of(parts)}"

    def violations(self) -> Iterator[str]:
        """Yield what is wrong in the last program."""
        from islpy import UnionSet

        last = [statement for statement, _ in self.found]
        relation = self.read([])
        for _, each in self.found:
            relation = relation.union(each)
        relation = relation.intersect_domain(self.known.domain)
        if not self.known.domain.is_subset(relation.domain()):
            raise PolyhedralLimitError("iterations are lost, or accesses do not say where they are")
        if not relation.reverse().is_single_valued():
            raise PolyhedralLimitError("accesses do not say which iteration is which")
        dependences = self.known.all.apply_domain(relation).apply_range(relation)
        depth = max(len(each.loops) for each in last)
        dates = self.read(each.date(depth) for each in last)
        wrong: list[Any] = []
        dependences.subtract(dates.lex_lt_union_map(dates)).coalesce().foreach_map(wrong.append)
        yield from (f"not in order: {self.named(each)}" for each in wrong)
        for loop, inside in _parallel_loops(last):
            depth = inside[0].loops.index(loop.var) + 1
            axes = self.read(
                f"{each.point()} -> [{', '.join(map(each.index, each.loops[:depth]))}]" for each in inside
            )
            crossing = dependences.apply_domain(axes).apply_range(axes).deltas()
            text = f"{{ [{'0, ' * (depth - 1)}d] : d != 0 }}"
            if not crossing.intersect(UnionSet.read_from_str(crossing.get_ctx(), text)).is_empty():
                yield f"the iterations of the parallel loop '{loop.var.name}' depend on each other"

    def named(self, relation: Any) -> str:
        """Return a relation of two statements with their labels."""
        from islpy import dim_type

        labels = {name: label.name for label, name in self.names.items()}
        pair = [labels[relation.get_tuple_name(side)] for side in (dim_type.in_, dim_type.out)]
        return f"'{pair[0]}' and '{pair[1]}' where {relation}"


def _parallel_loops(statements: Iterable[DatedStatement]) -> list[tuple[For, list[DatedStatement]]]:
    """Return the parallel loops with the statements in each."""
    found: dict[Var, tuple[For, list[DatedStatement]]] = {}
    for each in statements:
        for loop in each.site.loops:
            if loop.kind is LoopKind.PARALLEL:
                found.setdefault(loop.var, (loop, []))[1].append(each)
    return list(found.values())


def _writes_back(statement: DatedStatement, copies: Iterable[DatedStatement]) -> bool:
    """Return whether a copy only moves what another copy wrote elsewhere."""
    value = getattr(statement.site.stmt, "value", None)
    others = (each for each in copies if each is not statement)
    return isinstance(value, Load) and any(
        getattr(o.site.stmt, "buffer", None) is value.buffer for o in others
    )


def _accessed(statement: DatedStatement) -> Iterator[tuple[Buffer, tuple[Expr, ...]]]:
    """Yield what a statement writes and what it reads, lets substituted."""
    stmt, path = statement.site.stmt, path_to(statement.site)
    if isinstance(stmt, Store | Reduce):
        yield stmt.buffer, tuple(map(path.expand, stmt.indices))
    for expr in held(stmt):
        for part in subexpressions(path.expand(expr)):
            if isinstance(part, Load):
                yield part.buffer, part.indices
