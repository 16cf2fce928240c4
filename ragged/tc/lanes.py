"""Reductions of rows, in vectors: partial results side by side, in an order that follows from a row's length alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragged.api.dims import RaggedDim
from ragged.api.tensors import Axis, Kind, RaggedTensor, Reduction, TensorDim
from ragged.api.values import Value
from ragged.arith.affine import growth
from ragged.arith.fold import floordiv, modulo, plus, times
from ragged.ir import expr as ir
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.rewrite import substitute
from ragged.ir.walk import mentions, subexpressions

LANES, FEWER = 64, 4
"""Partial results of a row, and of what fills no `LANES`; the first are put together to `FEWER`, and these to one.

One number after another would wait for the result before it. Neither follows the machine: they say the order.
"""
ROWS = 16
"""Rows of a partial result of sums of columns: few, so that they are in caches and workers share them evenly."""
COLUMNS = (64, 16, 4)
"""Columns that are summed side by side, then those of the rest: a row of them is four cache lines, one, or a part."""


def reduce_in_lanes(
    result: RaggedTensor, name: Callable[[str], str], *, in_parts: bool = False
) -> tuple[RaggedTensor, ...]:
    """Have a tensor reduce rows of contiguous elements in lanes; return what is computed in its rows, readers first.

    Element j of a row of n is in lane j % 64 where j < n // 64 * 64, in lane j % 4 of four others up to n // 4 * 4, and
    the last ones are added one by one. Nothing is returned, and nothing changed, where the tensor has no such
    reduction, or elements of several rows are reduced from one that is read. `name` gives names to tensors.
    `in_parts` says that an index is that of a part (`split_reduction`): parts share no element.
    """
    body = result.body
    if not isinstance(body, Reduction) or not result.indices:
        return ()
    rows = result.indices
    if in_parts:
        rows = rows[1:] if is_by_columns(result) else rows[:-1]
    axis = next((each for each in body.axes if _is_contiguous(result, body, each, rows)), None)
    return () if axis is None else _Lanes(result, body, axis, name).lowered()


def split_reduction(result: RaggedTensor, size: int, name: Callable[[str], str]) -> RaggedTensor:
    """Have a tensor combine partial results of `size` iterations of its first axis each; return the tensor of those.

    They are another order of the reduction, of independent parts: an index of the tensor, the last one, or the first
    one of columns. `name` gives names to tensors.
    """
    body = result.body
    assert isinstance(body, Reduction), "the caller asks about reductions alone"
    return _Lanes(result, body, body.axes[0], name).split(size)


def _is_contiguous(result: RaggedTensor, body: Reduction, axis: Axis, rows: Sequence[ir.Var]) -> bool:
    """Return whether an axis goes over the last dimension of all that is read along it, each element once.

    Elements are of different rows where one of the indices `rows` differs.
    """
    extent, read = axis.extent.expr, reads_along_axes(body)
    if isinstance(extent, ir.Const) and int(extent.value) < FEWER:
        return False
    others = [*rows, *(each.var for each in body.axes if each is not axis)]
    return is_read_once(result, read) and all(
        growth(load.indices[-1], axis.var) == 1
        and not mentions(load.indices[-1], others)
        and not any(mentions(each, (axis.var,)) for each in load.indices[:-1])
        for load in read
        if mentions(load, (axis.var,))
    )


def is_read_once(result: RaggedTensor, read: Sequence[ir.Load]) -> bool:
    """Return whether something that is read is of one element of the result alone, as no factor of a product is."""
    return any(all(mentions(load, (index,)) for index in result.indices) for load in read)


def has_columns(result: RaggedTensor) -> bool:
    """Return whether a tensor reduces elements by columns, as many as are worth summing side by side."""
    if not result.dims:
        return False
    extent = result.dims[-1].extent.expr
    few = isinstance(extent, ir.Const) and int(extent.value) < COLUMNS[-1]
    return not few and is_by_columns(result)


def is_by_columns(result: RaggedTensor) -> bool:
    """Return whether a tensor reduces elements for each place of its last dimension that are side by side in it.

    Products, which use what they read in several sums, are none. No size matters: orders of sums follow from it.
    """
    body = result.body
    if not isinstance(body, Reduction) or not result.indices:
        return False
    last, read = result.indices[-1], reads_along_axes(body)
    return is_read_once(result, read) and all(
        growth(load.indices[-1], last) == 1 and not any(mentions(each, (last,)) for each in load.indices[:-1])
        for load in read
        if mentions(load, (last,))
    )


def reads_along_axes(body: Reduction) -> list[ir.Load]:
    """Return the reads of a reduction that its axes change, but for those of indices of others.

    None if an index is read from a computed tensor: the kernel checks it each time, and other indices before
    (`hoist_checks`).
    """
    axes, value = [each.var for each in body.axes], body.body
    loads = [
        each for each in subexpressions(value.expr) if isinstance(each, ir.Load) and mentions(each, axes)
    ]
    inside = {part for load in loads for index in load.indices for part in subexpressions(index)}
    tensors = (value.sources[part.buffer] for part in inside if isinstance(part, ir.Load))
    if any(isinstance(each, RaggedTensor) and each.kind is Kind.COMPUTED for each in tensors):
        return []
    return [each for each in loads if each not in inside]


@dataclass
class _Lanes:
    """The tensors that reduce over `axis`, of `result` that reduced by `body`."""

    result: RaggedTensor
    body: Reduction
    axis: Axis
    name: Callable[[str], str]

    def lowered(self) -> tuple[RaggedTensor, ...]:
        length = self.axis.extent.expr
        wide, most = floordiv(length, LANES), floordiv(length, FEWER)
        lanes = self.part("lanes", LANES, wide, ir.Const(0), ())
        folded = self.folded("folded", lanes, LANES // FEWER, FEWER)
        begin = times(wide, ir.Const(LANES))
        # A row of fewer elements has none in the lanes; but a sum of nothing, 0, changes the sign of -0.
        none = (
            isinstance(length, ir.Const) and length.value < LANES and self.body.combiner is not Combiner.SUM
        )
        start = () if none else (folded,)
        fours = self.part("fours", FEWER, floordiv(modulo(length, LANES), FEWER), begin, start)
        whole = self.folded("whole", fours, FEWER, None, self.body.init)
        at = [ir.Ref(each) for each in self.result.indices]
        self.result.body = self.reduction(
            {}, modulo(length, FEWER), lambda k: plus(times(most, ir.Const(FEWER)), k), _load(whole, at)
        )
        return (whole, fours) if none else (whole, fours, folded, lanes)

    def split(self, size: int) -> RaggedTensor:
        """Return partial results of blocks of `size` elements, the last one of what is left, and combine them."""
        length, width = self.axis.extent.expr, ir.Const(size)
        rows, block, own = self.indices("part")
        begin = times(ir.Ref(block), width)  # over the new index: `own` leaves it
        extent = ir.Binary(BinaryOp.MIN, ir.Binary(BinaryOp.SUB, length, begin), width)
        body = self.reduction(own, extent, lambda k: plus(begin, k), None)
        count = floordiv(plus(length, ir.Const(size - 1)), size)
        first = is_by_columns(self.result)
        parts = self.tensor("parts", count, (block, *rows) if first else (*rows, block), body, first=first)
        axis = Axis(ir.Var("part"), Value(count, self.axis.extent.sources))
        at = [ir.Ref(each) for each in self.result.indices]
        at.insert(0 if first else len(at), ir.Ref(axis.var))
        self.result.body = self.reduced((axis,), _load(parts, at), self.body.init)
        return parts

    def part(
        self, name: str, lanes: int, extent: ir.Expr, begin: ir.Expr, start: Sequence[RaggedTensor]
    ) -> RaggedTensor:
        """Return partial results: lane i is of the elements at `begin` + i, `begin` + i + `lanes`, ..."""
        rows, lane, own = self.indices()
        body = self.reduction(
            own,
            extent,
            lambda k: plus(substitute(begin, own), plus(times(k, ir.Const(lanes)), ir.Ref(lane))),
            _load(start[0], [*own.values(), ir.Ref(lane)]) if start else None,
        )
        return self.tensor(name, lanes, (*rows, lane), body)

    def folded(
        self, name: str, side: RaggedTensor, count: int, lanes: int | None, init: Value | None = None
    ) -> RaggedTensor:
        """Return partial results put together: lane i is of those in the lanes i, i + `lanes`, ..."""
        rows, lane, own = self.indices()
        axis = Axis(ir.Var("k"), Value(ir.Const(count)))
        place: ir.Expr = ir.Ref(axis.var)
        if lanes is not None:
            place = plus(times(place, ir.Const(lanes)), ir.Ref(lane))
        start = None if init is None else Value(substitute(init.expr, own), init.sources)
        body = self.reduced((axis,), _load(side, [*own.values(), place]), start)
        return self.tensor(name, lanes, rows if lanes is None else (*rows, lane), body)

    def indices(self, last: str = "lane") -> tuple[tuple[ir.Var, ...], ir.Var, dict[ir.Var, ir.Expr]]:
        """Return new indices of a row and of what is `last`, and the former as what stands for those of the result."""
        rows = tuple(ir.Var(each.name) for each in self.result.indices)
        return rows, ir.Var(last), dict(zip(self.result.indices, map(ir.Ref, rows), strict=True))

    def tensor(
        self,
        name: str,
        lanes: int | ir.Expr | None,
        indices: tuple[ir.Var, ...],
        body: Reduction,
        *,
        first: bool = False,
    ) -> RaggedTensor:
        """Return a tensor with a dimension of so many `lanes` more than the result, the last one or the first."""
        own, dims = self.name(f"{self.result.name}_{name}"), self.result.dims
        if lanes is not None:
            added = indices[0 if first else -1].name
            dim = RaggedDim(added, ir.Var(added), ir.Dim(added))
            extent = ir.Const(lanes) if isinstance(lanes, int) else lanes
            more = TensorDim(dim, Value(extent, self.axis.extent.sources))
            dims = (more, *dims) if first else (*dims, more)
        return RaggedTensor(own, Kind.COMPUTED, self.result.dtype, dims, indices, body, self.result.at)

    def reduction(
        self,
        own: dict[ir.Var, ir.Expr],
        extent: ir.Expr,
        place: Callable[[ir.Expr], ir.Expr],
        init: Value | None,
    ) -> Reduction:
        """Return the reduction over so many elements of each row, which `place` gives the places of."""
        others = [each for each in self.body.axes if each is not self.axis]
        new = {each.var: self.renamed(each, each.extent.expr, own) for each in others}
        last = self.renamed(self.axis, extent, own)
        values = {**own, **{var: ir.Ref(axis.var) for var, axis in new.items()}}
        values[self.axis.var] = place(ir.Ref(last.var))
        body = self.body.body
        return self.reduced((*new.values(), last), Value(substitute(body.expr, values), body.sources), init)

    def renamed(self, axis: Axis, extent: ir.Expr, own: dict[ir.Var, ir.Expr]) -> Axis:
        """Return an axis like another one, of a tensor with the indices `own`."""
        return Axis(ir.Var(axis.var.name), Value(substitute(extent, own), axis.extent.sources))

    def reduced(self, axes: tuple[Axis, ...], body: Value, init: Value | None) -> Reduction:
        buffer = ir.Buffer(self.body.combiner.value, self.body.buffer.dtype, (), ir.Role.WORKSPACE)
        return Reduction(self.body.combiner, axes, body, buffer, self.body.at, init)


def _load(tensor: RaggedTensor, at: Sequence[ir.Expr]) -> Value:
    return Value(ir.Load(tensor.buffer, tuple(at)), {tensor.buffer: tensor})
