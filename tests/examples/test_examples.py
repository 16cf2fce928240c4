"""The scripts of examples/ run as their first lines say, and their models agree with their plain recursions.

What a script prints is in golden/. It compares every node of its structures by itself; here its model is run on random
structures, against the same plain recursion and against the oracle.
"""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import cortex
from cortex import ra
from examples import (
    attention_tree_lstm,
    bidirectional_tagger,
    circuit,
    gated_dag,
    highway_cell,
    labelled_edges,
    typed_tree,
)
from tests.models.structures import ANY_TREE, BINARY, chain, dags, grid, large_tree
from tests.support.agreement import BOUND, check_agreement, error

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
VOCAB = cortex.Vocab.from_trees(attention_tree_lstm.SENTENCES)
LABELS, WORDS = labelled_edges.LABELS, labelled_edges.WORDS
SEEDS = st.integers(0, 2**16)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_it_runs_from_the_root_of_the_repository(path, golden, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = subprocess.run(
        [sys.executable, "-W", "error", f"examples/{path.name}"],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    golden(f"{path.stem}.txt", done.stdout)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_it_takes_nothing_but_the_public_api(path):
    imported = re.findall(r"^(?:from|import) ([\w.]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for name in imported if name.split(".")[0] in ("cortex", "ragged")} == {"cortex"}


def test_the_documents_name_every_example():
    pages = ("tutorial/cell.md", "reference/inputs.md")
    guide = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in pages)
    assert [path.name for path in SCRIPTS if f"examples/{path.name}" not in guide] == []


@cache
def compiled(make, *extents, **options):
    """A model with its parameters and its function; one for all examples of a test."""
    model = make(*extents)
    params = model.init_params(seed=3)
    return model, params, cortex.compile(model, params, **options)


def check(case, batch, expected, **options):
    """Run a batch, and compare each structure with what is expected: compiled, and by the oracle."""
    model, params, fn = case
    out = fn(batch)
    results = [{name: out.nodes(name)[at] for name in out} for at in range(out.num_structures)]
    wanted = [want(out.keys(at)) if callable(want) else want for at, want in enumerate(expected)]
    check_agreement(results, wanted, "compiled")
    check_agreement(ra.evaluate(model, params, batch, **options), wanted, "oracle")


def in_brackets(children, seed):
    """A tree as text, with a random word at each leaf."""
    rng = np.random.default_rng(seed)
    texts = []
    for below in children:
        inner = " ".join(texts[k] for k in below) if below else f"{rng.choice(list(VOCAB))}"
        texts.append(f"({rng.integers(5)} {inner})")
    return texts[-1]


ATTENTION = (attention_tree_lstm.attention_tree_lstm, 24, 16, len(VOCAB))


@settings(max_examples=20)
@given(shapes=st.lists(ANY_TREE, min_size=1, max_size=3), seed=SEEDS)
def test_attention(shapes, seed):
    case = compiled(*ATTENTION, vocab=VOCAB)
    texts = [in_brackets(children, seed + at) for at, children in enumerate(shapes)]
    check(case, texts, [attention_tree_lstm.by_hand(case[1], text, VOCAB) for text in texts], vocab=VOCAB)


def test_attention_over_many_children():
    case = compiled(*ATTENTION, vocab=VOCAB)
    wide = [*([[]] * 200), list(range(200))]
    texts = [in_brackets(shape, 1) for shape in (wide, large_tree(150, None, 1), chain(60), [[]])]
    check(case, texts, [attention_tree_lstm.by_hand(case[1], text, VOCAB) for text in texts], vocab=VOCAB)


def test_attention_to_scores_that_exp_alone_would_not_take():
    model, params, fn = compiled(*ATTENTION, vocab=VOCAB)
    steep = {**params, "w": params["w"] * 1000}
    text = "(0 (0 a) (0 long) (0 film))"
    assert np.abs(steep["w"]).sum() > 1000
    out, want = fn.with_params(steep)(text), ra.evaluate(model, steep, text, vocab=VOCAB)
    assert all(error(out.nodes(name)[0], want[name]) <= BOUND for name in ("h", "c"))


def program(children, seed):
    """A DAG as a graph, with a random operation at each node."""
    rng = np.random.default_rng(seed)
    graph = nx.DiGraph()
    graph.add_nodes_from((row, {"op": int(rng.integers(len(gated_dag.OPS)))}) for row in range(len(children)))
    graph.add_edges_from((row, child) for row, below in enumerate(children) for child in below)
    return graph


def check_gated(shapes, seed):
    case = compiled(gated_dag.gated_dag, 24, 8, len(gated_dag.OPS))
    graphs = [program(children, seed + at) for at, children in enumerate(shapes)]

    def rows(graph):
        by_node = gated_dag.by_hand(case[1], graph)
        return lambda keys: {"h": np.array([by_node[key] for key in keys])}

    check(case, graphs, [rows(graph) for graph in graphs])


@settings(max_examples=20)
@given(shapes=st.lists(dags(), min_size=1, max_size=3), seed=SEEDS)
def test_gated_dag(shapes, seed):
    check_gated(shapes, seed)


def test_gated_dag_over_grids():
    check_gated([grid(7, 9), chain(30), [[]]], 5)


@settings(max_examples=20)
@given(shapes=st.lists(BINARY, min_size=1, max_size=3), seed=SEEDS)
def test_typed_tree(shapes, seed):
    case = compiled(typed_tree.typed_tree, 24, len(typed_tree.TYPES))
    rng = np.random.default_rng(seed)
    roots = []
    for children in shapes:
        terms = []
        for below in children:
            left, right = (terms[k] for k in below) if below else (None, None)
            value = np.float32(rng.standard_normal())
            terms.append(typed_tree.Term(int(rng.integers(len(typed_tree.TYPES))), left, right, float(value)))
        roots.append(terms[-1])
    check(case, roots, [{"h": typed_tree.by_hand(case[1], root)} for root in roots])


def dependencies(data, shared):
    """Random labelled edges over the example's words, each of which but the last stands under a later one."""
    edges = {word: [] for word in WORDS}
    for row, word in enumerate(WORDS[:-1]):
        heads = st.lists(
            st.sampled_from(WORDS[row + 1 :]), min_size=1, max_size=3 if shared else 1, unique=True
        )
        for head in data.draw(heads):
            labels = st.lists(st.sampled_from(LABELS), min_size=1, max_size=2 if shared else 1, unique=True)
            edges[head] += [(label, word) for label in data.draw(labels)]
    return edges


@settings(max_examples=20)
@given(data=st.data())
def test_labelled_edges(data):
    for make, shared in ((labelled_edges.labelled_tree, False), (labelled_edges.labelled_dag, True)):
        case = compiled(make, 24, len(WORDS), len(LABELS))
        model, params, fn = case
        edges = dependencies(data, shared)
        graph = labelled_edges.as_dag(edges) if shared else labelled_edges.as_tree(edges)
        out, oracle = fn(graph), ra.evaluate(model, params, graph)
        assert {word for word in out.keys(0) if word in WORDS} == set(WORDS)
        for row, word in enumerate(out.keys(0)):
            if word in WORDS:
                want = labelled_edges.by_hand(params, edges, word)
                assert error(out.nodes("h")[0][row], want) <= BOUND
                assert error(oracle["h"][row], want) <= BOUND


@settings(max_examples=20)
@given(data=st.data(), size=st.integers(1, 14), seed=SEEDS)
def test_highway_cell(data, size, seed):
    case = compiled(highway_cell.highway_cell, 24, 16)
    parents = [data.draw(st.integers(-1, row - 1)) for row in range(size)]
    x = np.random.default_rng(seed).standard_normal((size, 16)).astype(np.float32)
    want = highway_cell.by_hand(case[1], parents, x)
    expected = [lambda rows: {name: array[rows] for name, array in want.items()}] * parents.count(-1)
    check(case, cortex.Forest.from_parents(parents, x=x), expected)


def test_the_circuit_adds():
    graph = circuit.read_aiger(circuit.ADDER)

    def value(literal, inputs):
        if literal in inputs:
            return inputs[literal]
        operands = [value(below, inputs) for below in graph.successors(literal)]
        return not operands[0] if graph.nodes[literal]["kind"] == 2 else all(operands)

    for bits in range(8):
        inputs = {2 + 2 * at: bool(bits >> at & 1) for at in range(3)}
        assert value(18, inputs) + 2 * value(21, inputs) == sum(inputs.values())


def test_a_number_of_several_bytes_in_a_circuit():
    # 200 inputs; the AND of the literals 402 - 300 = 102 and 102 - 98 = 4, its negation the output.
    graph = circuit.read_aiger(b"aig 201 200 0 1 1\n403\n" + bytes([300 % 128 + 128, 300 // 128, 98]))
    assert sorted(graph.edges) == [(402, 4), (402, 102), (403, 402)]


TAGGER = (bidirectional_tagger.gru_tagger, 24, 16, 5, 4)


@settings(max_examples=20)
@given(lengths=st.lists(st.integers(1, 12), min_size=1, max_size=4), seed=SEEDS)
def test_one_direction_of_the_tagger(lengths, seed):
    case = compiled(*TAGGER)
    rng = np.random.default_rng(seed)
    batch = [rng.integers(5, size=length).astype(np.int32) for length in lengths]
    check(case, batch, [bidirectional_tagger.by_hand(case[1], words) for words in batch])


def test_the_tagger_is_torchs():
    torch.manual_seed(0)
    emb, gru = torch.nn.Embedding(5, 16), torch.nn.GRU(16, 24, bidirectional=True)
    out = torch.nn.Linear(48, 4)

    def direction(suffix, columns):
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        cell = {name: gru.get_parameter(f"{name}_l0{suffix}").detach() for name in names}
        return {**cell, "emb": emb.weight.detach(), "V": out.weight.detach()[:, columns].contiguous()}

    model = compiled(*TAGGER)[0]
    bias = out.bias.detach().numpy()
    tagger = bidirectional_tagger.Tagger(
        model, direction("", slice(0, 24)), direction("_reverse", slice(24, 48)), bias
    )
    batch = [np.random.default_rng(length).integers(5, size=length) for length in (1, 5, 40)]
    for words, scores in zip(batch, tagger(batch), strict=True):
        with torch.no_grad():
            want = out(gru(emb(torch.from_numpy(words)))[0]).numpy()
        assert error(scores, want) <= BOUND
