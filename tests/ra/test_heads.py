"""Heads, what is computed at roots alone: against the oracle, for every schedule, and both results that are kept."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import cortex
from cortex import Node, ra
from cortex.compiler.options import DEFAULT
from cortex.tuning.answers import disagreement
from tests.linearize.reference import linearize
from tests.support.agreement import at_roots, check_agreement, interpreted, schedules

N, H, C = ra.N, 5, 3


def classifier(structure: ra.Structure, hidden: int = H) -> ra.Model:
    """Return a child-sum model with two heads: a distribution over classes, and a product with what a root carries."""
    x, kind = ra.node_input("x", (hidden,)), ra.node_input("kind", dtype="int32", default=-1)
    U, R = ra.input_tensor("U", (hidden, hidden)), ra.input_tensor("R", (C, hidden))
    emb, h_ph, c_ph = (
        ra.input_tensor("emb", (4, hidden)),
        ra.placeholder((N, hidden)),
        ra.placeholder((N, hidden)),
    )
    Uh = ra.compute(
        (N, hidden), lambda n, i: ra.sum_children(n, lambda k: ra.sum(hidden, lambda j: U[i, j] * h_ph[k, j]))
    )
    c = ra.compute((N, hidden), lambda n, i: x[n, i] + Uh[n, i] + ra.sum_children(n, lambda k: c_ph[k, i]))
    inner = ra.compute((N, hidden), lambda n, i: ra.tanh(c[n, i]))
    leaf = ra.compute((N, hidden), lambda n, i: x[n, i])
    h = ra.if_then_else((N, hidden), lambda n, i: (ra.isleaf(n), leaf, inner))
    own = ra.compute((N, hidden), lambda n, i: ra.where(kind[n] >= 0, emb[kind[n], i], 0.5))
    score = ra.compute(
        (N,), lambda n: ra.sum(hidden, lambda j: own[n, j] * c[n, j]) / (1 + ra.num_children(n))
    )
    heads = {"log_p": ra.log_softmax(ra.linear(h, R)), "score": score}
    return ra.recursion_op({"h": (h_ph, h), "c": (c_ph, c)}, structure=structure, roots=heads)


def trees(rng: np.random.Generator, hidden: int = H) -> list[Node]:
    def node(depth: int) -> Node:
        children = [node(depth - 1) for _ in range(rng.integers(0, 4) if depth else 0)]
        kind = {"kind": int(rng.integers(4))} if rng.random() < 0.5 else {}
        return Node(children, x=rng.standard_normal(hidden).astype(np.float32), **kind)

    return [node(depth) for depth in (3, 0, 2, 1, 3)]


def dags(rng: np.random.Generator) -> list[nx.DiGraph]:
    """Return graphs of several roots, which share nodes."""
    made: list[nx.DiGraph] = []
    for nodes in (7, 1, 9):
        graph = nx.DiGraph()
        for node in range(nodes):
            graph.add_node(node, x=rng.standard_normal(H).astype(np.float32), kind=node % 4)
        graph.add_edges_from((a, b) for b in range(nodes) for a in range(b) if rng.random() < 0.3)
        made.append(graph)
    return made


def over(kind: str, hidden: int = H) -> tuple[ra.Model, list[object]]:
    rng = np.random.default_rng(0)
    if kind == "trees":
        return classifier(ra.Tree(), hidden), [*trees(rng, hidden)]
    return classifier(ra.Dag()), [*dags(rng)]


def test_the_oracle_computes_them_from_the_roots_rows():
    model, structures = over("dags")
    params = model.init_params()
    for graph in structures:
        out = ra.evaluate(model, params, graph)
        assert isinstance(out, dict) and isinstance(graph, nx.DiGraph)
        roots = [number for number, node in enumerate(keys(graph)) if not graph.in_degree(node)]
        z = out["h"][roots] @ params["R"].T.astype(float)
        np.testing.assert_allclose(out["log_p"], z - np.log(np.exp(z).sum(1, keepdims=True)), atol=1e-12)
        kinds = [graph.nodes[node]["kind"] for node in keys(graph) if not graph.in_degree(node)]
        children = np.array([graph.out_degree(node) for node in keys(graph) if not graph.in_degree(node)])
        score = (params["emb"].astype(float)[kinds] * out["c"][roots]).sum(1) / (1 + children)
        np.testing.assert_allclose(out["score"], score, atol=1e-12)


def keys(graph: nx.DiGraph) -> list[object]:
    """Return a graph's nodes in the order of rows: post-order, roots in the order of insertion."""
    seen: dict[object, None] = {}

    def visit(node: object) -> None:
        for child in graph.successors(node):
            if child not in seen:
                visit(child)
        seen[node] = None

    for node in graph:
        if not graph.in_degree(node):
            visit(node)
    return list(seen)


