"""drop_unused: functions that nothing calls, and what is known of them, are left out."""

from ragged.ir.parser import parse
from ragged.ir.verify import verify
from ragged.passes.drop_unused import drop_unused

PROGRAM = """\
program("rows")

rows: input()
other: input()
n: input(b < rows) = facts(0 <= n(b) < other)
length: expression(b < rows, n(b) * 2)
offset: prelude(b < rows + 1) = facts(prefix_sum(length))
row: prelude(f < offset(rows)) = facts(owner(offset))
spare: input(b < rows) = facts(injective())
y: output(float32[offset(rows)])

with kernel:
    for f in serial(offset(rows)):
        y[f] = {value}
"""


def names(value: str) -> list[str]:
    program = drop_unused(parse(PROGRAM.format(value=value))).program
    verify(program)
    return [function.name for function in program.functions]


def test_what_nothing_calls_goes():
    assert names("1.0") == ["rows", "other", "n", "length", "offset"]


def test_what_is_called_stays():
    assert "row" in names("float32(row(f))")
    program = parse(PROGRAM.format(value="float32(row(f) + spare(0) + other)"))
    assert drop_unused(program).program is program
