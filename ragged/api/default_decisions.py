"""The decisions that a program gets where its user decides on nothing: they come before loops are made."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from ragged.api.attach import read_at
from ragged.api.dims import affine_sizes
from ragged.api.program import computed, is_product, reads
from ragged.api.row_groups import row_group, varies
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import RaggedTensor, Reduction
from ragged.api.values import Value
from ragged.errors import ScheduleError
from ragged.ir.expr import Expr, Ref
from ragged.ir.rewrite import substitute
from ragged.ir.rule_record import Refusal, RuleRecord
from ragged.ir.walk import mentions

_ROWS = 32
"""Rows of a tile: two vectors of 16 lanes, or four of 8."""
_BECAUSE = "products with the rows of a sequence, and sums over them, are computed in vectors; a tile's stay in cache"


def decide_by_default(schedule: RaggedSchedule) -> RaggedSchedule:
    """Return a schedule with default decisions, or the same one where its user has decided on anything.

    before::

        s(b, t, u) = sum(64, d: q[b, t, d] * k[b, u, d])
        y(b, t, e) = sum(n(b), u: s[b, t, u] * v[b, u, e])

    The pattern is a sum of products over an extent that varies, of which one factor is computed from another sum of
    products for each of its terms. The rows of the result are tiled; workers have equal shares of the work.
    """
    if schedule.decided or schedule.log():
        return schedule
    made = RaggedSchedule(*schedule.outputs, name=schedule.name)
    refused: dict[Refusal, None] = {}
    done: list[tuple[RaggedTensor, int, Value]] = []
    tried: set[RaggedTensor] = set()
    try:
        while (product := next((each for each in _open(made) if each not in tried), None)) is not None:
            tried.add(product)
            try:
                done += _tiled(made, product)
            except ScheduleError as error:
                refused[Refusal.of("tile_rows", error)] = None
        for result, depth, work in done:
            loops = result.loops[:depth]
            for outer, inner in pairwise(loops):
                made.fuse_loops(outer, inner)
            made.balance(loops[-1], work)
    except ScheduleError as error:
        refused[Refusal.of("tile_rows", error)] = None
        made = RaggedSchedule(*schedule.outputs, name=schedule.name)
    made.rules = (
        RuleRecord("tile_rows_of_sequences", _BECAUSE, tuple(made.log().splitlines()), tuple(refused)),
    )
    return made


def _open(schedule: RaggedSchedule) -> list[RaggedTensor]:
    """Return the computed tensors that nothing has been decided on."""
    own = schedule.decisions
    tiled = {tensor for tensor in (*own.at, *own.groups) if not tensor.part}
    return [tensor for tensor in computed(schedule.tensors) if tensor not in tiled]


def _tiled(schedule: RaggedSchedule, product: RaggedTensor) -> list[tuple[RaggedTensor, int, Value]]:
    """Tile the rows of what is computed from a product, if it has the pattern.

    Return the result, the number of loops around the tiles, and the work of an iteration of them.
    """
    found = _row_of(product)
    if found is None:
        return []
    result, row = _result(schedule, product, found[0])
    rows = result.dims[row]
    group = row_group("tile_rows", result, row, schedule.tensors, schedule.outputs)
    if product not in group.places or not any(_is_table(each, own) for each, own in group.places.items()):
        return []
    pairs = {product.indices[q]: result.dims[p].dim.var for p, q in group.places[product].items()}
    same = {own: Ref(var) for own, var in pairs.items()}
    terms = Value(substitute(found[1].expr, same), found[1].sources)
    work = (rows.extent + (_ROWS - 1)) // _ROWS * _ROWS * terms
    return [(schedule.tile_rows(rows, _ROWS), len(group.outer), work)]


def _row_of(tensor: RaggedTensor) -> tuple[int, Value] | None:
    """Return the dimension of rows of a sum of products with other factors for each row and term, and its extent."""
    if not is_product(tensor.body):
        return None
    around = {each.dim.var for each in tensor.dims}
    rows = [p for p, each in enumerate(tensor.dims) if mentions(each.extent.expr, around)]
    factors = (at for other in computed(list(reads(tensor))) for at in read_at(tensor, other))
    for indices in factors:
        own = [p for p in rows if Ref(tensor.indices[p]) in indices]
        for axis in tensor.body.axes:
            if own and Ref(axis.var) in indices and affine_sizes(axis.extent.expr) is None:
                return own[-1], axis.extent
    return None


def _is_table(tensor: RaggedTensor, places: Mapping[int, int]) -> bool:
    """Return whether a tensor has a sum of products over numbers of terms for each element of an extent that varies."""
    axes = tensor.body.axes if is_product(tensor.body) else ()
    return (
        bool(axes)
        and all(affine_sizes(axis.extent.expr) is not None for axis in axes)
        and varies(tensor, places)
    )


def _result(schedule: RaggedSchedule, tensor: RaggedTensor, row: int) -> tuple[RaggedTensor, int]:
    """Return the last of what is computed from a tensor element by element, and the position of its rows."""
    while True:
        readers = [other for other in schedule.tensors if tensor in set(reads(other))]
        if len(readers) != 1 or isinstance(readers[0].body, Reduction) or tensor in schedule.outputs:
            return tensor, row
        reader = readers[0]
        at: dict[Expr, int] = {Ref(index): p for p, index in enumerate(reader.indices)}
        found = set(read_at(reader, tensor))
        indices = found.pop() if len(found) == 1 else ()
        if len(indices) != len(reader.indices) or set(indices) != set(at):
            return tensor, row
        tensor, row = reader, at[indices[row]]
