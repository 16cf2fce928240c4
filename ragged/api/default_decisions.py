"""The decisions that a program gets where its user decides on nothing: they come before loops are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import prod
from operator import mul

from ragged.api.attach import read_at
from ragged.api.dims import is_of_sizes
from ragged.api.program import computed, is_product, reads
from ragged.api.row_groups import RowGroup, operands, row_group
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import RaggedTensor, Reduction
from ragged.api.values import Value
from ragged.errors import ScheduleError
from ragged.ir.expr import Const, Expr, Ref, Var
from ragged.ir.rewrite import substitute
from ragged.ir.rule_record import Refusal, RuleRecord
from ragged.ir.walk import mentions

_ROWS = 32
"""Rows of a tile: two vectors of 16 lanes, or four of 8."""
_FEW_TERMS = 8
"""Terms that are unrolled, in vectors of neighbouring results, as quickly as in tiles: a copied element serves few."""
_BECAUSE = "products with the rows of a sequence, and sums over them, are computed in vectors; a tile's stay in cache"


def decide_by_default(schedule: RaggedSchedule) -> RaggedSchedule:
    """Return a schedule with default decisions, or the same one where its user has decided on anything.

    before::

        s(b, t, u) = sum(64, d: q[b, t, d] * k[b, u, d])
        y(b, t, e) = sum(n(b), u: s[b, t, u] * v[b, u, e])

    The pattern is a sum of products over an extent that varies, of which one factor is computed from another sum of
    products for each of its terms; or a reduction of a number of terms for each pair of places of extents that vary,
    as that of `s`. The rows of the result are tiled; workers have equal shares of the work.
    """
    if schedule.decided or schedule.log():
        return schedule
    made = RaggedSchedule(*schedule.outputs, name=schedule.name)
    refused: dict[Refusal, None] = {}
    done: list[tuple[str, int, Value]] = []
    try:
        for pattern in (_Pattern(_row_of_product, _has_table), _Pattern(_row_of_table, RowGroup.is_apart)):
            tried: set[RaggedTensor] = set()
            while (tensor := next((each for each in _open(made) if each not in tried), None)) is not None:
                tried.add(tensor)
                try:
                    done += _tiled(made, tensor, pattern)
                except ScheduleError as error:
                    refused[Refusal.of("tile_rows", error)] = None
        # by name, as a later one may have taken the place of its readers
        results = {each.name: each for each in made.tensors}
        for name, depth, work in done:
            loops = results[name].loops[:depth]
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


@dataclass(frozen=True, slots=True)
class _Pattern:
    """What reductions have rows to tile: `find` returns the dimension of these, and how many terms each row has.

    `suits` says whether those that are computed with the rows are such that tiles pay.
    """

    find: Callable[[RaggedTensor], tuple[int, Value] | None]
    suits: Callable[[RowGroup, RaggedTensor], bool]


def _tiled(schedule: RaggedSchedule, tensor: RaggedTensor, pattern: _Pattern) -> list[tuple[str, int, Value]]:
    """Tile the rows of what is computed from a reduction, if it has the pattern.

    Return the name of the result, the number of loops around the tiles, and the work of an iteration of them.
    """
    found = pattern.find(tensor)
    if found is None:
        return []
    result, row = _result(schedule, tensor, found[0])
    rows = result.dims[row]
    group = row_group("tile_rows", result, row, schedule.tensors, schedule.outputs)
    if tensor not in group.places or not pattern.suits(group, tensor):
        return []
    same = {
        own: Ref(result.dims[p].dim.var)
        for p, q in group.places[tensor].items()
        for own in (tensor.indices[q], tensor.dims[q].dim.var)
    }
    terms = Value(substitute(found[1].expr, same), found[1].sources)
    work = (rows.extent + (_ROWS - 1)) // _ROWS * _ROWS * terms
    inside = schedule.decisions.at
    decided = inside.pop(result, None) if result.part else None
    try:
        return [(schedule.tile_rows(rows, _ROWS).name, len(group.outer), work)]
    except ScheduleError:
        if decided is not None:
            inside[result] = decided
        raise


def _row_of_table(tensor: RaggedTensor) -> tuple[int, Value] | None:
    """Return the first dimension that varies and that an operand of a reduction does not depend on.

    With it the extent of the others that an operand does not depend on. One of all of them, the last in memory, varies,
    and there are as many terms as numbers and sizes say, more than a few.
    """
    dims, read = tensor.dims, list(operands(tensor))

    def is_apart(own: Var) -> bool:
        return any(not mentions(each, (own,)) for each in read)

    apart = [p for p, own in enumerate(tensor.indices) if is_apart(own)]
    rows = [p for p in apart if _varies(dims[p].extent)]
    if not rows or rows[-1] != len(dims) - 1 or not _has_sized_terms(tensor) or _has_few_terms(tensor):
        return None
    others = [
        p for p in apart if p != rows[0] and not mentions(dims[rows[0]].extent.expr, (dims[p].dim.var,))
    ]
    return (rows[0], reduce(mul, (dims[p].extent for p in others))) if others else None


def _has_sized_terms(tensor: RaggedTensor) -> bool:
    """Return whether a tensor is a reduction of as many terms as numbers and sizes say."""
    axes = tensor.body.axes if isinstance(tensor.body, Reduction) else ()
    return bool(axes) and not any(_varies(axis.extent) for axis in axes)


def _has_few_terms(tensor: RaggedTensor) -> bool:
    """Return whether copies of operands cost as much as the terms of a reduction."""
    axes = tensor.body.axes if isinstance(tensor.body, Reduction) else ()
    extents = [axis.extent.expr for axis in axes]
    known = [int(each.value) for each in extents if isinstance(each, Const)]
    return len(known) == len(extents) and prod(known) <= _FEW_TERMS


def _varies(extent: Value) -> bool:
    return not is_of_sizes(extent.expr)


def _row_of_product(tensor: RaggedTensor) -> tuple[int, Value] | None:
    """Return the dimension of rows of a sum of products with other factors for each row and term, and its extent."""
    if not is_product(tensor.body):
        return None
    around = {each.dim.var for each in tensor.dims}
    rows = [p for p, each in enumerate(tensor.dims) if mentions(each.extent.expr, around)]
    factors = (at for other in computed(list(reads(tensor))) for at in read_at(tensor, other))
    for indices in factors:
        own = [p for p in rows if Ref(tensor.indices[p]) in indices]
        for axis in tensor.body.axes:
            if own and Ref(axis.var) in indices and _varies(axis.extent):
                return own[-1], axis.extent
    return None


def _has_table(group: RowGroup, tensor: RaggedTensor) -> bool:
    return any(_is_table(group, each) for each in group.places)


def _is_table(group: RowGroup, tensor: RaggedTensor) -> bool:
    """Return whether a tensor has a reduction of a number of terms for each element of an extent that varies."""
    pairs = is_product(tensor.body) or group.is_apart(tensor)
    inner = (tensor.dims[tensor.indices.index(var)].extent for var in group.inner(tensor))
    return pairs and _has_sized_terms(tensor) and any(map(_varies, inner))


def _result(schedule: RaggedSchedule, tensor: RaggedTensor, row: int) -> tuple[RaggedTensor, int]:
    """Return the last of what is computed from a tensor row by row, and the position of its rows.

    Each reads one element for an element of its own, or reduces those of a row.
    """
    while True:
        readers = [other for other in schedule.tensors if tensor in set(reads(other))]
        if len(readers) != 1 or tensor in schedule.outputs:
            return tensor, row
        reader = readers[0]
        axes = reader.body.axes if isinstance(reader.body, Reduction) else ()
        at: dict[Expr, int] = {Ref(index): p for p, index in enumerate(reader.indices)}
        found = set(read_at(reader, tensor))
        indices = found.pop() if len(found) == 1 else ()
        own = {*at, *(Ref(axis.var) for axis in axes)}
        if len(indices) != len(own) or set(indices) != own or indices[row] not in at:
            return tensor, row
        tensor, row = reader, at[indices[row]]
