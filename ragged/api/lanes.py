"""Reductions of rows, in vectors: partial results side by side, in an order that follows from a row's length alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ragged.analysis.buffers import is_matrix
from ragged.api.dims import RaggedDim, affine_sizes
from ragged.api.program import is_product, reads
from ragged.api.reduced_elements import has_columns, is_by_columns, is_contiguous, is_short
from ragged.api.tensors import Axis, Kind, PartPlace, RaggedTensor, Reduction, TensorDim
from ragged.api.values import Value
from ragged.arith.fold import ONE, floordiv, modulo, plus, times
from ragged.ir import expr as ir
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import substitute
from ragged.ir.walk import mentions

LANES = {"lanes": 64, "sixteens": 16, "fours": 4}
"""Partial results of a row, of what is left of it when these are full, and so on, by what the tensors are called.

One number after another would wait for the result before it. They do not follow the machine: they say the order.
"""
FEWEST = min(LANES.values())


def reduce_in_lanes(
    result: RaggedTensor,
    name: Callable[[str], str] = str,
    *,
    in_parts: bool = False,
    part: PartPlace | None = None,
    squeeze: bool = False,
) -> tuple[RaggedTensor, ...]:
    """Have a tensor reduce rows of contiguous elements in lanes; return what is computed in its rows, readers first.

    Element j of a row of n is in lane j % 64 where j < n // 64 * 64, from there in lane j % 16 of sixteen up to
    n // 16 * 16, which go on from the 64 put together in pairs, then in lane j % 4 of four, and the last ones are added
    one by one. Nothing is returned, and nothing changed, where the tensor has no such reduction, or elements of several
    rows are reduced from one that is read. `name` gives names to tensors. `in_parts` says that an index is that of a
    part (`split_reduction`): parts share no element. `part` says where what is returned is computed. With `squeeze`
    dimensions that are known to extend 1 count as none; then the order is not that of a size which is 1 in a call.
    """
    body = result.body
    if not isinstance(body, Reduction):
        return ()
    rows = result.indices
    if in_parts:
        rows = rows[1:] if is_by_columns(result) else rows[:-1]
    if squeeze:
        found = zip(result.indices, result.dims, strict=True)
        rows = tuple(index for index, each in found if each.extent.expr != ONE)
    own = result.indices if in_parts else rows
    apart = tuple(index for index in rows if index not in _windows(result))
    contiguous = (
        each
        for each in body.axes
        if _fills_lanes(each) and is_contiguous(body, each, own, apart, squeeze=squeeze)
    )
    axis = next(contiguous, None)
    return () if axis is None else _Lanes(result, body, axis, name, part).lowered()


def reduce_rows_in_lanes(tensor: RaggedTensor) -> None:
    """Have a tensor reduce rows of contiguous floats in lanes.

    Rows are of extents that are numbers or of sizes, or of data that no product was computed from: products with the
    rows of a sequence and what is computed from them have tiles of rows (`decide_by_default`).
    """
    body = tensor.body
    if not isinstance(body, Reduction) or not body.body.dtype.is_float:
        return
    fixed = all(affine_sizes(axis.extent.expr) is not None for axis in body.axes)
    if fixed or not _is_from_product(tensor):
        matrices = any(each.kind is Kind.PARAMETER and is_matrix(each.buffer) for each in reads(tensor))
        reduce_in_lanes(tensor, part=PartPlace.ELEMENTS, squeeze=not matrices)


def place_columns(tensor: RaggedTensor) -> None:
    """Have a part that reduces columns computed for all elements of its rows, where a reduction is not short."""
    if tensor.part is not None and has_columns(tensor) and not is_short(tensor):
        tensor.part = PartPlace.COLUMNS


def _is_from_product(tensor: RaggedTensor) -> bool:
    """Return whether a sum of products is among what a tensor is computed from."""
    seen: set[RaggedTensor] = set()
    pending = [tensor]
    while pending:
        new = set(reads(pending.pop())) - seen
        if any(is_product(each.body) for each in new):
            return True
        seen |= new
        pending += new
    return False


def _windows(result: RaggedTensor) -> tuple[ir.Var, ...]:
    """Return indices of so few values that the rows which begin at each are reduced one by one, as a filter's."""
    found = zip(result.indices, result.dims, strict=True)
    known = [(index, each.extent.expr) for index, each in found if isinstance(each.extent.expr, ir.Const)]
    return tuple(index for index, extent in known if int(extent.value) < LANES["sixteens"])


def _fills_lanes(axis: Axis) -> bool:
    extent = axis.extent.expr
    return not (isinstance(extent, ir.Const) and int(extent.value) < FEWEST)


def split_reduction(result: RaggedTensor, size: int, name: Callable[[str], str]) -> RaggedTensor:
    """Have a tensor combine partial results of `size` iterations of its first axis each; return the tensor of those.

    They are another order of the reduction, of independent parts: an index of the tensor, the last one, or the first
    one of columns. `name` gives names to tensors.
    """
    body = result.body
    assert isinstance(body, Reduction), "the caller asks about reductions alone"
    return _Lanes(result, body, body.axes[0], name).split(size)


