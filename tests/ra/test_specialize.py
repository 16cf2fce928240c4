"""Checks on structure, specialized: each class of nodes has loops of its own, with the same results; and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import cortex
from cortex import Node, ra
from cortex.compiler.pipeline import passes_for
from cortex.ilir.check_classes import check_classes
from cortex.ilir.classes import Comparison, NodeClass
from cortex.linearize import linearize
from cortex.models import tree_rnn
from cortex.ra.batch_nodes import default_max_batch_nodes
from cortex.ra.schedule import default_schedule
from ragged.errors import DataError, ScheduleError
from ragged.ir.interpret import CheckFailed
from ragged.ir.ops import BinaryOp
from ragged.ir.pointer_facts import Uniform
from ragged.ir.program import StageKind
from ragged.passes.pipeline import run_passes
from tests.support.agreement import interpreted
from tests.support.random_cells import cells
from tests.support.random_structures import batches
from tests.support.scheduled import check_schedule, take, tensor
from tests.test_random_models import check_machine_code, most

N, H, T, V = ra.N, 4, 3, 6
Check = Callable[[Any], Any]


# --- models ---------------------------------------------------------------------------------------------------


class Typed:
    """Three types of inner nodes with a matrix each; leaves of words, and leaves without, which are all the same."""

    def __init__(self, structure: Any = None) -> None:
        W, start = ra.input_tensor("W", (T, H, H)), ra.input_tensor("start", (H,))
        emb = ra.input_tensor("emb", (V, H))
        self.kind = ra.node_input("kind", dtype="int32")
        self.word = ra.node_input("word", dtype="int64", default=-1)
        self.x = ra.node_input("x", (H,), default=0.0)
        ph = ra.placeholder((N, H))
        hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: ph[k, i]), name="hs")
        inner = ra.compute(
            (N, H),
            lambda n, i: ra.tanh(ra.sum(H, lambda j: W[self.kind[n], i, j] * hs[n, j]) + self.x[n, i]),
            name="inner",
        )
        known = ra.compute(
            (N, H), lambda n, i: ra.where(self.word[n] >= 0, emb[self.word[n], i], 0.0), name="known"
        )
        unknown = ra.compute(
            (N, H), lambda n, i: ra.tanh(ra.sum(H, lambda j: W[1, i, j] * start[j])), name="unknown"
        )
        self.leaf = ra.if_then_else((N, H), lambda n, i: (self.word[n] >= 0, known, unknown), name="leaf")
        h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), self.leaf, inner), name="h")
        self.model = ra.recursion_op(ph, h, structure=structure)

    def is_kind(self, value: int) -> tuple[str, Check]:
        return "specialize", lambda n: self.kind[n] == value


def by_arity(most: int | None = None) -> tuple[ra.Model, Any]:
    """One child is passed on, two are joined by a matrix each, of more the largest counts."""
    L, R = ra.input_tensor("L", (H, H)), ra.input_tensor("R", (H, H))
    x, ph = ra.node_input("x", (H,)), ra.placeholder((N, H))
    leaf = ra.compute((N, H), lambda n, i: x[n, i])
    one = ra.compute((N, H), lambda n, i: ra.tanh(ph[n.left, i] + 0.5))
    two = ra.compute(
        (N, H),
        lambda n, i: ra.tanh(ra.sum(H, lambda j: L[i, j] * ph[n.left, j] + R[i, j] * ph[n.child(1), j])),
    )
    more = ra.compute((N, H), lambda n, i: ra.max_children(n, lambda k: ph[k, i]), name="more")
    several = ra.if_then_else((N, H), lambda n, i: (ra.num_children(n) == 2, two, more), name="several")
    inner = ra.if_then_else((N, H), lambda n, i: (ra.num_children(n) >= 2, several, one), name="inner")
    h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, inner), name="h")
    return ra.recursion_op(ph, h, structure=ra.Tree(max_children=most)), inner


def typed_trees(seed: int, depth: int = 5, most: int = 4) -> list[Node]:
    rng = np.random.default_rng(seed)

    def tree(depth: int) -> Node:
        payload: dict[str, Any] = {"kind": int(rng.integers(T))}
        payload |= {"x": rng.standard_normal(H).astype(np.float32)}
        if depth == 0 or rng.random() < 0.3:
            return Node([], **payload, word=int(rng.integers(V)) if rng.random() < 0.6 else None)
        return Node([tree(depth - 1) for _ in range(int(rng.integers(1, most + 1)))], **payload)

    return [tree(each) for each in (0, 1, 2, depth, depth, 0)]


def chains(seed: int) -> list[Node]:
    rng = np.random.default_rng(seed)
    made = []
    for length in (1, 2, 9):
        node = Node([], kind=0, word=1, x=None)
        for _ in range(length - 1):
            node = Node([node], kind=int(rng.integers(T)), x=rng.standard_normal(H).astype(np.float32))
        made.append(node)
    return made


def grid() -> list[Node]:
    """Return a DAG in which nodes of several types share children, by its last node."""
    rows: list[list[Node]] = []
    for r in range(3):
        rows.append([])
        for c in range(3):
            below = [rows[r - 1][c]] if r else []
            below += [rows[r][c - 1]] if c else []
            rows[r].append(Node(below, kind=(r + 2 * c) % T, word=None if below else 2, x=None))
    return [rows[-1][-1]]


# --- results --------------------------------------------------------------------------------------------------

KINDS = [(ra.Tree(), typed_trees(0)), (ra.Dag(), grid()), (ra.Sequence(), chains(0))]
SOME = ("specialize_if_else", "leaf"), ("specialize_if_else", "h"), ("hoist_constants",)


def steps_of(typed: Typed, *names: str) -> list[tuple[Any, ...]]:
    every: dict[str, tuple[Any, ...]] = {
        "batched": ("dynamic_batch",),
        "leaf": ("specialize_if_else", typed.leaf),
        "h": ("specialize_if_else", tensor(typed.model, "h")),
        "kinds": typed.is_kind(0),
        "kind 2": typed.is_kind(2),
        "leaves": ("specialize_leaves",),
        "inputs": ("hoist_inputs",),
        "constants": ("hoist_constants",),
        "unrolled": ("unroll", 1),
        "pairs": ("specialize", lambda n: ra.num_children(n) == 2),
    }
    return [every[name] for name in names]


@pytest.mark.parametrize(
    "names",
    [
        ("batched", "kinds", "kind 2"),
        ("kinds", "kind 2", "leaf", "constants"),
        ("batched", "h", "leaf", "kinds", "constants"),
        ("batched", "pairs", "kinds", "leaf"),
        ("h", "pairs", "leaf"),
        ("batched", "unrolled", "leaf", "kinds", "constants"),
        ("batched", "leaves", "inputs", "kinds", "kind 2", "leaf", "constants"),
    ],
    ids=", ".join,
)
@pytest.mark.parametrize(("structure", "batch"), KINDS, ids=["tree", "dag", "sequence"])
def test_several_cases_at_once(structure, batch, names):
    typed = Typed(structure)
    params = typed.model.init_params(seed=1)
    schedule = take(ra.Schedule(typed.model), steps_of(typed, *names))
    for some in (batch, [], batch[:1]):
        check_schedule(schedule, params, some, ra.evaluate(typed.model, params, some), f"{names}")


def test_the_oracle_by_hand():
    """A branch on an integer that a node carries, in the language itself."""
    model = Typed().model
    params = {name: array.astype(np.float64) for name, array in model.init_params(seed=5).items()}
    root = Node([Node([], word=2), Node([], kind=0)], kind=2, x=None)
    known, unknown = params["emb"][2], np.tanh(params["W"][1] @ params["start"])
    expected = [known, unknown, np.tanh(params["W"][2] @ (known + unknown))]
    np.testing.assert_allclose(ra.evaluate(model, params, root)["h"], expected, rtol=1e-12)


def test_one_child_two_and_more():
    model, inner = by_arity()
    params, batch = model.init_params(seed=2), typed_trees(3)
    expected = ra.evaluate(model, params, batch)
    for steps in (
        [("specialize_if_else", inner)],
        [("dynamic_batch",), ("specialize_if_else", inner)],
        [("dynamic_batch",), ("specialize_if_else", inner), ("specialize_if_else", tensor(model, "several"))],
        [("dynamic_batch",), ("unroll", 2), ("specialize_if_else", inner)],
    ):
        check_schedule(take(ra.Schedule(model), steps), params, batch, expected, str(steps))


@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_it_agrees_with_the_oracle(threads, tmp_path):
    typed = Typed()
    params, batch = typed.model.init_params(seed=4), typed_trees(5)
    expected = ra.evaluate(typed.model, params, batch)
    schedule = default_schedule(typed.model)
    take(schedule, [typed.is_kind(0), typed.is_kind(1)])
    function = cortex.compile(schedule, params, threads=threads)
    check_machine_code(function, batch, expected, "specialized")
    function.save(tmp_path / "typed.cortex")
    loaded = cortex.load(tmp_path / "typed.cortex")
    check_machine_code(loaded, batch, expected, "loaded")
    assert loaded.plan == schedule.plan() and "inner nodes with kind[n] == 2" in str(loaded.plan)
    other = typed.model.init_params(seed=6)
    check_machine_code(
        loaded.with_params(other), batch, ra.evaluate(typed.model, other, batch), "other parameters"
    )


@pytest.mark.parametrize("most", [2, None])
def test_the_arities_compiled(most):
    """Of two children at most, two are both there; of three, one may be missing that is not the last."""
    model, _ = by_arity(most)
    params, batch = model.init_params(seed=2), typed_trees(9, most=most or 4)
    function = cortex.compile(model, params, threads=2)
    kept = [line for line in function.show("checks").splitlines() if line.startswith("kept")]
    pointer = "right(" if most == 2 else "child_1("
    assert any(pointer in line for line in function.show("checks").splitlines())
    assert bool(kept) is (most is None) and all(pointer in line for line in kept)
    check_machine_code(function, batch, ra.evaluate(model, params, batch), "arities")


@most(0.5)
@hypothesis.given(st.data(), cells())
def test_cells(data, model):
    """Cells ask for nothing of their own: what is specialized is what they carry, and how many children there are."""
    carried = [p for p in model.payloads.values() if p.dtype.is_int and len(p.shape) == 1]
    checks: list[Check] = [lambda n: ra.num_children(n) == 2, lambda n: ra.num_children(n) < 2]
    checks += [lambda n, p=p: p[n] >= 0 for p in carried] + [lambda n, p=p: p[n] != 1 for p in carried]
    steps: list[tuple[Any, ...]] = [("specialize", check) for check in checks]
    steps += [("dynamic_batch",), ("specialize_leaves",), ("hoist_inputs",), ("hoist_constants",)]
    schedule = take(ra.Schedule(model), data.draw(st.permutations(steps)))
    params = model.init_params(seed=data.draw(st.integers(0, 3)))
    batch = data.draw(batches(model.plan()))
    check_schedule(schedule, params, batch, ra.evaluate(model, params, batch), schedule.log())


# --- what the program shows -----------------------------------------------------------------------------------


def test_each_kind_of_node_has_a_loop(golden):
    typed = Typed()
    schedule = take(ra.Schedule(typed.model), steps_of(typed, "batched", "h", "leaf", "kinds", "constants"))
    program = check_classes(schedule.lower()).program
    golden("specialized_types.txt", f"{schedule.log()}\n\n{schedule.plan()}\n\n{program}")


def test_loops_over_children_are_as_long_as_the_class_says():
    model, _ = by_arity()
    schedule = take(
        ra.Schedule(model), [("dynamic_batch",), ("specialize", lambda n: ra.num_children(n) == 3)]
    )
    text = str(schedule.lower())
    assert "for k in serial(3, K):" in text and "for k in serial(num_children(node), K):" in text
    steps = run_passes(schedule.lower(), passes_for(threads=1))
    checks = next(step for step in steps if step.name == "discharge_checks")
    proven = [note for note in checks.notes if "child_begin(node) + k" in note and "Uniform" in note]
    assert proven and all(note.startswith("proven") for note in proven)


def test_nothing_is_asked_of_nodes_that_it_does_not_matter_to():
    """Leaves have no kind that matters, and inner nodes no word: their classes are a sum and no product."""
    typed = Typed()
    steps = steps_of(typed, "batched", "leaf", "kinds", "kind 2")
    schedule = take(ra.Schedule(typed.model), [*steps, ("specialize", lambda n: ra.num_children(n) == 9)])
    leaves = [each for each in schedule.plan().classes if each.leaf]
    assert leaves == [
        NodeClass(True, (Comparison("word", BinaryOp.GE, 0),)),
        NodeClass(True, (Comparison("word", BinaryOp.EQ, -1),)),
    ]
    assert len(schedule.plan().classes) == len(leaves) + 2 * T
    assert "kind[n] == 1" in str(schedule.plan())


def test_what_is_the_same_for_all_leaves_of_a_kind_is_bound():
    typed = Typed()
    schedule = take(ra.Schedule(typed.model), steps_of(typed, "batched", "h", "leaf", "constants"))
    program = schedule.lower()
    assert program.stage(StageKind.BIND) is not None
    kernel = str(program).partition("with kernel:")[2]
    assert "unknown_once[0, i]" in kernel and "start" not in kernel and "start" in str(program)


def test_a_zero_state_of_nodes_without_children_leaves_out_products():
    """A model that asks for the number of children, and not whether there are any, has leaves all the same."""
    U, ph = ra.input_tensor("U", (H, H)), ra.placeholder((N, H))
    x = ra.node_input("x", (H,))
    hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: ph[k, i]), name="hs")
    Uh = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: U[i, j] * hs[n, j]), name="Uh")
    first = ra.compute((N, H), lambda n, i: x[n, i] + Uh[n, i], name="first")
    rest = ra.compute((N, H), lambda n, i: ra.tanh(Uh[n, i]), name="rest")
    h = ra.if_then_else((N, H), lambda n, i: (ra.num_children(n) <= 0, first, rest), name="h")
    model = ra.recursion_op(ph, h)
    schedule = take(ra.Schedule(model), [("dynamic_batch",), ("specialize_if_else", h)])
    leaves = str(schedule.lower()).partition("with kernel:")[2].partition("for step")[0]
    assert "h[node, i] = x[node, i]" in leaves and "U" not in leaves and "if" not in leaves
    assert schedule.finite == {"U"}
    params, batch = model.init_params(seed=1), typed_trees(1)
    check_schedule(schedule, params, batch, ra.evaluate(model, params, batch), "zero state")


def test_leaves_of_a_model_that_does_not_ask_for_them():
    model = tree_rnn(H, H, input="vector")
    for steps in ([], [("dynamic_batch",)]):
        schedule = take(ra.Schedule(model), [*steps, ("specialize", ra.isleaf)])
        text = str(schedule.lower())
        assert schedule.log().endswith("s.specialize(lambda n: ra.isleaf(n))")
        assert text.count("x[node, j]") == 2 and text.count("U[i, j]") == 1 and schedule.finite == {"U"}
        params, batch = model.init_params(seed=1), typed_trees(1)
        check_schedule(schedule, params, batch, ra.evaluate(model, params, batch), "leaves")
        for again in (ra.isleaf, lambda n: ra.num_children(n) > 0):
            with pytest.raises(ScheduleError, match=r"specialized already|would change nothing"):
                schedule.specialize(again)


def test_the_default_schedule_specializes_branches_and_no_more():
    typed, (model, _) = Typed(), by_arity()
    assert default_schedule(typed.model).log().splitlines() == [
        f"s.dynamic_batch(max_batch_nodes={default_max_batch_nodes(typed.model)})",
        "s.specialize_if_else(h)",
        "s.specialize_if_else(leaf)",
        "s.specialize_leaves()",
        "s.hoist_constants()",
    ]  # and no inputs: all that is left depends on children, or is a constant
    assert default_schedule(model).log().splitlines()[:4] == [
        f"s.dynamic_batch(max_batch_nodes={default_max_batch_nodes(model)})",
        "s.specialize_if_else(h)",
        "s.specialize_if_else(inner)",
        "s.specialize_if_else(several)",
    ]


def test_conditions_that_an_outer_branch_rules_out_make_no_classes():
    kind, mode = (ra.node_input(name, dtype="int32") for name in ("kind", "mode"))
    h_ph = ra.placeholder((ra.N, 2))
    values = [
        ra.compute((ra.N, 2), lambda n, i, scale=scale: h_ph[n.left, i] * scale) for scale in (2, 3, 5, 7)
    ]
    first = ra.if_then_else((ra.N, 2), lambda n, i: (mode[n] < 1, values[0], values[1]))
    others = ra.if_then_else((ra.N, 2), lambda n, i: (kind[n] < 9, values[2], values[3]))
    inner = ra.if_then_else((ra.N, 2), lambda n, i: (kind[n] < 3, first, others))
    leaf = ra.compute((ra.N, 2), lambda n, i: 1.0)
    model = ra.recursion_op(h_ph, ra.if_then_else((ra.N, 2), lambda n, i: (ra.isleaf(n), leaf, inner)))
    classes = default_schedule(model).plan().classes
    assert [each.leaf for each in classes].count(False) == 4  # not 6: for kinds from 3 on no mode is asked


def test_the_log_makes_the_same_schedule_again():
    typed = Typed()
    schedule = take(ra.Schedule(typed.model), steps_of(typed, "batched", "leaf", "kinds", "pairs"))
    schedule.specialize(lambda m: ~(ra.isleaf(m) | (typed.word[m] >= 2)))
    again = ra.Schedule(typed.model)
    names = {"ra": ra, "s": again, "leaf": typed.leaf, "kind": typed.kind, "word": typed.word}
    for line in schedule.log().splitlines():
        exec(line, names)  # the log is code
    assert again.log() == schedule.log() and str(again.lower()) == str(schedule.lower())


def test_a_class_is_checked_on_the_way_in():
    """What the classes say of their nodes is a fact: an array that breaks it is refused, and not computed with."""
    typed = Typed()
    schedule = take(ra.Schedule(typed.model), steps_of(typed, "batched", "kinds", "kind 2", "leaf"))
    program, params = check_classes(schedule.lower()).program, typed.model.init_params(seed=0)
    assert {fact.function.name for fact in program.facts if isinstance(fact, Uniform)} == {"kind", "word"}
    linearized = linearize(schedule.plan(), typed_trees(0))
    node = int(np.flatnonzero(linearized.payloads["kind"][: linearized.num_inner] == 2)[0])
    interpreted(program, linearized, params)
    linearized.payloads["kind"][node] = 0
    with pytest.raises(CheckFailed, match=rf"kind\({node}\) = 0 is not == 2, and"):
        interpreted(program, linearized, params)
    function = cortex.compile(schedule, params, threads=1)
    with pytest.raises(DataError, match=rf"kind\({node}\) = 0 is not == 2, and"):
        function(linearized)


# --- refusals -------------------------------------------------------------------------------------------------

TYPED = Typed()
OTHER = ra.node_input("kind", dtype="int32")
FIX = "\n  fix: compare ra.num_children(n), or a payload that is one integer, with a number: kind[n] == 3"
STATE = TYPED.model.placeholders[0]
REFUSED: dict[str, tuple[Any, str]] = {
    "no function": (
        3,
        "specialize: 3 is no function of a node\n  fix: return a comparison: lambda n: ra.num_children(n) == 2",
    ),
    "another function": (
        lambda n, k: TYPED.kind[n] == 1,
        "specialize: the function takes 2 arguments, and is given a node\n"
        "  fix: return a comparison: lambda n: ra.num_children(n) == 2",
    ),
    "a number": (
        lambda n: ra.num_children(n),
        "specialize: 'num_children(n)' is no condition\n  because: it is a number\n"
        "  fix: return a comparison: lambda n: ra.num_children(n) == 2",
    ),
    "nothing": (
        lambda n: None,
        "specialize: 'None' is no condition\n  fix: return a comparison: lambda n: ra.num_children(n) == 2",
    ),
    "floats": (
        lambda n: TYPED.x[n, 0] > 0.5,
        "specialize: 'x[n, 0] > 0.5' does not tell nodes apart\n"
        "  because: 'x[n, 0]' is of float32, and nodes are told apart by integers" + FIX,
    ),
    "a result": (
        lambda n: STATE[n.left, 0] > 0.5,
        "specialize: 'ph[n.left, 0] > 0.5' does not tell nodes apart\n"
        "  because: 'ph[n.left, 0]' is of 'n.left', and a node is told by what it is itself" + FIX,
    ),
    "a child": (
        lambda n: TYPED.kind[n.left] == 1,
        "specialize: 'kind[n.left] == 1' does not tell nodes apart\n"
        "  because: 'kind[n.left]' is of 'n.left', and a node is told by what it is itself" + FIX,
    ),
    "a computed value": (
        lambda n: tensor(TYPED.model, "hs")[n, 0] > 0.5,  # type: ignore[index]
        "specialize: 'hs[n, 0] > 0.5' does not tell nodes apart\n"
        "  because: 'hs[n, 0]' is computed, and what nodes there are is known before" + FIX,
    ),
    "a parameter": (
        lambda n: TYPED.model.inputs["start"][0] > 0.5,
        "specialize: 'start[0] > 0.5' does not tell nodes apart\n"
        "  because: 'start[0]' is a parameter, and no part of a structure" + FIX,
    ),
    "another model's payload": (
        lambda n: OTHER[n] == 1,
        "specialize: 'kind[n] == 1' does not tell nodes apart\n"
        "  because: 'kind' is no payload that the model reads" + FIX,
    ),
    "no comparison with a number": (
        lambda n: TYPED.kind[n] % 2 == 1,
        "specialize: 'kind[n] % 2 == 1' does not tell nodes apart\n"
        "  because: it is no comparison with a number" + FIX,
    ),
    "what is always so": (
        lambda n: TYPED.kind[n] < 7,
        "specialize: the condition would change nothing\n"
        "  because: at every node the condition is known already, or nothing that is computed there depends on it",
    ),
    "loops that stay as long as they are": (
        lambda n: ra.num_children(n) >= 9,
        "specialize: the condition would change nothing\n"
        "  because: at every node the condition is known already, or nothing that is computed there depends on it",
    ),
    "again": (
        lambda n: ~(TYPED.kind[n] != 0),
        "specialize: the condition is specialized already\n"
        "  because: a condition is specialized wherever it stands, in all branches on it at once",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    condition, message = REFUSED[name]
    schedule = take(ra.Schedule(TYPED.model), steps_of(TYPED, "batched", "kinds"))
    before = (schedule.log(), str(schedule.lower()))
    with pytest.raises(ScheduleError) as caught:
        schedule.specialize(condition)
    first, place, *rest = str(caught.value).splitlines()
    assert place.startswith("  at test_specialize.py:")
    assert "\n".join([first, *rest]) == message
    assert (schedule.log(), str(schedule.lower())) == before


def test_too_many_kinds_are_refused():
    schedule = ra.Schedule(TYPED.model)
    schedule.dynamic_batch()
    for value in range(2):
        schedule.specialize(lambda n, value=value: TYPED.kind[n] == value)
    for arity in range(2, 22):
        schedule.specialize(lambda n, arity=arity: ra.num_children(n) >= arity)
    with pytest.raises(ScheduleError, match="would make more than 64 kinds of nodes") as caught:
        schedule.specialize(lambda n: ra.num_children(n) > 21)
    assert caught.value.fix is not None


def test_constants_that_are_not_there():
    model, _ = by_arity()
    schedule = take(ra.Schedule(model), [("dynamic_batch",)])
    with pytest.raises(ScheduleError, match="hoist_constants: there is nothing to hoist"):
        schedule.hoist_constants()
    assert schedule.log() == "s.dynamic_batch()"
    typed = Typed()
    schedule = take(ra.Schedule(typed.model), steps_of(typed, "batched", "h", "leaf", "constants"))
    with pytest.raises(ScheduleError, match="hoist_constants: constants are hoisted already"):
        schedule.hoist_constants()
