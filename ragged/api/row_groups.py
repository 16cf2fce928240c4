"""Tensors that are computed row by row with another one: nothing else reads what they hold of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragged.api.attach import read_at
from ragged.api.dims import affine_sizes
from ragged.api.program import computed, reads, refuse
from ragged.api.tensors import RaggedTensor, Reduction
from ragged.ir.expr import Ref, Var
from ragged.ir.rewrite import substitute
from ragged.ir.walk import mentions, variables


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
        own = (*self.around(tensor), tensor.indices[self.places[tensor][self.row]])
        return tuple(index for index in tensor.indices if index not in own)


def row_group(
    what: str,
    result: RaggedTensor,
    row: int,
    tensors: Sequence[RaggedTensor],
    outputs: Sequence[RaggedTensor],
) -> RowGroup:
    """Return the tensors that are computed with the rows of `result`.

    They are read at the indices of the reader's own row, and loop over extents that vary, or read such tensors.
    What is summed up over constant extents alone, as projections of rows, is left to products of all rows.

    Raises:
        ScheduleError: a tensor has rows of other extents, or an extent depends on the row; `what` is the refusal.
    """
    places: dict[RaggedTensor, Mapping[int, int]] = {result: {p: p for p in range(len(result.dims))}}
    for tensor in reversed(computed(tensors)):
        readers = [other for other in tensors if tensor in set(reads(other))]
        if tensor in outputs or tensor is result or not readers or not places.keys() >= set(readers):
            continue
        own = _shared(tensor, readers, places)
        if row in own and (varies(tensor, own) or not isinstance(tensor.body, Reduction)):
            places[tensor] = own
    wanted = {result}
    for tensor in reversed(places):
        if varies(tensor, places[tensor]) or not wanted.isdisjoint(reads(tensor)):
            wanted.add(tensor)
    kept = {tensor: own for tensor, own in places.items() if tensor in wanted}
    common = set.intersection(*(set(own) for own in kept.values()))
    group = RowGroup(result, row, tuple(sorted(common - {row})), kept)
    for tensor in kept:
        _check(what, group, tensor)
    return group


def varies(tensor: RaggedTensor, places: Mapping[int, int]) -> bool:
    """Return whether a tensor loops over an extent that is no number or size, besides dimensions at `places`."""
    inner = [each.extent for p, each in enumerate(tensor.dims) if p not in places.values()]
    axes = [axis.extent for axis in tensor.body.axes] if isinstance(tensor.body, Reduction) else []
    return any(affine_sizes(extent.expr) is None for extent in (*inner, *axes))


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
