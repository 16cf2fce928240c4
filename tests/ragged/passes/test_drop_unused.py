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
wide: input()
far: input(k < wide)
y: output(float32[offset(rows)])

with kernel:
    for f in serial({extent}):
        y[f] = {value}
"""


def names(value: str, extent: str = "offset(rows)") -> list[str]:
    program = drop_unused(parse(PROGRAM.format(value=value, extent=extent))).program
    verify(program)
    return [function.name for function in program.functions]


def test_what_nothing_calls_goes():
    assert names("1.0") == ["rows", "other", "n", "length", "offset"]


def test_what_is_called_stays():
    assert "row" in names("float32(row(f))")
    program = parse(
        PROGRAM.format(value="float32(row(f) + spare(0) + other + far(0))", extent="offset(rows)")
    )
    assert drop_unused(program).program is program


def test_what_shapes_and_domains_call_stays():
    assert names("1.0", extent="1") == ["rows", "other", "n", "length", "offset"]
    assert names("float32(far(0))")[-2:] == ["wide", "far"]
