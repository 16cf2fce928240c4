"""What depends on one integer that a node carries: looked up in a table, with the bits that it is computed with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

from cortex import Node, ra
from cortex.linearize import linearize
from ragged.errors import ScheduleError
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from tests.support.agreement import check_agreement, interpreted
from tests.support.library import library
from tests.support.random_structures import batches
from tests.support.scheduled import take

N, H, E, V = ra.N, 3, 2, 5


class Cell:
    """A cell h = tanh(input + hs) with an input of a word; a test says what it is, and at which nodes."""

    def __init__(self, default: int | None = -1, structure: ra.Structure | None = None) -> None:
        self.default, self.structure = default, structure
        self.emb, self.W = ra.input_tensor("emb", (V, E)), ra.input_tensor("W", (H, E))
        self.b, self.U = ra.input_tensor("b", (H,)), ra.input_tensor("U", (H, H))
        self.word = ra.node_input("word", dtype="int32", default=default)
        self.h = ra.placeholder((N, H), name="h_ph")
        self.x = ra.compute((N, E), self.looked_up, name="x")
        self.Wx = ra.compute((N, H), lambda n, i: self.product(n, i), name="Wx")
        self.hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: self.h[k, i]), name="hs")

    def looked_up(self, n: Any, i: Any) -> Any:
        row = self.emb[self.word[n], i]
        return row if self.default is None else ra.where(self.word[n] >= 0, row, 0.0)

    def product(self, n: Any, i: Any) -> Any:
        return ra.sum(E, lambda j: self.W[i, j] * self.x[n, j])

    def finished(self) -> Any:
        """The products, finished: a sum that is a part of a compute."""
        return ra.compute((N, H), lambda n, i: ra.tanh(self.product(n, i) + self.b[i]), name="finished")

    def two_sums(self) -> Any:
        def of(n: Any, i: Any) -> Any:
            return ra.tanh(self.product(n, i)) * ra.max(E, lambda j: self.W[i, j] + self.x[n, j])

        return ra.compute((N, H), of, name="two_sums")

    def of_finished(self) -> Any:
        """A product of what is finished, which has a table for this one alone, with what is the same everywhere."""
        finished = self.finished()
        scale = ra.compute((N, H), lambda n, i: ra.sigmoid(self.b[i]), name="scale")
        return ra.compute(
            (N, H), lambda n, i: ra.sum(H, lambda j: self.U[i, j] * finished[n, j] * scale[n, j]), name="of"
        )

    def no_sum(self) -> Any:
        return ra.compute((N, H), lambda n, i: self.b[i] * self.x[n, 0], name="no_sum")

    def model(self, tensor: Any, place: str = "everywhere") -> ra.Model:
        alone = ra.compute((N, H), lambda n, i: tensor[n, i], name="alone")
        inner = ra.compute((N, H), lambda n, i: ra.tanh(tensor[n, i] + self.hs[n, i]), name="inner")
        plain = ra.compute((N, H), lambda n, i: ra.tanh(self.hs[n, i]), name="plain")
        zero = ra.compute((N, H), lambda n, i: 0.5, name="zero")
        at_leaves = {"everywhere": inner, "leaves": alone, "inner": zero}[place]
        elsewhere = plain if place == "leaves" else inner
        body = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), at_leaves, elsewhere), name="body")
        return ra.recursion_op(self.h, inner if place == "everywhere" else body, structure=self.structure)


OF: dict[str, Callable[[Cell], Any]] = {
    "a sum": lambda cell: cell.Wx,
    "a finished sum": Cell.finished,
    "two sums": Cell.two_sums,
    "a sum of a finished one": Cell.of_finished,
    "no sum": Cell.no_sum,
}
STEPS: dict[str, list[str]] = {
    "alone": [],
    "leaves": ["dynamic_batch", "specialize_leaves", "hoist_inputs"],
    "constants": ["specialize_leaves", "hoist_constants"],
    "unrolled": ["dynamic_batch", "unroll"],
}


def trees(carries: Callable[[bool], bool]) -> list[Node]:
    """Return a batch in which leaves, or inner nodes, carry a word if `carries` says so of them."""

    def node(*children: Node, word: int) -> Node:
        return Node(children, **({"word": word} if carries(not children) else {}))

    return [
        node(node(node(word=1), node(word=4), word=3), node(word=0), word=2),
        node(word=4),
        node(node(node(word=0), word=1), word=2),
    ]


def scheduled(model: ra.Model, steps: list[str], tensor: Any = None, *, first: bool = False) -> ra.Schedule:
    """Return a schedule, with `tensor` in a table before the other steps or after them; refused ones are left out."""
    schedule = ra.Schedule(model)
    if first:
        schedule.tabulate(tensor)
    for step in steps:
        try:
            getattr(schedule, step)(*([1] if step == "unroll" else []))
        except ScheduleError:
            assert step in ("hoist_inputs", "hoist_constants", "unroll")
    if tensor is not None and not first:
        schedule.tabulate(tensor)
    return schedule


def check(model: ra.Model, tensor: Any, batch: list[Node]) -> None:
    """Compare schedules, interpreted, with the oracle, and bit by bit with those that compute at each node."""
    params = model.init_params(seed=2)
    expected = ra.evaluate(model, params, batch)
    for name, steps in STEPS.items():
        plain = scheduled(model, steps)
        want = interpreted(plain.lower(), linearize(plain.plan(), batch), params)
        check_agreement(want, expected, f"{name}, without a table")
        for first in (True, False) if name == "leaves" else (False,):
            schedule = scheduled(model, steps, tensor, first=first)
            program = schedule.lower()
            verify(program)
            assert schedule.tables and "with bind:" in to_text(program)
            found = interpreted(program, linearize(schedule.plan(), batch), params)
            for mine, other in zip(found, want, strict=True):
                assert mine["h"].tobytes() == other["h"].tobytes(), f"{name}, {first=}"


@pytest.mark.parametrize("place", ["everywhere", "leaves", "inner"])
@pytest.mark.parametrize("of", OF)
def test_a_table_has_the_bits_of_what_is_computed(of, place):
    """Words that may be missing, at leaves, at inner nodes or at both, and words that are there."""
    cell = Cell()
    tensor = OF[of](cell)
    some = [*trees(lambda leaf: True), *trees(lambda leaf: leaf), *trees(lambda leaf: not leaf)]
    check(cell.model(tensor, place), tensor, some)
    cell = Cell(default=None)
    tensor = OF[of](cell)
    at = {"everywhere": (True, True), "leaves": (True, False), "inner": (False, True)}[place]
    check(cell.model(tensor, place), tensor, trees(lambda leaf: at[not leaf]))


@hypothesis.settings(max_examples=24, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
@hypothesis.given(st.data())
def test_the_librarys_models_on_random_structures(data: st.DataObject) -> None:
    """Some of a model's products in tables, among any other steps: the same bits on any structures."""
    with_words = {name: model for name, model in library().items() if name.endswith(", word")}
    model = with_words[data.draw(st.sampled_from(list(with_words)))]
    products = [tensor for tensor in model.computes if tensor.name.startswith("Wx")]
    steps = [
        (name,) for name in data.draw(st.permutations(["dynamic_batch", "specialize_leaves", "hoist_inputs"]))
    ]
    steps = steps[: data.draw(st.integers(0, 3))]
    place = data.draw(st.integers(0, len(steps)))
    tables = [("tabulate", tensor) for tensor in products if data.draw(st.booleans())]
    plain = take(ra.Schedule(model), steps)
    tabled = take(ra.Schedule(model), [*steps[:place], *tables, *steps[place:]])
    assert tabled.log().count("tabulate") == len(tables)
    batch, params = data.draw(batches(model.plan())), model.init_params(seed=3)
    want, found = (
        interpreted(each.lower(), linearize(each.plan(), batch), params) for each in (plain, tabled)
    )
    for mine, other in zip(found, want, strict=True):
        assert {name: rows.tobytes() for name, rows in mine.items()} == {
            name: rows.tobytes() for name, rows in other.items()
        }


