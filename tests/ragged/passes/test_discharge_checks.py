"""discharge_checks: what is proven where a check stands goes, also by checks before it; what is not proven stays."""

import pytest

from ragged.ir.parser import parse
from ragged.ir.printer import expr_text
from ragged.ir.program import StageKind
from ragged.ir.stmt import Check
from ragged.ir.verify import verify
from ragged.ir.walk import leaves
from ragged.passes.discharge_checks import discharge_checks

HEAD = """\
program("p")

n: call()
m: call()
y: output(float32[8])

with kernel:
    for i in serial(8):
        for j in serial(8):
"""


def parsed(*lines):
    return parse(HEAD + "".join(f"            {line}\n" for line in (*lines, "y[i] = 1.0")))


def checks(program):
    return [leaf.condition for leaf in leaves(program.kernel) if isinstance(leaf, Check)]


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        (['check(i < 8, "")'], []),
        (['check(i < 7, "")'], ["i < 7"]),
        (['check(n < 8, "")', 'check(n < 9, "")', 'check(n < 7, "")'], ["n < 8", "n < 7"]),
        (["if m > 3:", '    check(n < 8, "")', '    check(n + 1 < m + 6, "")'], ["n < 8"]),
        (["if m > 3:", '    check(n < 8, "")', 'check(n < 9, "")'], ["n < 8", "n < 9"]),
        (['check(not n > 3 or i < 8, "")'], []),
        (['check(not n > 3 and i < 8, "")'], ["not n > 3 and i < 8"]),
        (["if n > 3:", '    check(not n > 2 or i + n > 3, "")'], []),
    ],
)
def test_what_is_left(lines, left):
    program = discharge_checks(parsed(*lines)).program
    verify(program)
    assert [expr_text(each) for each in checks(program)] == left
    assert program.stage(StageKind.PRELUDE) is not None


def test_ranges_are_said_as_such_where_they_are_of_one_index():
    lines = (
        f'check({each}, "")'
        for each in ("0 <= i and i < n", "0 <= i and j < n", "not i < 3 or 0 <= j and j < m")
    )
    kept = [note.partition(" [")[0].split() for note in discharge_checks(parsed(*lines)).notes]
    said = ["0 <= i < n", "0 <= i and j < n", "0 <= j < m where i < 3"]
    assert [" ".join(words[1:]) for words in kept if words[0] == "kept:"] == said
