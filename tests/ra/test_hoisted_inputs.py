"""Inputs that are computed before the recursion: which, at which nodes, and what they are where there is none."""

import numpy as np
import pytest

import cortex
from cortex import Node, ra
from cortex.linearize import linearize
from cortex.ra.batch_nodes import default_max_batch_nodes
from cortex.ra.lower.inputs import independent
from cortex.ra.schedule import default_schedule
from ragged.errors import ScheduleError
from ragged.ir.printer import to_text
from tests.support.agreement import check_agreement, interpreted

N, K, H, E, V = ra.N, ra.K, 3, 2, 5


class Cell:
    """A cell h = tanh(inputs + U hs) with whatever inputs a test gives it."""

    def __init__(self, structure=None, default=-1):
        self.structure = structure
        self.emb = ra.input_tensor("emb", (V, E))
        self.W, self.b = ra.input_tensor("W", (H, E)), ra.input_tensor("b", (E,))
        self.word = ra.node_input("word", dtype="int32", default=default)
        self.h = ra.placeholder((N, H), name="h_ph")
        self.hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: self.h[k, i]), name="hs")
        self.guarded = default is not None
        self.x = ra.compute((N, E), self.looked_up, name="x")

    def looked_up(self, n, i):
        row = self.emb[self.word[n], i]
        return ra.where(self.word[n] >= 0, row, 0.0) if self.guarded else row

    def product(self, vector, name="Wx"):
        return ra.compute((N, H), lambda n, i: ra.sum(E, lambda j: self.W[i, j] * vector[n, j]), name=name)

    def close(self, function, branch=None):
        body = ra.compute((N, H), lambda n, i: ra.tanh(function(n, i) + self.hs[n, i]), name="rec")
        if branch is not None:
            body = branch(body)
        return ra.recursion_op(self.h, body, structure=self.structure)


def names(model):
    return [compute.name for compute in independent(model)]


# --- which ---------------------------------------------------------------------------------------------------


def test_a_product_and_what_it_reads():
    cell = Cell()
    Wx = cell.product(cell.x)
    assert names(cell.close(lambda n, i: Wx[n, i])) == ["x", "Wx"]


def test_a_chain_of_products():
    cell = Cell()
    shifted = ra.compute((N, E), lambda n, i: cell.x[n, i] * cell.b[i], name="shifted")
    first = cell.product(shifted, "first")
    second = ra.compute((N, H), lambda n, i: ra.max(H, lambda j: first[n, j]), name="second")
    assert names(cell.close(lambda n, i: second[n, i])) == ["x", "shifted", "first", "second"]


@pytest.mark.parametrize(
    "of",
    [
        lambda m, n, j: m.hs[n, 0],
        lambda m, n, j: ra.sum_children(n, lambda k: m.x[n, j]),
        lambda m, n, j: ra.where(ra.isleaf(n), m.x[n, j], 0.0),
        lambda m, n, j: m.x[n, j] * m.x[n, ra.num_children(n) % 2],
    ],
    ids=["result", "children", "leaf", "number of children"],
)
def test_what_depends_on_children_is_not(of):
    cell = Cell()
    Wx = ra.compute((N, H), lambda n, i: ra.sum(E, lambda j: cell.W[i, j] * of(cell, n, j)), name="Wx")
    assert names(cell.close(lambda n, i: Wx[n, i])) == []


def test_what_reduces_nothing_is_not():
    cell = Cell()
    assert names(cell.close(lambda n, i: cell.x[n, 0])) == []


def test_results_are_not():
    cell = Cell()
    alone = ra.compute((N, H), lambda n, i: ra.sum(E, lambda j: cell.W[i, j] * cell.x[n, j]), name="alone")
    other = ra.placeholder((N, H), name="other")
    h = ra.compute(
        (N, H), lambda n, i: ra.tanh(ra.sum_children(n, lambda k: cell.h[k, i] + other[k, i]) + alone[n, i])
    )
    assert names(ra.recursion_op({"h": (cell.h, h), "alone": (other, alone)})) == []


# --- at which nodes ------------------------------------------------------------------------------------------