@dataclass
class _Lanes:
    """The tensors that reduce over `axis`, of `result` that reduced by `body`."""

    result: RaggedTensor
    body: Reduction
    axis: Axis
    name: Callable[[str], str]
    part_of: PartPlace | None = None

    def lowered(self) -> tuple[RaggedTensor, ...]:
        length = left = self.axis.extent.expr
        done: ir.Expr = ir.Const(0)
        made: list[RaggedTensor] = []
        for name, lanes in LANES.items():
            if not (isinstance(length, ir.Const) and length.value < lanes):  # then none is full
                made.insert(0, self.part(name, lanes, floordiv(left, lanes), done, made[0] if made else None))
            left = modulo(length, lanes)
            done = times(floordiv(length, lanes), ir.Const(lanes))
        places = [ir.Const(each) for each in range(FEWEST)]
        start = self.combined(made[0], [ir.Ref(each) for each in self.result.indices], places)
        if self.body.init is not None:
            joined = ir.Binary(self.body.combiner.op, self.body.init.expr, start.expr, self.body.at)
            start = Value(joined, {**start.sources, **self.body.init.sources})
        self.result.body = self.reduction({}, left, lambda k: plus(done, k), start)
        return tuple(made)

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
        self, name: str, lanes: int, extent: ir.Expr, begin: ir.Expr, start: RaggedTensor | None
    ) -> RaggedTensor:
        """Return partial results: lane i is of those of `start` and the elements at `begin` + i + 0, `lanes`, ..."""
        rows, lane, own = self.indices()
        before = None
        if start is not None:
            wider = start.dims[-1].extent.expr
            assert isinstance(wider, ir.Const), "lanes are numbers"
            places = [plus(ir.Ref(lane), ir.Const(each)) for each in range(0, int(wider.value), lanes)]
            before = self.combined(start, own.values(), places)
        body = self.reduction(
            own,
            extent,
            lambda k: plus(substitute(begin, own), plus(times(k, ir.Const(lanes)), ir.Ref(lane))),
            before,
        )
        return self.tensor(name, lanes, (*rows, lane), body)

    def combined(self, side: RaggedTensor, row: Collection[ir.Expr], places: Sequence[ir.Expr]) -> Value:
        """Return partial results of a row put together in pairs: the first half's with the second half's, and so on."""
        parts: list[ir.Expr] = [ir.Load(side.buffer, (*row, place)) for place in places]
        while len(parts) > 1:
            pairs = zip(parts[: len(parts) // 2], parts[len(parts) // 2 :], strict=True)
            parts = [ir.Binary(self.body.combiner.op, *pair, self.body.at) for pair in pairs]
        return Value(parts[0], {side.buffer: side})

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
        return RaggedTensor(
            own, Kind.COMPUTED, self.result.dtype, dims, indices, body, self.result.at, self.part_of
        )

    def reduction(
        self,
        own: dict[ir.Var, ir.Expr],
        extent: ir.Expr,
        place: Callable[[ir.Expr], ir.Expr],
        init: Value | None,
    ) -> Reduction:
        """Return the reduction over so many elements of each row, which `place` gives the places of."""
        axes: list[Axis] = []
        values = dict(own)
        for each in self.order():
            new = self.renamed(each, extent if each is self.axis else each.extent.expr, values)
            axes.append(new)
            index: ir.Expr = ir.Ref(new.var)
            values[each.var] = substitute(place(index), values) if each is self.axis else index
        body = self.body.body
        return self.reduced(tuple(axes), Value(substitute(body.expr, values), body.sources), init)

    def order(self) -> Sequence[Axis]:
        """Return the axes with `axis` as the last one, unless it says how far another one goes."""
        others = [each for each in self.body.axes if each is not self.axis]
        if any(mentions(each.extent.expr, (self.axis.var,)) for each in others):
            return self.body.axes
        return (*others, self.axis)

    def renamed(self, axis: Axis, extent: ir.Expr, own: dict[ir.Var, ir.Expr]) -> Axis:
        """Return an axis like another one, of a tensor with the indices `own`."""
        return Axis(ir.Var(axis.var.name), Value(substitute(extent, own), axis.extent.sources))

    def reduced(self, axes: tuple[Axis, ...], body: Value, init: Value | None) -> Reduction:
        buffer = ir.Buffer(self.body.combiner.value, self.body.buffer.dtype, (), ir.Role.WORKSPACE)
        return Reduction(self.body.combiner, axes, body, buffer, self.body.at, init)


def _load(tensor: RaggedTensor, at: Sequence[ir.Expr]) -> Value:
    return Value(ir.Load(tensor.buffer, tuple(at)), {tensor.buffer: tensor})
