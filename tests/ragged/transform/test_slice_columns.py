"""slice_columns: a loop runs once for each slice of the loops inside it."""

from textwrap import indent

import numpy as np
import pytest

from ragged.ir.parser import parse
from ragged.transform.loops.slice_columns import slice_columns
from tests.ragged.passes.programs import TREE, tree_data
from tests.ragged.transform.data_support import same_compiled, valid
from tests.ragged.transform.support import body, check_same, loop, refused

CELL = TREE.replace("rh: workspace(float32[num_nodes, 4])", "U: parameter(float32[4, 4])")
CELL = CELL.partition("            for i in serial(4):\n                lh[node, i]")[0] + indent(
    """\
for i in serial(4):
    lh[node, i]: lh.init = 0.0
    for j in serial(4):
        lh[node, i] += U[i, j] * h[left(node), j]
for i in serial(4):
    h[node, i] = abs(lh[node, i] + h[right(node), i])
""",
    "            ",
)
"""A cell with products that read whole rows of a child's result; what it computes has the same bits compiled."""

LOOP = """\
program("loop")

count: input()
x: payload(float32[count, 8])
t: workspace(float32[count, 8])
u: {u}
y: output(float32[count, 8])

with kernel:
    for n in {kind}(count):
        {before}
        for i in serial(8):
            t[n, i] = x[n, i] + 1.0
        for k in serial({extent}):
            {statement}
"""
WHAT = "slice_columns: cannot slice what loop 'n' does\n"


def cell():
    program = parse(CELL)
    return program, loop(program, "n", 1), (loop(program, "i", 1), loop(program, "i", 2))


def cell_data(depth):
    sizes, arrays = tree_data(depth=depth, seed=depth)
    random = np.random.default_rng(depth)
    return sizes, {**arrays, "U": random.standard_normal((4, 4)).astype(np.float32)}


def of(statement, *, before="m = n", kind="parallel", extent=8, u="workspace(float32[8, 8])"):
    """Return a program with `statement` in its second nest, its batch loop and its columns."""
    text = LOOP.format(
        before=before, kind=kind, extent=extent, u=u, statement=indent(statement, 12 * " ").strip()
    )
    program = parse(text)
    return program, loop(program, "n"), (loop(program, "i"), loop(program, "k"))


def data(count):
    return {"count": count}, {
        "x": np.random.default_rng(count).standard_normal((count, 8)).astype(np.float32)
    }


DATA = [data(count) for count in (0, 1, 3)]


def test_text(golden):
    program, n, columns = cell()
    result = valid(slice_columns, program, n, columns, 2)
    golden("slice_columns.txt", body(program) + "\nslice_columns(n, (i, i), 2)\n\n" + body(result.program))
    slices, again = result.forwarding.loops[n]
    assert (slices.name, again.name) == ("n_s", "n")
    assert [var.name for (var,) in (result.forwarding.loops[column] for column in columns)] == ["i_s", "i_s"]


@pytest.mark.parametrize("width", [1, 2, 4])
def test_what_reads_whole_rows_of_what_was_before(width):
    program, n, columns = cell()
    new = valid(slice_columns, program, n, columns, width).program
    check_same(program, new, [cell_data(depth) for depth in range(5)])


def test_machine_code():
    program, n, columns = cell()
    same_compiled(
        program, slice_columns(program, n, columns, 2).program, [cell_data(depth) for depth in range(4)]
    )


@pytest.mark.parametrize(
    "statement",
    [
        "y[n, k] = t[n, k]",
        "y[n, k] = t[m, k] * float32(k)",
        "if k > 2:\n    y[n, k] = t[n, k]\nelse:\n    y[n, k]: y.low = x[n, 7 - k]",
        "for j in serial(k):\n    t[n, k] = max(t[n, k], x[n, j])\ny[n, k] = t[n, k]",
        "e = k\ny[n, e] = t[n, e]",
        "for j in serial(0):\n    t[n, k] = 9.0\ny[n, k] = t[n, k]",
        "y[n, k]: y.start = t[n, k]\nfor j in serial(3):\n    y[n, k] = reduce(sum, x[n, j], over=(j,), init=t[n, k])",
        "acc = local(float32[k + 1])\nacc[k] = t[n, k]\ny[n, k] = acc[k]",
    ],
    ids=["plain", "let", "branches", "extent", "let of column", "never", "start", "extent of local"],
)
@pytest.mark.parametrize("width", [1, 4, 8])
def test_every_shape_computes_the_same(statement, width):
    program, n, columns = of(statement)
    check_same(program, valid(slice_columns, program, n, columns, width).program, DATA)


