"""Dicts are nodes: children under keys, payloads under keys that may have other names than in the model."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict
from functools import partial

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.ilir.plan import Presence
from cortex.linearize import Linearized, Linearizer, Node, linearize
from ragged.errors import DataError
from tests.linearize.support import (
    BINARY,
    DAG,
    TREE,
    carrying,
    check_against_reference,
    outcome,
    vector,
    word,
)

PLAN = carrying(word(Presence.NOWHERE), vector())
EXPLAIN = json.loads(
    """{"Node Type": 2, "Plans": [{"Node Type": 3}, {"Node Type": 2, "Plans": [{"Node Type": 3}, {"Node Type": 3}]}]}"""
)


class Named(dict):
    """A dict with attributes that are not its keys."""

    Plans = word = None


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    """Draw a tree with words and vectors at some nodes."""
    made: list[Node] = []
    for _ in range(draw(st.integers(1, 8))):
        below = [made.pop() for _ in range(draw(st.integers(0, min(3, len(made)))))]
        payload = {"word": draw(st.integers(0, 12))} if draw(st.booleans()) else {}
        made.append(Node(below, x=[1.0, 2.0, draw(st.floats(width=32))], **payload))
    return Node(made, word=draw(st.sampled_from([None, 1])))


def as_dict(node: Node, *, empty: bool) -> dict[str, object]:
    below = [as_dict(child, empty=empty) for child in node.children]
    payloads = {name: value for name, value in vars(node).items() if name != "children"}
    return {**payloads, **({"Plans": below} if below or empty else {})}


@given(st.lists(nodes(), max_size=3), st.booleans())
def test_a_dict_is_what_the_object_is(batch, empty):
    dicts = [as_dict(node, empty=empty) for node in batch]
    result = check_against_reference(PLAN, dicts, children="Plans")
    expected = outcome(linearize, PLAN, batch)
    if isinstance(expected, Linearized):
        assert isinstance(result, Linearized)
        assert (
            result.child.tolist() == expected.child.tolist()
            and result.rows.tolist() == expected.rows.tolist()
        )
        assert result.payloads["word"].tolist() == expected.payloads["word"].tolist()
    else:
        assert isinstance(result, str)
        assert result.splitlines()[0] == expected.replace(".children[", ".Plans[").splitlines()[0]


@pytest.mark.parametrize(
    "kind", [OrderedDict, partial(defaultdict, int), Named], ids=["ordered", "default", "own"]
)
def test_subclasses_are_dicts(kind):
    """Also those of which the instances have attributes, or give a value for any key."""
    leaf = kind({"word": 3, "x": [1.0, 2.0, 3.0]})
    for data in (leaf, kind({"Plans": [leaf, {}]}), {"Plans": [leaf]}):
        result = check_against_reference(PLAN, data, children="Plans")
        assert isinstance(result, Linearized) and 3 in result.payloads["word"]


def test_payloads_under_other_names():
    renamed = {"word": "Node Type"}
    result = check_against_reference(TREE, EXPLAIN, children="Plans", payloads=renamed)
    assert isinstance(result, Linearized)
    assert result.payloads["word"][result.rows].tolist() == [3, 3, 3, 2, 2]
    node = Node([], token_id=4)
    graph = networkx.DiGraph()
    graph.add_node("only", token_id=5)
    result = check_against_reference(DAG, [node, graph], payloads={"word": "token_id"})
    assert isinstance(result, Linearized) and result.payloads["word"].tolist() == [4, 5]
    again = Linearizer(TREE, payloads={"word": "token_id"}).with_max_nodes(3)
    assert again(node).payloads["word"].tolist() == [4]


def test_keys_by_default_and_by_position():
    tree = {"left": {"word": 1}, "right": {"left": {"word": 2}, "right": {"word": 3}}}
    for plan in (TREE, BINARY):
        result = check_against_reference(plan, [tree, {"children": [{"word": 4}, {"word": 5}]}])
        assert isinstance(result, Linearized) and result.num_nodes == 8
    result = check_against_reference(TREE, {"l": {"word": 1}, "word": 2}, children=("l", "r"))
    assert isinstance(result, Linearized) and result.num_nodes == 2
    assert "shared by two parents" in str(check_against_reference(TREE, {"children": [tree, tree]}))
    loop: dict[str, object] = {"word": 1}
    loop["children"] = [loop]
    assert "is its own ancestor" in str(check_against_reference(TREE, loop))


def test_a_root_without_children_needs_their_key_named():
    assert "is no structure" in str(check_against_reference(TREE, {"word": 3}))
    assert isinstance(check_against_reference(TREE, {"word": 3}, children="Plans"), Linearized)
    assert "`Plans` holds no children: it is an int" in str(
        check_against_reference(TREE, {"word": 3, "Plans": 5}, children="Plans")
    )


@pytest.mark.parametrize("payloads", [{"wrod": "token_id"}, {"word": ""}])
def test_names_of_no_payload(payloads, golden):
    with pytest.raises(DataError) as refused:
        Linearizer(TREE, payloads=payloads)
    golden(f"payload_names.{next(iter(payloads))}.txt", f"{refused.value}\n")


@pytest.mark.parametrize("node", [{"tok": 33, "children": []}, Node(tok=33)])
def test_a_fault_says_what_nodes_call_a_payload(node):
    with pytest.raises(DataError, match="payload `word` is 33, outside 0 <= word < ") as caught:
        Linearizer(carrying(word(Presence.NOWHERE)), payloads={"word": "tok"})(node)
    assert caught.value.because.endswith("; nodes have `word` as `tok`, by payloads=")
