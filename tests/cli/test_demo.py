"""`cortex demo` on a few small trees."""

import os

import pytest

from cortex import ra
from cortex.cli import measure
from cortex.cli.demo import listing
from cortex.cli.measure import batch_sizes
from cortex.compiler import compile
from tests.cli.conftest import parsed

SMALL = ("--hidden", 8)


def test_the_examples_text_is_that_of_the_design():
    N, H, V = ra.N, 256, 10_000
    emb = ra.input_tensor("emb", (V, H))
    word = ra.node_input("word", dtype="int32")
    rnn_ph = ra.placeholder((N, H))
    leaf = ra.compute((N, H), lambda n, i: emb[word[n], i])
    lh = ra.compute((N, H), lambda n, i: rnn_ph[n.left, i])
    rh = ra.compute((N, H), lambda n, i: rnn_ph[n.right, i])
    rec = ra.compute((N, H), lambda n, i: ra.tanh(lh[n, i] + rh[n, i]))
    body = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec))
    rnn = ra.recursion_op(rnn_ph, body, structure=ra.Tree(max_children=2))
    s = ra.Schedule(rnn)
    s.dynamic_batch()
    s.specialize_if_else(body)
    assert listing() == str(s.lower())


@pytest.mark.parametrize(("count", "sizes"), [(1, [1]), (2, [1, 2]), (10, [1, 10]), (11, [1, 10, 11])])
def test_batches_are_of_one_of_ten_and_of_all(count, sizes):
    assert batch_sizes(count) == sizes


def test_demo_prints_the_example_a_table_and_a_verdict(cortex, trees):
    result = cortex("demo", "--trees", trees, *SMALL)
    assert result.exit_code == 0, result.output
    assert listing() in result.stdout
    table = [
        line.split() for line in result.stdout.splitlines() if line.startswith(("tree_lstm ", "mv_rnn "))
    ]
    rows = [line[:4] for line in table if line[1].isdigit()]
    assert rows == [
        ["tree_lstm", "1", "5", "3"],
        ["tree_lstm", "3", "15", "3"],
        ["mv_rnn", "1", "5", "3"],
        ["mv_rnn", "3", "15", "3"],
    ]
    words = " ".join(result.stdout.split())
    assert "tree_lstm (hidden 8) is right: 3 trees, every root" in words
    assert "mv_rnn (hidden 2) is right: 3 trees, every root" in words
    assert result.stderr == ""  # no progress display where there is no terminal


def test_demo_as_json(cortex_json, trees):
    document = cortex_json("demo", "--trees", trees, "--count", 2, *SMALL)
    assert document["right"] is True
    assert document["example"] == listing()
    assert [model["model"] for model in document["models"]] == ["tree_lstm", "mv_rnn"]
    for model in document["models"]:
        assert [batch["trees"] for batch in model["batches"]] == [1, 2]
        for batch in model["batches"]:
            assert 0 <= batch["largest_error"] < document["bound"] and batch["wrong"] == []
            for part in ("linearize_us", "prelude_us", "kernel_us", "latency_us"):
                assert 0 < batch[part]["low"] <= batch[part]["median"] <= batch[part]["high"]


@pytest.fixture
def spoiled(monkeypatch):
    """Compiled functions have one wrong weight, in a matrix that only inner nodes read."""

    def compile_wrongly(model, params):
        wrong = dict(params)
        name = "W" if "W" in params else "U_u"
        wrong[name] = params[name].copy()
        wrong[name][0, 0] += 0.01
        return compile(model, wrong)

    monkeypatch.setattr(measure, "compile", compile_wrongly)
    # The compiler is not changed: its kernels are those of other tests.
    monkeypatch.setenv("CORTEX_CACHE_DIR", os.environ["CORTEX_TESTS_CACHE"])


def test_a_wrong_result_is_said_and_is_status_1(cortex, trees, spoiled):
    result = cortex("demo", "--trees", trees, *SMALL)
    assert result.exit_code == 1
    words = " ".join(result.stdout.split())
    assert "tree_lstm (hidden 8) IS WRONG: 1 of 1 tree; in tree 1, output " in words
    assert "mv_rnn (hidden 2) IS WRONG: " in words


def test_a_wrong_result_in_json(cortex, trees, spoiled):
    result = cortex("demo", "--trees", trees, "--json", *SMALL)
    assert result.exit_code == 1
    document = parsed(result)
    assert document["right"] is False
    assert document["models"][0]["batches"][1]["wrong"][0]["structure"] == 0


def test_a_model_that_the_trees_are_not_for_is_left_out(cortex, tmp_path):
    path = tmp_path / "flat.txt"
    path.write_text("(2 (2 one) (2 two) (2 three))\n", encoding="utf-8")
    result = cortex("demo", "--trees", path, *SMALL)
    assert result.exit_code == 0
    words = " ".join(result.stdout.split())
    assert "tree_lstm (hidden 8) is right: 1 tree, every root" in words
    assert "mv_rnn (hidden 2) was not run: " in words


@pytest.mark.parametrize(
    ("text", "place"),
    [("(3 (2 The) (4 (3 fine) (2 film))\n", "1"), ("(2 a)\n(1 (2 b) ())\n", "2")],
    ids=["unbalanced", "empty brackets"],
)
def test_a_broken_file_is_refused_with_its_line(cortex, tmp_path, text, place):
    path = tmp_path / "broken.txt"
    path.write_text(text, encoding="utf-8")
    for options in ((), ("--json",)):
        result = cortex("demo", "--trees", path, *options)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ") and str(path) in result.stderr
        assert "Traceback" not in result.stderr
        assert place in result.stderr.removeprefix("Error: ").replace(str(path), "")


def test_a_file_without_trees_is_refused(cortex, tmp_path):
    path = tmp_path / "empty.txt"
    path.write_text("\n", encoding="utf-8")
    result = cortex("demo", "--trees", path)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"Error: read_ptb: {path}: the text holds no tree\n")


def test_a_file_that_is_not_there_is_a_usage_error(cortex, tmp_path):
    result = cortex("demo", "--trees", tmp_path / "none.txt")
    assert result.exit_code == 2
    assert "does not exist" in result.stderr
