"""`cortex bisect`."""

from dataclasses import replace

import pytest

import cortex.cli.bisect as command
from ragged.auto import tile_products
from tests.compiler.test_bisect import OneMore


@pytest.mark.parametrize("model", ["tree_lstm", "lstm", "dag_rnn"])
def test_a_library_model_has_no_wrong_step(cortex, model):
    result = cortex("bisect", model, "--hidden", 4)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "every step leaves a program that computes what the model says"


@pytest.mark.parametrize("leaves", [1, 2, 97])
def test_the_largest_structure_has_as_many_leaves_as_asked_for(cortex, monkeypatch, leaves):
    given = []
    monkeypatch.setattr(command, "find", lambda model, params, structures, **_: given.extend(structures))
    assert cortex("bisect", "tree_fc", "--leaves", leaves).exit_code == 0

    def count(node):
        return sum(map(count, node.children)) or 1

    assert count(given[-1]) == leaves


def test_a_wrong_step_is_named_with_what_it_changed(cortex, monkeypatch):
    vectorize = tile_products.vectorize

    def planted(program, *args):
        done = vectorize(program, *args)
        return replace(done, program=OneMore().program(done.program).program)

    planted.__name__ = "vectorize"
    monkeypatch.setattr(tile_products, "vectorize", planted)
    result = cortex("bisect", "tree_fc", "--hidden", 16)
    assert result.exit_code == 1
    assert "first wrong step, of pass default_schedule: s.apply(vectorize, " in result.stdout
    assert "is off by" in result.stdout and "+++ after" in result.stdout


OWN = """
from cortex import ra

def cell(hidden, vocab):
    word, kind, x = ra.node_input("word", dtype="int32"), ra.node_input("kind", dtype="int32"), ra.node_input("x", (3,))
    h_ph, few = ra.placeholder((ra.N, hidden)), ra.input_tensor("few", (2, hidden))
    below = ra.compute((ra.N, hidden), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
    y = ra.embedding(word, "emb", (vocab, hidden))
    of_x = ra.linear(x, "x", out=hidden)
    h = ra.compute((ra.N, hidden), lambda n, i: ra.tanh(y[n, i] + of_x[n, i] + few[kind[n], i] * below[n, i]))
    return ra.recursion_op(h_ph, h, structure=ra.{structure}())
"""


@pytest.mark.parametrize("structure", ["Tree", "Dag", "Sequence"])
def test_a_model_of_ones_own_that_reads_payloads_at_each_node(cortex, tmp_path, monkeypatch, structure):
    (tmp_path / f"{structure}_cell.py").write_text(OWN.format(structure=structure), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = cortex("bisect", f"{structure}_cell:cell", "--hidden", 4)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "every step leaves a program that computes what the model says"