def at_leaves(cell, Wx):
    leaf = ra.compute((N, H), lambda n, i: Wx[n, i], name="leaf")
    return lambda rec: ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec), name="body")


def everywhere(cell):
    Wx = cell.product(cell.x)
    return cell.close(lambda n, i: Wx[n, i])


def leaves_only(cell):
    Wx = cell.product(cell.x)
    return cell.close(lambda n, i: 0.25, at_leaves(cell, Wx))


def inner_only(cell):
    Wx = cell.product(cell.x)
    leaf = ra.compute((N, H), lambda n, i: cell.b[0], name="leaf")
    return cell.close(
        lambda n, i: Wx[n, i],
        lambda rec: ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec), name="body"),
    )


PLACES = {"everywhere": everywhere, "leaves": leaves_only, "inner": inner_only}


@pytest.mark.parametrize("guarded", [True, False], ids=["some", "all"])
@pytest.mark.parametrize("place", PLACES)
def test_text(place, guarded, golden):
    model = PLACES[place](Cell(default=-1 if guarded else None))
    kernel = to_text(default_schedule(model).lower()).partition("with kernel:\n")[2]
    inputs = kernel.partition("    for step in serial(")[0]
    golden(f"inputs_{place}_{'some' if guarded else 'all'}.txt", inputs)


def test_what_is_hoisted_and_read_inside_too():
    cell = Cell()
    Wx = cell.product(cell.x)
    model = cell.close(lambda n, i: Wx[n, i] + cell.x[n, 1] * cell.x[n, 0])
    text = to_text(default_schedule(model).lower())
    assert text.count(" x[place, i] =") == 1
    check(model, trees())


def test_leaves_of_trees_compute_theirs_where_they_use_them():
    """Over other structures, which have few leaves, all is before the recursion. The bits are the same."""
    tree, graph = everywhere(Cell()), everywhere(Cell(ra.Dag()))
    batch, params = trees(), tree.init_params(seed=2)
    for model, loops, rows in ((tree, "num_inner_with_word", "Wx_leaf"), (graph, "num_with_word", "Wx")):
        before, _, leaves = to_text(default_schedule(model).lower()).partition("parallel(batch_length(0)")
        assert f"in parallel({loops}, place)" in before and f"{rows}[" in leaves
    one, other = (cortex.compile(model, params, threads=1)(batch)["h"] for model in (tree, graph))
    np.testing.assert_array_equal(one, other)


# --- what they are -------------------------------------------------------------------------------------------


def trees(leaf=True, inner=True):
    """Return a batch in which leaves and inner nodes carry a word, some of them, or none."""

    def node(*children, word):
        carries = (inner if children else leaf) and word is not None
        return Node(children, word=word if carries else None)

    return [
        node(node(node(word=1), node(word=4), word=3), node(word=0), word=None),
        node(word=2),
        node(node(word=None), word=2),
        node(word=None),
    ]


def check(model, batch, params=None):
    """Compare what every combination of steps gives with the oracle, interpreted and compiled."""
    params = model.init_params(seed=3) if params is None else params
    expected = ra.evaluate(model, params, batch)
    linearized = linearize(model.plan(), batch)
    for batched in (False, True):
        for childless in (False, True):
            schedule = ra.Schedule(model)
            schedule.hoist_inputs()
            if batched:
                schedule.dynamic_batch()
            if childless:
                schedule.specialize_leaves()
            results = interpreted(schedule.lower(), linearized, params)
            check_agreement(results, expected, f"{batched=}, {childless=}")
    default = default_schedule(model)
    results = interpreted(default.lower(), linearize(default.plan(), batch), params)
    check_agreement(results, expected, "default schedule")


def test_a_product_at_nodes_that_carry_a_word_of_what_is_there_at_all_nodes():
    """The scaled embedding has a row for each node, the product one for each that carries a word."""
    cell = Cell(default=-1)
    scaled = ra.compute((N, E), lambda n, i: cell.x[n, i] * cell.b[i], name="scaled")
    Wx = cell.product(scaled)
    model, batch = cell.close(lambda n, i: Wx[n, i]), trees()
    params = model.init_params(seed=3)
    check(model, batch, params)
    results = cortex.compile(model, params, threads=1)(batch).nodes("h")
    check_agreement([{"h": rows} for rows in results], ra.evaluate(model, params, batch), "compiled")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("leaf", "inner"), [(True, True), (True, False), (False, True), (False, False)])
