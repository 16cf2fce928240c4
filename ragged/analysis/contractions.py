"""Contractions in a program: the reductions that a schedule spends its effort on, above all sums of products."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragged.analysis.site_of import site_of
from ragged.analysis.strides import stepped
from ragged.ir.buffer_size import bytes_of
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Role, Var
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import Site, sites, sites_in
from ragged.ir.stmt import Block, For, Label, Let, Reduce, Store
from ragged.ir.walk import mentions, subexpressions


@dataclass(frozen=True, slots=True)
class Contraction:
    """`out[..., o1, o2] += a * b`, reduced over `axis`: a matrix times a vector or a matrix; or the same of pairs.

    Or any reduction of one load along `vector` and of others that are the same for it, as of `max(W[i, j] + h[j])`.
    `outputs` are the loops around it, outermost first, of constant extents. `vector` is the one of them to vectorize,
    if any: `vector_operand` is contiguous in it, or would be after packing (`packed`: the parameter and its dimension),
    and no other load depends on it. `rows` is the longest other loop that `vector_operand` does not depend
    on. Without `vector`, `reorderable` is a temporary or result, and the dimension that would give one if it were last.
    """

    init: Label
    update: Label
    outputs: tuple[For, ...]
    axis: For
    vector: For | None
    rows: For | None
    packed: tuple[Buffer, int] | None
    vector_operand: Expr | None
    reorderable: tuple[Buffer, int] | None


def contractions(program: Program, stage: StageKind = StageKind.KERNEL) -> Iterator[Contraction]:
    """Yield the contractions of a stage, in program order."""
    return _among(site for site in sites(program) if site.stage.kind is stage)


def contractions_in(program: Program, loop: Var) -> Iterator[Contraction]:
    """Yield the contractions in one of the program's loops, in program order; nothing outside the loop is visited."""
    site = site_of(program, loop)
    assert site is not None, "it is one of the program's"
    return _among(sites_in(site))


def contraction_of(
    program: Program, update: Label, stage: StageKind = StageKind.KERNEL
) -> Contraction | None:
    """Return the contraction of a stage with this update, None if there is none; only the way to it is visited."""
    site = site_of(program, update)
    return next(_among((site,)), None) if site is not None and site.stage.kind is stage else None


def _among(found: Iterable[Site]) -> Iterator[Contraction]:
    """Yield the contractions at sites."""
    for site in found:
        if isinstance(site.stmt, Reduce) and (contraction := _contraction(site, site.stmt)) is not None:
            yield contraction


def packed_contractions(program: Program) -> set[Label]:
    """Return the updates of the contractions with a parameter that is to be packed."""
    return {each.update for each in contractions(program) if each.packed is not None}


def packed_bytes(program: Program) -> int:
    """Return the bytes of the parameters that a kernel's contractions pack."""
    return sum(map(bytes_of, {each.packed[0] for each in contractions(program) if each.packed is not None}))


def packed_bytes_in(program: Program, loop: Var) -> int:
    """Return the bytes of the parameters that the contractions in a loop pack."""
    packed = {each.packed[0] for each in contractions_in(program, loop) if each.packed is not None}
    return sum(map(bytes_of, packed))


def row_operand_bytes(program: Program) -> int:
    """Return the bytes that a kernel's contractions read per row: of one row of each operand that is no parameter."""
    updates = {each.update for each in contractions(program)}
    loads = (
        part
        for site in sites(program)
        if isinstance(site.stmt, Reduce) and site.stmt.label in updates
        for part in subexpressions(site.stmt.value)
        if isinstance(part, Load) and part.buffer.role not in (Role.PARAMETER, Role.BOUND)
    )
    return sum(map(bytes_of, {load.buffer for load in loads}))


def with_shared_columns(found: Iterable[Contraction], loop: Var) -> set[Label]:
    """Return the updates of those contractions with a matrix that is the same in all iterations of a loop.

    It is a parameter, or does not depend on the loop, which the sum does not run over; and no loop inside is one over
    rows that share it.
    """
    return {
        each.update
        for each in found
        if each.rows is None and each.axis.var is not loop and _is_invariant(each, loop)
    }


def _is_invariant(contraction: Contraction, loop: Var) -> bool:
    operand = contraction.vector_operand
    return contraction.packed is not None or (operand is not None and not mentions(operand, (loop,)))


