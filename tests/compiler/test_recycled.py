"""Storage that is used again: where roots' results alone are kept, nodes have rows that other nodes had."""

from __future__ import annotations

import re

import numpy as np
import pytest

import cortex
from cortex import Node, models, ra
from cortex.compiler.pipeline import passes_for
from cortex.ra.schedule import default_schedule
from ragged.errors import DataError
from ragged.machine import Grid
from ragged.passes.pipeline import run_passes
from tests.compiler.test_library import EMBED, HIDDEN, VOCAB, of_all_sizes
from tests.models.library import LIBRARY, payloads
from tests.models.structures import Drawn, chain, large_tree

NAMED = [("nary_tree_lstm", 2), ("tree_gru", 2), ("dag_rnn", 2), ("lstm", 2), ("tree_lstm", 1)]


def kept_rows(fn):
    """Return what each workspace over nodes has rows for."""
    return dict(
        re.findall(r"^(\w+): workspace\(float32\[(num_nodes|storage_rows),", fn.show("loops"), re.MULTILINE)
    )


@pytest.mark.parametrize(("name", "threads"), NAMED)
def test_roots_are_what_they_are_where_all_nodes_are_kept(name, threads):
    entry, hidden = LIBRARY[name], HIDDEN.get(name, 17)
    input = "vector" if name == "dag_rnn" else "word"
    model = entry.make(hidden=hidden, embed=EMBED, vocab=VOCAB, input=input)
    params = model.init_params(seed=7)
    all_nodes, roots = (
        cortex.compile(model, params, threads=threads, keep=keep) for keep in ("nodes", "roots")
    )
    assert {kept_rows(roots)[f"{output}_nodes"] for output in model.outputs} == {"storage_rows"}
    rows = of_all_sizes(name)
    carried = [payloads(entry, input, part, hidden, EMBED, VOCAB, seed) for seed, part in enumerate(rows)]
    batch = [Drawn(*pair).root for pair in zip(rows, carried, strict=True)]
    for given in (batch, batch[1:3], batch[:1], []):
        want, got = all_nodes(given), roots(given)
        for key in want:
            np.testing.assert_array_equal(got[key], want[key])


def test_matrices_of_nodes():
    model = models.mv_rnn(hidden=16, vocab=VOCAB)
    params = model.init_params(seed=1)
    all_nodes, roots = (
        cortex.compile(model, params, threads=2, keep=keep, precision="bf16") for keep in ("nodes", "roots")
    )
    assert kept_rows(roots) == {"v_nodes": "storage_rows", "M_nodes": "storage_rows"}
    batch = [
        Drawn(tree, {"word": [None if below else row % VOCAB for row, below in enumerate(tree)]}).root
        for tree in (in_pairs(200, seed) for seed in range(20))
    ]
    want, got = all_nodes(batch), roots(batch)
    for key in want:
        np.testing.assert_array_equal(got[key], want[key])


def in_pairs(leaves, seed):
    """Return the rows of a random binary tree."""
    rng = np.random.default_rng(seed)
    children, open_rows = [[] for _ in range(leaves)], [*range(leaves)]
    while len(open_rows) > 1:
        at = int(rng.integers(len(open_rows) - 1))
        children.append(open_rows[at : at + 2])
        open_rows[at : at + 2] = [len(children) - 1]
    return children


PROJECTED = models.tree_rnn(hidden=4, input="projected")
MODEL = models.tree_rnn(hidden=4, embed=4, vocab=VOCAB)


def compiled():
    return cortex.compile(MODEL, MODEL.init_params(seed=0), keep="roots", threads=2)


def test_how_many_rows_there_are():
    fn = compiled()
    tree = Drawn(chain(100), {"word": [1] * 100}).root
    assert fn.linearize([tree] * 5).storage_rows == 10  # the last node of each, and the one that is computed
    pair = Node([Node([], word=1), Node([], word=2)])
    assert fn.linearize([pair] * 5).storage_rows == 15  # leaves wait for their parents
    assert fn.linearize([]).storage_rows == 0


def test_rows_that_are_not_there_end_the_call():
    fn = compiled()
    children = large_tree(60, 3, 0)
    tree = Drawn(children, {"word": [1] * len(children)}).root
    for name, place in (("storage_row", 3), ("storage_begin", 1)):
        for wrong in (-1, 10_000):
            given = fn.linearize([tree])
            getattr(given, name)[place] = wrong
            with pytest.raises(DataError, match=rf"{name}\({place}\) = {wrong} is not in \[0, "):
                fn(given)


def test_a_batch_of_the_same_structures_with_rows_or_without():
    params = MODEL.init_params(seed=0)
    all_nodes, roots = (cortex.compile(MODEL, params, threads=2, keep=keep) for keep in ("nodes", "roots"))
    batch = [Drawn(chain(length), {"word": [1] * length}).root for length in (3, 9, 1)]
    given = {fn: fn.linearize(batch) for fn in (all_nodes, roots)}
    want = roots(batch)["h"]
    for fn in (all_nodes, roots):
        for each in given.values():
            np.testing.assert_array_equal(fn(each)["h"], want)
    np.testing.assert_array_equal(all_nodes(given[roots]).nodes("h")[1], all_nodes(batch).nodes("h")[1])
    other = cortex.compile(PROJECTED, PROJECTED.init_params(seed=0), keep="roots")
    with pytest.raises(DataError, match="linearized for another plan"):
        other(given[roots])


def test_who_has_rows_of_storage():
    schedule = default_schedule(MODEL)
    assert schedule.plan(roots_alone=True).recycled and not schedule.plan().recycled
    assert not ra.Schedule(MODEL).plan(roots_alone=True).recycled  # node after node
    schedule.unroll(1)
    assert not schedule.plan(roots_alone=True).recycled
    params = MODEL.init_params(seed=0)
    assert not kept_rows(cortex.compile(MODEL, params))
    assert kept_rows(cortex.compile(schedule, params, keep="roots")) == {"h_nodes": "num_nodes"}


def test_a_gpu_has_a_row_for_each_node():
    program = default_schedule(MODEL).lower(roots_alone=True)
    last = run_passes(program, passes_for(1, Grid(4, 128, 48 * 1024)))[-1].program
    assert "h_nodes: workspace(float32[num_nodes, 4]" in str(last)
