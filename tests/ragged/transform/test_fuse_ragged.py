"""fuse_ragged: rows of different lengths as one loop over all of them."""

from textwrap import indent

import numpy as np
import pytest

from ragged.ir.parser import parse
from ragged.ir.walk import statements
from ragged.transform.loops.fuse_ragged import fuse_ragged
from ragged.transform.mapping.parallel import parallel
from tests.ragged.transform.data_support import same_compiled, valid
from tests.ragged.transform.support import body, check_same, loop, refused

ROWS = """\
program("rows")

num_rows: input()
begin: input() = facts(0 <= begin < num_rows + 1)
offset: input(n < num_rows + 1) = facts({facts})
length: input(n < num_rows)
run: expression(n < num_rows, offset(n + 1) - offset(n))
x: payload(float32[offset(num_rows)])
y: output(float32[offset(num_rows)])
z: output(float32[num_rows])
last: output(int64[1])

with kernel:
    for a in serial(offset(num_rows)):
        y[a]: y.start = 0.25
    for a in serial(num_rows):
        z[a]: z.start = 0.5
    last[0]: last.start = 0
    for n in {outer}:
        {let}
        for k in {inner}:
            {statement}
"""
WHAT = "fuse_ragged: cannot fuse the loops 'n' and 'k'\n"


def rows(
    statement="y[offset(node) + k] = abs(x[offset(node) + k])",
    *,
    outer="serial(num_rows - begin)",
    let="node = begin + n",
    inner="serial(offset(node + 1) - offset(node))",
    facts="prefix_sum(length)",
):
    """Return a program of ragged rows, and the loops over rows and over places in a row."""
    stmt = indent(statement, 12 * " ").strip()
    program = parse(ROWS.format(statement=stmt, outer=outer, let=let, inner=inner, facts=facts))
    return program, loop(program, "n"), loop(program, "k")


def data(lengths, begin=0):
    lengths = np.array(lengths, np.int32)
    offset = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    x = np.random.default_rng(len(lengths)).standard_normal(int(offset[-1])).astype(np.float32)
    sizes = {"num_rows": len(lengths), "begin": begin}
    return sizes, {"offset": offset, "length": lengths, "x": x}


DATA = [
    data([]),
    data([0]),
    data([3]),
    data([0, 0, 0]),
    data([2, 0, 3, 1]),
    data([0, 2, 1, 0], 1),
    data([4, 1, 2, 2, 2], 5),
    data([1, 0, 5, 0], 3),
]


def test_text(golden):
    program, n, k = rows()
    result = valid(fuse_ragged, program, n, k)
    golden("fuse_ragged.txt", body(program) + "\nfuse_ragged(n, k)\n\n" + body(result.program))
    (fused,) = result.forwarding.loops[n]
    assert (fused.name, result.forwarding.loops[k]) == ("n_k", (fused,))
    check_same(program, result.program, DATA)


@pytest.mark.parametrize(
    "changes",
    [
        {"outer": "serial(num_rows)", "let": "node = n"},
        {"let": "one = begin\n        node = n + one"},
        {"inner": "serial(run(node))"},
        {"inner": "serial(offset(1 + node) - offset(node))"},
        {"statement": "y[k + offset(node)] = x[offset(begin + n) + k]"},
        {"statement": "e = offset(node) + k\ny[e] = x[e] + y[e]"},
        {"statement": "last[0] = last[0] * 3 + (offset(node) + k)"},
        {"statement": "for i in serial(3):\n    y[offset(node) + k] += x[offset(node) + k]"},
        {"statement": "if offset(node) + k > 0:\n    y[offset(node) + k] = y[offset(node) + k - 1] + x[0]"},
        {"statement": "y[offset(node) + k] = 1.0\ny[offset(num_rows) - 1] = 2.0"},
        {"facts": "monotone()"},
        {"statement": "y[offset(node) + (k + 0)] = 1.0"},
    ],
    ids=[
        "whole",
        "lets",
        "function",
        "order",
        "sums",
        "let",
        "order of iterations",
        "reduction",
        "condition",
        "two",
        "monotone",
        "nothing added",
    ],
)
def test_every_form_computes_the_same(changes):
    program, n, k = rows(**changes)
    new = valid(fuse_ragged, program, n, k).program
    check_same(program, new, DATA)


def test_machine_code():
    program, n, k = rows()
    same_compiled(program, fuse_ragged(program, n, k).program, DATA)


def test_it_runs_at_once_where_both_loops_do():
    kinds = {}
    for outer in ("serial", "parallel"):
        for inner in ("serial", "parallel"):
            program, n, k = rows(
                outer=f"{outer}(num_rows - begin)", inner=f"{inner}(offset(node + 1) - offset(node))"
            )
            new = valid(fuse_ragged, program, n, k).program
            check_same(program, new, DATA)
            stmts = list(statements(new.kernel))
            kinds[outer, inner] = next(
                s.kind.value for s in stmts if getattr(s, "var", None) and s.var.name == "n_k"
            )
    assert kinds == {
        ("serial", "serial"): "serial",
        ("serial", "parallel"): "serial",
        ("parallel", "serial"): "serial",
        ("parallel", "parallel"): "parallel",
    }


def test_rows_that_depend_on_each_other_stay_in_order_though_places_in_a_row_do_not():
    program, n, k = rows(
        "y[offset(node) + k] = y[max(offset(node) + k - 2, 0)] + 1.0 if offset(node) + k > 1 else 0.0",
        inner="parallel(offset(node + 1) - offset(node))",
    )
    new = fuse_ragged(program, n, k).program
    check_same(program, new, [data([2, 2, 2]), data([2])])


