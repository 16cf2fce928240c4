"""Tables of what primitives declared: one for each prelude function, filled as the facts about it say."""

import numpy as np

from ragged.ir.parser import parse
from ragged.layout.derived import derived_tables
from ragged.layout.tables import Owners
from tests.support.tables import filled_tables

PROGRAM = parse("""\
program("rows")

rows: input()
length: input(b < rows)
offset: prelude(p < rows + 1) = facts(prefix_sum(length))
row: prelude(f < offset(rows)) = facts(owner(offset))
begin: input(p < rows + 1) = facts(prefix_sum(gap))
gap: expression(b < rows, begin(b + 1) - begin(b))
other: prelude(f < begin(rows)) = facts(owner(begin), 0 <= other(f) < rows)
y: output(float32[rows])

with kernel:
    for b in serial(rows):
        y[b] = 0.0
""")


def test_tables_hold_what_the_facts_say():
    lengths, begin = np.array([2, 0, 3], np.int32), np.array([0, 0, 1, 5], np.int32)
    tables = filled_tables(PROGRAM, {"rows": 3}, {"length": lengths, "begin": begin})
    assert {name: list(table) for name, table in tables.items()} == {
        "offset": [0, 2, 2, 5],
        "row": [0, 0, 2, 2, 2],
        "other": [1, 2, 2, 2, 2],
    }


def test_only_prelude_functions_have_tables_and_owners_use_the_table_of_their_offsets():
    offset, row, other = derived_tables(PROGRAM, ())
    assert [each.function.name for each in (offset, row, other)] == ["offset", "row", "other"]
    assert isinstance(row, Owners) and row.offsets is offset
    assert isinstance(other, Owners) and other.offsets.function.name == "begin"


def test_tables_that_are_known_come_first_and_are_not_derived_again():
    offset, row, other = derived_tables(PROGRAM, ())
    assert derived_tables(PROGRAM, (row, other, offset)) == (row, other, offset)
    again = derived_tables(PROGRAM, (offset,))
    assert again[0] is offset and isinstance(again[1], Owners) and again[1].offsets is offset
