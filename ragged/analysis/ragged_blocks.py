"""Buffers that the iterations of a loop divide into blocks from one begin to the next: the rows of a ragged array."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from ragged.analysis.blocks import accesses_of_own_memory
from ragged.arith.affine import AffineForm, affine
from ragged.arith.fold import ZERO
from ragged.ir.build import add, within
from ragged.ir.expr import Binary, Buffer, Call, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import substitute
from ragged.ir.sites import ElementAccess, Site, path_to
from ragged.ir.walk import subexpressions, written
from ragged.prove import Proof, prover_of

_FEW = 2
"""Statements that take no more questions in pairs than one by one."""


def ragged_blocks(
    program: Program, inside: Iterable[Site], var: Var, depth: int, known: Collection[Buffer]
) -> Iterator[Buffer]:
    """Yield buffers of which each iteration of the loop over `var` touches elements from its begin up to the next one.

    `inside` are the statements in the loop, which is inside `depth` others; of the `known` buffers that need not be
    asked, nor of those that are read alone or by few statements. Begins are a function of the iteration, as
    `n_begin` in `y[n_begin(b) + t, d]`: each access is proven to be in its block, where pairs of them would be as many
    questions as the square of their number, and later blocks are proven to begin where earlier ones have ended.
    """
    sites = tuple(inside)
    stored = {buffer for site in sites for buffer in written(site.stmt)}
    for buffer, accesses in accesses_of_own_memory(sites).items():
        if buffer in known or buffer not in stored or len(accesses) <= _FEW:
            continue
        first = next(iter(accesses))
        if any(_are_blocks(program, accesses, var, depth, *each) for each in _begins(first, var)):
            yield buffer


def _begins(access: ElementAccess, var: Var) -> Iterator[tuple[int, Call]]:
    """Yield each dimension in which an access has a call of the loop's number, with the call."""
    for place, index in enumerate(access.indices):
        for term, factor in affine(index).terms.items():
            if factor == 1 and isinstance(term, Call) and Ref(var) in term.args:
                yield place, term


def _are_blocks(
    program: Program,
    accesses: Mapping[ElementAccess, Site],
    var: Var,
    depth: int,
    place: int,
    begin: Call,
) -> bool:
    """Return whether all accesses are proven to be in blocks from one begin to the next, one after another."""
    prover = prover_of(program)
    around = path_to(next(iter(accesses.values()))).ranges[: depth + 1]
    outer = {own for own, _ in around[:depth]}
    mentioned = {part.var for part in subexpressions(begin) if isinstance(part, Ref)}
    if not mentioned <= {*outer, var}:
        return False
    after = substitute(begin, {var: add(Ref(var), 1)})
    own, later = Var(var.name), Var(f"{var.name}'")
    extent = around[depth][1]
    follows = Binary(
        BinaryOp.OR,
        Binary(BinaryOp.LE, Ref(later), Ref(own)),
        Binary(BinaryOp.LE, substitute(after, {var: Ref(own)}), substitute(begin, {var: Ref(later)})),
    )
    loops = (*around[:depth], (own, extent), (later, extent))
    if not isinstance(prover.prove(follows, loops=loops), Proof):
        return False
    for access, site in accesses.items():
        form = affine(access.indices[place])
        if form.terms.get(begin) != 1:
            return False
        rest = form.plus(AffineForm({begin: 1}), -1).expr
        size = Binary(BinaryOp.SUB, after, begin)
        goal = within(rest, ZERO, size)
        if not isinstance(
            prover.prove(goal, loops=path_to(site).ranges, conditions=access.conditions), Proof
        ):
            return False
    return True