def _contraction(site: Site, update: Reduce) -> Contraction | None:
    """Return the contraction at a site, or None if it has another form."""
    value = update.value
    if len(update.axes) != 1:
        return None
    axis, outputs = site.loops[-1], _outputs(site)
    init = _init(site, update)
    if axis.var is not update.axes[0] or init is None or not outputs:
        return None
    if any(output.extent == Const(0) for output in outputs):
        return None
    factors: tuple[Expr, ...] = ()
    if (
        update.combiner is Combiner.SUM
        and isinstance(value, Binary)
        and value.op in (BinaryOp.MUL, BinaryOp.DOT)
    ):
        factors = site.expand(value.lhs), site.expand(value.rhs)
        if all(_is_elementwise(each, outputs[-1]) for each in factors):
            return None
    sides = _sides(factors or (site.expand(value),), axis, outputs)
    if sides.vector is None and not (factors and isinstance(axis.extent, Const)):
        return None
    return Contraction(
        init,
        update.label,
        outputs,
        axis,
        sides.vector,
        sides.rows,
        sides.packed,
        sides.vector_operand,
        sides.reorderable,
    )


def _is_elementwise(operand: Expr, loop: For) -> bool:
    """Return whether each iteration of a loop reads elements of its own, side by side: no tile would share them."""
    moving = [
        each for each in subexpressions(operand) if isinstance(each, Load) and mentions(each, (loop.var,))
    ]
    return bool(moving) and all(stepped(each.indices, loop.var) == each.buffer.order[-1] for each in moving)


def _outputs(site: Site) -> tuple[For, ...]:
    """Return the perfectly nested loops over the output around init and axis."""
    found: list[For] = []
    inner: object = None
    for outer in reversed(site.around[:-1]):
        if isinstance(outer, Let) and outer.body is inner and found:
            inner = outer
            continue
        direct = isinstance(outer, For) and (
            outer.body is inner or (inner is None and isinstance(outer.body, Block))
        )
        if not direct or not isinstance(outer, For) or not isinstance(outer.extent, Const):
            break
        found.append(outer)
        inner = outer
    return tuple(reversed(found))


def _init(site: Site, update: Reduce) -> Label | None:
    """Return the label of the store directly before the reduction's loop."""
    outer = site.loops[-2] if len(site.loops) > 1 else None
    match outer:
        case For(body=Block(body=(Store(label=label, buffer=buffer), For(body=Reduce() as inner)))):
            return label if buffer is update.buffer and inner is update else None
        case _:
            return None


class _Sides(NamedTuple):
    """The fields of a `Contraction` that follow from its operands."""

    vector: For | None
    rows: For | None
    packed: tuple[Buffer, int] | None = None
    vector_operand: Expr | None = None
    reorderable: tuple[Buffer, int] | None = None


def extent_of(loop: For) -> int:
    """Return the extent of a loop with a constant number of iterations."""
    assert isinstance(loop.extent, Const)
    return int(loop.extent.value)


def _sides(operands: Sequence[Expr], axis: For, outputs: tuple[For, ...]) -> _Sides:
    """Return the loop to vectorize, the loop over rows, and the operand to pack or reorder for that."""
    reorderable: tuple[Buffer, int] | None = None
    for loop in reversed(outputs):
        operand = _along(operands, loop, axis)
        dimension = None if operand is None else stepped(operand.indices, loop.var)
        if operand is None or dimension is None:
            continue
        others = [row for row in outputs if row is not loop and not mentions(operand, (row.var,))]
        rows = max(others, key=extent_of, default=None)
        if dimension == operand.buffer.order[-1]:
            return _Sides(loop, rows, None, operand)
        if operand.buffer.role in (Role.PARAMETER, Role.BOUND):
            return _Sides(loop, rows, (operand.buffer, dimension), operand)
        if dimension:  # dimension 0 is that of rows
            reorderable = reorderable or (operand.buffer, dimension)
    return _Sides(None, outputs[-1], reorderable=reorderable)


def _along(operands: Sequence[Expr], loop: For, axis: For) -> Load | None:
    """Return the one load that changes along a loop, where something else is the same in all of its iterations.

    That is a factor, or a load outside of that one that changes along the axis.
    """
    loads = {each for operand in operands for each in subexpressions(operand) if isinstance(each, Load)}
    moving = [each for each in loads if mentions(each, (loop.var,))]
    if len(moving) != 1:
        return None
    operand = moving[0]
    is_factor = operand in operands and any(not mentions(each, (loop.var,)) for each in operands)
    others = loads.difference(subexpressions(operand))
    return operand if is_factor or any(mentions(each, (axis.var,)) for each in others) else None
