"""PreludeTables: which requests share a table, and what is known of the functions that it declares."""

import pytest

from ragged.arith.fold import plus, times
from ragged.ir.dtype import DType
from ragged.ir.expr import Call, Const, Function, Param, Ref, Source, Var
from ragged.ir.facts import Monotone, PrefixSum, UpperBound
from ragged.layout.tables import PreludeTables

ROWS = Call(Function("rows", (), Source.INPUT), ())
HEADS = Call(Function("heads", (), Source.INPUT), ())
LENGTH = Function("length", (Param(Var("b"), ROWS),), Source.INPUT)
FEWER = Function("fewer", (Param(Var("b"), ROWS),), Source.INPUT)


def boxes(first, second, names="bi"):
    """Return dimensions of `first` and, in each of its points, `second(point)` points, and their variables."""
    b, i = map(Var, names)
    return [(b, first), (i, second(b))], b, i


def length(var):
    return Call(LENGTH, (Ref(var),))


def rows(var):
    return ROWS


REQUESTS = {
    "offsets": lambda tables, domain, value: tables.offsets(domain, value, ROWS, None, Var("p")),
    "largest": lambda tables, domain, value: tables.largest(domain, value).function,
    "values": lambda tables, domain, value: tables.values(domain, value, ROWS),
    "wide values": lambda tables, domain, value: tables.values(domain, value, ROWS, DType.INT64),
}


@pytest.mark.parametrize("request_of", REQUESTS.values(), ids=REQUESTS)
def test_equal_requests_share_a_table_and_others_do_not(request_of):
    tables = PreludeTables()
    domain, b, i = boxes(ROWS, length)
    table = request_of(tables, domain, plus(length(b), Ref(i)))
    same, c, j = boxes(ROWS, length, "cj")
    assert request_of(tables, same, plus(length(c), Ref(j))) is table
    assert request_of(tables, same, plus(length(c), Ref(c))) is not table
    assert request_of(tables, same, length(c)) is not table
    more, c, j = boxes(HEADS, length)
    assert request_of(tables, more, plus(length(c), Ref(j))) is not table
    dense, c, j = boxes(ROWS, rows)
    assert request_of(tables, dense, plus(length(c), Ref(j))) is not table
    assert request_of(tables, [*dense, (Var("k"), ROWS)], plus(length(c), Ref(j))) is not table
    assert len({each.name for each in tables.functions}) == len(tables.functions)


def test_a_dimension_is_no_value():
    """The same expressions, one of them once as an extent and once as what is asked for."""
    tables = PreludeTables()
    assert tables.largest([(Var("b"), ROWS)], HEADS) != tables.largest(
        [(Var("b"), ROWS), (Var("i"), HEADS)], ROWS
    )
    assert tables.largest([], ROWS) != tables.largest([(Var("b"), ROWS)], ROWS)


def test_each_kind_of_request_has_tables_of_its_own():
    tables, b = PreludeTables(), Var("b")
    assert len({request_of(tables, [(b, ROWS)], length(b)).name for request_of in REQUESTS.values()}) == 4
    assert [each.function for each in tables.tables] == tables.functions
    assert [each.storage for each in tables.functions] == [DType.INT64, DType.INT64, DType.INT32, DType.INT64]
    assert [each.params[0].extent for each in tables.functions] == [
        plus(ROWS, Const(1)),
        Const(1),
        ROWS,
        ROWS,
    ]


def test_names_that_are_taken_are_numbered():
    tables, b = PreludeTables(), Var("b")
    for extent in (ROWS, HEADS, Const(3), Const(4)):
        tables.values([(b, extent)], length(b), extent)
    assert [each.name for each in tables.functions] == [
        "length_values", "length_values_1", "length_values_2", "length_values_3",
    ]  # fmt: skip


def test_offsets_are_prefix_sums_of_what_is_a_function_of_the_position():
    tables, b = PreludeTables(), Var("b")
    of_calls = tables.offsets([(b, ROWS)], length(b), ROWS, length(b), b)
    doubled = times(length(b), Const(2))
    of_sums = tables.offsets([(b, ROWS)], doubled, ROWS, doubled, b)
    domain, c, _ = boxes(ROWS, length)
    unknown = tables.offsets(domain, length(c), ROWS, None, Var("p"))
    summand = next(each for each in tables.functions if each.source is Source.EXPRESSION)
    assert tables.facts == [PrefixSum(of_calls, LENGTH), PrefixSum(of_sums, summand), Monotone(unknown)]
    assert summand.params[0].extent == ROWS
    assert summand.body == times(length(summand.params[0].var), Const(2))


def test_the_largest_is_known_to_bound_a_function_over_its_whole_domain_alone():
    tables, b = PreludeTables(), Var("b")
    most = tables.largest([(b, ROWS)], length(b))
    tables.largest([(b, ROWS)], Call(FEWER, (Const(0),)))
    tables.largest([(b, ROWS)], plus(length(b), Const(1)))
    assert tables.facts == [UpperBound(most.function, LENGTH)]
    assert most.args == (Const(0),)
