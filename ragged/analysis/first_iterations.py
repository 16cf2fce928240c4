"""Whether statements touch one element in the first iterations of all loops around them: found without a prover."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ragged.analysis.dependence import storage
from ragged.arith.fold import ZERO, FoldedSubstitution
from ragged.ir.expr import Binary, Buffer, Expr
from ragged.ir.ops import BinaryOp
from ragged.ir.sites import Site, regions_of


def meet_in_first_iterations(
    first: Iterable[Site], second: Iterable[Site], common: int, about: Callable[[Buffer], bool]
) -> bool:
    """Return whether a statement of each surely touch one element in their first iterations, one of them a write.

    The outermost `common` loops around both are in one iteration. A solver that looks for such an element in sizes and
    lengths that it chooses itself takes long. Conditional accesses are left out, and buffers that it is not `about`.
    """
    mine, yours = (list(_touched(each, common, about)) for each in (tuple(first), tuple(second)))
    return any(
        (one_writes or other_writes) and one == other
        for one, one_writes in mine
        for other, other_writes in yours
    )


def _touched(
    sites: tuple[Site, ...], common: int, about: Callable[[Buffer], bool]
) -> Iterable[tuple[tuple[Buffer, tuple[Expr, ...]], bool]]:
    """Yield what statements touch in the first iterations: the memory, the element, and whether it is written."""
    for site, touched in zip(sites, regions_of(sites), strict=True):
        at_first = _AtFirst(values=dict.fromkeys((loop.var for loop in site.loops[common:]), ZERO))
        for access, writes in (*((a, False) for a in touched.reads), *((a, True) for a in touched.writes)):
            if about(access.buffer) and not access.conditions and storage(access.buffer) is access.buffer:
                yield (access.buffer, at_first.exprs(access.indices)), writes


class _AtFirst(FoldedSubstitution):
    """Folds quotients and remainders of 0 too."""

    def expr(self, expr: Expr) -> Expr:
        match super().expr(expr):
            case Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD, lhs=lhs) if lhs == ZERO:
                return ZERO
            case new:
                return new
