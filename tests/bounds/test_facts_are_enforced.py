"""Each fact that a proof used of the paper's models, broken in a batch: the call is refused, whatever carried it.

First in the arrays, as a caller may that keeps what `fn.linearize` returned: the arrays are those of a real batch with
one value exchanged, and `tests.support.check_facts` agrees that the fact is broken. Then in structures, where there is
a way to say something that the fact forbids; a `DataError` names the structure and the node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import cortex
from cortex import Forest, Node, models
from cortex.linearize import Linearized
from cortex.linearize.values import value_of
from ragged.errors import DataError
from ragged.ir.expr import Source
from ragged.ir.fact import Fact
from ragged.ir.interpret import CheckFailed, interpret
from ragged.ir.program import Program, StageKind
from ragged.ir.stmt import Block
from ragged.passes.assume import assume
from tests.bounds.faults import BREAK, with_value, word_at
from tests.bounds.five import MODELS, V, batch, compiled, linearized
from tests.support.check_facts import violation


def cases() -> list[Any]:
    return [pytest.param(name, id=name) for name in MODELS]


def arrays_of(program: Program, given: Linearized) -> tuple[dict[str, int], dict[str, Any]]:
    """Return the sizes and arrays of a program's functions."""
    made = (Source.INPUT, Source.PAYLOAD)
    values = {f.name: value_of(f, given) for f in program.functions if f.source in made}
    sizes = {name: int(value) for name, value in values.items() if not isinstance(value, np.ndarray)}
    return sizes, {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("name", cases())
def test_a_fault_in_the_arrays_ends_the_call(name):
    made, good = compiled(name), linearized(name)
    made.function(good)
    assert made.used
    for what, fact in made.used.items():
        assert violation(fact, *arrays_of(made.program, good)) is None
        for number, change in enumerate(BREAK[what]):
            bad = change(good)
            assert violation(fact, *arrays_of(made.program, bad)) is not None, (what, number)
            with pytest.raises(DataError):
                made.function(bad)
    made.function(good)


@pytest.mark.parametrize("name", cases())
def test_it_is_the_check_of_that_fact_that_sees_the_fault(name):
    """Whatever else is wrong in such a batch, the statements that stand for this one fact refuse it."""
    made, good = compiled(name), linearized(name)
    for what, fact in made.used.items():
        program = only_check(made.program, fact)
        interpret(program, *arrays_of(program, good))
        for number, change in enumerate(BREAK[what]):
            with pytest.raises((CheckFailed, DataError)):  # a size below zero is no size
                interpret(program, *arrays_of(program, change(good)))
                pytest.fail(f"{what}, fault {number}")


@pytest.mark.parametrize("field", ["batch_begin", "batch_length", "child_begin", "child"])
@pytest.mark.parametrize("name", cases())
def test_a_number_that_leads_far_away_is_refused_and_not_followed(name, field):
    """The interpreter raises another error where a check reads outside of an array."""
    made, good = compiled(name), linearized(name)
    stages = tuple(
        replace(stage, body=Block()) if stage.kind is StageKind.KERNEL else stage
        for stage in made.program.stages
        if stage.kind is not StageKind.BIND
    )
    program = replace(made.program, buffers=(), stages=stages)
    for place in range(len(getattr(good, field))):
        for value in (2**31 - 1, -(2**31), -1):
            bad = with_value(field, place, value)(good)
            try:
                interpret(program, *arrays_of(program, bad))
            except CheckFailed:
                with pytest.raises(DataError):
                    made.function(bad)
            else:
                made.function(bad)


@pytest.mark.parametrize("name", ["tree_fc", "mv_rnn"])
def test_a_leaf_whose_word_was_taken_away(name):
    """The range of a word is another one at leaves, where the model looks it up."""
    for place in (-1, -2):
        with pytest.raises(DataError, match=r"word\(1[78]\) = -1 is not in \[0, 10\)"):
            compiled(name).function(word_at(place, -1)(linearized(name)))
    compiled(name).function(word_at(0, -1)(linearized(name)))


@pytest.mark.parametrize("root", [-1, 17, 2**31 - 1])
def test_a_root_that_is_no_node(root):
    """Results of roots are gathered by their numbers."""
    model = models.tree_fc(hidden=4, vocab=V)
    fn = cortex.compile(model, model.init_params(seed=0), keep="roots")
    given = fn.linearize([((1, 2), 3), 4])
    fn(given)
    with pytest.raises(DataError, match=f"`roots` of the linearized batch has the node {root}, of 6"):
        given.replace(roots=np.array([given.roots[0], root], np.int32))
    given.roots[1] = root
    with pytest.raises(DataError, match=rf"roots\(1\) = {root} is not in \[0, 6\)"):
        fn(given)


def only_check(program: Program, fact: Fact) -> Program:
    """Return a program that does nothing but check one fact."""
    stages = tuple(replace(stage, body=Block()) for stage in program.stages if stage.kind is StageKind.KERNEL)
    return assume(replace(program, buffers=(), stages=stages), (fact,))


# --- structures -------------------------------------------------------------------------------------------


def forest(child_begin: Any, child: Any, name: str) -> Forest:
    child_begin, child = np.int32(child_begin), np.int32(child)
    nodes = len(child_begin) - 1
    if name == "dag_rnn":
        return Forest(child_begin, child, x=np.ones((nodes, 4), np.float32))
    return Forest(child_begin, child, word=np.arange(nodes) % V)


def cycle() -> Node:
    """Return a node that is its own grandchild."""
    root = Node([Node([], word=1, x=[1.0] * 4)], x=[1.0] * 4)
    root.children = (Node((root, Node([], word=2, x=[1.0] * 4)), x=[1.0] * 4), root.children[0])
    return root


BINARY, ALL = ("tree_fc", "mv_rnn"), tuple(MODELS)
WORDS = ("tree_fc", "mv_rnn", "tree_gru", "tree_lstm")


@dataclass(frozen=True)
class Outside:
    """What users can say that a fact forbids: the models that it is said to, and the place that the refusal names."""

    facts: tuple[str, ...]
    models: tuple[str, ...]
    make: Callable[[str], Any]
    place: str


WORD, LEFT, RIGHT = "Range of word", "Range of left", "Range of right"
CHILD, BEGIN, PREFIX = "Range of child", "Range of child_begin", "PrefixSum of child_begin"
FLAT = "structure 0, number 0 of the Forest"
OUTSIDE = {
    "a word too large": Outside((WORD,), WORDS, lambda _: (1, (V, 2)), "structure 0, node 1"),
    "a word too small": Outside((WORD,), WORDS, lambda _: [3, (1, (-2, 2))], "structure 1, node 1"),
    "a word of a Node": Outside(
        (WORD,), WORDS, lambda _: Node([Node([], word=V), Node([], word=1)]), "structure 0, node 0"
    ),
    "a word of a Forest": Outside(
        (WORD,),
        WORDS,
        lambda _: Forest([0, 2, 2, 2], [1, 2], word=[-1, 3, V]),
        "structure 0, node 1 (number 2 of the Forest)",
    ),
    "no word at a leaf": Outside((WORD,), BINARY, lambda _: (1, (-1, 2)), "structure 0, node 1"),
    "a leaf without a word": Outside(
        (WORD,), BINARY, lambda _: Node([Node([]), Node([], word=1)]), "structure 0, node 0"
    ),
    "a child is missing": Outside((LEFT, RIGHT), BINARY, lambda _: ((1, 2), (3,)), "structure 0, node"),
    "a child left out": Outside(
        (LEFT,), BINARY, lambda _: Node([None, Node([], word=1)]), "structure 0, node"
    ),
    "a child that is no node": Outside(
        (LEFT, CHILD), ALL, lambda name: forest([0, 2, 2, 2], [1, 3], name), FLAT
    ),
    "a negative child": Outside(
        (RIGHT, CHILD),
        ALL,
        lambda name: forest([0, 2, 2, 2], [1, -5], name),
        "Forest: child holds numbers outside",
    ),
    "a node above itself": Outside(
        ("Follows of left", "Follows of child", LEFT), ALL, lambda _: cycle(), "structure 0"
    ),
    "a node above itself in a Forest": Outside(
        ("Follows of right", "Follows of child"),
        ALL,
        lambda name: forest([0, 2, 4, 4, 4], [1, 2, 0, 3], name),
        "structure 0",
    ),
    "offsets that fall": Outside(
        (BEGIN, PREFIX), ALL, lambda name: forest([0, 3, 2, 2], [1, 2], name), "child_begin"
    ),
    "offsets beyond the edges": Outside(
        (BEGIN,), ALL, lambda name: forest([0, 2, 2, 9], [1, 2], name), "child_begin"
    ),
}


@pytest.mark.parametrize("said", OUTSIDE.values(), ids=OUTSIDE)
def test_structures_that_a_fact_forbids_are_refused_by_name(said):
    used = set().union(*(compiled(name).used for name in said.models))
    assert set(said.facts) & used
    for name in said.models:
        with pytest.raises(DataError) as refused:
            compiled(name).function(said.make(name))
        assert refused.value.what.startswith(("linearize: ", "Forest: "))
        assert said.place in refused.value.what, refused.value


def test_facts_that_no_structure_can_break_are_about_the_numbering():
    """The linearizer numbers nodes and counts them; what it makes is checked all the same, by the test above."""
    said = {fact for each in OUTSIDE.values() for fact in each.facts}
    used = set().union(*(compiled(name).used for name in MODELS))
    assert used - said == {
        "Range of batch_edges",
        "Range of begin_of_x",
        "Range of num_batches",
        "Range of num_inner_with_word",
        "Range of place_with_word",
        "Range of with_word",
        "Tiling of batch_begin",
    }
    assert set(BREAK) == used


def test_batches_are_given_as_they_were_made():
    """The batches that are tampered with are fine as they are."""
    for name in MODELS:
        out = compiled(name).function(batch(name))
        assert all(np.isfinite(out[key]).all() for key in out)
