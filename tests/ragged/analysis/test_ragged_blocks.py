"""Which buffers the iterations of a loop divide into blocks from one begin to the next."""

import pytest

from ragged.analysis.ragged_blocks import ragged_blocks
from ragged.ir.parser import parse
from ragged.transform.legality import labelled
from ragged.transform.locate import loop_site
from tests.ragged.transform.support import loop

PROGRAM = """\
program("blocks")

B: call()
H: call()
n: input(b < B) = facts(0 <= n(b) < 2147483648)
n_begin: prelude(p < B + 1, storage=int64) = facts(prefix_sum(n))
two_begin: prelude(p < B + 1, storage=int64) = facts(prefix_sum(two))
two: expression(p < B, 2 * n(p))
any: input(p < B + 1) = facts(0 <= any(p) < 2147483648)
x: payload(float32[n_begin(B)])
y: output(float32[two_begin(B), 4])
z: output(float32[2, two_begin(B), 4], aliases=y)

with kernel:
    for b in parallel(B):
        for t in serial({extent}):
            y[{first}, 0] = 1.0
            y[{second}, 1] = 2.0
            y[{third}, 2] = 3.0{more}
"""
IN_BLOCK = {
    "extent": "n(b)",
    "first": "two_begin(b) + t",
    "second": "two_begin(b) + t * 2 + 1",
    "third": "two_begin(b) + n(b) + t",
    "more": "",
}


def blocks(known=(), **changed):
    program = parse(PROGRAM.format(**{**IN_BLOCK, **changed}))
    site = loop_site(program, loop(program, "b"), "test")
    inside = list(labelled(site))
    names = {each.name: each for each in program.buffers}
    found = ragged_blocks(program, inside, site.stmt.var, 0, [names[each] for each in known])
    return {buffer.name for buffer in found}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"second": "two_begin(b) + n(b) - 1 - t"},
        {"third": "t + (two_begin(b) + n(b) // 4)"},
        {"more": "\n            y[two_begin(b) + t, 3] = x[n_begin(b) + t]"},
    ],
)
def test_rows_from_one_begin_to_the_next(changed):
    assert blocks(**changed) == {"y"}


@pytest.mark.parametrize(
    "changed",
    [
        {"extent": "n(b) + 1"},  # the last one is the next block's first
        {"third": "two_begin(b) + 2 * n(b) - t"},
        {"first": "two_begin(b) + t - 1"},
        {"first": "n_begin(b) + t"},  # two begins
        {each: IN_BLOCK[each].replace("two_begin", "any") for each in ("first", "second", "third")},
        {"more": "\n            z[0, two_begin(b) + t, 3] = 4.0"},  # two names of one memory
        {"known": ["y"]},
        {  # one element with a condition and without
            "first": "two_begin(b) + any(b)",
            "more": "\n            if any(b) < n(b):\n                y[two_begin(b) + any(b), 0]: again = 4.0",
        },
    ],
)
def test_what_is_no_block(changed):
    assert blocks(**changed) == set()


def test_few_statements_are_left_to_questions_about_pairs():
    program = PROGRAM.replace("            y[{second}, 1] = 2.0\n", "").format(**IN_BLOCK)
    parsed = parse(program)
    site = loop_site(parsed, loop(parsed, "b"), "test")
    assert list(ragged_blocks(parsed, labelled(site), site.stmt.var, 0, ())) == []