def test_a_default_among_the_words_and_one_far_from_them():
    """Where a node carries none it has word 3; or -4, between which and 0 no node has anything."""
    for default in (3, -4):
        cell = Cell(default=default)
        check(cell.model(cell.Wx), cell.Wx, trees(lambda leaf: leaf))


def test_graphs_and_sequences():
    shared = Node((Node((), word=1),))
    cell = Cell(structure=ra.Dag())
    check(cell.model(cell.Wx), cell.Wx, [Node((shared, Node((shared,), word=2), shared), word=0), Node(())])
    cell = Cell(structure=ra.Sequence())
    check(cell.model(cell.Wx), cell.Wx, [np.array([1, 2, 0, 4]), np.array([3])])


def test_words_that_do_not_start_at_zero_and_ones_known_in_a_class():
    cell = Cell(default=None)
    shifted = ra.compute((N, E), lambda n, i: cell.emb[cell.word[n] - 2, i], name="shifted")
    Wx = ra.compute((N, H), lambda n, i: ra.sum(E, lambda j: cell.W[i, j] * shifted[n, j]), name="Wx")
    chosen = ra.compute((N, H), lambda n, i: ra.where(cell.word[n] == 4, cell.b[i], 0.0), name="chosen")
    inner = ra.compute((N, H), lambda n, i: ra.tanh(Wx[n, i] + chosen[n, i] + cell.hs[n, i]), name="inner")
    model = ra.recursion_op(cell.h, inner)
    batch = [Node((Node((), word=2), Node((), word=4)), word=6), Node((), word=5)]
    check(model, Wx, batch)
    schedule = ra.Schedule(model)
    schedule.dynamic_batch()
    schedule.specialize(lambda n: cell.word[n] == 4)
    schedule.tabulate(Wx)
    text = to_text(schedule.lower())
    assert "Wx_by_word: bound(float32[5, 3])" in text
    assert "Wx_by_word[2, i]" in text and "Wx_by_word[word(node) + -2, i]" in text
    params = model.init_params(seed=1)
    found = interpreted(schedule.lower(), linearize(schedule.plan(), batch), params)
    check_agreement(found, ra.evaluate(model, params, batch), "specialized")


