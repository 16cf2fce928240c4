"""Nests of loops that a processor's matrix unit can run: sums of products of pairs, rows times columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragged.analysis.dependence import storage
from ragged.analysis.loop_bodies import lets_of
from ragged.arith.affine import growth
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Const, Expr, Fma, Load, Var
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.rewrite import substitute_lets
from ragged.ir.stmt import Block, For, Let, Reduce, Store
from ragged.ir.walk import mentions

LANES = 16
"""Rows of a tile, columns of a tile, and pairs that one instruction sums up."""
TILES = 4
"""The most tiles of columns that are summed up at once."""


@dataclass(frozen=True, slots=True)
class MatrixNest:
    """`out[r.., c] = 0`, then for each pair `out[r.., c] += dot(weight[c, k], other[r.., k])`.

    `rows` is the outermost loop, `others` those between it and `columns`, `axis` the one that is summed over; `lets`
    stand in `rows`. Rows and columns are rows of `out` and `other`, columns of `out` and `weight`.
    """

    rows: For
    lets: tuple[Let, ...]
    others: tuple[For, ...]
    columns: For
    axis: For
    out: Load
    weight: Load
    other: Load

    @property
    def loops(self) -> tuple[For, ...]:
        """All of its loops, outermost first."""
        return (self.rows, *self.others, self.columns, self.axis)

    @property
    def tiles(self) -> int:
        """How many tiles the columns are."""
        assert isinstance(self.columns.extent, Const)
        return int(self.columns.extent.value) // LANES


def whole_tiles(columns: Expr, width: int) -> Const:
    """Return how many columns are whole tiles of a width, of which a few make slices that are equal."""
    assert isinstance(columns, Const)
    tiles = -(-int(columns.value) // width)
    step = 1 if tiles <= TILES else 2 if tiles <= 3 * TILES else TILES
    return Const(-(-tiles // step) * step * width)


def matrix_nest(rows: For, packed: bool = True) -> MatrixNest | str:
    """Return the nest with the outermost loop `rows`, or why it is none.

    Without `packed`, the parameters' columns need not be side by side in memory yet.
    """
    lets, inner = lets_of(rows.body)
    loops: list[For] = []
    while isinstance(inner, For):
        loops.append(inner)
        inner = inner.body
    match inner:
        case Block(body=(Store() as start, For(body=Store() | Reduce() as update) as axis)) if loops:
            pass
        case _:
            return "it is no nest of loops around a sum that starts from a number"
    product = _product(update)
    out = Load(start.buffer, start.indices)
    if product is None or (update.buffer, update.indices) != (start.buffer, start.indices):
        return f"'{update.label.name}' is no sum of products of pairs"
    if not (isinstance(start.value, Const) and start.value.value == 0 and start.value.dtype is DType.FLOAT32):
        return f"'{start.label.name}' does not start the sum from 0.0"
    columns = loops[-1]
    for weight, other in (product, product[::-1]):
        if not _mentions_any(weight, (rows.var,), lets) and not _mentions_any(other, (columns.var,), lets):
            nest = MatrixNest(rows, lets, tuple(loops[:-1]), columns, axis, out, weight, other)
            return _checked(nest, packed)
    return "no factor is the same for all rows, or the other is not the same for all columns"


def _mentions_any(load: Load, variables: Sequence[Var], lets: Sequence[Let]) -> bool:
    """Return whether indices use one of the variables, directly or by a let."""
    return any(mentions(substitute_lets(index, lets), variables) for index in load.indices)


def _checked(nest: MatrixNest, packed: bool) -> MatrixNest | str:
    memory = {storage(load.buffer) for load in (nest.weight, nest.other)}
    if storage(nest.out.buffer) in memory:
        return f"it reads '{nest.out.buffer.name}', which it writes"
    width, length = (loop.extent for loop in (nest.columns, nest.axis))
    if not (isinstance(width, Const) and width.value % LANES == 0 and 0 < width.value <= LANES * TILES):
        return f"its columns are no multiple of {LANES} up to {LANES * TILES}"
    if not (isinstance(length, Const) and length.value % LANES == 0 and length.value > 0):
        return f"it does not sum up a multiple of {LANES} pairs"
    if not all(isinstance(loop.extent, Const) for loop in nest.others):
        return "a loop between rows and columns has no constant extent"
    along = [(nest.out, nest.columns), (nest.other, nest.axis)]
    if packed:
        along.append((nest.weight, nest.columns))
    for load, loop in along:
        if not _is_side_by_side(load, loop.var, nest.lets):
            return f"elements of '{load.buffer.name}' are not side by side along '{loop.var.name}'"
    for load in (nest.out, nest.other):
        if not _has_even_rows(load, nest):
            return f"rows of '{load.buffer.name}' are not as far from each other everywhere"
    if not _is_even(nest.weight, nest.axis.var, nest.lets):
        return f"'{nest.weight.buffer.name}' is not read step by step along '{nest.axis.var.name}'"
    return nest


def _is_side_by_side(load: Load, var: Var, lets: Sequence[Let]) -> bool:
    last = load.buffer.order[-1]
    steps = [growth(substitute_lets(index, lets), var) for index in load.indices]
    return steps == [1 if d == last else 0 for d in range(len(steps))]


def _has_even_rows(load: Load, nest: MatrixNest) -> bool:
    """Return whether rows are even steps in memory, in other dimensions than the one that is side by side."""
    last, var = load.buffer.order[-1], nest.rows.var
    steps = [growth(substitute_lets(index, nest.lets), var) for index in load.indices]
    return None not in steps and steps[last] == 0 and any(steps)


def _is_even(load: Load, var: Var, lets: Sequence[Let]) -> bool:
    return all(growth(substitute_lets(index, lets), var) is not None for index in load.indices)


def _product(update: Store | Reduce) -> tuple[Load, Load] | None:
    """Return the factors of `out += dot(a, b)`, as a reduction or as what it is fused to."""
    own = Load(update.buffer, update.indices)
    match update:
        case Reduce(combiner=Combiner.SUM, value=Binary(op=BinaryOp.DOT, lhs=Load() as a, rhs=Load() as b)):
            return a, b
        case Store(value=Fma(a=Load() as a, b=Load() as b, c=c)) if c == own and _is_pair(a.buffer):
            return a, b
        case _:
            return None


def _is_pair(buffer: Buffer) -> bool:
    return buffer.dtype is DType.BFLOAT16X2
