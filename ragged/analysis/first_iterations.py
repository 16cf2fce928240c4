"""Whether statements touch one element in the first iterations of all loops around them: found without a prover."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ragged.analysis.dependence import storage
from ragged.arith.fold import ZERO, FoldedSubstitution
from ragged.ir.expr import Binary, Buffer, Expr
from ragged.ir.ops import BinaryOp
from ragged.ir.sites import ElementAccess, Site, regions_of


def meet_in_first_iterations(
    first: Iterable[Site], second: Iterable[Site], common: int, about: Callable[[Buffer], bool]
) -> bool:
    """Return whether a statement of each touches one element in their first iterations, one of them by a write.

    The outermost `common` loops around both are in one iteration, and the others run. A solver that looks for such an
    element in sizes and lengths that it chooses itself takes long. Conditional accesses are left out, and buffers that
    it is not `about`.
    """
    read, written = _touched(tuple(first), common, about)
    other_read, other_written = _touched(tuple(second), common, about)
    return bool(written & (other_read | other_written) or read & other_written)


def _touched(
    sites: tuple[Site, ...], common: int, about: Callable[[Buffer], bool]
) -> tuple[set[ElementAccess], set[ElementAccess]]:
    """Return the elements that statements read and those that they write in the first iterations."""
    found: tuple[set[ElementAccess], set[ElementAccess]] = set(), set()
    for site, touched in zip(sites, regions_of(sites), strict=True):
        at_first = _AtFirst(values=dict.fromkeys((loop.var for loop in site.loops[common:]), ZERO))
        for accesses, elements in zip((touched.reads, touched.writes), found, strict=True):
            elements.update(
                replace(access, indices=at_first.exprs(access.indices))
                for access in accesses
                if about(access.buffer) and not access.conditions and storage(access.buffer) is access.buffer
            )
    return found


class _AtFirst(FoldedSubstitution):
    """Folds quotients and remainders of 0 too."""

    def expr(self, expr: Expr) -> Expr:
        match super().expr(expr):
            case Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD, lhs=lhs) if lhs == ZERO:
                return ZERO
            case new:
                return new
