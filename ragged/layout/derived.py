"""Prelude tables that primitives declared, derived from the program's facts about them."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.arith.affine import affine
from ragged.arith.fold import ONE, plus
from ragged.ir.expr import Binary, Call, Function, Ref, Source, Var
from ragged.ir.facts import Owner, PrefixSum
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.layout.tables import Offsets, Owners, Table


def derived_tables(program: Program, known: Sequence[Table]) -> tuple[Table, ...]:
    """Return the tables `known`, then those of the other prelude functions of `program`.

    A `PrefixSum` gives a table of offsets, an `Owner` the table of the row of each element.
    """
    tables: dict[Function, Table] = {table.function: table for table in known}
    for fact in program.facts:
        match fact:
            case PrefixSum(offset=offset, length=length):
                if offset not in tables and offset.source is Source.PRELUDE:
                    tables[offset] = _offsets(offset, length)
            case Owner(owner=owner, offset=offset) if owner not in tables:
                rows = tables.get(offset) or _given(offset)
                assert isinstance(rows, Offsets), "rows are those of a prefix sum"
                tables[owner] = Owners(owner, rows)
            case _:
                pass
    return tuple(tables.values())


def _offsets(offset: Function, length: Function) -> Offsets:
    place = Var("p")
    (param,) = length.params
    return Offsets(offset, ((place, param.extent),), Call(length, (Ref(place),)))


def _given(offset: Function) -> Offsets:
    """Return offsets that the caller gives: a row's length is the difference of consecutive offsets."""
    (param,) = offset.params
    place = Var("p")
    length = Binary(BinaryOp.SUB, Call(offset, (plus(Ref(place), ONE),)), Call(offset, (Ref(place),)))
    return Offsets(offset, ((place, affine(Binary(BinaryOp.SUB, param.extent, ONE)).expr),), length)
