"""Programs, models and files that are refused: those of messages that no other test has whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import cortex
from cortex import Forest, Node, Vocab, models, ra
from cortex.cli.library import MODEL, build
from cortex.cli.saved import load_with_trees
from cortex.cli.trees import read_params, read_trees
from cortex.linearize import Linearizer, read_conllu
from ragged.ir.parser import parse
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.declare_order import declare_order
from ragged.transform.loops.pad_loop import pad_loop
from ragged.transform.storage.cache_write import cache_write
from tests.linearize.support import TREE
from tests.support.scheduled import tensor

N, H = ra.N, 3


def counting() -> ra.Model:
    """Return a model that counts what of its children's results is above zero."""
    ph, x = ra.placeholder((N, H)), ra.node_input("x", (H,))
    table = ra.input_tensor("table", (2, H))
    above = ra.compute((N, H), lambda n, i: ra.where(ph[n.left, i] > 0.0, 1, 0), name="above")
    rec = ra.compute((N, H), lambda n, i: ra.where(above[n, i] == 1, table[1, i], x[n, i]), name="rec")
    leaf = ra.compute((N, H), lambda n, i: x[n, i], name="leaf")
    body = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec), name="h")
    return ra.recursion_op(ph, body, structure=ra.Tree(max_children=2))


def by_arity() -> tuple[ra.Model, Any]:
    """Return a model that asks whether a node has an even number of children, and never if it is a leaf."""
    ph = ra.placeholder((N, H))
    one = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: ph[k, i]), name="one")
    two = ra.compute((N, H), lambda n, i: 1.0 + ra.sum_children(n, lambda k: ph[k, i]), name="two")
    body = ra.if_then_else((N, H), lambda n, i: (ra.num_children(n) % 2 == 0, two, one), name="body")
    return ra.recursion_op(ph, body), body


def ordered() -> None:
    schedule = ra.Schedule(fc)
    schedule.dynamic_batch()
    loops = cortex.loop_schedule(schedule)
    loops.apply(declare_order, "order", loops.loop("i", 0))
    cortex.compile(loops, fc.init_params(seed=0))


def token(number: int, head: str = "0", deps: str = "_") -> str:
    return f"{number}\tword\t_\t_\t_\t_\t{head}\t_\t{deps}\t_\n"


def conllu(folder: Path, text: str, **options: Any) -> None:
    path = folder / "some.conllu"
    path.write_text(text, encoding="utf-8")
    read_conllu(path, **options)


ROWS = """\
program("rows")

total: input()
count: input()
workers: call()
row: input(f < total) = facts(0 <= row(f) < count)
z: payload(float32[count])
t: workspace(float32[total])
y: output(float32[(total + 3) // 4 * 4])

with kernel:
    {}
"""


def rows(body: str) -> LoopSchedule:
    return LoopSchedule(parse(ROWS.format(body)))


def padded(body: str) -> None:
    s = rows(body)
    s.apply(pad_loop, s.loop("f"), 4)


def checked() -> None:
    s = rows(
        'for f in serial(total):\n        check(row(f) >= 0, "no", label=asked)\n        y[f] = z[row(f)]'
    )
    s.apply(cache_write, s.statement("asked"), s.loop("f"))


def saved(folder: Path) -> Path:
    path = folder / "f.cortex"
    cortex.compile(fc, fc.init_params(seed=0)).save(path)
    return path


def no_text(folder: Path) -> Path:
    path = folder / "trees.txt"
    path.write_bytes(b"(1 \xff)")
    return path


def one_array(folder: Path) -> Path:
    path = folder / "params.npy"
    np.save(path, np.eye(2))
    return path


def twice() -> None:
    schedule = ra.Schedule(fc)
    for _ in range(2):
        schedule.specialize_if_else(tensor(fc, "h"))


def many_kinds() -> None:
    schedule = ra.Schedule(models.tree_rnn(H, H, 5))
    for count in range(1, 99):
        schedule.specialize(lambda n, count=count: ra.num_children(n) == count)


FILL = "for f in {}:\n        t[f] = 1.0\n    for g in serial(total):\n        y[g] = {}"

