"""Tensors that are computed row by row with another one: nothing else reads what they hold of a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragged.api.attach import read_at
from ragged.api.dims import is_of_sizes
from ragged.api.program import computed, reads, refuse
from ragged.api.tensors import RaggedTensor, Reduction
from ragged.ir.expr import Expr, Ref, Var
from ragged.ir.rewrite import substitute
from ragged.ir.walk import arithmetic_operands, mentions, variables


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A tensor, `result`, with those that are computed with its rows, which dimension number `row` goes over.

    `outer` are the positions of dimensions around the rows that all of them have. `places` maps each tensor, consumers
    first and the result the first, to the position that it has each of these dimensions of the result at.
    """

    result: RaggedTensor
    row: int
    outer: tuple[int, ...]
    places: Mapping[RaggedTensor, Mapping[int, int]]

    def around(self, tensor: RaggedTensor) -> tuple[Var, ...]:
        """Return a tensor's indices of the dimensions around the rows."""
        return tuple(tensor.indices[self.places[tensor][place]] for place in self.outer)

    def inner(self, tensor: RaggedTensor) -> tuple[Var, ...]:
        """Return a tensor's indices of the other dimensions, but for that of rows."""
        own = (*self.around(tensor), self.row_of(tensor))
        return tuple(index for index in tensor.indices if index not in own)

    def row_of(self, tensor: RaggedTensor) -> Var:
        """Return a tensor's index of the row."""
        return tensor.indices[self.places[tensor][self.row]]

    def is_apart(self, tensor: RaggedTensor) -> bool:
        """Return whether no operand of a reduction depends on the row and on all dimensions inside of it.

        So are the operands of `q[t, d] * k[u, d]` and of `abs(q[t, d] - k[u, d])`.
        """
        return not any(self.mixes(tensor, operand) for operand in operands(tensor))

    def mixes(self, tensor: RaggedTensor, expr: Expr) -> bool:
        """Return whether an expression depends on the row of a tensor and on all dimensions inside of it."""
        return all(mentions(expr, (var,)) for var in (self.row_of(tensor), *self.inner(tensor)))


def row_group(
    what: str,
    result: RaggedTensor,
    row: int,
    tensors: Sequence[RaggedTensor],
    outputs: Sequence[RaggedTensor],
) -> RowGroup:
    """Return the tensors that are computed with the rows of `result`.

    They are read at the indices of the reader's own row, and loop over extents that vary, or read such tensors.
    What is summed up over constant extents alone, as projections of rows, is left to products of all rows, unless
    elements of different rows are next to each other.

    Raises:
        ScheduleError: a tensor has rows of other extents, or an extent depends on the row; `what` is the refusal.
    """
    places: dict[RaggedTensor, Mapping[int, int]] = {result: {p: p for p in range(len(result.dims))}}
    for tensor in reversed(computed(tensors)):
        readers = [other for other in tensors if tensor in set(reads(other))]
        if tensor in outputs or tensor is result or not readers or not places.keys() >= set(readers):
            continue
        own = _shared(tensor, readers, places)
        is_reduction = isinstance(tensor.body, Reduction)
        along = {p: q for p, q in own.items() if p == row or _is_read_along(tensor, q)}
        if row in own and (not is_reduction or _is_of_rows(tensor, along, row)):
            places[tensor] = own
    outer, wanted = _around(result, row, places), {result}
    for tensor in reversed(places):
        own = {p: q for p, q in places[tensor].items() if p in (*outer, row)}
        if _is_of_rows(tensor, own, row) or not wanted.isdisjoint(reads(tensor)):
            wanted.add(tensor)
    kept = {tensor: own for tensor, own in places.items() if tensor in wanted}
    group = RowGroup(result, row, _around(result, row, kept), kept)
    for tensor in kept:
        _check(what, group, tensor)
    return group


