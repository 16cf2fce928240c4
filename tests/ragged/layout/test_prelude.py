"""Prelude programs fill tables with what a plain reference computes, each after what it is made of."""

from itertools import accumulate

import numpy as np
import pytest

from ragged.arith.fold import ONE, plus, times
from ragged.errors import InternalError
from ragged.ir.dtype import DType
from ragged.ir.expr import Call, Const, Function, Param, Ref, Source, Var
from ragged.ir.interpret import CheckFailed, interpret
from ragged.ir.verify import verify
from ragged.layout.prelude import prelude_programs
from ragged.layout.tables import Largest, Offsets, Owners, ValueTable

DTYPES = (DType.INT32, DType.INT64)
ROWS, MORE = (Function(name, (), Source.INPUT) for name in ("rows", "more"))
COUNT, ADDED = Call(ROWS, ()), Call(MORE, ())
LENGTH = Function("length", (Param(Var("b"), COUNT),), Source.INPUT)
B, ROW = Var("b"), Var("i")
EACH = ((B, COUNT),)
LENGTHS = [3, 0, 2, 4]


def length(of):
    return Call(LENGTH, (of,))


NESTED = ((B, COUNT), (ROW, length(Ref(B))))


def filled(name, extent, storage=DType.INT64):
    return Function(name, (Param(Var("p"), extent),), Source.PRELUDE, storage=storage)


def run(tables, wanted, lengths=LENGTHS, more=0, bodies=(), **options):
    """Return the values of the tables that are filled, by name, and the programs that fill them."""
    functions = (ROWS, MORE, LENGTH, *(table.function for table in tables), *bodies)
    programs = prelude_programs("p", functions, tables, wanted, **options)
    given = {"length": np.array(lengths, np.int32)}
    sizes = {"rows": len(lengths), "more": more}
    found = {}
    for program in programs:
        verify(program)
        names = {function.name for function in program.functions}
        found |= {
            name.removesuffix("_table"): table
            for name, table in interpret(
                program,
                {name: size for name, size in sizes.items() if name in names},
                {name: array for name, array in {**given, **found}.items() if name in names},
            ).items()
        }
    return {name: table.tolist() for name, table in found.items()}, programs


def offsets(storage=DType.INT64, name="offset"):
    return Offsets(filled(name, plus(COUNT, ONE), storage), EACH, length(Ref(B)))


@pytest.mark.parametrize("storage", DTYPES)
@pytest.mark.parametrize("lengths", [LENGTHS, []])
def test_offsets_largest_owners_and_values(storage, lengths):
    rows = offsets(storage)
    end = Call(rows.function, (COUNT,))
    most = Largest(filled("most", ONE, storage), EACH, length(Ref(B)))
    owners = Owners(filled("row", end, storage), rows)
    doubled = ValueTable(filled("doubled", COUNT, storage), EACH, times(length(Ref(B)), Const(2)))
    tables = [rows, most, owners, doubled]
    found, (first, second) = run(tables, [each.function for each in tables], lengths)
    assert found == {
        "offset": [0, *accumulate(lengths)],
        "most": [max(lengths, default=0)],
        "row": [row for row, n in enumerate(lengths) for _ in range(n)],
        "doubled": [2 * n for n in lengths],
    }
    assert (first.name, second.name) == ("p_prelude", "p_prelude_2")
    assert [buffer.name for buffer in second.buffers] == ["row_table"]
    assert "most" not in {function.name for function in second.functions}
    assert {buffer.dtype for buffer in (*first.buffers, *second.buffers)} == {storage}


def test_domains_of_two_dimensions_are_counted_through():
    rows = offsets()
    count = Call(rows.function, (COUNT,))
    steps = Offsets(filled("step", plus(count, ONE)), NESTED, plus(Ref(ROW), ONE))
    values = ValueTable(filled("value", count), NESTED, plus(times(Ref(B), Const(10)), Ref(ROW)))
    largest = Largest(filled("largest", ONE), NESTED, plus(Ref(B), Ref(ROW)))
    found, programs = run([rows, steps, values, largest], [steps.function, values.function, largest.function])
    points = [(b, i) for b, n in enumerate(LENGTHS) for i in range(n)]
    assert found["step"] == [0, *accumulate(i + 1 for _, i in points)]
    assert found["value"] == [10 * b + i for b, i in points]
    assert found["largest"] == [max(b + i for b, i in points)]
    assert len(programs) == 2


