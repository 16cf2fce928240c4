"""The rules of names and types: what is accepted, and the message of each refusal."""

import pytest

from ragged.tc.check import check
from ragged.tc.errors import TcError
from ragged.tc.parse import parse


def checked(text):
    library = {}
    for definition in parse(text):
        function = check(definition, dict(library))
        library[definition.name] = definition
    return function


def types(text):
    return {name: version.type for name, version in checked(text).outputs.items()}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("def f(float(N) a) -> (exp) { exp(i) = a(i) }", "'exp' is the name of a function"),
        ("def f(float(N) a) -> (b) { fmaxf(i) = a(i) }", "'fmaxf' is the name of a function"),
        ("def f(float(N) a) -> () { }", "'f' has no outputs"),
        ("def f(float a, int a) -> (b) { b = a }", "'a' is already defined as a parameter"),
        ("def f(float a) -> (b, b) { b = a }", "'b' is already defined as an output"),
        (
            "def f(float(N) a) -> (b) { b(i,i) = a(i) }",
            "the index 'i' is already defined: it stands twice on the left",
        ),
        ("def f(float(N) a) -> (b, c) { b(i) = a(i) }", "the output 'c' is never written"),
        ("def f(float(N) a) -> (b) { a(i) = 1 b(i) = a(i) }", "'a' is written, and is an input"),
        (
            "def f(float(N) a) -> (b) { N = 1 b(i) = a(i) }",
            "'N' is written, and is a size, a scalar parameter, or lengths",
        ),
        (
            "def f(float(N) a) -> (b) { b(i) = a(i) b = 1 }",
            "'b' has 1 dimensions and is written at 0 indices",
        ),
        ("def f(float(N,M) a) -> (b) { b(i) = a(i) }", "'a' has 2 dimensions and is read at 1 indices"),
        (
            "def f(float(N) a) -> (b) { b(i) = c(i) }",
            "'c' is read, and is no tensor or function that is defined here",
        ),
        (
            "def f(float(N) a) -> (b) { b(i) = a(j) where i in 0:2 }",
            "'j' is an index of the right side alone, and '=' does not specify a reduction",
        ),
        (
            "def f(float(N) a) -> (b) { t(i) += a(i) b(i) = t(i) }",
            "'+=' starts from the values of 't', which has none",
        ),
        ("def f(float(N) a) -> (b) { b(i) = fmax(a(i)) }", "'fmax' takes 2 arguments and is given 1"),
        (
            "def f(float(N) a) -> (b) { b(i) = a(i) && a(i) ? 1 : 0 }",
            "'&&' is of truth values, and 'a(i)' is of type float32",
        ),
        (
            "def f(float(N) a) -> (b) { b(i) = a(i) ? 1 : 0 }",
            "'?' is of truth values, and 'a(i)' is of type float32",
        ),
        (
            "def f(float(N) a) -> (b) { b(i) = (a(i) > 0) + 1 }",
            "'+' is of numbers, and 'a(i) > 0' is a truth value",
        ),
        (
            "def f(float(N) a) -> (b) { b(i) = a(i) > 0 ? 1 : a(i) > 1 }",
            "'?:' chooses between a number and a truth value",
        ),
        (
            "def f(float(N) a) -> (b) { b +=! a(i) > 0 }",
            "'+=!' is of numbers, and its right side is a truth value",
        ),
        ("def f(float(N) a) -> (b) { b(i) = a(i) % 2 }", "'%' is of integers"),
        ("def f(int(N) a) -> (b) { b(i) = a(i) / 0 }", "'a(i) / 0' divides by 0"),
        (
            "def f(float(N) a) -> (b) { b(i) = a(a(i)) }",
            "an index of 'a' 'a(i)' is of type float32, and has to be an integer",
        ),
        (
            "def f(float(N) s) -> (b) { b(i) = 3 where i in 0:s(j) }",
            "'s' cannot be used in the bounds of a range",
        ),
        ("def f(float s) -> (b) { b(i) = 3 where i in 0:s }", "'s' cannot be used in the bounds of a range"),
        ("def f(float(N) a) -> (b) { b(i) = a(i) where i in 0:N, i in 1:N }", "the index 'i' has two ranges"),
        ("def f(float(N) a) -> (b) { b(i) = a(i) + k where k = k + 1 }", "'k' is defined by itself"),
        (
            "def f(float(N) a) -> (b) { b(i) = a(i) where exists exp(i) }",
            "exists 'exp(i)': it is no read of a tensor",
        ),
        (
            "def f(float(N) a) -> (int(N) b) { b(i) = a(i) }",
            "'b' is declared as int32, and the right side is of type float32",
        ),
        (
            "def f(float(N) a) -> (float(N,M) b) { b(i) = a(i) }",
            "the output 'b' is declared with 2 dimensions and written with 1",
        ),
        (
            "def g(float(N) a) -> (b) { b(i) = a(i) } def f(float(N,M) x) -> (y) { y = g(x) }",
            "'a' of 'g' has 1 dimensions, and 'x' 2",
        ),
        (
            "def g(float(N) a) -> (b) { b(i) = a(i) } def f(float(N) x) -> (y) { y = g(x, x) }",
            "'g' has 1 parameters, and the call 2",
        ),
        ("def f(float(N) x) -> (y, z) { y, z = g(x) }", "'g' is called, and is no function before this one"),
        (
            "def g(int(N) a) -> (b) { b(i) = a(i) } def f(float(N) x) -> (y) { y = g(x) }",
            "'a' of 'g' is of type int32, and 'x' of float32",
        ),
    ],
)
def test_refusals(text, what):
    with pytest.raises(TcError) as caught:
        checked(text)
    assert (caught.value.phase, caught.value.what) == ("check", what)
    assert caught.value.line == 1 and caught.value.column > 1


