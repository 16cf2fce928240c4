"""Finding the sums of products in a program: what a schedule spends its effort on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ragged.analysis.loop_bodies import loop_of
from ragged.analysis.strides import stepped
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Role, Var
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import Block, For, Label, Let, Reduce, Store
from ragged.ir.walk import leaves, mentions, subexpressions


@dataclass(frozen=True, slots=True)
class Contraction:
    """`out[..., o1, o2] += a * b`, summed over `axis`: a matrix times a vector, or times a matrix; or of pairs.

    `outputs` are the loops right around it, outermost first, of constant extents; lets may stand between.
    `vector` is the one of them to compute side by side, if there is one: consecutive elements of one operand, or
    of one that can be packed so (`packed`, and the dimension that the loop indexes), the other operand being the
    same for all. `rows` is the longest of the others that the operand along `vector` does not depend on. `stored` is
    said where there is no `vector`: a temporary or result, and the dimension of it that would give one if it came last.
    """

    init: Label
    update: Label
    outputs: tuple[For, ...]
    axis: For
    vector: For | None
    rows: For | None
    packed: tuple[Buffer, int] | None
    along: Expr | None
    stored: tuple[Buffer, int] | None


def contractions(program: Program, stage: StageKind = StageKind.KERNEL) -> Iterator[Contraction]:
    """Yield the sums of products of a stage, in the order of the text."""
    for site in sites(program):
        if site.stage.kind is stage and isinstance(site.stmt, Reduce):
            found = _product(site, site.stmt)
            if found is not None:
                yield found


def weighted(program: Program) -> set[Label]:
    """Return the updates of the products with a matrix of parameters that packing brings into their order."""
    return {product.update for product in contractions(program) if product.packed is not None}


def matrices(program: Program) -> int:
    """Return the bytes of the matrices of parameters that a kernel's products pack."""
    return sum(
        map(bytes_of, {product.packed[0] for product in contractions(program) if product.packed is not None})
    )


def matrices_in(program: Program, loop: Var) -> int:
    """Return the bytes of those that the products in a loop pack."""
    inside = {leaf.label for leaf in leaves(loop_of(program, loop))}
    packed = {
        each.packed[0] for each in contractions(program) if each.packed is not None and each.update in inside
    }
    return sum(map(bytes_of, packed))


def rows(program: Program) -> int:
    """Return the bytes of what a kernel's products read of the rows of other buffers, of one row of each."""
    updates = {product.update for product in contractions(program)}
    loads = (
        part
        for site in sites(program)
        if isinstance(site.stmt, Reduce) and site.stmt.label in updates
        for part in subexpressions(site.stmt.value)
        if isinstance(part, Load) and part.buffer.role not in (Role.PARAMETER, Role.BOUND)
    )
    return sum(map(bytes_of, {load.buffer for load in loads}))


def bytes_of(buffer: Buffer) -> int:
    """Return the bytes of a buffer, of those of its extents that are constant."""
    extents = (int(extent.value) for extent in buffer.shape if isinstance(extent, Const))
    return prod(extents) * buffer.dtype.bytes


def shared(program: Program, loop: Var) -> set[Label]:
    """Return the updates of the products whose columns the iterations of a loop share: together they read them once.

    These are columns of parameters, and what else does not depend on the loop, unless a loop inside shares them.
    """
    return {
        product.update
        for product in contractions(program)
        if product.rows is None and (product.packed is not None or _is_fixed(product, loop))
    }


def _is_fixed(product: Contraction, loop: Var) -> bool:
    """True if the operand along a product's columns is the same in all iterations of a loop around it."""
    return product.along is not None and product.axis.var is not loop and not mentions(product.along, (loop,))


def _product(site: Site, update: Reduce) -> Contraction | None:
    """Return the product at a site, or None if it has another form."""
    value = update.value
    if update.combiner is not Combiner.SUM or len(update.axes) != 1 or not update.buffer.dtype.is_float:
        return None
    if not (isinstance(value, Binary) and value.op in (BinaryOp.MUL, BinaryOp.DOT)):
        return None
    axis, outputs = site.loops[-1], _outputs(site)
    init = _init(site, update)
    if axis.var is not update.axes[0] or init is None or not outputs:
        return None
    if any(output.extent == Const(0) for output in outputs):  # nobody looks at it
        return None
    sides = _sides(site.expand(value.lhs), site.expand(value.rhs), outputs)
    if sides.vector is None and not isinstance(axis.extent, Const):
        return None
    return Contraction(
        init, update.label, outputs, axis, sides.vector, sides.rows, sides.packed, sides.along, sides.stored
    )


def _outputs(site: Site) -> tuple[For, ...]:
    """Return the loops over the output that stand one in the other around init and axis."""
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
    """Return the label of the store that stands right before the reduction's loop."""
    outer = site.loops[-2] if len(site.loops) > 1 else None
    match outer:
        case For(body=Block(body=(Store(label=label, buffer=buffer), For(body=Reduce() as inner)))):
            return label if buffer is update.buffer and inner is update else None
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Sides:
    """What a product's operands are along its loops; see `Product`."""

    vector: For | None
    rows: For | None
    packed: tuple[Buffer, int] | None = None
    along: Expr | None = None
    stored: tuple[Buffer, int] | None = None


def _extent(loop: For) -> int:
    assert isinstance(loop.extent, Const)
    return int(loop.extent.value)


def _sides(lhs: Expr, rhs: Expr, outputs: tuple[For, ...]) -> _Sides:
    """Return the loop to compute side by side, another for rows, and what to pack for it."""
    stored: tuple[Buffer, int] | None = None
    for loop in reversed(outputs):
        for along, other in ((lhs, rhs), (rhs, lhs)):
            if mentions(other, (loop.var,)) or not isinstance(along, Load):
                continue
            place = stepped(along.indices, loop.var)
            if place is None:
                continue
            others = [row for row in outputs if row is not loop and not mentions(along, (row.var,))]
            rows = max(others, key=_extent, default=None)
            if place == along.buffer.order[-1]:
                return _Sides(loop, rows, None, along)
            if along.buffer.role in (Role.PARAMETER, Role.BOUND):
                return _Sides(loop, rows, (along.buffer, place), along)
            if place:  # rows come first
                stored = stored or (along.buffer, place)
    return _Sides(None, outputs[-1], stored=stored)