@pytest.mark.parametrize("storage", DTYPES)
def test_a_table_is_read_by_another_in_the_same_program_also_in_a_body(storage):
    rows = offsets(storage)
    param = Var("k")
    after = Function(
        "after", (Param(param, COUNT),), Source.EXPRESSION, Call(rows.function, (plus(Ref(param), ONE),))
    )
    twice = Function("twice", (Param(param, COUNT),), Source.EXPRESSION, times(length(Ref(param)), Const(2)))
    ends = ValueTable(filled("end", COUNT), EACH, plus(Call(after, (Ref(B),)), Call(twice, (Ref(B),))))
    found, (program,) = run([rows, ends], [ends.function], bodies=(after, twice))
    assert found["end"] == [end + 2 * n for end, n in zip(accumulate(LENGTHS), LENGTHS, strict=True)]
    assert [function.name for function in program.functions] == ["rows", "length", "twice"]


def test_only_what_is_wanted_and_what_it_is_made_of_is_filled():
    rows, other = offsets(), offsets(name="other")
    most = Largest(filled("most", ONE), EACH, length(Ref(B)))
    owners = Owners(filled("row", Call(rows.function, (COUNT,))), rows)
    inside = ValueTable(filled("inside", ONE), ((ROW, Call(most.function, (Const(0),))),), Const(1))
    tables = [other, rows, most, owners, inside]
    assert set(run(tables, [owners.function])[0]) == {"offset", "row"}
    assert set(run(tables, [most.function])[0]) == {"most"}
    assert run(tables, ()) == ({}, ())
    assert set(run(tables, [inside.function], lengths=[1])[0]) == {"most", "inside"}


def test_a_table_waits_for_one_that_another_function_of_it_is_made_of():
    """The caller computes `length` from the table `first` between two programs."""
    first, rows = ValueTable(filled("first", COUNT), EACH, Ref(B)), offsets()
    wanted = [rows.function, first.function]
    _, (program,) = run([rows, first], wanted)
    assert [buffer.name for buffer in program.buffers] == ["offset_table", "first_table"]
    _, programs = run([rows, first], wanted, made_between={LENGTH: first.function})
    assert [program.buffers[0].name for program in programs] == ["first_table", "offset_table"]


def test_tables_that_are_made_of_each_other_are_an_internal_error():
    one, other = filled("one", COUNT), filled("other", COUNT)
    tables = [ValueTable(one, EACH, Call(other, (Ref(B),))), ValueTable(other, EACH, Call(one, (Ref(B),)))]
    with pytest.raises(InternalError, match="'one', 'other' are made of each other"):
        run(tables, [one])


MOST = 2**31 - 1
SUM = Offsets(filled("sum", plus(COUNT, ONE)), EACH, plus(times(length(Ref(B)), Const(2**31)), ADDED))
NARROW, WIDE = (
    ValueTable(filled("value", COUNT, storage), EACH, plus(length(Ref(B)), ADDED)) for storage in DTYPES
)


@pytest.mark.parametrize(
    ("table", "lengths", "more", "message"),
    [
        (offsets(), [0, MOST, 0], 0, None),
        (offsets(), [1, -1], 0, "a length is -1, and no length is negative"),
        (SUM, [2**30, 2**30], 0, None),
        (SUM, [2**30, 2**30], 1, f"lengths sum to {2**62 + 2}, which is too much"),
        (NARROW, [MOST], 0, None),
        (NARROW, [MOST], 1, f"an extent is {2**31}, and {MOST} is the most"),
        (WIDE, [MOST], 1, None),
    ],
)
def test_lengths_and_sums_that_are_no_lengths_are_found(table, lengths, more, message):
    if message is None:
        run([table], [table.function], lengths, more)
        return
    with pytest.raises(CheckFailed) as caught:
        run([table], [table.function], lengths, more)
    assert str(caught.value).endswith(message)


def test_more_rows_than_an_index_counts_are_found():
    rows = offsets()
    owners = Owners(filled("row", Call(rows.function, (COUNT,)), DType.INT32), rows)
    _, (_, program) = run([rows, owners], [owners.function])
    assert f"check(rows <= {MOST}, " in str(program)


def test_owners_wait_for_the_offsets_that_are_their_rows_ends():
    rows = offsets()
    owners = Owners(filled("row", Const(9)), rows)
    found, (program,) = run([rows, owners], [owners.function])
    assert found["row"] == [0, 0, 0, 2, 2, 3, 3, 3, 3]
    assert [buffer.name for buffer in program.buffers] == ["offset_table", "row_table"]
