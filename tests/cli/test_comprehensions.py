"""`cortex tc`: what it prints of a text, and refusals."""

import pytest

TEXT = """
def conv(float(H) x, float(K) w) -> (y) { y(h) +=! x(h + k) * w(k) }
def shift(int s, float(N) x) -> (y) { y(i) = x(i + s) where i in 0:N - s }
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "ops.tc"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_ranges_of_all_functions(cortex, file):
    result = cortex("tc", file)
    assert result.exit_code == 0
    assert result.stdout == (
        "def conv(float(H) x, float(K) w) -> (y)\n"
        "  y(h) +=! x(h + k) * w(k)\n"
        "    h in 0:H - K + 1\n"
        "    k in 0:K\n"
        "  2 accesses: 2 proven, 0 checked once a call, 0 checked for each element\n"
        "def shift(int s, float(N) x) -> (y)\n"
        "  y(i) = x(i + s) where i in 0:N - s\n"
        "    i in 0:N - s\n"
        "  1 accesses: 0 proven, 1 checked once a call, 0 checked for each element\n"
    )


def test_a_function_is_run_when_its_sizes_are_given(cortex, cortex_json, file):
    document = cortex_json("tc", file, "shift", "--size", "N=9", "--size", "s=2")
    assert document["shift"]["outputs"] == {"y": [[0, 7]]} and document["shift"]["milliseconds"] > 0
    result = cortex("tc", file, "conv", "--size", "H=5")
    assert "not run: K not given with --size" in result.stdout


def test_a_function_is_tuned_for_its_sizes(cortex, cortex_json, file, tmp_path, monkeypatch):
    monkeypatch.setenv("CORTEX_CACHE_DIR", str(tmp_path))
    document = cortex_json("tc", file, "shift", "--size", "N=9", "--size", "s=2", "--tune", "0")
    assert document["shift"]["tuned"]["points"] == 1 and document["shift"]["milliseconds"] > 0
    result = cortex("tc", file, "shift", "--size", "N=9", "--size", "s=2", "--tune", "0")
    assert "1 points timed; the best is 1.00 times as fast: default" in result.stdout


def test_tuning_needs_sizes_and_starts_from_ones(cortex, tmp_path, monkeypatch):
    monkeypatch.setenv("CORTEX_CACHE_DIR", str(tmp_path))
    own = tmp_path / "own.tc"
    own.write_text(
        "def scaled(float(N) x) -> (y) { y(i) = y(i) * x(i) }  def four(float(4) x) -> (y) { y(i) = x(i) }"
    )
    assert "1 points timed" in cortex("tc", own, "four", "--tune", "0").stdout
    result = cortex("tc", own, "scaled", "--tune", "0")
    assert result.exit_code == 2
    assert "--tune scaled: --size gives no N" in result.stderr
    assert "1 points timed" in cortex("tc", own, "scaled", "--size", "N=9", "--tune", "0").stdout


def test_a_stage(cortex, file):
    assert "def conv(float(H) x, float(K) w) -> (y) {" in cortex("tc", file, "conv", "--show", "tc").stdout


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("def f(", [], "the text ends where"),
        (TEXT, ["f"], "no function is called 'f'"),
        (TEXT, ["conv", "--size", "H"], "it is no NAME=NUMBER"),
        (TEXT, ["conv", "--size", "H=²"], "it is no NAME=NUMBER"),
        (TEXT, ["conv", "--size", "H=3", "--size", "K=5"], "is negative"),
        (TEXT, ["conv", "--size", "Q=3"], "--size Q: no size is called so; there are H, K"),
        (TEXT, ["conv", "--size", "H=99999999999999", "--size", "K=1"], "bytes are too few"),
        ("", [], "defines no function"),
    ],
)
def test_refusals(cortex, file, text, arguments, message):
    file.write_text(text, encoding="utf-8")
    result = cortex("tc", file, *arguments)
    assert result.exit_code == 2 and message in result.stderr
