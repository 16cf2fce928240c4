"""The tensors that take the place of a group's when its rows are tiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ragged.api.dims import RaggedDim
from ragged.api.program import is_product
from ragged.api.row_groups import RowGroup
from ragged.api.storage import TILE_PARTS
from ragged.api.tensors import Axis, Kind, RaggedTensor, Reduction, TensorDim
from ragged.api.values import Value, ValueSource, binary, unary
from ragged.arith.fold import floordiv, modulo
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Const, Dim, Expr, Function, Load, Ref, Unary, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import Rewriter
from ragged.ir.walk import loads, variables

Read = Callable[[tuple[Expr, ...]], Value]
"""From the indices that an old tensor is read at to the read of the new one."""


@dataclass
class _NewDims:
    """Dimensions and indices of a new tensor, and what stands for old variables in extents and in the body."""

    dims: list[TensorDim] = field(default_factory=list)
    indices: list[Var] = field(default_factory=list)
    extents: dict[Var, Value] = field(default_factory=dict)
    values: dict[Var, Value] = field(default_factory=dict)

    def add(self, dim: RaggedDim, extent: Value, *old: Var) -> None:
        """Add a dimension, which the variables `old` stood for."""
        if any(each.dim is dim for each in self.dims):
            dim = _dim(dim.name)
        index = Var(dim.name)
        self.dims.append(TensorDim(dim, _rewritten(extent, self.extents)))
        self.indices.append(index)
        self.extents |= dict.fromkeys(old, dim.value)
        self.values |= dict.fromkeys(old, Value(Ref(index)))

    def tensor(self, old: RaggedTensor, name: str, dtype: DType, body: Value | Reduction) -> RaggedTensor:
        """Return the tensor with these dimensions."""
        return RaggedTensor(name, Kind.COMPUTED, dtype, tuple(self.dims), tuple(self.indices), body, old.at)


@dataclass
class TiledTensors:
    """Replaces the tensors of a group by those of tiles with so many `rows`.

    `new` maps an old tensor to the new one and the order of its dimensions: variables of the old one, the tile and the
    lane. `in_tile` are the tensors computed in the loop over tiles, producers first, and `shared` those outside of it.
    """

    group: RowGroup
    rows: int
    new: dict[RaggedTensor, tuple[RaggedTensor, tuple[Var, ...]]] = field(default_factory=dict)
    in_tile: list[RaggedTensor] = field(default_factory=list)
    shared: list[RaggedTensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.row = self.group.result.dims[self.group.row]
        self.tile, self.lane = (_dim(self.row.dim.name + part) for part in TILE_PARTS)

    def build(self) -> RaggedTensor:
        """Make the new tensors; return the result, with the lanes of its last tile that are rows."""
        result = self.group.result
        for tensor in reversed(list(self.group.places)):
            if tensor is not result:
                self._add(tensor, tensor.name)
            elif isinstance(tensor.body, Reduction):
                self._add(tensor, f"{tensor.name}_{tensor.body.combiner.value}")
        order = (*self.group.around(result), self.tile.var, self.lane.var, *self.group.inner(result))
        frame = self._frame(result, order, whole=False)
        if result in self.new:
            indices = tuple(frame.values[index].expr for index in result.indices)
            body: Value | Reduction = self._read(result, frame.values, indices)
        else:
            body = self._body(result, frame)
        made = frame.tensor(result, result.name, result.dtype, body)
        self.new[result] = made, order
        return made

    def stored(self) -> tuple[int, ...]:
        """Return the positions of the result's dimensions in the order of storage, the tile's for both of the rows."""
        result, (_, order) = self.group.result, self.new[self.group.result]
        row = result.indices[self.group.row]
        return tuple(order.index(self.tile.var if index is row else index) for index in result.indices)

    def reader(self, tensor: RaggedTensor, new: Mapping[RaggedTensor, RaggedTensor]) -> RaggedTensor:
        """Return a tensor outside of the group, which reads the tensors `new` in the place of old ones."""
        outside = {old: made for old, made in new.items() if old not in self.new}
        reads: dict[Buffer, Read] = {old.buffer: partial(_at_same, made) for old, made in outside.items()}
        reads[self.group.result.buffer] = self._read_result
        return replace(tensor, body=_mapped(tensor, partial(_rewritten, values={}, reads=reads)))

    def _add(self, tensor: RaggedTensor, name: str) -> None:
        """Add the tensor of all lanes of a tile."""
        inner = self.group.inner(tensor)
        own = (self.lane.var, *inner) if self._features_last(tensor) else (*inner, self.lane.var)
        order = (*self.group.around(tensor), self.tile.var, *own)
        frame = self._frame(tensor, order)
        made = frame.tensor(tensor, name, tensor.dtype, self._body(tensor, frame))
        self.new[tensor] = made, order
        self.in_tile.append(made)

    def _features_last(self, tensor: RaggedTensor) -> bool:
        """Return whether features, the last dimension, fill vectors: these are of lanes otherwise."""
        inner = self.group.inner(tensor)
        last = tensor.dims[tensor.indices.index(inner[-1])].extent.expr if inner else None
        return isinstance(last, Const) and int(last.value) >= self.rows

    def _frame(self, tensor: RaggedTensor, order: Sequence[Var], *, whole: bool = True) -> _NewDims:
        """Return the dimensions of what takes the place of a tensor.

        Tiles are `whole`, with the last row in lanes beyond it, or have the lanes of rows.
        """
        frame, places, result = _NewDims(), self.group.places[tensor], self.group.result
        outer = {tensor.indices[places[p]]: p for p in self.group.outer}
        axes = {axis.var: axis for axis in tensor.body.axes} if isinstance(tensor.body, Reduction) else {}
        count, rows = self.row.extent, Value(Const(self.rows))
        for var in order:
            if var is self.tile.var:
                frame.add(self.tile, (count + (self.rows - 1)) // self.rows, var)
            elif var is self.lane.var:
                left = count - self.tile.value * self.rows
                frame.add(self.lane, rows if whole else binary(BinaryOp.MIN, rows, left), var)
            elif var in axes:
                frame.add(_dim(var.name), axes[var].extent, var)
            elif var in outer:
                p = outer[var]
                old = (*_variables(tensor, places[p]), *_variables(result, p))
                frame.add(result.dims[p].dim, result.dims[p].extent, *old)
            else:
                p = tensor.indices.index(var)
                frame.add(tensor.dims[p].dim, tensor.dims[p].extent, *_variables(tensor, p))
        if self.lane.var in order:
            row = frame.values[self.tile.var] * self.rows + frame.values[self.lane.var]
            if whole:
                row = binary(BinaryOp.MIN, row, _rewritten(count, frame.values) - 1)
            frame.values |= dict.fromkeys(_variables(tensor, places[self.group.row]), row)
        return frame

    def _reads(self, frame: _NewDims) -> dict[Buffer, Read]:
        """Return how a tensor in a frame reads the new tensors of its own lane."""
        return {old.buffer: partial(self._read, old, frame.values) for old in self.new}

    def _read(self, old: RaggedTensor, values: Mapping[Var, Value], indices: tuple[Expr, ...]) -> Value:
        made, order = self.new[old]
        at = {**values, **dict(zip(old.indices, map(Value, indices), strict=True))}
        return made[tuple(at[var] for var in order)]

    def _read_result(self, indices: tuple[Expr, ...]) -> Value:
        """Return the read of the result at any row."""
        row = indices[self.group.row]
        values = {self.tile.var: floordiv(row, self.rows), self.lane.var: modulo(row, self.rows)}
        return self._read(self.group.result, {var: Value(own) for var, own in values.items()}, indices)

    def _body(self, tensor: RaggedTensor, frame: _NewDims) -> Value | Reduction:
        """Return the body of a tensor in a frame; factors of a sum of products are copied first."""
        made = _mapped(tensor, partial(_rewritten, values=frame.values, reads=self._reads(frame)))
        if not isinstance(made, Reduction) or not isinstance(tensor.body, Reduction):
            return made
        if is_product(tensor.body):
            term = tensor.body.body
            assert isinstance(term.expr, Binary)
            sides = (Value(side, term.sources) for side in (term.expr.lhs, term.expr.rhs))
            return replace(
                made, body=binary(BinaryOp.MUL, *(self._operand(tensor, each, frame) for each in sides))
            )
        is_table = self.group.is_apart(tensor) and self.group.mixes(tensor, tensor.body.body.expr)
        return replace(made, body=self._operand(tensor, tensor.body.body, frame)) if is_table else made

    def _operand(self, tensor: RaggedTensor, operand: Value, frame: _NewDims) -> Value:
        """Return an operand in a frame, of what is copied first: parts of it that depend on the row, and others."""
        if self.group.is_apart(tensor) and self.group.mixes(tensor, operand.expr):
            match operand.expr:
                case Binary(op=op, lhs=lhs, rhs=rhs):
                    sides = (Value(side, operand.sources).trimmed() for side in (lhs, rhs))
                    return binary(op, *(self._operand(tensor, side, frame) for side in sides))
                case Unary(op=op, operand=inner):
                    own = self._operand(tensor, Value(inner, operand.sources), frame)
                    return unary(op, own)
                case _:
                    pass
        return self._factor(tensor, operand, frame)

    def _factor(self, tensor: RaggedTensor, factor: Value, frame: _NewDims) -> Value:
        """Return a factor of a product in a frame: a read of a copy of it, unless it is a tensor's of the group."""
        reads, used, around = self._reads(frame), variables(factor.expr), self.group.around(tensor)
        assert isinstance(tensor.body, Reduction)
        axes = [axis.var for axis in tensor.body.axes if axis.var in used]
        is_member = isinstance(factor.expr, Load) and factor.expr.buffer in reads
        if is_member or not axes or used.isdisjoint(around):
            return _rewritten(factor, frame.values, reads)
        inner = [var for var in self.group.inner(tensor) if var in used]
        order = (*around, *axes, *inner) if self._features_last(tensor) else (*around, *inner, *axes)
        of_rows = tensor.indices[self.group.places[tensor][self.group.row]] in used
        if of_rows:
            order = (*around, self.tile.var, *order[len(around) :], self.lane.var)
        own = self._frame(tensor, order)
        body = _rewritten(factor, own.values, self._reads(own) if of_rows else {})
        read = next(loads(factor.expr), None)
        name = f"{tensor.name}_{read.buffer.name if read else 'factor'}"
        made = own.tensor(tensor, name, body.dtype, body)
        (self.in_tile if of_rows else self.shared).append(made)
        return made[tuple(frame.values.get(var, Value(Ref(var))) for var in order)]