@pytest.mark.parametrize("kind", ["trees", "dags"])
def test_every_schedule_computes_them(kind):
    model, structures = over(kind)
    params = model.init_params()
    expected = ra.evaluate(model, params, structures)
    for name, schedule in schedules(model).items():
        for alone in (False, True):
            batch = linearize(schedule.plan(roots_alone=alone), structures)
            program = schedule.lower(roots_alone=alone)
            rows = [{k: v for k, v in each.items() if k not in model.heads} for each in expected]
            heads = [{k: v for k, v in each.items() if k in model.heads} for each in expected]
            kept = at_roots(rows, batch) if alone else rows
            wanted = [{**a, **b} for a, b in zip(kept, heads, strict=True)]
            check_agreement(interpreted(program, batch, params), wanted, f"{name}, roots alone: {alone}")


def test_moved_and_unrolled_recursions_compute_them():
    model, structures = over("trees")
    params = model.init_params()
    expected = ra.evaluate(model, params, structures)
    (Uh,) = (tensor for tensor in model.computes if model.names[tensor] == "Uh")
    moved = ra.Schedule(model)
    moved.refactor(Uh)
    moved.dynamic_batch()
    moved.unroll(1)
    assert "log_p" in moved.model.heads and moved.model.states
    check_agreement(ra.evaluate(moved.model, params, structures), expected, "refactored", 1e-12)
    batch = linearize(moved.plan(), structures)
    check_agreement(interpreted(moved.lower(), batch, params), expected, "unrolled")


@pytest.mark.parametrize("kind", ["trees", "dags"])
def test_compiled(kind, tmp_path):
    model, structures = over(kind, hidden=32 if kind == "trees" else H)
    params = model.init_params()
    expected = ra.evaluate(model, params, structures)
    assert isinstance(expected, list)
    bits: dict[str, bytes] = {}
    for keep in ("nodes", "roots"):
        fn = cortex.compile(model, params, keep=keep, threads=2)
        if kind == "trees":  # with roots as rows
            assert "R_packed" in fn.show("loops")
        fn.save(tmp_path / f"{keep}.cortex")
        for each in (fn, cortex.load(tmp_path / f"{keep}.cortex")):
            out = each(structures)
            assert list(out) == ["h", "c", "log_p", "score"] and out.heads == ("log_p", "score")
            for name in model.heads:
                for rows, oracle in zip(out.roots(name), expected, strict=True):
                    np.testing.assert_allclose(rows, oracle[name], atol=1e-5)
                assert bits.setdefault(name, out[name].tobytes()) == out[name].tobytes()
                with pytest.raises(
                    KeyError, match="at roots alone" if keep == "nodes" else "keeps no other nodes"
                ):
                    out.nodes(name)
            if keep == "nodes":
                assert disagreement(DEFAULT, out, DEFAULT, out) is None


def test_the_listing_has_them_apart():
    text = repr(over("trees")[0])
    assert "at each root\n  linear[n, i0] = sum(R[i0, j] * h[n, j] for j < 5)" in text
    assert text.endswith("outputs of roots\n  log_p = log_softmax\n  score = score")