def test_words_at_some_nodes(place, leaf, inner):
    check(PLACES[place](Cell()), trees(leaf, inner))


def test_words_and_tags_of_different_nodes():
    """What is zero without a word reads what is zero without a tag: each has rows of its own."""
    cell = Cell()
    table, tag = ra.input_tensor("table", (4, E)), ra.node_input("tag", dtype="int32", default=-1)
    z = ra.compute((N, E), lambda n, i: ra.where(tag[n] >= 0, table[tag[n], i], 0.0), name="z")
    worded = ra.compute((N, E), lambda n, i: ra.where(cell.word[n] >= 0, z[n, i], 0.0), name="worded")
    mixed = cell.product(worded, "mixed")
    alone = cell.product(z, "alone")
    model = cell.close(lambda n, i: mixed[n, i] + alone[n, i] + cell.x[n, 0] * z[n, 1])
    assert set(names(model)) == {"z", "worded", "mixed", "alone"}
    text = to_text(default_schedule(model).lower())
    assert " worded[place, i] = z[place_with_tag(node), i] if word(node) >= 0 else 0.0" in text
    kinds = ({"word": 1, "tag": 3}, {"word": 4}, {"tag": 0}, {})
    inner = [Node((Node((), **kinds[k]), Node((), **kinds[k - 1])), **kinds[k - 2]) for k in range(4)]
    check(model, [Node((Node(inner[:2], tag=2), *inner[2:]), word=0), Node((), tag=1)])


@pytest.mark.parametrize("place", PLACES)
def test_words_at_all_nodes(place):
    batch = [Node((Node((), word=1), Node((), word=2)), word=3), Node((), word=4)]
    check(PLACES[place](Cell(default=None)), batch)


def test_what_only_loops_over_children_read():
    """It has a value at inner nodes alone, which carry the word that leaves do not, though nothing asks for leaves."""
    cell = Cell(default=None)
    Wx = cell.product(cell.x)
    h = ra.compute(
        (N, H), lambda n, i: ra.tanh(ra.sum_children(n, lambda k: Wx[n, i] * cell.h[k, i]) + cell.W[i, 0])
    )
    below = Node((Node(()), Node(())), word=4)
    check(ra.recursion_op(cell.h, h), [Node((below, Node(())), word=2), Node(())])


@pytest.mark.parametrize("place", PLACES)
def test_an_empty_batch(place):
    check(PLACES[place](Cell()), [])
    check(PLACES[place](Cell(default=None)), [])


@pytest.mark.parametrize("place", PLACES)
def test_graphs_with_shared_nodes(place):
    shared = Node((Node((), word=1),))
    root = Node((shared, Node((shared,), word=2), shared), word=0)
    check(PLACES[place](Cell(ra.Dag())), [root, shared, Node(())])


@pytest.mark.parametrize("place", PLACES)
def test_sequences(place):
    steps = [Node((), word=1)]
    for word in (None, 3, None, None, 0):
        steps.append(Node((steps[-1],), **({} if word is None else {"word": word})))
    check(PLACES[place](Cell(ra.Sequence())), [steps[-1], steps[1]])


def test_compiled_results_are_the_oracles():
    for place in PLACES.values():
        model = place(Cell())
        params = model.init_params(seed=1)
        fn = cortex.compile(model, params, threads=1)
        for batch in (trees(), trees(False, True), trees(False, False)):
            expected = ra.evaluate(model, params, batch)
            results = [{"h": rows} for rows in fn(batch).nodes("h")]
            check_agreement(results, expected, "compiled")
        assert fn([])["h"].shape == (0, H)


# --- what has to be finite -----------------------------------------------------------------------------------


def test_parameters_of_products_that_are_left_out_have_to_be_finite():
    cell = Cell()
    assert default_schedule(everywhere(cell)).finite == {"W"}
    assert default_schedule(everywhere(Cell(default=None))).finite == frozenset()


