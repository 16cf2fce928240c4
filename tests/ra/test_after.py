"""What is computed of whole structures after the recursion: against NumPy, for every schedule, both results kept."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import cortex
from cortex import Forest, Node, ra
from cortex.cli.check import check
from cortex.compiler.options import DEFAULT
from cortex.tuning.answers import disagreement
from tests.linearize.reference import linearize
from tests.support.agreement import at_roots, check_agreement, interpreted, schedules

N, K, S, H = ra.N, ra.K, ra.S, 5


def model_of(structure: ra.Structure, *, recursive: bool = True) -> ra.Model:
    """Return a model of results that are normalized over their structure, read at children, and pooled."""
    x, U = ra.node_input("x", (H,)), ra.input_tensor("U", (H, H))
    h_ph = ra.placeholder((N, H))
    h = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i])))
    rows = h if recursive else ra.compute((N, H), lambda n, i: ra.tanh(x[n, i]), name="rows")
    Ux = ra.linear(rows, U)
    mean = ra.compute((S, H), lambda s, i: ra.sum_nodes(s, lambda n: Ux[n, i]) / ra.num_nodes(s))
    c = ra.compute((N, H), lambda n, i: ra.where(ra.isleaf(n), 2.0, 1.0) * (Ux[n, i] - mean[n, i]))
    scaled = ra.compute((N, K, H), lambda n, k, i: c[k, i] * rows[k, i])
    below = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: scaled[n, k, i]) + c[n, i])
    top = ra.compute((S, H), lambda s, i: ra.max_nodes(s, lambda n: below[n, i]))
    spread = ra.compute(
        (S, H), lambda s, i: ra.sum_nodes(s, lambda n: ra.abs(Ux[n, i] - mean[s, i]) + 0.5 * mean[n, i])
    )
    norm = ra.compute((S,), lambda s: ra.pow(ra.sum(H, lambda i: top[s, i] * spread[s, i]), 2))
    outputs = {"h": (h_ph, h)} if recursive else {}
    return ra.recursion_op(
        outputs, structure=structure, after={"top": ra.linear(top, "head", out=3), "norm": norm}
    )


def by_hand(params, rows, children):
    """Return the results of one structure, given its rows and each row's children."""
    U, W, b = (np.asarray(params[name], float) for name in ("U", "head.weight", "head.bias"))
    Ux = rows @ U.T
    leaf = np.array([not below for below in children])
    c = np.where(leaf, 2.0, 1.0)[:, None] * (Ux - Ux.mean(0))
    below = np.array([c[at] + sum(c[k] * rows[k] for k in each) for at, each in enumerate(children)])
    top = below.max(0)
    spread = (np.abs(Ux - Ux.mean(0)) + 0.5 * Ux.mean(0)).sum(0)
    return {"top": (W @ top + b)[None], "norm": np.array([(top * spread).sum() ** 2])}


def tree(rng, children):
    nodes: list[Node] = []
    for below in children:
        nodes.append(Node([nodes[k] for k in below], x=rng.standard_normal(H).astype(np.float32)))
    return nodes[-1]


def graph(rng, children):
    made = nx.DiGraph()
    for at, below in enumerate(children):
        made.add_node(at, x=rng.standard_normal(H).astype(np.float32))
        made.add_edges_from((at, k) for k in below)
    return made


SHAPES = [[[], [], [0, 1], [], [2, 3]], [[]], [[], [0], [1], [2]]]
DAGS = [[[], [], [0, 1], [0], [2, 3, 1]], [[]], [[], [0], [0]]]
CASES = {"trees": (ra.Tree(), tree, SHAPES), "dags": (ra.Dag(), graph, DAGS)}


@pytest.mark.parametrize("kind", CASES)
def test_the_oracle_computes_them(kind):
    structure, make, shapes = CASES[kind]
    rng, model = np.random.default_rng(0), model_of(structure)
    params = model.init_params()
    for children in shapes:
        out = ra.evaluate(model, params, make(rng, children))
        assert isinstance(out, dict)
        for name, want in by_hand(params, out["h"], children).items():
            np.testing.assert_allclose(out[name], want, atol=1e-12)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("recursive", [True, False])
def test_every_schedule_computes_them(kind, recursive):
    structure, make, shapes = CASES[kind]
    rng, model = np.random.default_rng(1), model_of(structure, recursive=recursive)
    params, structures = model.init_params(), [make(rng, children) for children in shapes]
    expected = ra.evaluate(model, params, structures)
    for name, schedule in schedules(model).items():
        for alone in (False, True):
            batch = linearize(schedule.plan(roots_alone=alone), structures)
            rows = [{k: v for k, v in each.items() if k not in model.after} for each in expected]
            kept = at_roots(rows, batch) if alone else rows
            wanted = [a | {k: each[k] for k in model.after} for a, each in zip(kept, expected, strict=True)]
            results = interpreted(schedule.lower(roots_alone=alone), batch, params)
            check_agreement(results, wanted, f"{name}, roots alone: {alone}")


