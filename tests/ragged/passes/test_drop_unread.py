"""drop_unread: temporaries that nothing reads go with their stores; all others stay."""

import pytest

from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from ragged.passes.drop_unread import drop_unread

PROGRAM = """\
program("unread")

x: payload(float32[4])
t: workspace(float32[4])
y: output(float32[4])

with kernel:
    for i in serial(4):
        u = local(float32[()])
        t[i] = 2.0 * x[i]
        u[()] = x[i]
        for j in serial(4):
            u[()] += x[j]
        y[i] = {value}
"""


@pytest.mark.parametrize(
    ("value", "kept", "gone"),
    [
        ("x[i]", (), ("t", "u")),
        ("t[i]", ("t",), ("u",)),
        ("u[()]", ("u",), ("t",)),
        ("t[i] + u[()]", ("t", "u"), ()),
    ],
)
def test_what_nothing_reads_goes(value, kept, gone):
    program = drop_unread(parse(PROGRAM.format(value=value))).program
    verify(program)
    text = to_text(program)
    assert all(f"{name}[" in text for name in kept)
    assert not any(f"{name}[" in text or f"{name}:" in text for name in gone)
    assert ("for j" in text) == ("u" in kept)


def test_memory_with_another_name_stays():
    text = PROGRAM.format(value="x[i]").replace("y: output", "v: workspace(float32[4], aliases=t)\ny: output")
    assert "t[i] = " in to_text(drop_unread(parse(text)).program)
