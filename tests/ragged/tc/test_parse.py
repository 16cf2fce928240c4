"""The grammar: what parses, prints as a text that parses to the same, and what a refusal says."""

import pytest

import ragged.tc.parse as parse_module
from ragged.tc import define
from ragged.tc.errors import TcError
from ragged.tc.parse import parse
from ragged.tc.text import definition_text

EVERYTHING = """\
def f(float(N,3) a, int s, double(0,M) b) -> (c, uint8(N) d, e) {
  c(i) = min(a(i, 0), -(0.5 + s)) + 1e-05 * a(i, 1) > 3 ? 1 : s == 2 ? 2 : 3 where i in 0:N, k = a(i, 2), exists a(i, j)
  c(i) max=! -a(i, j) * (a(i, j) - (3 - 4) - 5)
  d(i) = uint8(!(a(i, 0) < 0.5 && s >= 1 || s != 7) ? 0 : 255)
  e +=! b(i, j) / 2 % 3
  c, e = f(a, s, b)
}
"""


def test_prints_back():
    (definition,) = parse(EVERYTHING)
    assert definition_text(definition) == EVERYTHING
    assert definition_text(parse(definition_text(definition))[0]) == EVERYTHING


def test_white_space_and_comments_end_nothing():
    text = "def f(float(1)\na) -> (c) { c(\ni)\n =# a comment\n a(i) c(i)\n+=\na(i) }def g()->(y){y=.5}"
    assert [len(each.statements) for each in parse(text)] == [2, 1]


def test_names_may_begin_like_words_of_the_language():
    (definition,) = parse("def define(float(N) infloat) -> (whereto) { whereto(minimum) = infloat(minimum) }")
    assert definition.name == "define"


@pytest.mark.parametrize(
    ("text", "what", "line", "column"),
    [
        ("def f(", "the text ends where ')', a structure or a type is needed", 1, 7),
        ("def f(float x) -> (y) { y = x + }", "'}' stands where an expression is needed", 1, 33),
        ("def f(float x) -> (y) {\n y = x $ 3 }", "'$' is no part of the language", 2, 8),
        ("def f(foo x) -> (y) { y = x }", "'foo' stands where ')', a structure or a type is needed", 1, 7),
        ("def f(float(N) x) -> (y) { y(0) +=! x(i) }", "'0' stands where ')' or a name is needed", 1, 30),
        (
            "def f(float x) -> (y) { y x }",
            "'x' stands where '(', ',', '=' or a reduction operator is needed",
            1,
            27,
        ),
    ],
)
def test_refusals(text, what, line, column):
    with pytest.raises(TcError) as caught:
        parse(text, "ops.tc")
    error = caught.value
    assert (error.phase, error.what, error.line, error.column) == ("parse", what, line, column)
    assert f"at ops.tc:{line}:{column}" in str(error)


@pytest.mark.parametrize(
    ("value", "what", "column"),
    [
        ("-" * 200 + "x", "more than 100 expressions stand one within another", 129),
        ("(" * 99 + "x" + ")" * 99, None, None),
        ("x" + " + x" * 90, None, None),
        ("x" + " + x" * 200, "more than 100 expressions stand one within another", 29),
        ("9" * 5000, "a number of 5000 digits has more than 63 bits", 29),
        (str(2**63), "a number of 19 digits has more than 63 bits", 29),
        ("x" + " " * 100_000, "the text has 100,031 characters, and 100,000 at most are read", 1),
    ],
)
def test_what_is_too_deep_or_too_long(value, what, column):
    text = f"def f(float x) -> (y) {{ y = {value} }}"
    if what is None:
        define(text)
        return
    with pytest.raises(TcError) as caught:
        define(text)
    assert (caught.value.what, caught.value.column) == (what, column)


@pytest.mark.parametrize(
    ("times", "what"), [(1, "'f' is nested too deeply"), (2, "stand for more than 256 expressions")]
)
def test_names_for_expressions_that_become_too_much_together(times, what):
    lets = ", ".join(
        f"v{k} = -({' + '.join([f'v{k + 1}'] * times)})" for k in range(250 if times == 1 else 30)
    )
    with pytest.raises(TcError, match=what):
        define(f"def f(float x) -> (y) {{ y = v0 where {lets} }}")


def test_calls_that_become_too_many_statements():
    calls = "".join(f"def f{k + 1}(float x) -> (y) {{ t = f{k}(x) y = f{k}(t) }}\n" for k in range(12))
    with pytest.raises(
        TcError, match="'f9' has more than 500 statements, with those of the functions that it calls"
    ):
        define("def f0(float x) -> (y) { y = 2 * x }\n" + calls)


def test_the_parser_is_kept_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RAGGED_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CORTEX_CACHE_DIR", str(tmp_path))
    text = "def f(float(N) x) -> (y) { y(i) = x(i) + }"
    said = []
    for _ in range(2):
        parse_module._parser.cache_clear()
        with pytest.raises(TcError) as refused:
            parse_module.parse(text)
        said.append(str(refused.value))
        assert len(list(tmp_path.iterdir())) == 1
    assert said[0] == said[1] == "'}' stands where an expression is needed\n  at tc:1:42"
    parse_module._parser.cache_clear()
