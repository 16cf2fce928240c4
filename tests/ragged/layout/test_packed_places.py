"""packed: the elements of nested dimensions, in row-major order, are at the places 0, 1, 2, ... of the buffer."""

import math

import numpy as np
import pytest

from ragged.arith.fold import ONE, plus, times
from ragged.ir.build import sub
from ragged.ir.expr import Call, Const, Function, Param, Ref, Source, Var
from ragged.ir.facts import Monotone, PrefixSum
from ragged.ir.interpret import interpret
from ragged.ir.interpret.evaluate import Evaluator
from ragged.ir.interpret.memory import Frame
from ragged.ir.rewrite import substitute
from ragged.layout.packed import packed, temporary
from ragged.layout.prelude import prelude_programs
from ragged.layout.tables import PreludeTables

B, ROW, J, K = map(Var, "bijk")
ROWS = Function("rows", (), Source.INPUT)
COUNT = Call(ROWS, ())
N, W = (Function(name, (Param(Var("p"), COUNT),), Source.INPUT) for name in "nw")
SQUARE = Function(
    "square", (Param(J, COUNT),), Source.EXPRESSION, times(Call(N, (Ref(J),)), Call(N, (Ref(J),)))
)
DATA = {"n": np.array([2, 0, 3, 1, 3], np.int32), "w": np.array([1, 3, 0, 2, 1], np.int32)}


def n(var):
    return Call(N, (Ref(var),))


def w(var):
    return Call(W, (Ref(var),))


DIMENSIONS = {
    "dense": [(B, COUNT), (ROW, Const(3)), (J, COUNT)],
    "rows": [(B, COUNT), (ROW, n(B))],
    "rows of heads between dense ones": [
        (J, Const(2)),
        (B, COUNT),
        (K, Const(3)),
        (ROW, n(B)),
        (Var("d"), Const(2)),
    ],
    "triangles": [(B, COUNT), (ROW, n(B)), (J, plus(Ref(ROW), ONE))],
    "triangles by heads": [
        (B, COUNT),
        (ROW, n(B)),
        (K, Const(2)),
        (J, plus(Ref(ROW), ONE)),
        (Var("d"), Const(3)),
    ],
    "triangles from above": [(B, COUNT), (ROW, n(B)), (J, sub(n(B), Ref(ROW)))],
    "rows of rows": [(B, COUNT), (ROW, n(B)), (J, w(ROW))],
    "rows of rows of rows": [(B, COUNT), (ROW, n(B)), (J, w(ROW)), (K, w(J))],
    "squares": [(B, COUNT), (ROW, n(B)), (J, n(B))],
    "two lengths": [(B, COUNT), (ROW, n(B)), (J, Const(2)), (K, w(B))],
    "rows of a sum": [(B, COUNT), (ROW, plus(n(B), ONE)), (J, plus(Ref(ROW), ONE))],
    "a body": [(B, COUNT), (ROW, Call(SQUARE, (Ref(B),)))],
    "a dense dimension of rows, with dense ones outside": [
        (J, Const(2)),
        (K, Const(2)),
        (B, COUNT),
        (ROW, n(B)),
    ],
    "a largest past a dense one": [(B, COUNT), (J, Const(2)), (ROW, n(B)), (K, plus(Ref(ROW), ONE))],
    "a largest of a largest": [(B, COUNT), (J, w(B)), (ROW, n(J)), (K, plus(Ref(ROW), ONE))],
}


def evaluator(tables):
    """Return what gives the value of an expression, with the tables filled for `DATA`."""
    found = {}
    functions = (ROWS, N, W, SQUARE, *tables.functions)
    wanted = [table.function for table in tables.tables]
    for program in prelude_programs("p", functions, tables.tables, wanted):
        names = {function.name for function in program.functions}
        arrays = {name: array for name, array in (DATA | found).items() if name in names}
        filled = interpret(program, {"rows": 5} if "rows" in names else {}, arrays)
        found |= {name.removesuffix("_table"): table for name, table in filled.items()}
    given = DATA | found
    known = {function: given[function.name] for function in (N, W, *wanted)}
    evaluate = Evaluator({ROWS: 5}, known)
    return lambda expr: int(evaluate.compile(expr)(Frame({}, {}, place="here")))