def test_what_is_fused_can_run_at_once():
    program, n, k = rows()
    result = fuse_ragged(program, n, k)
    new = parallel(result.program, result.forwarding.loops[n][0]).program
    assert "for n_k in parallel(" in body(new)
    check_same(program, new, DATA)


@pytest.mark.parametrize(
    ("statement", "because"),
    [
        ("y[offset(node) + k] = z[node]", "z[node] needs 'node' for more than its place"),
        ("y[offset(node) + k] = float32(n)", "float32(n) needs 'n' for more than its place"),
        ("y[offset(node) + k] = float32(k)", "float32(k) needs 'k' for more than its place"),
        ("y[offset(node) + k] = x[offset(node)]", "x[offset(node)] needs 'node' for more than its place"),
        ("y[offset(node) + 2 * k] = 1.0", "offset(node) + 2 * k needs 'k' for more than its place"),
        (
            "t = local(float32[k + 1])\nt[0] = 1.0\ny[offset(node) + k] = t[0]",
            "k + 1 needs 'k' for more than its place",
        ),
    ],
)
def test_a_body_that_needs_more_than_the_place_is_refused(statement, because):
    program, n, k = rows(statement)
    assert refused(fuse_ragged, program, n, k) == f"{WHAT}  because: {because}\n  fix: fission 'n' around it"


def test_a_reduction_over_a_row_is_refused():
    program, n, k = rows("z[node] += x[offset(node) + k]")
    assert refused(fuse_ragged, program, n, k) == f"{WHAT}  because: 'z' reduces over one of them"


@pytest.mark.parametrize(
    ("let", "inner", "extent"),
    [
        ("node = begin + n", "serial(3)", "3"),
        ("node = begin + n", "serial(length(node) + 1)", "length(begin + n) + 1"),
        ("node = begin + n", "serial(offset(node) - offset(node))", "offset(begin + n) - offset(begin + n)"),
        ("node = begin + n * 2", "serial(offset(node + 1) - offset(node))", None),
        ("node = num_rows - 1 - n", "serial(offset(node + 1) - offset(node))", None),
        ("node = length(n)", "serial(offset(node + 1) - offset(node))", None),
    ],
)
def test_loops_that_are_not_over_consecutive_rows_are_refused(let, inner, extent):
    program, n, k = rows("y[0] = 1.0", let=let, inner=inner)
    message = refused(fuse_ragged, program, n, k)
    if extent is None:
        node = let.removeprefix("node = ")
        extent = f"offset({node} + 1) - offset({node})"
    assert message == (
        f"{WHAT}  because: 'k' runs {extent} times, which are not the lengths of consecutive rows of a prefix sum\n"
        "  fix: fuse(outer, inner) if all rows have one length"
    )


def test_offsets_that_are_not_known_to_rise_are_refused():
    program, n, k = rows(facts="0 <= offset(n) < 99")
    assert refused(fuse_ragged, program, n, k) == (
        f"{WHAT}  because: 'k' runs offset(begin + n + 1) - offset(begin + n) times, which are not the lengths of "
        "consecutive rows of a prefix sum\n"
        "  fix: fuse(outer, inner) if all rows have one length"
    )


def test_rows_that_are_not_proven_to_be_in_the_table_are_refused():
    program, n, k = rows(outer="serial(num_rows)")
    assert refused(fuse_ragged, program, n, k) == (
        f"{WHAT}  because: offset(begin + num_rows) is not proven to be in the table of 'offset'"
    )
    program, n, k = rows("y[0] = 1.0", inner="serial(offset(node) - offset(node - 1))")
    assert refused(fuse_ragged, program, n, k) == (
        f"{WHAT}  because: offset(begin - 1) is not proven to be in the table of 'offset'"
    )


def test_lets_that_the_body_does_not_use_are_left_out():
    program, n, k = rows("y[offset(node) + k] = float32(node)", let="more = n + 1\n        node = begin + n")
    new = body(valid(fuse_ragged, program, n, k, tables=True).program)
    assert "        node = begin + n\n" in new and "more" not in new.partition("for n_k")[2]


def test_the_wrong_order_is_refused():
    program, n, k = rows()
    assert refused(fuse_ragged, program, k, n) == (
        "fuse_ragged: cannot fuse the loops 'k' and 'n'\n"
        "  because: 'k' is the inner one\n"
        "  fix: name the outer loop first"
    )


def test_a_condition_between_is_refused():
    program, *_ = rows()
    text = (
        str(program)
        .replace("        for k", "        if n > 0:\n          for k")
        .replace("            y[offset(node)", "              y[offset(node)")
    )
    program = parse(text)
    assert refused(fuse_ragged, program, loop(program, "n"), loop(program, "k")) == (
        f"{WHAT}  because: a condition stands between them: n > 0"
    )


def test_a_team_is_refused():
    program, n, k = rows(outer="team(num_rows - begin)")
    assert (
        refused(fuse_ragged, program, n, k)
        == f"{WHAT}  because: the iterations of 'n' are the workers of a team"
    )


def test_what_stands_beside_is_refused():
    program, *_ = rows()
    program = parse(str(program).replace("        for k", "        z[node]: z.of_row = 1.0\n        for k"))
    assert refused(fuse_ragged, program, loop(program, "n"), loop(program, "k")) == (
        f"{WHAT}  because: 'n' holds more than one loop\n  fix: fission 'n' first"
    )


def test_a_length_that_the_body_changes_is_refused():
    program, n, k = rows(
        "last[0] = 5",
        let="node = begin + n + last[0] * 0",
    )
    assert refused(fuse_ragged, program, n, k) == (
        f"{WHAT}  because: begin + n + last[0] * 0 would be evaluated at another time, and 'last' is written in between"
    )