def operands(tensor: RaggedTensor) -> Iterator[Expr]:
    """Yield the operands of the arithmetic that the terms of a reduction are, those that depend on its axes."""
    if isinstance(tensor.body, Reduction):
        axes = [axis.var for axis in tensor.body.axes]
        found = arithmetic_operands(tensor.body.body.expr)
        yield from (each for each in found if mentions(each, axes))


def _is_of_rows(tensor: RaggedTensor, places: Mapping[int, int], row: int) -> bool:
    """Return whether a tensor loops over an extent that varies, or has reductions with rows in its last dimension.

    It has several of these for each row.
    """
    is_last = isinstance(tensor.body, Reduction) and places[row] == len(tensor.dims) - 1
    return (is_last and len(tensor.dims) > len(places)) or varies(tensor, places)


def _around(
    result: RaggedTensor, row: int, places: Mapping[RaggedTensor, Mapping[int, int]]
) -> tuple[int, ...]:
    """Return the positions of the dimensions around the rows: those that all tensors have.

    Where these are all dimensions of the result, they are what extents of rows depend on, and those that all operands
    of reductions depend on.
    """
    common = set.intersection(*(set(own) for own in places.values()))
    if len(common) == len(result.dims):
        rows = result.dims[row].extent.expr
        common = {
            p
            for p in common
            if mentions(rows, (result.dims[p].dim.var,))
            or all(_is_read_along(tensor, own[p]) for tensor, own in places.items())
        }
    return tuple(sorted(common - {row}))


def _is_read_along(tensor: RaggedTensor, position: int) -> bool:
    """Return whether all operands of a reduction depend on a dimension; true of what is none."""
    return all(mentions(operand, (tensor.indices[position],)) for operand in operands(tensor))


def varies(tensor: RaggedTensor, places: Mapping[int, int]) -> bool:
    """Return whether a tensor loops over an extent that is no number or size, besides dimensions at `places`."""
    inner = [each.extent for p, each in enumerate(tensor.dims) if p not in places.values()]
    axes = [axis.extent for axis in tensor.body.axes] if isinstance(tensor.body, Reduction) else []
    return any(not is_of_sizes(extent.expr) for extent in (*inner, *axes))


def _shared(
    tensor: RaggedTensor,
    readers: Sequence[RaggedTensor],
    places: Mapping[RaggedTensor, Mapping[int, int]],
) -> dict[int, int]:
    """Return the positions at which all readers read a tensor at their own index of a dimension of the result."""
    found: list[set[tuple[int, int]]] = []
    for reader in readers:
        own = {Ref(reader.indices[q]): p for p, q in places[reader].items()}
        for indices in read_at(reader, tensor):
            found.append({(own[index], q) for q, index in enumerate(indices) if index in own})
    return dict(sorted(set.intersection(*found), reverse=True))  # the first position of several


def _check(what: str, group: RowGroup, tensor: RaggedTensor) -> None:
    """Refuse a tensor with other rows than the result, or an extent that differs between rows."""
    places, result = group.places[tensor], group.result
    same = {tensor.dims[q].dim.var: Ref(result.dims[p].dim.var) for p, q in places.items()}
    around = {result.dims[p].dim.var for p in group.outer}
    for p in (*group.outer, group.row):
        own, other = tensor.dims[places[p]], result.dims[p]
        if substitute(own.extent.expr, same) != other.extent.expr:
            because = (
                f"dimension '{own.dim.name}' of '{tensor.name}' extends {own.extent.text()}, and that of "
            )
            refuse(what, because=f"{because}'{result.name}' {other.extent.text()}")
        if not variables(other.extent.expr) <= around:
            refuse(what, because=f"{other.extent.text()} depends on a dimension that not all tensors have")
    row = {tensor.dims[places[group.row]].dim.var, tensor.indices[places[group.row]]}
    axes = [axis.extent for axis in tensor.body.axes] if isinstance(tensor.body, Reduction) else []
    for extent in (*(each.extent for each in tensor.dims), *axes):
        if mentions(extent.expr, row):
            because = f"a loop of '{tensor.name}' extends {extent.text()}, which differs between rows"
            refuse(what, because=because)
