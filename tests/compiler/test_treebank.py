"""Every tree of a treebank has the same bits in whatever batch it stands, and they are the oracle's within float32."""

import numpy as np
import pytest

import cortex
from cortex import models, ra
from tests.support.treebank import treebank_path


@pytest.fixture(scope="module")
def lines():
    return treebank_path().read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def vocab(lines):
    return cortex.Vocab.from_trees(lines)


@pytest.fixture(scope="module", params=["tree_sum", "tree_fc", "tree_lstm", "mv_rnn"])
def compiled(request, vocab):
    model = {
        "tree_sum": lambda: models.tree_sum(5, len(vocab)),
        "tree_fc": lambda: models.tree_fc(18, len(vocab)),
        "tree_lstm": lambda: models.tree_lstm(17, 9, len(vocab)),
        "mv_rnn": lambda: models.mv_rnn(5, len(vocab)),
    }[request.param]()
    params = model.init_params(seed=3)
    return model, params, cortex.compile(model, params, vocab=vocab)


def test_bits_do_not_depend_on_the_batch(compiled, lines):
    model, _, fn = compiled
    whole = fn(lines)
    order = np.random.default_rng(0).permutation(len(lines))
    shuffled = fn([lines[i] for i in order])
    for name in model.outputs:
        roots = whole[name]
        np.testing.assert_array_equal(np.concatenate([fn(line)[name] for line in lines]), roots)
        tens = [fn(lines[i : i + 10])[name] for i in range(0, len(lines), 10)]
        np.testing.assert_array_equal(np.concatenate(tens), roots)
        np.testing.assert_array_equal(shuffled[name], roots[order])
        nodes, moved = whole.nodes(name), shuffled.nodes(name)
        assert all(np.array_equal(moved[new], nodes[old]) for new, old in enumerate(order))


def test_every_tenth_tree_is_the_oracles(compiled, lines, vocab):
    model, params, fn = compiled
    chosen = lines[::10]
    out = fn(chosen)
    for index, line in enumerate(chosen):
        want = ra.evaluate(model, params, line, vocab=vocab)
        for name in model.outputs:
            got = out.nodes(name)[index]
            assert np.abs(got - want[name]).max() <= 1e-5 * max(1, np.abs(want[name]).max())