def test_two_dimensions_at_the_column():
    program, n, columns = of(
        "u[n, k, k] = 1.0\ny[n, k] = u[n, k, 0] + u[n, 0, k] if k < 1 else 2.0",
        u="workspace(float32[8, 8, 8])",
    )
    check_same(program, valid(slice_columns, program, n, columns, 4).program, DATA)


def test_local_buffers_are_each_slices_own():
    program, n, columns = of("p[k] = t[n, k]\ny[n, k] = p[k]", before="p = local(float32[8])")
    new = valid(slice_columns, program, n, columns, 4).program
    assert "p = local(float32[8])" in body(new)
    check_same(program, new, DATA)


def test_no_columns_at_all():
    program, n, columns = of("y[n, k] = t[n, k]")
    text = str(program).replace("serial(8)", "serial(0)")
    program = parse(text)
    n, columns = loop(program, "n"), (loop(program, "i"), loop(program, "k"))
    new = valid(slice_columns, program, n, columns, 4).program
    assert "for n_s in parallel(0):" in body(new)
    check_same(program, new, DATA)


def test_elements_that_no_iteration_writes_may_be_read_at_any_column():
    program, n, columns = of("u[n, k] = u[n + count, 7 - k]\ny[n, k] = t[n, k]", u="output(float32[20, 8])")
    program = parse(
        str(program).replace(
            "    for n",
            "    for a in serial(20):\n        for b in serial(8):\n"
            "            u[a, b]: u.start = float32(a)\n    for n",
            1,
        )
    )
    n, columns = loop(program, "n"), (loop(program, "i"), loop(program, "k"))
    check_same(program, valid(slice_columns, program, n, columns, 2).program, DATA)


def written(text):
    return (
        f"{WHAT}  because: {text} is written in the loop, and not only at the statement's own column\n"
        "  fix: fission the loop between the two"
    )


@pytest.mark.parametrize(
    ("statement", "culprit"),
    [
        ("y[n, k] = t[n, 7 - k]", "t[n, 7 - k]"),
        ("y[n, k] = t[n, 0]", "t[n, 0]"),
        ("y[n, k] = t[n, k - 1] if k > 0 else 0.0", "t[n, k - 1]"),
        ("for j in serial(8):\n    y[n, k] = t[n, j]", "t[n, j]"),
        ("y[n, 7 - k] = t[n, k]", "y[n, 7 - k]"),
        (
            "y[n, k]: y.start = 0.0\nfor j in serial(8):\n    y[n, k] = reduce(sum, 1.0, over=(j,), init=t[n, 3])",
            "t[n, 3]",
        ),
        ("u[k, n] = 0.0\nu[n, k] = 0.0", "u[k, n]"),
        ("u[0, n] = x[n, k]", "u[0, n]"),
        ("u[n, k] = 0.0\nu[n, 7 - k]: u.far = 0.0", "u[n, 7 - k]"),
        (
            "if n < 1:\n    u[n, k] = 0.0\nu[n + 1, k]: u.far = 0.0\ny[n, k] = u[n + 1, 7 - k]",
            "u[n + 1, 7 - k]",
        ),
    ],
    ids=[
        "mirrored",
        "first",
        "neighbour",
        "all",
        "written mirrored",
        "start",
        "written across",
        "no column",
        "the second write",
        "what the second write has",
    ],
)
def test_other_columns_of_what_is_written_are_refused(statement, culprit):
    program, n, columns = of(statement)
    assert refused(slice_columns, program, n, columns, 4) == written(culprit)


def test_the_same_row_of_what_an_iteration_writes_is_refused():
    text = CELL.replace("h[left(node), j]", "h[node, j]")
    program = parse(text)
    columns = (loop(program, "i", 1), loop(program, "i", 2))
    assert refused(slice_columns, program, loop(program, "n", 1), columns, 2) == written(
        "h[batch_begin(b + 1) + n, j]"
    )


def test_rows_that_another_iteration_may_write_are_refused():
    text = CELL.replace(", follows(batch_begin, batch_length)", "")
    program = parse(text)
    columns = (loop(program, "i", 1), loop(program, "i", 2))
    message = refused(slice_columns, program, loop(program, "n", 1), columns, 2)
    assert message == written("h[left(batch_begin(b + 1) + n), j]")


@pytest.mark.parametrize("width", [0, -4, 3, 16])
def test_a_width_that_does_not_divide_the_columns_is_refused(width):
    program, n, columns = of("y[n, k] = t[n, k]")
    assert refused(slice_columns, program, n, columns, width) == (
        f"{WHAT}  because: 8 columns are not slices of {width}\n  fix: a width that divides them"
    )