def test_a_result_of_its_own():
    """What is in a table may be a result: it is copied."""
    cell = Cell()
    other = ra.placeholder((N, H), name="other")
    h = ra.compute(
        (N, H), lambda n, i: ra.tanh(ra.sum_children(n, lambda k: cell.h[k, i] * other[k, i]) + cell.b[i])
    )
    model = ra.recursion_op({"h": (cell.h, h), "Wx": (other, cell.Wx)})
    check(model, cell.Wx, trees(lambda leaf: leaf))


def test_text(golden):
    cell = Cell()
    model = cell.model(cell.finished())
    schedule = ra.Schedule(model)
    schedule.tabulate(next(tensor for tensor in model.computes if tensor.name == "finished"))
    golden("tabulated.txt", to_text(schedule.lower()))
    assert schedule.finite == frozenset(), "zero times infinity is computed as it was"


def test_the_log_makes_the_same_choices_again():
    cell = Cell()
    model = cell.model(cell.Wx)
    schedule = scheduled(model, STEPS["leaves"], cell.Wx)
    assert schedule.log().endswith("s.hoist_inputs()\ns.tabulate(Wx)")
    again = ra.Schedule(model)
    exec(schedule.log(), {"s": again, "Wx": cell.Wx})
    assert to_text(again.lower()) == to_text(schedule.lower())


def test_a_table_stays_when_the_model_is_rewritten():
    cell = Cell()
    Uh = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: cell.U[i, j] * cell.hs[n, j]), name="Uh")
    h = ra.compute((N, H), lambda n, i: ra.tanh(cell.Wx[n, i] + Uh[n, i]), name="h")
    model = ra.recursion_op(cell.h, h)
    schedule = ra.Schedule(model)
    schedule.tabulate(cell.Wx)
    schedule.refactor(Uh)
    assert schedule.tables == ("Wx_by_word",)
    batch, params = trees(lambda leaf: leaf), model.init_params(seed=1)
    found = interpreted(schedule.lower(), linearize(schedule.plan(), batch), params)
    check_agreement(found, ra.evaluate(model, params, batch), "refactored")
    assert refusal(schedule, cell.Wx) == "tabulate: 'Wx' is in a table already\nfix: ask for it once"


def refusal(schedule: ra.Schedule, tensor: Any) -> str:
    before = (schedule.log(), to_text(schedule.lower()))
    with pytest.raises(ScheduleError) as caught:
        schedule.tabulate(tensor)
    assert before == (schedule.log(), to_text(schedule.lower()))
    first, *rest = [line for line in str(caught.value).splitlines() if not line.startswith("  at ")]
    return "\n".join([first, *(line.strip() for line in rest)])


