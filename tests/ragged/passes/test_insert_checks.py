"""insert_checks: a check before each access that its loops do not bound, with what the index is read from."""

import pytest

from ragged.ir.parser import parse
from ragged.ir.printer import expr_text
from ragged.ir.stmt import Check
from ragged.ir.verify import verify
from ragged.ir.walk import leaves
from ragged.passes.insert_checks import insert_checks

HEAD = """\
program("p")

rows: call()
n: input(i < rows)
t: payload(int64[rows])
u: payload(int64[rows, 8])
x: payload(float32[rows, 8])
y: output(float32[rows])

with kernel:
    for i in serial(rows):
"""


def inserted(*lines):
    """Return the checks that are put into lines in a loop over rows: conditions, messages and witnesses."""
    program = insert_checks(parse(HEAD + "".join(f"        {line}\n" for line in lines))).program
    verify(program)
    checks = [leaf for leaf in leaves(program.kernel) if isinstance(leaf, Check)]
    return [(expr_text(each.condition), each.message, [*map(expr_text, each.witness)]) for each in checks]


@pytest.mark.parametrize(
    ("lines", "conditions"),
    [
        (["y[i] = x[i, 0] + x[i, 7]"], []),
        (["y[i] = x[i, 8]"], ["0 <= 8 and 8 < 8"]),
        (["for j in serial(8):", "    y[i] += x[i, j]"], []),
        (["for j in serial(9):", "    y[i] += x[i, j]"], ["0 <= j and j < 8"]),
        (["for j in serial(8):", "    y[j] = 0.0"], ["0 <= j and j < rows"]),
        (["for j in serial(rows):", "    y[i] += x[i, j]"], ["0 <= j and j < 8"]),
        (["y[0] = 0.0"], ["0 <= 0 and 0 < rows"]),
        (["y[i] = x[t[i], 0] + x[t[i], 1]"], ["0 <= t[i] and t[i] < rows"]),
    ],
)
def test_what_loops_and_literals_do_not_bound_is_checked_once(lines, conditions):
    assert [condition for condition, _, _ in inserted(*lines)] == conditions


def test_messages_name_what_an_index_is_read_from():
    (plain,) = inserted("y[i + 1] = 0.0")
    assert plain[1:] == ("index {0} of dimension 0 of 'y' is outside [0, {1})", ["i + 1", "rows"])
    *_, read = inserted("y[i] = x[t[i] + u[i, 3], 0]")
    assert read[1:] == (
        "index {0} of dimension 0 of 'x' is outside [0, {1}): 't'[{2}] is {3}, 'u'[{4}, {5}] is {6}",
        ["t[i] + u[i, 3]", "rows", "i", "t[i]", "i", "3", "u[i, 3]"],
    )


def test_divisions_and_what_a_check_itself_reads_are_checked():
    assert [each[0] for each in inserted("y[i] = float32(3 // n(i))")] == ["n(i) != 0"]
    read, witness, _ = inserted('check(x[t[i], 0] < 1.0, "at {0}", t[n(i)])')
    assert (read[0], witness[0]) == (
        "0 <= t[i] and t[i] < rows",
        "not not x[t[i], 0] < 1.0 or 0 <= n(i) and n(i) < rows",
    )
