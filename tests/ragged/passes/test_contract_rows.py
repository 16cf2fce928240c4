"""contract_storage: temporaries of rows of any length, which are read place by place or by blocks."""

import pytest

from ragged.ir.printer import to_text
from ragged.passes.contract_storage import contract_storage
from tests.ragged.passes.contracting import contracted, declared, nodes

ROWS = """\
for n in serial(count):
    for i in serial({length}):
        t[n, i] = x[n, i] + 1.0
    for i in serial(8):
        y[n, i] = 0.0
    for j in serial({blocks}):
        for k in serial({size}):
            y[n, j] += t[n, {whole}]
    for k in serial({rest}):
        y[n, 7] += t[n, {left}]
"""
READ = {
    "length": "start(n)",
    "blocks": "start(n) // 2",
    "size": "2",
    "whole": "j * 2 + k",
    "rest": "start(n) % 2",
    "left": "start(n) // 2 * 2 + k",
}


def test_rows_that_are_read_by_blocks():
    text = contracted(nodes(ROWS.format(**READ)))
    assert declared(text) == [] and "t = local(float32[8])" in text


@pytest.mark.parametrize(
    "other",
    [
        {"blocks": "start(n)"},
        {"size": "3"},
        {"whole": "j * 3 + k"},
        {"whole": "j * 2 + 1"},
        {"rest": "2"},
        {"left": "start(n) // 3 * 2 + k"},
        {"left": "start(n) * 2 + k"},
        {"length": "start(n) % 2"},
    ],
    ids=str,
)
def test_what_may_be_read_and_was_not_written(other):
    program = nodes(ROWS.format(**READ | other))
    assert declared(to_text(contract_storage(program).program)) == ["t: workspace(float32[count, 8])"]