CASES: dict[str, Callable[[Path], object]] = {
    "refactor_integers": lambda _: ra.Schedule(counting_model).refactor(tensor(counting_model, "above")),
    "specialize_a_compute": lambda _: ra.Schedule(fc).specialize_if_else(tensor(fc, "Wl")),
    "specialize_by_arity": lambda _: ra.Schedule(arity[0]).specialize_if_else(arity[1]),
    "conllu_no_file_of_that_kind": lambda folder: conllu(folder, "1 word\n\n"),
    "conllu_no_head": lambda folder: conllu(folder, token(1, "_") + "\n"),
    "conllu_no_deps": lambda folder: conllu(folder, token(1) + "\n", enhanced=True),
    "conllu_two_roots": lambda folder: conllu(folder, token(1) + token(2) + "\n"),
    "conllu_head_that_is_no_token": lambda folder: conllu(folder, token(1, "7") + "\n"),
    "forest_of_floats": lambda _: Forest([0.0, 1.0], [0]),
    "forest_too_large": lambda _: Forest([0, 1], [2**31]),
    "forest_of_nothing": lambda _: Forest([], []),
    "forest_payload_of_no_rows": lambda _: Forest([0], [], word=3),
    "forest_masked_payload": lambda _: Forest([0, 0], [], word=np.ma.masked_array([3], [True])),
    "forest_edges_in_rows": lambda _: Forest.from_edges([[1, 0], [2, 0], [3, 0]]),
    "forest_edge_of_no_node": lambda _: Forest.from_edges([[1], [0]], word=[3]),
    "forest_batch_of_another_length": lambda _: Forest.from_edges([[0], [1]], [0, 0, 0], word=[1, 2]),
    "node_of_a_payload": lambda _: Node(3),  # type: ignore[arg-type]
    "forest_batch_with_a_gap": lambda _: Forest.from_edges([[1], [0]], [0, 2]),
    "forest_parent_that_is_no_node": lambda _: Forest.from_parents([-1, 2]),
    "vocabulary_of_another_type": lambda _: Linearizer(TREE, vocab={"good": 1}),  # type: ignore[arg-type]
    "children_of_no_name": lambda _: Linearizer(TREE, children=("left", "")),
    "vocabulary_of_one_string": lambda _: Vocab("good film"),
    "vocabulary_with_a_number": lambda _: Vocab(["good", 3]),  # type: ignore[list-item]
    "vocabulary_with_other_numbers": lambda _: Vocab({"good": 1, "film": 0}),
    "vocabulary_with_a_word_twice": lambda _: Vocab(["good", "film", "good"]),
    "structures_one_by_one": lambda _: Linearizer(TREE)(each for each in ()),  # type: ignore[arg-type]
    "schedule_of_no_model": lambda _: ra.Schedule("tree_rnn"),  # type: ignore[arg-type]
    "primitive_of_no_tensor": lambda _: ra.Schedule(fc).refactor(["Wl"]),  # type: ignore[arg-type]
    "vocabulary_of_a_number": lambda _: Vocab(3),  # type: ignore[arg-type]
    "vocabulary_of_no_trees": lambda _: Vocab.from_trees(None),  # type: ignore[arg-type]
    "vocabulary_of_trees_that_are_no_text": lambda _: Vocab.from_trees(["(3 good)", 3]),  # type: ignore[list-item]
    "state_that_is_no_mapping": lambda _: cortex.from_torch([], fc),  # type: ignore[arg-type]
    "state_of_numbers": lambda _: cortex.from_torch({1: np.ones(2)}, fc),  # type: ignore[dict-item]
    "children_of_one_name": lambda _: Linearizer(TREE, children=("kid", "kid")),
    "parameter_of_another_width": lambda _: cortex.compile(
        fc, {**fc.init_params(seed=0), "b": np.zeros(H, np.float64)}
    ),
    "parameter_with_a_mask": lambda _: cortex.compile(
        fc, {**fc.init_params(seed=0), "b": np.ma.masked_array(np.zeros(H, np.float32), np.ones(H, bool))}
    ),
    "saved_function_without_words": lambda folder: load_with_trees(saved(folder), folder),
    "trees_that_are_no_text": lambda folder: read_trees(no_text(folder), Vocab(["good"])),
    "function_that_returns_no_model": lambda _: build(MODEL.convert("os:getcwd", None, None), {}),
    "parameters_in_no_archive": lambda folder: read_params(one_array(folder)),
    "specialize_what_another_model_has": lambda _: ra.Schedule(fc).specialize_if_else(arity[1]),
    "specialize_twice": lambda _: twice(),
    "specialize_many_kinds": lambda _: many_kinds(),
    "hoist_no_constants": lambda _: ra.Schedule(fc).hoist_constants(),
    "refactor_what_another_model_has": lambda _: ra.Schedule(fc).refactor(arity[1]),
    "arity_of_none": lambda _: models.nary_tree_lstm(H, H, 5, arity=0),
    "vocabulary_of_vectors": lambda _: models.dag_rnn(H, H, vocab=5),
    "linear_of_other_extents": lambda _: ra.linear(
        x, ra.input_tensor("W", (2, 4)), ra.input_tensor("b", (4,))
    ),
    "layer_norm_of_another_extent": lambda _: ra.layer_norm(x, ra.input_tensor("g", (4,))),
    "softmax_of_a_placeholder": lambda _: ra.softmax(ra.placeholder((N, H), name="h_ph")),
    "softmax_of_a_number": lambda _: ra.softmax(3),  # type: ignore[arg-type]
    "power_of_an_expression": lambda _: ra.compute((N, H), lambda n, i: 2.0 - x[n, i] ** x[n, i]),
    "function_of_numpy": lambda _: ra.compute((N, H), lambda n, i: np.arctan(x[n, i])),
    "order_of_a_recursion": lambda _: ordered(),
    "unroll_a_thousand_levels": lambda _: ra.Schedule(fc).unroll(1000),
    "oracle_beyond_a_table": lambda _: ra.evaluate(fc, fc.init_params(seed=0), (1, 9)),
    "call_beyond_a_loop": lambda _: padded("for f in serial(total):\n        y[f] = z[row(f + 1)]"),
    "write_of_a_check": lambda _: checked(),
    "loop_that_is_not_there": lambda _: rows("pass").loop("x"),
    "loop_of_too_high_a_number": lambda _: rows(FILL.format("serial(total)", "t[g]")).loop("f", 1),
    "loop_of_two": lambda _: rows(
        "for f in serial(3):\n        pass\n    for f in serial(3):\n        pass"
    ).loop("f"),
}
"""Each by what is wrong with it; it may write to a folder of its own."""

fc, arity, counting_model = models.tree_fc(H, 5), by_arity(), counting()
x = ra.node_input("x", (H,))
