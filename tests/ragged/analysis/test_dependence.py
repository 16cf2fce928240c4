"""What counts as a conflict: one memory under two names, reductions that read their accumulator, checks, barriers."""

import pytest

from ragged.analysis.dependence import find_conflict
from ragged.ir.expr import Binary
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.ir.sites import sites_in
from ragged.ir.stmt import Reduce, Store
from ragged.transform.legality import labelled
from ragged.transform.locate import loop_site
from tests.ragged.transform.support import loop

PROGRAM = """\
program("conflicts")

count: input()
next: input(k < 8) = facts(k + 1 <= next(k) < 9{more})
a: parameter(int64[8])
x: output(float32[9])
g: output(float32[3, 3], aliases=x)
y: output(float32[9])

with kernel:
    for n in serial(8):
        {statement}
"""


def conflict(statement, more="", reassociate=False):
    """Return what conflicts where iterations of the loop are run in whatever order."""
    program = parse(PROGRAM.format(statement=statement, more=more))
    site = loop_site(program, loop(program, "n"), "test")
    inside = labelled(site)
    var = site.stmt.var

    def apart(first, second):
        return (Binary(BinaryOp.NE, first[var], second[var]),)

    found = find_conflict(program, inside, inside, 0, apart, reassociate=reassociate)
    return None if found is None else str(found)


@pytest.mark.parametrize(
    "statement",
    [
        "x[n] = y[n]",
        "x[n] = y[8 - n]",
        "x[7 - n] = 1.0",
        "x[n] = x[n] + 1.0",
        "y[n] = x[next(n)]",
        "acc = local(float32[1])\n        acc[0] = 1.0\n        x[n] = acc[0]",
        "if n == 3:\n            x[0] = 1.0",
        "for i in serial(3):\n            x[n] += y[i]",
    ],
)
def test_no_conflict(statement):
    assert conflict(statement) is None


@pytest.mark.parametrize(
    ("statement", "because"),
    [
        ("x[0] = 1.0", "'x' may in both iterations touch one element of 'x'"),
        ("x[n] = x[next(n)]", "'x' may in both iterations touch one element of 'x'"),
        ("x[next(n)] = 1.0", "'x' may in both iterations touch one element of 'x'"),
        ("x[a[n]] = 1.0", "'x' may in both iterations touch one element of 'x'"),
        ("x[n] = g[0, 0]", "'x' may in both iterations touch one element of 'x'"),
        ("g[n // 3, n % 3]: s = 1.0\n        y[n] = x[n]", "'s' and 'y' may touch one element of 'g'"),
        ("x[n] = 1.0\n        g[0, 0] = 1.0", "'x' and 'g' may touch one element of 'x'"),
        ("if x[n] > 0.0:\n            x[0] = 1.0", "'x' may in both iterations touch one element of 'x'"),
        ("x[0] += y[n]", "'x' may in both iterations touch one element of 'x'"),
        (
            'check(n < 8, "no")',
            "'check' may not change places with anything: what comes after may rely on it",
        ),
    ],
)
def test_conflict(statement, because):
    assert conflict(statement) == because


def test_facts_are_asked():
    assert conflict("x[next(n)] = 1.0", more=", injective()") is None


def test_reductions_are_reassociated_where_they_only_update():
    assert conflict("x[0] += y[n]", reassociate=True) is None
    assert conflict("x[0] = reduce(sum, y[n], init=x[0])", reassociate=True) is None
    assert (
        conflict("x[0] = reduce(max, y[n])\n        x[0]: other = reduce(sum, y[n])", reassociate=True)
        is not None
    )
    for reading in (
        "x[0] += x[0]",
        "x[0] += x[1]",
        "x[0] += g[0, 0]",
        "if x[1] > 0.0:\n            x[0] += 1.0",
    ):
        assert conflict(reading, reassociate=True) is not None


def test_labelled_are_the_statements_with_a_label():
    program = parse(PROGRAM.format(statement="k = n\n        x[k] = 1.0\n        y[0] += 1.0", more=""))
    site = loop_site(program, loop(program, "n"), "test")
    assert [type(inner.stmt) for inner in labelled(site)] == [Store, Reduce]
    assert len(list(sites_in(site))) == 5
