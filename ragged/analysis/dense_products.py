"""Contractions of any sizes: matrix products, batches of them, convolutions, distances; of dense and ragged rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragged.analysis.buffers import is_size_expr
from ragged.arith.affine import growth
from ragged.ir.elementwise import Elementwise
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Role, Select, Unary, Var
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import Block, For, Label, LoopKind, Reduce, Store
from ragged.ir.walk import arithmetic_operands, leaves, loads, mentions, read, subexpressions

_PACKED = (Role.PARAMETER, Role.PAYLOAD)
_MOST_OPERANDS = 6
"""The most operands of a value other than a product: each takes a register."""


@dataclass(frozen=True, slots=True)
class DenseProduct:
    """`out[..., r, ..., c] += a * b`, reduced over `axes`; columns and axes extend numbers and sizes of the call.

    In the place of the product may stand arithmetic and elementwise functions of `operand` and what does not depend on
    the columns, as in `(x - w) * (x - w)` and `v * tanh(x + w)`, and in the place of the sum a product, a minimum or a
    maximum. `has_functions` says that elementwise functions are computed for each column.

    Stores may follow the sum in the innermost loop, as those of `act(sum + bias)`: the last of them is the result.
    `columns` is the loop over the last dimension of the result in memory, if that will do, else over another one;
    `operand` is indexed by it in `dimension`; `others` are the other operands, which do not depend on it. It `is_plain`
    if it is read from the first place on and under no condition. A parameter, or an input that nothing else reads, then
    `is_packed` so that columns are contiguous. What else is read has to be copied. `rows` are the loops that `operand`
    does not depend on, `batch` the others; all stand directly inside each other, and are listed outermost first. Loops
    `around` them have more than one statement inside.
    """

    update: Label
    batch: tuple[For, ...]
    rows: tuple[For, ...]
    columns: For
    axes: tuple[For, ...]
    operand: Load
    others: tuple[Expr, ...]
    dimension: int
    is_plain: bool
    is_packed: bool
    around: tuple[For, ...]
    has_functions: bool

    @property
    def panel_order(self) -> tuple[int, ...]:
        """The order of `pack`, once it has tiled the columns: blocks, the dimensions reduced over, places in a block.

        Dimensions that no reduction goes over come before the blocks.
        """
        axes = [axis.var for axis in self.axes]
        reduced = [mentions(index, axes) for index in self.operand.indices]
        others = [d for d in range(len(reduced)) if d != self.dimension]
        before, inside = ([d for d in others if reduced[d] is along] for along in (False, True))
        places = (*before, self.dimension, *inside)
        return (*(d + (d > self.dimension) for d in places), self.dimension + 1)


def dense_products(program: Program) -> Iterator[DenseProduct]:
    """Yield the dense products of the kernel, in program order."""
    readers = Counter(buffer for leaf in leaves(program.kernel) for buffer in read(leaf))
    for each in _reductions(program):
        found = _product(each, readers)
        if found is not None:
            yield found


@dataclass(frozen=True, slots=True)
class ReductionNest:
    """`out[...] += value`, reduced over `axes`, in `outputs` directly inside each other.

    Some of these extents may vary, as those of rows do. `result` is the last store of the same element; `around` are
    loops with more than one statement inside.
    """

    update: Reduce
    result: Store
    outputs: tuple[For, ...]
    axes: tuple[For, ...]
    around: tuple[For, ...]

    @property
    def is_dense(self) -> bool:
        """Whether all extents are numbers and sizes of the call."""
        return all(is_size_expr(loop.extent) for loop in (*self.outputs, *self.axes))

    @property
    def factors(self) -> tuple[Expr, Expr] | None:
        """The operands of a sum of products of two, else None."""
        match self.update:
            case Reduce(combiner=Combiner.SUM, value=Binary(op=BinaryOp.MUL, lhs=lhs, rhs=rhs)):
                return lhs, rhs
            case _:
                return None


def sums_of_products(program: Program) -> Iterator[ReductionNest]:
    """Yield the sums of products of two operands of the kernel, in program order."""
    return (each for each in _reductions(program) if each.factors is not None)


def _reductions(program: Program) -> Iterator[ReductionNest]:
    for site in sites(program):
        if site.stage.kind is StageKind.KERNEL and isinstance(site.stmt, Reduce):
            found = _reduction(site, site.stmt)
            if found is not None:
                yield found


def _reduction(site: Site, update: Reduce) -> ReductionNest | None:
    if not update.indices:
        return None
    count = len(update.axes)
    axes, outputs = site.loops[-count:], _outputs(site, count)
    found = _result(outputs, update)
    if found is None or [axis.var for axis in axes] != list(update.axes):
        return None
    if any(loop.kind not in (LoopKind.SERIAL, LoopKind.PARALLEL) for loop in (*axes, *outputs)):
        return None
    around = site.loops[: -count - len(outputs)]
    return ReductionNest(update, found, outputs, axes, around)


def _product(found: ReductionNest, readers: Mapping[Buffer, int]) -> DenseProduct | None:
    """Return a sum as a product, or None if it has another form; `readers` are the statements that read a buffer."""
    axes, outputs = found.axes, found.outputs
    if not all(is_size_expr(axis.extent) for axis in axes):
        return None
    for columns in lane_loops(found.result, outputs):
        if not is_size_expr(columns.extent):
            continue
        for operand, others in _operands(found):
            load = _load(operand)
            dimension = (
                None
                if load is None
                else _dimension(load, columns.var, [loop.var for loop in (*axes, *outputs)])
            )
            if load is None or dimension is None or any(mentions(each, (columns.var,)) for each in others):
                continue
            is_plain = load is operand and load.indices[dimension] == Ref(columns.var)
            is_packed = (
                is_plain
                and (load.buffer.role is Role.PARAMETER or readers[load.buffer] == 1)
                and load.buffer.role in _PACKED
            )
            rest = [loop for loop in outputs if loop is not columns]
            batch = tuple(loop for loop in rest if mentions(operand, (loop.var,)))
            rows = tuple(loop for loop in rest if loop not in batch)
            if not rows and (found.factors is None or not any(loads(*others))):
                continue  # each element of the operand is read once, and nothing else is
            return DenseProduct(
                found.update.label,
                batch,
                rows,
                columns,
                axes,
                load,
                others,
                dimension,
                is_plain,
                is_packed,
                found.around,
                _has_functions(found.update.value, columns.var),
            )
    return None


def _operands(found: ReductionNest) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
    """Yield each operand of the arithmetic that a value is, with the other ones."""
    if found.factors is not None:
        lhs, rhs = found.factors
        yield lhs, (rhs,)
        yield rhs, (lhs,)
    operands = list(arithmetic_operands(found.update.value))
    if len(operands) <= _MOST_OPERANDS:
        for load in dict.fromkeys(each for each in operands if isinstance(each, Load)):
            yield load, tuple(each for each in operands if each != load)


def _has_functions(value: Expr, columns: Var) -> bool:
    """Return whether a value has elementwise functions of what depends on the columns."""
    return any(
        isinstance(part, Unary) and isinstance(part.op, Elementwise) and mentions(part, (columns,))
        for part in subexpressions(value)
    )


def lane_loops(result: Store, outputs: tuple[For, ...]) -> Iterator[For]:
    """Yield the loops that alone index a dimension of the result, that of the last one in memory first."""
    for dimension in reversed(result.buffer.order):
        index = result.indices[dimension]
        for loop in outputs:
            others = (each for d, each in enumerate(result.indices) if d != dimension)
            if index == Ref(loop.var) and not any(mentions(each, (loop.var,)) for each in others):
                yield loop


def _outputs(site: Site, axes: int) -> tuple[For, ...]:
    """Return the loops directly inside each other around the axes, outermost first."""
    found: list[For] = []
    for outer in reversed(site.around[: len(site.around) - axes]):
        if not isinstance(outer, For) or (found and outer.body is not found[-1]):
            break
        found.append(outer)
    return tuple(reversed(found))


def _result(outputs: tuple[For, ...], update: Reduce) -> Store | None:
    """Return the last store after the loops of a reduction, or the one before them; None if it has another form.

    Directly before the loops is a store of the same element, and after them are stores alone.
    """
    if not outputs:
        return None
    match outputs[-1].body:
        case Block(body=(Store(buffer=buffer, indices=indices) as init, For() as loop, *after)):
            stores = [stmt for stmt in after if isinstance(stmt, Store)]
            while isinstance(loop.body, For):
                loop = loop.body
            same = buffer is update.buffer and indices == update.indices and loop.body is update
            return [init, *stores][-1] if same and len(stores) == len(after) else None
        case _:
            return None


def _load(operand: Expr) -> Load | None:
    """Return the element that an operand is, wherever a condition holds."""
    match operand:
        case (Load() as load) | Select(if_true=Load() as load, if_false=Const()):
            return load
        case _:
            return None


def _dimension(load: Load, columns: Var, loops: Sequence[Var]) -> int | None:
    """Return the dimension that of all loops the columns alone index, one by one."""
    places = [d for d, index in enumerate(load.indices) if mentions(index, (columns,))]
    if len(places) != 1:
        return None
    index = load.indices[places[0]]
    alone = not mentions(index, [var for var in loops if var is not columns])
    return places[0] if alone and growth(index, columns) == 1 else None