def _mapped(tensor: RaggedTensor, own: Callable[[Value], Value]) -> Value | Reduction:
    """Return a tensor's body with each value replaced."""
    body = tensor.body
    assert body is not None, "inputs are not computed"
    if isinstance(body, Value):
        return own(body)
    axes = tuple(Axis(each.var, own(each.extent)) for each in body.axes)
    return replace(body, axes=axes, body=own(body.body), init=None if body.init is None else own(body.init))


def _at_same(tensor: RaggedTensor, indices: tuple[Expr, ...]) -> Value:
    return tensor[tuple(map(Value, indices))]


def _dim(name: str) -> RaggedDim:
    return RaggedDim(name, Var(name), Dim(name))


def _variables(tensor: RaggedTensor, position: int) -> tuple[Var, Var]:
    """Return the variables that stand for the index along a dimension of a tensor."""
    return tensor.indices[position], tensor.dims[position].dim.var


def _rewritten(
    value: Value, values: Mapping[Var, Value], reads: Mapping[Buffer, Read] | None = None
) -> Value:
    """Return a value with others in the place of variables and of reads."""
    rewriter = _NewReads(values, reads or {})
    expr = rewriter.expr(value.expr)
    return Value(expr, {**value.sources, **rewriter.sources}).trimmed()


class _NewReads(Rewriter):
    """Puts values in the place of variables and of reads, and collects what these read."""

    def __init__(self, values: Mapping[Var, Value], reads: Mapping[Buffer, Read]) -> None:
        super().__init__()
        self.values, self.reads = values, reads
        self.sources: dict[Buffer | Function, ValueSource] = {}

    def expr(self, expr: Expr) -> Expr:
        found: Value | None = None
        match expr:
            case Ref(var=var):
                found = self.values.get(var)
            case Load(buffer=buffer, indices=indices) if buffer in self.reads:
                found = self.reads[buffer](self.exprs(indices))
        if found is None:
            return super().expr(expr)
        self.sources |= found.sources
        return found.expr
