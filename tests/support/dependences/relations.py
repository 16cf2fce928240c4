"""Dependences between iterations of statements: they touch one element, one of them writes it, and one is earlier."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ragged.ir.expr import Var
from ragged.ir.program import Program
from ragged.ir.stmt import Reduce
from ragged.polyhedral.context import MAX_OPERATIONS, isl_context
from tests.support.dependences.accesses import Accesses, DatedStatement, accesses_of


@dataclass(frozen=True, slots=True)
class Dependences:
    """Dependences of a kernel, relations of isl from earlier to later iterations: it lives in `dependences_of` only.

    `flow` (read after write), `anti` (write after read) and `output` (write after write) are memory-based: a value that
    is overwritten in between counts.
    """

    accesses: Accesses
    domain: Any
    flow: Any
    anti: Any
    output: Any

    @property
    def all(self) -> Any:
        """The union of all dependences."""
        return self.flow.union(self.anti).union(self.output)

    def between(self, sources: Collection[DatedStatement], sinks: Collection[DatedStatement]) -> Any:
        """Return the dependences of iterations of `sinks` on iterations of `sources`."""
        return self.all.intersect_domain(self._of(sources)).intersect_range(self._of(sinks))

    def _of(self, statements: Collection[DatedStatement]) -> Any:
        from islpy import UnionSet

        return UnionSet.read_from_str(
            self.domain.get_ctx(), f"{{ {'; '.join(each.point() for each in statements)} }}"
        )

    def distances(self, relation: Any, loops: Mapping[DatedStatement, Var]) -> Any:
        """Return the set of differences, of the later and the earlier iteration, of one loop of each statement."""
        from islpy import UnionMap

        axis = UnionMap.read_from_str(self.domain.get_ctx(), self.accesses.axis(loops))
        return relation.apply_domain(axis).apply_range(axis).deltas()

    def some(self, distances: Any, condition: str) -> bool:
        """Return whether a distance `d` holds a condition."""
        from islpy import UnionSet

        wanted = UnionSet.read_from_str(self.domain.get_ctx(), f"{{ [d] : {condition} }}")
        return not distances.intersect(wanted).is_empty()


@contextmanager
def dependences_of(program: Program, *, reductions: bool = True) -> Iterator[Dependences]:
    """Give the dependences of a program's kernel, as it is written.

    Args:
        program: a program; its parallel loops are looked at in their order.
        reductions: whether the updates of one accumulator by one statement keep their order; without it they may be
            reassociated.

    Raises:
        PolyhedralLimitError: isl gave up, or the kernel is none that `accesses_of` describes.
    """
    accesses = accesses_of(program)
    with isl_context() as isl:
        isl.set_max_operations(0)  # without a bound: this is a check of a compiler, not a part of one
        try:
            from islpy import UnionMap, UnionSet

            domain = UnionSet.read_from_str(isl, accesses.domain)
            reads, writes, dates = (
                UnionMap.read_from_str(isl, text).intersect_domain(domain)
                for text in (accesses.reads, accesses.writes, accesses.dates)
            )
            before = dates.lex_lt_union_map(dates)

            def ordered(first: Any, second: Any) -> Any:
                found = first.apply_range(second.reverse()).intersect(before)
                for each in () if reductions else accesses.statements:
                    if isinstance(each.site.stmt, Reduce):
                        own = UnionMap.read_from_str(isl, f"{{ {each.point()} -> {each.point('j')} }}")
                        found = found.subtract(own)
                return found

            yield Dependences(
                accesses, domain, ordered(writes, reads), ordered(reads, writes), ordered(writes, writes)
            )
        finally:
            isl.set_max_operations(MAX_OPERATIONS)