def test_a_serial_loop_is_refused():
    program, n, columns = of("y[n, k] = t[n, k]", kind="serial")
    assert refused(slice_columns, program, n, columns, 4) == (
        f"{WHAT}  because: its iterations are not independent\n  fix: parallel(loop) first"
    )


def test_columns_of_two_extents_and_none_and_unknown_ones_are_refused():
    message = f"{WHAT}  because: the columns are not loops inside it of one extent that is a number"
    for extent in (4, "count"):
        program, n, columns = of("u[n, k] = 1.0", extent=extent)
        assert refused(slice_columns, program, n, columns, 4) == message
    assert refused(slice_columns, program, n, (), 4) == message
    assert refused(slice_columns, program, n, (n,), 4) == message


def test_statements_outside_of_the_columns_and_in_two_are_refused():
    program, n, columns = of("y[n, k] = t[n, k]", before="u[0, 0] = 1.0")
    assert (
        refused(slice_columns, program, n, columns, 4)
        == f"{WHAT}  because: 'u' stands in none of the columns"
    )
    program, n, (i, k) = of("for j in serial(8):\n    y[n, k] = t[n, k]")
    j = loop(program, "j")
    assert (
        refused(slice_columns, program, n, (i, k, j), 4)
        == f"{WHAT}  because: 'y' stands in two of the columns"
    )


def test_a_reduction_over_the_columns_is_refused():
    program, n, columns = of("u[n, 0] += t[n, k]")
    assert refused(slice_columns, program, n, columns, 4) == f"{WHAT}  because: 'u' reduces over the columns"


def test_a_reduction_whose_accumulator_lacks_the_column_is_refused():
    program, n, columns = of("for j in serial(3):\n    u[n, 0] = reduce(sum, t[n, k], over=(j,), init=0.0)")
    assert refused(slice_columns, program, n, columns, 4) == written("u[n, 0]")


def test_a_check_is_refused():
    program, n, columns = of("check(k < 8, 'column {0}', k, label=sound)\ny[n, k] = t[n, k]")
    assert refused(slice_columns, program, n, columns, 4) == (
        f"{WHAT}  because: 'sound' stands in it, and what comes after may rely on it"
    )


@pytest.mark.parametrize(
    "statement",
    [
        "if t[n, k] > 0.0:\n    y[n, k] = 1.0",
        "old = t[n, k]\ny[n, k] = old",
        "for j in serial(int64(t[n, k])):\n    y[n, k] = 1.0",
    ],
    ids=["condition", "let", "extent"],
)
def test_what_is_looked_up_on_the_way_and_written_is_refused(statement):
    program, n, columns = of(statement)
    assert refused(slice_columns, program, n, columns, 4) == (
        f"{WHAT}  because: t[n, k], which a loop, a let or a condition reads, is written in it"
    )


def test_what_is_looked_up_before_the_columns_and_written_is_refused():
    program, n, columns = of("y[n, k] = old + t[n, k]", before="old = t[n, 5]")
    assert refused(slice_columns, program, n, columns, 4) == written("t[n, 5]")


def test_two_names_of_one_memory_are_refused():
    shape = "workspace(float32[count, 8], aliases=t)"
    program, n, columns = of("u[n, k] = 1.0", u=shape)
    assert refused(slice_columns, program, n, columns, 4) == (
        f"{WHAT}  because: 't' and 'u' are names of one memory, and each is written in it"
    )
    program, n, columns = of("y[n, k] = u[n, k]", u=shape)
    assert refused(slice_columns, program, n, columns, 4) == written("u[n, k]")


def test_another_layout_of_what_is_written_is_refused():
    """The last dimension of `u` is no column of `t`: its element k is written by iteration 2 k % 8 of the other."""
    text = LOOP.format(
        before="m = n",
        kind="parallel",
        extent=8,
        u="workspace(float32[count, 2, 8], order=(0, 2, 1), aliases=t)",
        statement="y[n, k] = u[n, 0, k]",
    )
    text = text.replace("t: workspace(float32[count, 8])", "t: workspace(float32[count, 2, 8])")
    text = text.replace("t[n, i] =", "t[n, 1, i] = 0.0\n            t[n, 0, i]: t.low =")
    program = parse(text)
    columns = (loop(program, "i"), loop(program, "k"))
    assert refused(slice_columns, program, loop(program, "n"), columns, 4) == written("u[n, 0, k]")