def test_parameters_of_what_is_computed_at_all_nodes_do_not():
    """`scaled` is zero without a word, but what reads it is not: nothing is left out."""
    cell = Cell()
    scaled = ra.compute((N, E), lambda n, i: cell.x[n, i] * cell.b[i], name="scaled")
    loose = ra.compute(
        (N, H), lambda n, i: ra.sum(E, lambda j: ra.tanh(scaled[n, j]) * cell.W[i, j]), name="loose"
    )
    model = cell.close(lambda n, i: loose[n, i])
    assert names(model) == ["x", "scaled", "loose"]
    assert default_schedule(model).finite == frozenset()
    params = model.init_params()
    params["b"][:] = np.inf
    cortex.compile(model, params, threads=1)


def refusal(act):
    with pytest.raises(ScheduleError) as caught:
        act()
    return str(caught.value).splitlines()


def test_refusals():
    cell = Cell()
    schedule = ra.Schedule(cell.close(lambda n, i: cell.x[n, 0]))
    first, _, *rest = refusal(schedule.hoist_inputs)
    assert [first, *rest] == [
        "hoist_inputs: there is nothing to hoist",
        "  because: every reduction of the model depends on a node's children",
    ]
    schedule = ra.Schedule(everywhere(Cell()))
    schedule.hoist_inputs()
    schedule.specialize_leaves()
    before = (schedule.log(), to_text(schedule.lower()))
    first, _, *rest = refusal(schedule.hoist_inputs)
    assert [first, *rest] == ["hoist_inputs: inputs are hoisted already", "  fix: ask for it once"]
    first, _, *rest = refusal(schedule.specialize_leaves)
    assert [first, *rest] == ["specialize_leaves: leaves are specialized already", "  fix: ask for it once"]
    assert before == (schedule.log(), to_text(schedule.lower()))


def test_the_log_makes_the_same_choices_again():
    model = leaves_only(Cell())
    schedule = default_schedule(model)
    body = next(tensor for tensor in model.computes if tensor.name == "body")
    assert schedule.log() == (
        f"s.dynamic_batch(max_batch_nodes={default_max_batch_nodes(model)})\ns.specialize_if_else(body)\ns.specialize_leaves()\ns.hoist_inputs()"
    )
    again = ra.Schedule(model)
    exec(schedule.log(), {"s": again, "body": body})
    assert again.log() == schedule.log() and again.finite == schedule.finite
    assert to_text(again.lower()) == to_text(schedule.lower())


def test_where_leaves_are_told_from_inner_nodes_in_two_ways():
    """At leaves `num_children(n) != 0` is false: the product that it decides about reads no word of theirs."""
    h_ph, word = ra.placeholder((ra.N,)), ra.node_input("word", dtype="int32")
    q, p = ra.input_tensor("q", (2,)), ra.input_tensor("p", (4, 2))
    known = ra.compute((ra.N,), lambda n: ra.sum(2, lambda j: q[j] * p[word[n], j]))
    total = ra.compute((ra.N,), lambda n: ra.sum_children(n, lambda k: h_ph[k]))
    inner = ra.compute((ra.N,), lambda n: ra.tanh(known[n] + total[n]))
    leaf, half = (ra.compute((ra.N,), lambda n, x=x: ra.tanh(x)) for x in (0.25, 0.5))
    other = ra.if_then_else((ra.N,), lambda n: (ra.num_children(n) != 0, inner, half))
    model = ra.recursion_op(
        h_ph,
        ra.if_then_else((ra.N,), lambda n: (ra.isleaf(n) & (ra.num_children(n) > 2), leaf, other)),
        structure=ra.Dag(),
    )
    schedule = ra.Schedule(model)
    schedule.hoist_inputs()
    text = to_text(schedule.lower())
    assert "for n in parallel(num_inner, N):" in text and text.count("num_children(node)") == 1
    params = model.init_params(seed=0)
    graphs = [Node(word=None), Node([Node(word=None), Node(word=None)], word=3)]
    found = cortex.compile(schedule, params)(graphs).nodes("h")
    expected = ra.evaluate(model, params, graphs)
    check_agreement([{"h": rows} for rows in found], expected, "compiled")