def test_a_refusal_proposes_the_neutral_element():
    with pytest.raises(TcError, match=r"fix: '\+=!' starts from the neutral element"):
        checked("def f(float(N) a) -> (b) { t(i) += a(i) b(i) = t(i) }")


def test_types_of_outputs():
    assert types("def f(uint8(N) a) -> (b) { b(k) +=! a(i) where k in 0:1 }") == {"b": "uint8"}
    assert types("def f(int8(N) a, uint16(N) b) -> (c) { c(i) = a(i) * b(i) }") == {"c": "int16"}
    assert types("def f(int(N) a, double(N) b) -> (c, d) { c(i) = a(i) * b(i) d(i) = a(i) < b(i) }") == {
        "c": "float64",
        "d": "bool",
    }
    assert types("def f(int(N) a) -> (c) { c(i) = exp(a(i)) }") == {"c": "float32"}
    assert types("def f(int(N) a) -> (double(N) c) { c(i) = 2 * a(i) }") == {"c": "float64"}


def test_an_initial_zero_takes_the_type_of_what_is_added():
    assert types("def mv(float(M,K) A, float(K) x) -> (C) { C(i) = 0 C(i) += A(i,k) * x(k) }") == {
        "C": "float32"
    }


def test_each_statement_writes_a_version_of_its_own():
    function = checked("def f(float(N) x) -> (y) { t(i) = 2 * x(i) t(i) = t(i) + 1 y(i) = t(i) }")
    first, second, last = function.statements
    assert first.target is not second.target and last.value.buffer is second.target.buffer


def test_an_output_that_is_read_first_is_given_by_the_call():
    text = "def f(float b, float(N,M) A) -> (C) { C(i,j) = b * C(i,j) C(i,j) += A(i,j) }"
    assert list(checked(text).initial) == ["C"]
    assert not checked(text.replace("A)", "A, float(N,M) C)")).initial


def test_indices_hide_tensors_and_sizes():
    function = checked("def f(float(N,M) i) -> (y) { y(N,j) = i(N,j) }")
    assert [var.name for var in function.statements[0].indices] == ["N", "j"]


def test_a_call_is_inlined():
    function = checked(
        "def scale(float(N) a, float s) -> (b) { b(i) = s * a(i) where i in 0:N }"
        "def f(float(M) x) -> (y) { t = scale(x, 2) y = scale(t, 3.0) }"
    )
    assert [each.source.target.id for each in function.statements] == ["b", "b"]
    assert [version.name for version, _ in function.aliases.values()] == ["x", "b"]