def points(dims, value):
    """Return the points of nested dimensions in row-major order."""
    found = [()]
    for _, extent in dims:
        found = [(*point, number) for point in found for number in range(value(at(extent, dims, point)))]
    return found


def at(expr, dims, point):
    """Return an expression of the first dimensions at a point."""
    return substitute(expr, {var: Const(number) for (var, _), number in zip(dims, point, strict=False)})


@pytest.mark.parametrize("dims", DIMENSIONS.values(), ids=DIMENSIONS)
def test_elements_are_in_row_major_order_without_gaps(dims):
    tables = PreludeTables()
    layout = packed(dims, tables)
    row, rows = layout.row
    value = evaluator(tables)
    elements = points(dims, value)
    shape = [value(extent) for extent in layout.shape]
    places = [
        [value(place) for place in layout.at([Const(number) for number in point])] for point in elements
    ]
    assert all(0 <= place < extent for each in places for place, extent in zip(each, shape, strict=True))
    assert [np.ravel_multi_index(each, shape) for each in places] == list(range(math.prod(shape)))
    assert [value(at(row, dims, point)) for point in elements] == list(range(value(rows)))


def table_at(place):
    """Return how many elements a row of rows has, as a function of the row's place among all of them."""
    deep = Function("deep", (Param(Var("p"), COUNT),), Source.INPUT)
    return deep, Call(deep, (place,))


@pytest.mark.parametrize("body", [False, True])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_offsets_of_rows_of_rows_are_sums_of_a_table_over_their_places(body, elsewhere):
    tables = PreludeTables()
    begin = tables.offsets([(B, COUNT)], n(B), COUNT, n(B), B)
    place = plus(Call(begin, (Ref(B),)), Ref(ROW))
    deep, extent = table_at(plus(Ref(B), Ref(ROW)) if elsewhere else place)
    if body:
        params = (Param(B, COUNT), Param(ROW, n(B)))
        extent = Call(Function("own", params, Source.EXPRESSION, extent), (Ref(B), Ref(ROW)))
    packed([(B, COUNT), (ROW, n(B)), (J, extent)], tables)
    assert [each.name for each in tables.functions] == ["n_begin", f"{'own' if body else 'deep'}_begin"]
    offsets = tables.functions[-1]
    assert tables.facts[-1] == (Monotone(offsets) if elsewhere else PrefixSum(offsets, deep))


@pytest.mark.parametrize(
    ("name", "domain"), [("a largest of a largest", [B, J]), ("a largest past a dense one", [B])]
)
def test_the_largest_extent_is_taken_over_what_it_depends_on_alone(name, domain):
    tables = PreludeTables()
    packed(DIMENSIONS[name], tables)
    (largest,) = [table for table in tables.tables if table.function.name == "most_n"]
    assert [var for var, _ in largest.domain] == domain


def test_a_temporary_has_the_packed_dimensions_outside_as_one_and_bounds_inside():
    tables = PreludeTables()
    layout = temporary(DIMENSIONS["rows of rows"], 2, [Const(5), Const(3), Const(4)], tables)
    row, rows = packed(DIMENSIONS["rows"], tables).row
    assert layout.shape == (rows, Const(4)) and layout.place == (row, Ref(J))
    assert (layout.first, layout.last, layout.vars) == (2, 2, (B, ROW, J))


def test_dimensions_that_are_packed_into_one_are_told():
    found = [packed(dims, PreludeTables()) for dims in DIMENSIONS.values()]
    assert [(layout.first, layout.last) for layout in found[:3]] == [(3, 3), (0, 1), (1, 3)]
