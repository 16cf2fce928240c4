"""The models with an input, lowered and compiled: they compute the equations on structures of every size."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cortex
from cortex.linearize import linearize
from cortex.ra.schedule import default_schedule
from tests.models.library import INPUTS, LIBRARY, expected, payloads
from tests.models.structures import Drawn, chain, grid, large_tree, with_holes
from tests.support.agreement import BOUND, error, interpreted

EMBED, VOCAB = 5, 11
HIDDEN = {"nary_tree_lstm": 16}
COMPILED = [name for name in LIBRARY if name not in ("tree_lstm", "ternary_tree_lstm", "dag_rnn_tanh")]


def widened(params):
    return {key: array.astype(np.float64) for key, array in params.items()}


@pytest.mark.parametrize("input", INPUTS)
@pytest.mark.parametrize("name", LIBRARY)
def test_the_default_schedule_computes_the_equations(name, input):
    entry, hidden = LIBRARY[name], 3
    model = entry.make(hidden=hidden, embed=EMBED, vocab=VOCAB, input=input)
    params, program = model.init_params(seed=2), default_schedule(model).lower()

    @settings(max_examples=8)
    @given(data=st.data(), seed=st.integers(0, 2**16))
    def agrees(data, seed):
        children = data.draw(entry.structures)
        payload = payloads(entry, input, children, hidden, EMBED, VOCAB, seed)
        batch = linearize(model.plan(), Drawn(children, payload).root)
        (got,) = interpreted(program, batch, params)
        want = expected(entry, input, widened(params), children, payload, EMBED)
        assert all(error(got[key], array) <= BOUND for key, array in want.items())

    agrees()


@cache
def compiled(name, input="word"):
    hidden = HIDDEN.get(name, 17)
    model = LIBRARY[name].make(hidden=hidden, embed=EMBED, vocab=VOCAB, input=input)
    params = model.init_params(seed=7)
    return hidden, widened(params), cortex.compile(model, params)


def of_all_sizes(name):
    """Rows of children: a single node, a structure of ten thousand, a long chain, and what is between."""
    match name:
        case "lstm" | "gru":
            return [[[]], chain(10_000), chain(2), chain(100), chain(7)]
        case "dag_rnn":
            return [[[]], grid(40, 50), chain(10_000), grid(10, 10), large_tree(60, None, 3)]
        case "nary_tree_lstm":
            trees = [[[]], large_tree(10_000, 2, 1), chain(1500), large_tree(20, 2, 3)]
            return [with_holes(children, 2, seed) for seed, children in enumerate(trees)]
        case _:
            return [[[]], large_tree(10_000, None, 1), chain(1500), large_tree(20, 2, 3), [[], [], [0, 1]]]


@pytest.mark.parametrize("name", COMPILED)
def test_a_batch_that_mixes_one_node_with_ten_thousand(name):
    entry, (hidden, params, fn) = LIBRARY[name], compiled(name, "vector" if name == "dag_rnn" else "word")
    input = "vector" if name == "dag_rnn" else "word"
    rows = of_all_sizes(name)
    carried = [payloads(entry, input, part, hidden, EMBED, VOCAB, seed) for seed, part in enumerate(rows)]
    batch = [Drawn(*pair).root for pair in zip(rows, carried, strict=True)]
    out = fn(batch)
    for number, (children, payload) in enumerate(zip(rows, carried, strict=True)):
        want = expected(entry, input, params, children, payload, EMBED)
        assert set(out) == set(want)
        for key, array in want.items():
            assert error(out.nodes(key)[number], array) <= BOUND, (number, key)
    # A structure's bits are the same in whatever batch it stands.
    alone = fn(batch[3])
    for key in alone:
        np.testing.assert_array_equal(alone.nodes(key)[0], out.nodes(key)[3])


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_sequences_as_arrays_are_chains_of_nodes(name):
    _, _, fn = compiled(name)
    words = np.arange(30) % VOCAB
    node = None
    for word in words:
        node = cortex.Node([] if node is None else [node], word=int(word))
    np.testing.assert_array_equal(fn(words)["h"], fn(node)["h"])
    out = fn([words, words[:1]])
    assert out["h"].shape == (2, 17)
    assert out.keys(0) == list(range(30)) and out.keys(1) == [0]
    np.testing.assert_array_equal(out.nodes("h")[0][:1], out.nodes("h")[1])


def test_no_check_is_left_in_a_kernel():
    for name in COMPILED:
        fn = compiled(name, "vector" if name == "dag_rnn" else "word")[2]
        counted, *_ = fn.show("checks").splitlines()
        assert counted.endswith(" proven, 0 kept") and not counted.startswith("0 checks"), name
