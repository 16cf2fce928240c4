"""What known bounds imply holds for all numbers; conditions say exactly where a call has arguments outside a domain."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragged.ir.parser import parse
from ragged.ir.printer import expr_text
from ragged.ir.stmt import If
from ragged.ir.walk import statements
from ragged.passes.domain_checks import KnownBounds, domain_conditions, is_identity

HEAD = """\
program("bounds")

n: input()
m: input()
value: input(k < n)
other: input(k < m + 1, place < n - k)
next: expression(k < n, value(k) + value(k + 1))
out: output(float32[1])

with kernel:
    for i in serial(9):
        for j in serial(9):
"""
NUMBERS = range(-2, 3)
SIZES = range(3)


def conditions(texts):
    """The expressions that texts mean."""
    body = "".join(f"            if {text}:\n                out[0] = 0.0\n" for text in texts)
    return [each.condition for each in statements(parse(HEAD + body).kernel) if isinstance(each, If)]


def implied(known, goal):
    """Whether bounds say that a condition holds."""
    *facts, condition = conditions([*known, goal])
    bounds = KnownBounds()
    for fact in facts:
        bounds.add(fact)
    return bounds.imply(condition)


@pytest.mark.parametrize(
    ("known", "goal"),
    [
        ((), "0 <= n"),
        ((), "n < n + 1"),
        ((), "i <= i + 2 * n + m"),
        (("i < n",), "i + 1 <= n"),
        (("i < n",), "i < n + m"),
        (("i < n", "j <= i"), "j < n"),
        (("i >= 2",), "0 <= i"),
        (("i > 1",), "2 <= i"),
        (("i == j",), "i <= j and j <= i"),
        (("0 <= i and i < n",), "0 <= i and i < n + 1"),
        (("0 <= i", "0 <= j"), "0 <= i + j"),
        (("0 <= i",), "0 <= 2 * i"),
        (("0 <= i and 0 <= j",), "0 <= i + j"),
    ],
)
def test_bounds_follow_from_two_others_at_most(known, goal):
    assert implied(known, goal)


@pytest.mark.parametrize(
    ("known", "goal"),
    [
        ((), "0 <= i"),
        ((), "0 <= 0 - n"),
        ((), "n < n"),
        (("i <= n",), "i < n"),
        (("i < n or j < n",), "i < n"),
        (("i != j",), "i < j"),
        (("i < n",), "i < n and 0 <= i"),
        (("i < n",), "i != n"),
        (("i <= j",), "i == j"),
        (("0 <= i",), "0 <= i - n"),
        (("0 <= i", "0 <= j"), "1 <= i + j"),
        (("0 <= i", "0 <= j"), "0 <= i - j"),
    ],
)
def test_others_do_not(known, goal):
    assert not implied(known, goal)


def test_a_copy_has_bounds_of_its_own():
    bounds, (fact,) = KnownBounds(), conditions(["i < n"])
    bounds.copy().add(fact)
    assert not bounds.imply(fact)


sums = st.lists(st.sampled_from(["i", "j", "n", "m", "2 * i", "1", "2"]), min_size=1, max_size=2).map(
    " + ".join
)
comparisons = st.tuples(sums, st.sampled_from(["<", "<=", "==", ">=", ">", "!="]), sums).map(" ".join)


@given(st.lists(comparisons, max_size=3), st.lists(comparisons, min_size=1, max_size=2).map(" and ".join))
def test_what_is_implied_holds_for_all_numbers(known, goal):
    if implied(known, goal):
        for i, j, n, m in product(NUMBERS, NUMBERS, SIZES, SIZES):
            values = {"i": i, "j": j, "n": n, "m": m}
            assert not all(eval(each, values) for each in known) or eval(goal, values)


class Outside(Exception):
    """A function is called outside of its domain."""


def functions(n, m):
    """The sizes and the functions of a program, by their names."""

    def value(k):
        if not 0 <= k < n:
            raise Outside
        return 2 * k - 1

    def other(k, place):
        if not (0 <= k < m + 1 and 0 <= place < n - k):
            raise Outside
        return k - place

    def following(k):
        return value(k) + value(k + 1)

    return {"n": n, "m": m, "value": value, "other": other, "next": following}


def is_inside(text, values):
    """Whether evaluating a text calls functions in their domains alone."""
    try:
        eval(text, values)
    except Outside:
        return False
    return True


numbers = st.recursive(
    st.sampled_from(["i", "j", "n", "1"]),
    lambda inner: st.one_of(
        inner.map("value({})".format),
        inner.map("next({})".format),
        inner.map("({} - 1)".format),
        st.tuples(inner, inner).map("other({0[0]}, {0[1]})".format),
        st.tuples(inner, inner, inner).map("({0[0]} if {0[1]} < {0[2]} else {0[0]} + 1)".format),
    ),
    max_leaves=4,
)


@pytest.mark.parametrize(
    ("text", "required"),
    [
        ("value(i) < 1", ["0 <= i and i < n"]),
        ("value(i) < value(i)", ["0 <= i and i < n"]),
        ("value(i + 1) < value(i + 1 + 0)", ["0 <= i + 1 and i + 1 < n"]),
        ("0 <= i and i < n and value(i) < 1", []),
        ("i < 0 and value(i) < 1", ["not i < 0 or 0 <= i and i < n"]),
        ("i < 0 or n <= i or value(i) < 1", ["i < 0 or n <= i or 0 <= i and i < n"]),
    ],
)
def test_conditions_are_yielded_once_and_not_where_they_are_known(text, required):
    (expr,) = conditions([text])
    assert [expr_text(each) for _, each in domain_conditions(expr, KnownBounds())] == required


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ("next(i) == value(i) + value(i + 1)", True),
        ("next(i) <= 1 + value(i) + value(i + 1)", True),
        ("next(i) == value(i)", False),
        ("value(i) == value(j)", False),
        ("value(i) == value(i)", True),
    ],
)
def test_identities_hold_with_bodies_unfolded(text, identity):
    (expr,) = conditions([text])
    assert is_identity(expr) == identity


tests = st.tuples(numbers, st.sampled_from(["<", "=="]), numbers).map(" ".join)
paths = st.lists(tests, min_size=1, max_size=3).flatmap(
    lambda each: st.sampled_from([" and ".join(each), " or ".join(each)])
)


@given(paths)
def test_conditions_hold_exactly_where_calls_are_inside_their_domains(text):
    (expr,) = conditions([text])
    required = [expr_text(condition) for _, condition in domain_conditions(expr, KnownBounds())]
    for i, j, n, m in product(NUMBERS, NUMBERS, SIZES, SIZES):
        values = {"i": i, "j": j, **functions(n, m)}
        assert all(eval(each, values) for each in required) == is_inside(text, values)


@given(tests, paths)
def test_conditions_rely_on_what_is_known(known, text):
    fact, expr = conditions([known, text])
    bounds = KnownBounds()
    bounds.add(fact)
    required = [expr_text(condition) for _, condition in domain_conditions(expr, bounds)]
    for i, j, n, m in product(NUMBERS, NUMBERS, SIZES, SIZES):
        values = {"i": i, "j": j, **functions(n, m)}
        if is_inside(known, values) and eval(known, values):
            assert all(eval(each, values) for each in required) == is_inside(text, values)