def test_refusals():
    cell = Cell()
    kind, size = ra.node_input("kind", dtype="int32"), ra.node_input("size", dtype="int32")
    pair, vector = ra.node_input("pair", (2,), dtype="int32"), ra.node_input("vector", (E,))
    many = ra.node_input("many", dtype="int32")
    big = ra.input_tensor("big", (1 << 30, 2))

    def of(name: str, function: Callable[[Any, Any], Any]) -> Any:
        return ra.compute((N, H), function, name=name)

    Wk = ra.input_tensor("Wk", (4, H, E))
    tensors = {
        "children": cell.hs,
        "a node's place": of("place", lambda n, i: ra.where(ra.isleaf(n), 2.0, 3.0) * cell.x[n, 0]),
        "a row": cell.x,
        "the same": of("same", lambda n, i: ra.tanh(cell.b[i])),
        "a vector": of("of_vector", lambda n, i: cell.b[i] * vector[n, 0]),
        "two": of("two", lambda n, i: ra.sum(E, lambda j: Wk[kind[n], i, j] * cell.x[n, j])),
        "several": of("several", lambda n, i: cell.emb[pair[n, 0], 0] * cell.b[i]),
        "anything": of("anything", lambda n, i: cell.b[i] * ra.sqrt(size[n])),
        "integers": ra.compute((N,), lambda n: cell.word[n] * 2, name="integers"),
        "large": of("large", lambda n, i: big[many[n], 0] * cell.b[i]),
        "each child": ra.compute((N, ra.K, H), lambda n, k, i: cell.b[i] * cell.x[n, 0], name="each"),
    }
    inner = ra.compute(
        (N, H),
        lambda n, i: (
            sum((t[n, i] for name, t in tensors.items() if t.shape == (N, H)), cell.x[n, 1])
            + ra.where(tensors["integers"][n] > 3, 1.0, 0.0)
            + ra.sum_children(n, lambda k: tensors["each child"][n, k, i])
        ),
        name="inner",
    )
    schedule = ra.Schedule(ra.recursion_op(cell.h, inner))
    elsewhere = ra.compute((N, H), lambda n, i: 1.0, name="elsewhere")
    why = {name: refusal(schedule, tensor).partition("\n") for name, tensor in tensors.items()}
    assert {name: first for name, (first, _, _) in why.items() if name != "large"} == {
        name: f"tabulate: '{tensor.name}' cannot be in a table"
        for name, tensor in tensors.items()
        if name != "large"
    }
    assert {name: rest.removeprefix("because: ") for name, (_, _, rest) in why.items()} == {
        "children": "it takes in what a child returned",
        "a node's place": "it takes in more than parameters and what the node itself carries",
        "a row": "it looks up what a parameter holds, and computes nothing",
        "the same": "it is the same at all nodes: hoist_constants is for that",
        "a vector": "it takes in 'vector', which is not one integer",
        "two": "it takes in 'kind' and 'word', each with values of its own",
        "several": "it takes in 'pair', which is not one integer",
        "anything": "it is not known which values 'size' may have, which indexes no parameter",
        "integers": "it holds integers, and of those that index a table it has to be known how they are computed",
        "large": "it has a row for each value that 'many' may have\n"
        "fix: index a smaller table with the payload: that says how large it may be",
        "each child": "it has a value for each child of a node",
    }
    assert why["large"][0] == "tabulate: a table of 'large' would take 12,884,901,888 bytes"
    assert refusal(schedule, elsewhere) == (
        "tabulate: 'elsewhere' is not a tensor of this model\n"
        "because: a tensor is named by itself, and not by what it is called\n"
        "fix: take it from model.computes"
    )
    model = cell.model(cell.Wx, "leaves")
    body = next(tensor for tensor in model.computes if tensor.name == "body")
    assert refusal(ra.Schedule(model), body) == (
        "tabulate: 'body' is a choice and no operator\nbecause: it was made by if_then_else\nfix: name a compute"
    )


def test_nothing_is_hoisted_that_is_in_a_table():
    cell = Cell()
    schedule = ra.Schedule(cell.model(cell.Wx))
    schedule.tabulate(cell.Wx)
    for hoist in (schedule.hoist_inputs, schedule.hoist_constants):
        with pytest.raises(ScheduleError, match="there is nothing to hoist"):
            hoist()