@pytest.mark.parametrize("kind", CASES)
def test_compiled(kind, tmp_path):
    structure, make, shapes = CASES[kind]
    rng, model = np.random.default_rng(2), model_of(structure)
    params, structures = model.init_params(), [make(rng, children) for children in shapes]
    expected = ra.evaluate(model, params, structures)
    bits: dict[str, bytes] = {}
    for keep in ("nodes", "roots"):
        fn = cortex.compile(model, params, keep=keep, threads=2)
        fn.save(tmp_path / f"{keep}.cortex")
        for each in (fn, cortex.load(tmp_path / f"{keep}.cortex")):
            out = each(structures)
            assert list(out) == ["h", "top", "norm"] and out.structures == ("top", "norm")
            assert out["top"].shape == (3, 3) and out["norm"].shape == (3,)
            for name in model.after:
                assert [rows.shape[0] for rows in out.roots(name)] == [1, 1, 1]
                wanted = np.concatenate([oracle[name] for oracle in expected])
                np.testing.assert_allclose(out[name], wanted, rtol=1e-5, atol=1e-5)
                assert bits.setdefault(name, out[name].tobytes()) == out[name].tobytes()
                with pytest.raises(KeyError, match="whole structures" if keep == "nodes" else "no other"):
                    out.nodes(name)
            if keep == "nodes":
                assert disagreement(DEFAULT, out, DEFAULT, out) is None
            if keep == "nodes" and kind == "trees":
                (agreement,) = check(model, params, structures, [out], lambda: None)
                assert not agreement.wrong


def test_a_structure_has_the_same_bits_in_any_batch_and_none_has_no_row():
    rng, model = np.random.default_rng(3), model_of(ra.Tree(), recursive=False)
    fn = cortex.compile(model, model.init_params())
    trees = [tree(rng, SHAPES[at % 3]) for at in range(40)]
    whole = fn(trees)
    for at in (0, 7, 39):
        assert fn(trees[at])["top"].tobytes() == whole["top"][at : at + 1].tobytes()
    assert fn([])["top"].shape == (0, 3) and fn([]).roots("top") == []


def test_a_forest_over_dags_is_one_structure():
    model = model_of(ra.Dag())
    fn = cortex.compile(model, model.init_params())
    x = np.random.default_rng(4).standard_normal((4, H)).astype(np.float32)
    one, two = Forest([0, 1, 1, 2, 2], [1, 3], x=x), Forest([0, 1, 1, 2, 2], [1, 3], [0, 2, 4], x=x)
    assert fn(one)["norm"].shape == (1,) and fn(one)["h"].shape == (2, H)
    assert fn(two)["norm"].shape == (2,)


def test_moved_recursions_compute_them():
    rng = np.random.default_rng(5)
    x, U, h_ph = ra.node_input("x", (H,)), ra.input_tensor("U", (H, H)), ra.placeholder((N, H))
    hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
    Uh = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: U[i, j] * hs[n, j]))
    h = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + Uh[n, i]))
    top = ra.compute((S, H), lambda s, i: ra.max_nodes(s, lambda n: h[n, i]))
    model = ra.recursion_op(h_ph, h, after={"top": top})
    params, trees = model.init_params(), [tree(rng, children) for children in SHAPES]
    moved = ra.Schedule(model)
    moved.refactor(Uh)
    moved.dynamic_batch()
    moved.unroll(1)
    expected = ra.evaluate(model, params, trees)
    check_agreement(ra.evaluate(moved.model, params, trees), expected, "refactored", 1e-12)
    check_agreement(interpreted(moved.lower(), linearize(moved.plan(), trees), params), expected, "unrolled")


def test_the_listing_has_them_apart():
    text = repr(model_of(ra.Tree()))
    after = text.partition("after the recursion\n")[2]
    assert "mean[s, i] = sum(Ux[n, i] for n in nodes(s)) / sum(1.0 for n in nodes(s))  where i < 5" in after
    assert after.endswith("outputs of structures\n  top = head\n  norm = norm"), after


def test_means_and_maxima_stand_side_by_side():
    x = ra.node_input("x", (H,))
    mean = ra.compute((S, H), lambda s, i: ra.sum_nodes(s, lambda n: x[n, i]) / ra.num_nodes(s))
    most = ra.compute((S, H), lambda s, i: ra.max_nodes(s, lambda n: x[n, i]))
    model = ra.recursion_op(
        {"copy": ra.compute((N, H), lambda n, i: x[n, i])}, after={"y": ra.concat(mean, most)}
    )
    rows = np.random.default_rng(3).standard_normal((3, H)).astype(np.float32)
    tree = Node([Node(x=rows[0]), Node(x=rows[1])], x=rows[2])
    wanted = np.concatenate([rows.mean(0), rows.max(0)])
    np.testing.assert_allclose(ra.evaluate(model, {}, tree)["y"][0], wanted, atol=1e-6)
    np.testing.assert_allclose(cortex.compile(model, {})(tree)["y"][0], wanted, atol=1e-6)
