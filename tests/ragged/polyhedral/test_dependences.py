"""Dependences by isl: what they are, and that our own test of them answers the same questions alike."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragged.errors import ScheduleError
from ragged.ir.index import index_of
from ragged.ir.parser import parse
from ragged.polyhedral.context import PolyhedralLimitError
from ragged.transform import fuse_siblings, parallel
from tests.support.dependences.relations import dependences_of

TWO_NESTS = """\
program("nests")

x: workspace(float32[99])
y: workspace(float32[99])
z: output(float32[99])

with kernel:
    for i in serial({extents[0]}):
        for j in serial({extents[1]}):
            x[{write}] = y[{read}] + 1.0
    for k in serial({extents[0]}):
        for l in serial({extents[2]}):
            {second}[{target}] = x[{other}] * {third}[{last}]
"""


def affine(*names):
    number, offset = st.sampled_from([1, 2, 0, -1]), st.integers(0, 1)
    return st.tuples(number, number, offset).map(
        lambda c: f"{c[0]} * {names[0]} + {c[1]} * {names[1]} + {c[2] + 20}"
    )


NESTS = st.fixed_dictionaries(
    {
        "extents": st.tuples(*[st.integers(1, 5)] * 3),
        "write": affine("i", "j"),
        "read": affine("i", "j"),
        "target": affine("k", "l"),
        "other": affine("k", "l"),
        "last": affine("k", "l"),
        "second": st.sampled_from("yz"),
        "third": st.sampled_from("xy"),
    }
)


def accepted(primitive, program, *args):
    try:
        primitive(program, *args)
    except ScheduleError:
        return False
    return True


@settings(max_examples=40, deadline=None)
@given(NESTS)
def test_both_tests_agree_on_random_nests(drawn):
    program = parse(TWO_NESTS.format(**drawn))
    i, _, k, _ = index_of(program).loops
    with dependences_of(program) as known:
        first, second = known.accesses.statements
        across = known.between([first], [second])
        carried = known.between([first], [first])
        backwards = known.some(known.distances(across, {first: i, second: k}), "d < 0")
        outer = known.some(known.distances(carried, {first: i}), "d != 0")
    assert accepted(fuse_siblings, program, i, k) is not backwards
    assert accepted(parallel, program, i) is not outer


def text_of(body, more=""):
    return parse(f'program("p")\n\nN: call()\n{more}x: output(float32[N])\n\nwith kernel:\n{body}')


def test_a_reduction_may_be_reassociated():
    program = text_of(
        """\
    for i in serial(N):
        x[i] = 0.0
        for k in serial(7):
            x[i] += 2.0
"""
    )
    with dependences_of(program) as known:
        start, update = known.accesses.statements
        assert not known.between([update], [update]).is_empty()
        assert not known.between([start], [update]).is_empty()
        assert known.between([update], [start]).is_empty()
    with dependences_of(program, reductions=False) as known:
        assert known.between([update], [update]).is_empty()
        assert not known.between([start], [update]).is_empty()


def test_an_index_from_data_may_be_any():
    program = text_of(
        "    for i in serial(N):\n        x[at[i]] = 1.0\n    for j in serial(N):\n        y[j] = x[j]\n",
        "at: payload(int32[N])\ny: output(float32[N])\n",
    )
    with dependences_of(program) as known:
        i, j = index_of(program).loops
        first, second = known.accesses.statements
        across = known.distances(known.between([first], [second]), {first: i, second: j})
        assert known.some(across, "d = 3") and known.some(across, "d = -3")


def test_a_length_of_a_row_is_a_dimension_of_its_own():
    program = text_of(
        "    for b in serial(N):\n        for t in serial(n(b)):\n            x[b] = 1.0\n",
        "n: call(b < N)\n",
    )
    with dependences_of(program) as known:
        (only,) = known.accesses.statements
        own = known.between([only], [only])
        outer, inner = (known.distances(own, {only: var}) for var in index_of(program).loops)
        assert not known.some(outer, "d != 0") and known.some(inner, "d = 2")


def test_nothing_passes_a_check():
    program = text_of(
        '    check(N > 3, "N")\n    for i in serial(N):\n        x[i] = 1.0\n',
    )
    with dependences_of(program) as known:
        check, store = known.accesses.statements
        assert not known.between([check], [store]).is_empty()


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("    for w in team(2):\n        x[w] = 1.0\n", ""),
        ("    barrier(team)\n    x[0] = 1.0\n", ""),
        (
            "    x[0] = 1.0\n    z[0] = 2.0\n",
            "y: workspace(float32[N])\nz: workspace(float32[N], aliases=y)\n",
        ),
    ],
)
def test_what_is_refused(body, more):
    with pytest.raises(PolyhedralLimitError), dependences_of(text_of(body, more)):
        pass
