"""Batches are found by the rows that loops name; models with them: tests/compiler/test_recursion_loops.py."""

import pytest

from ragged.auto.rebase_batches import batches_of
from ragged.ir.parser import parse

BATCHES = """\
program("batches")

count: input()
widest: input()
begin: input(b < count) = facts(0 <= begin(b) < 9)
length: input(b < count) = facts(0 <= length(b) < widest + 1)
x: payload(float32[count])
y: output(float32[16])

with kernel:
    for b in serial(count):
        for n in parallel(length(b)):
            {let}
            y[begin(b) + n] = {value}
"""


@pytest.mark.parametrize(
    ("let", "value", "count"),
    [("node = begin(b) + n", "x[b]", 1), ("v = x[b]", "v", 0)],
    ids=["node", "element"],
)
def test_only_an_index_names_rows(let, value, count):
    found = batches_of(parse(BATCHES.format(let=let, value=value)))
    assert len(found) == count
