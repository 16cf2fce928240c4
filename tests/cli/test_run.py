"""`cortex run`."""

import numpy as np
import pytest

from cortex import models
from cortex.cli.trees import read_trees
from cortex.compiler import compile

SMALL = ("--hidden", 6)


def test_outputs_are_those_of_the_compiled_model(cortex, trees, tmp_path):
    path = tmp_path / "roots.npz"
    result = cortex("run", "tree_lstm", "--trees", trees, *SMALL, "--embed", 5, "--seed", 3, "--out", path)
    assert result.exit_code == 0, result.output
    nodes, vocab = read_trees(trees)
    model = models.tree_lstm(hidden=6, embed=5, vocab=len(vocab))
    out = compile(model, model.init_params(seed=3))(nodes)
    with np.load(path) as roots:
        assert set(roots) == {"h", "c"}
        for name in roots:
            np.testing.assert_array_equal(roots[name], out[name])
    assert result.stdout.startswith("tree_lstm: 3 trees, 15 nodes in 3 levels\n")
    assert "h      3 x 6" in result.stdout


def test_a_summary_as_json(cortex_json, trees):
    document = cortex_json("run", "mv_rnn", "--trees", trees, "--hidden", 3)
    roots = document.pop("roots")
    assert document == {"model": "mv_rnn", "trees": 3, "nodes": 15, "levels": 3, "out": None, "save": None}
    assert roots["v"]["shape"] == [3, 3] and roots["M"]["shape"] == [3, 3, 3]
    assert -1 <= roots["v"]["smallest"] <= roots["v"]["mean"] <= roots["v"]["largest"] <= 1


def test_given_parameters_bring_their_sizes(cortex, trees, tmp_path):
    words, params, path = tmp_path / "words.txt", tmp_path / "params.npz", tmp_path / "roots.npz"
    words.write_text("film\nThe\n<unk>\n", encoding="utf-8")
    model = models.tree_lstm(hidden=4, embed=2, vocab=3)
    np.savez(params, **model.init_params(seed=8))
    result = cortex("run", "tree_lstm", "--trees", trees, "--params", params, "--vocab", words, "--out", path)
    assert result.exit_code == 0, result.output
    film, the, other = 0, 1, 2
    structures = [(the, (other, film)), (other, other), ((the, film), (other, film))]
    expected = compile(model, model.init_params(seed=8))(structures)
    with np.load(path) as roots:
        np.testing.assert_array_equal(roots["h"], expected["h"])


def test_parameters_of_another_model_are_refused(cortex, trees, tmp_path):
    words, params = tmp_path / "words.txt", tmp_path / "params.npz"
    words.write_text("<unk>\n", encoding="utf-8")
    np.savez(params, **models.tree_sum(hidden=4, vocab=1).init_params())
    result = cortex("run", "tree_lstm", "--trees", trees, "--params", params, "--vocab", words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: the parameters do not fit the model")


def test_parameters_of_other_sizes_than_asked_for_are_refused(cortex, trees, tmp_path):
    words, params = tmp_path / "words.txt", tmp_path / "params.npz"
    words.write_text("<unk>\n", encoding="utf-8")
    np.savez(params, **models.tree_sum(hidden=4, vocab=1).init_params())
    result = cortex("run", "tree_sum", "--trees", trees, "--params", params, "--vocab", words, *SMALL)
    assert result.exit_code == 2
    assert "'emb' has shape (1, 4), not (1, 6)" in result.stderr


def test_parameters_need_the_vocabulary_that_they_are_for(cortex, trees, tmp_path):
    params = tmp_path / "params.npz"
    np.savez(params, emb=np.zeros((1, 4), np.float32))
    result = cortex("run", "tree_sum", "--trees", trees, "--params", params)
    assert result.exit_code == 2
    assert "--params needs --vocab" in result.stderr


def test_a_vocabulary_that_is_longer_than_the_table_is_refused(cortex, trees, tmp_path):
    words, params = tmp_path / "words.txt", tmp_path / "params.npz"
    words.write_text("film\nThe\n<unk>\n", encoding="utf-8")
    np.savez(params, **models.tree_sum(hidden=4, vocab=2).init_params())
    result = cortex("run", "tree_sum", "--trees", trees, "--params", params, "--vocab", words)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ") and "word" in result.stderr


def test_trees_that_a_model_is_not_for_write_nothing(cortex, tmp_path):
    trees, path = tmp_path / "flat.txt", tmp_path / "roots.npz"
    trees.write_text("(2 (2 one) (2 two) (2 three))\n", encoding="utf-8")
    result = cortex("run", "tree_sum", "--trees", trees, *SMALL, "--out", path)
    assert result.exit_code == 2
    assert result.stdout == "" and result.stderr.startswith("Error: ")
    assert not path.exists()


@pytest.mark.parametrize("option", ["--out", "--save"])
def test_a_folder_that_is_not_there_is_refused_at_once(cortex, trees, tmp_path, option):
    result = cortex("run", "tree_rnn", "--trees", trees, option, tmp_path / "none" / "file")
    assert result.exit_code == 2 and "none' does not exist" in result.stderr


def test_a_file_without_trees_is_refused(cortex, tmp_path):
    trees = tmp_path / "none.txt"
    trees.write_text("", encoding="utf-8")
    result = cortex("run", "tree_sum", "--trees", trees, *SMALL)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: read_ptb: {trees}: the text holds no tree\n")


@pytest.mark.parametrize("options", [(), ("--trees", "none.txt")])
def test_trees_have_to_be_there(cortex, options):
    result = cortex("run", "tree_sum", *options)
    assert result.exit_code == 2
    assert "--trees" in result.stderr


def test_a_saved_function_runs_as_the_model_did(cortex, cortex_json, trees, tmp_path):
    path, first, again = tmp_path / "m.cortex", tmp_path / "first.npz", tmp_path / "again.npz"
    document = cortex_json("run", "tree_fc", "--trees", trees, *SMALL, "--out", first, "--save", path)
    assert document["save"] == str(path)
    loaded = cortex_json("run", path, "--trees", trees, "--out", again)
    assert loaded == document | {"model": str(path), "out": str(again), "save": None}
    with np.load(first) as want, np.load(again) as got:
        assert got["h"].tobytes() == want["h"].tobytes()
    result = cortex("run", path, "--trees", trees, "--seed", 3)
    assert (
        result.exit_code == 2
        and "a saved function has its parameters, words and sizes itself" in result.stderr
    )


def test_a_file_that_is_no_saved_function_is_refused(cortex, trees):
    result = cortex("run", trees, "--trees", trees)
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith(f"Error: load: {trees}: this is no compiled function, or it is damaged\n")


def test_a_saved_function_without_words_is_refused(cortex, trees, tmp_path):
    model = models.tree_sum(hidden=4, vocab=3)
    compile(model, model.init_params()).save(tmp_path / "m.cortex")
    result = cortex("run", tmp_path / "m.cortex", "--trees", trees)
    assert result.exit_code == 2 and "the function was compiled without a vocabulary" in result.stderr
