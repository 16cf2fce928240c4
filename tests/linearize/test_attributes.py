"""Attributes are what the language says they are, however a class comes by them and whatever happens to it."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.ilir.plan import Presence
from cortex.linearize import Linearized, Linearizer, Node
from tests.linearize import reference
from tests.linearize.support import DAG, TREE, assert_same, carrying, check_against_reference, word


class Plain:
    """Plain attributes, and a class that has one too."""

    tag = 5

    def __init__(self, children: Any = (), **payload: Any) -> None:
        self.children = children
        for name, value in payload.items():
            setattr(self, name, value)


class Slotted:
    __slots__ = ("children", "word")

    def __init__(self, children: Any = (), **payload: Any) -> None:
        self.children = children
        for name, value in payload.items():
            setattr(self, name, value)


class SlottedAndMore(Slotted):
    """Slots of its base, and a dict."""


class Default(Plain):
    word = 7


class Hidden(Plain):
    """A property stands before what the instance has."""

    @property
    def word(self) -> int:
        return 6


class Late(Plain):
    def __getattr__(self, name: str) -> int:
        if name != "word":
            raise AttributeError(name)
        return 4


class Descriptor:
    def __init__(self, value: object) -> None:
        self.value = value

    def __get__(self, instance: object, owner: type) -> object:
        return self.value


class Described(Plain):
    """What is no data descriptor stands after what the instance has."""

    word = Descriptor(8)


class Method(Plain):
    def word(self) -> int:
        raise AssertionError("never called")


class Borrowed:
    """A slot of another class, which is none of its own."""

    children = Slotted.__dict__["children"]


CLASSES = [Plain, Slotted, SlottedAndMore, Default, Hidden, Late, Described, Node]


def leaf(kind: type, **payload: Any) -> Any:
    if kind is Hidden:
        node = kind()
        vars(node).update(payload)
        return node
    return kind(**payload)


@pytest.mark.parametrize("kind", CLASSES)
def test_attributes_of_classes(kind):
    root = kind([leaf(kind, word=1), leaf(kind), kind((leaf(kind, word=3),))])
    assert isinstance(check_against_reference(TREE, root), Linearized)


def test_what_is_no_payload_is_refused_in_a_method_too():
    assert "not an integer" in str(check_against_reference(TREE, Method()))


def test_a_slot_of_another_class_is_no_attribute():
    with pytest.raises(TypeError, match="doesn't apply"):
        Linearizer(TREE)(Borrowed())


def test_attributes_in_dicts():
    seen, other, odd, empty = Plain(word=1), Plain(word=2), Plain(word=3), Plain()
    vars(seen)["word"] = 8
    vars(other)["".join(["wo", "rd"])] = 9
    vars(odd)[3] = "a key that is no string"
    vars(empty).clear()
    vars(empty)["children"] = ()
    assert isinstance(check_against_reference(TREE, Plain([seen, other, odd, empty])), Linearized)


def deleted(node: Plain) -> Plain:
    del vars(node)["tag"]
    return node


DICTS = {
    "asked for": lambda node: (vars(node), node)[1],
    "unpickled": lambda node: pickle.loads(pickle.dumps(node)),
    "copied": copy.deepcopy,
    "filled at once": lambda node: vars_of(Plain, **vars(node)),
    "filled backwards": lambda node: vars_of(Plain, **dict(reversed(vars(node).items()))),
    "with more in it": lambda node: vars_of(Plain, **{f"more_{k}": k for k in range(40)}, **vars(node)),
    "with less in it": deleted,
}


@given(st.lists(st.tuples(st.sampled_from([None, *DICTS]), st.booleans()), min_size=1, max_size=8))
def test_dicts_however_they_came_to_be(drawn):
    leaves = []
    for number, (made, has_word) in enumerate(drawn):
        node = Plain(tag=number, **({"word": number} if has_word else {}))
        leaves.append(node if made is None else DICTS[made](node))
    assert isinstance(check_against_reference(TREE, Plain(leaves, word=None)), Linearized)


def test_a_word_that_says_that_there_is_none():
    root = Plain([Plain(word=-1), Plain([Plain(word=2)], word=-1)], word=-1)
    assert isinstance(check_against_reference(TREE, root), Linearized)
    required = carrying(word(Presence.LEAVES))
    assert "-1" in str(check_against_reference(required, root))


def test_a_name_that_came_as_another_string():
    class Fresh(Plain):
        pass

    first = Fresh()
    vars(first)["".join(["wo", "rd"])] = 1  # the first of its class to have one
    second = Fresh()
    second.word = 2
    result = check_against_reference(TREE, Plain([first, second]))
    assert isinstance(result, Linearized) and result.payloads["word"][result.rows].tolist() == [1, 2, -1]


def test_attributes_that_are_deleted():
    root, bare = Plain([Plain(word=1)], word=2), Slotted(word=3)
    del root.children[0].word, root.word, bare.word
    assert isinstance(check_against_reference(TREE, Plain([root, bare], word=None)), Linearized)
    del bare.children
    assert "children" in str(check_against_reference(TREE, Plain([bare])))


def test_classes_that_change_between_calls():
    class Changing(Plain):
        pass

    linearizer = Linearizer(TREE)
    root = Changing([Changing(word=1), Changing()])

    def same() -> list[int]:
        result, wanted = linearizer(root), reference.linearize(TREE, root)
        assert_same(result, wanted)
        return list(result.payloads["word"][result.rows])

    assert same() == [1, -1, -1]
    Changing.word = 4
    assert same() == [1, 4, 4]
    Changing.word = property(lambda self: 5)
    assert same() == [5, 5, 5]
    Changing.__getattribute__ = lambda self, name: (
        6 if name == "word" else object.__getattribute__(self, name)
    )
    assert same() == [6, 6, 6]
    del Changing.__getattribute__, Changing.word
    root.children[1].__class__ = Default
    assert same() == [1, 7, -1]
    root.more = root.word = 2
    assert same() == [1, 7, 2]
    Plain.word = 9
    try:
        assert same() == [1, 7, 2]
        del root.word
        assert same() == [1, 7, 9]
    finally:
        del Plain.word


def test_a_class_that_changes_while_it_is_read():
    class Meddled(Plain):
        pass

    class Meddler(Plain):
        @property
        def word(self) -> int:
            Meddled.word = property(lambda self: 3)
            return 1

    root = Meddled([Meddled(word=2), Meddler(), vars_of(Meddled, word=2)], word=2)
    result = Linearizer(TREE)(root)
    assert result.payloads["word"][result.rows].tolist() == [2, 1, 3, 3]


def vars_of(kind: type, **payload: Any) -> Any:
    node = kind()
    vars(node).update(payload)
    return node


def test_payloads_whose_reading_drops_them():
    class Index:
        def __index__(self) -> int:
            del node.word, node.children
            return 3

    node = Plain(word=Index())
    root = Plain((node,))
    result = Linearizer(TREE)(root)
    assert result.payloads["word"][result.rows].tolist() == [3, -1]


def pair(children: Any) -> list[Plain]:
    return [Plain(children), Plain(children)]


def shared_by_dict() -> Plain:
    one, two = Plain((Plain(),)), Plain()
    two.__dict__ = vars(one)
    return Plain((one, two))


class OfClass(Plain):
    children = (Plain(word=1),)

    def __init__(self) -> None:
        pass


SHARED = {
    "one child": lambda: Plain([Plain(), *[Plain(word=1)] * 2]),
    "one tuple": lambda: Plain(pair((Plain(),))),
    "one list": lambda: Plain(pair([Plain(), Plain()])),
    "below one tuple": lambda: Plain(pair((Plain((Plain((Plain(),)),)),))),
    "one dict": shared_by_dict,
    "one class": lambda: Plain([OfClass(), OfClass()]),
    "both sides": lambda: SimpleNamespace(left=(node := SimpleNamespace(children=())), right=node),
}


@pytest.mark.parametrize("name", SHARED)
def test_what_stands_twice_is_found(name):
    assert "shared by two parents" in str(check_against_reference(TREE, SHARED[name]()))
    result = check_against_reference(replace(DAG, payloads=()), SHARED[name]())
    assert isinstance(result, Linearized) and len({id(key) for key in result.keys}) == result.num_nodes


def test_cycles_that_only_nodes_hold():
    for depth in range(3):
        node = inner = Plain([Plain()])
        for _ in range(depth):
            node = Plain((node,))
        inner.children.append(node)
        assert "is its own ancestor" in str(check_against_reference(DAG, Plain((node,))))


def test_a_result_that_is_kept_changes_nothing():
    linearizer = Linearizer(TREE)
    root = Plain((Plain((Plain(word=1), Plain(word=2))), Plain(word=3)))
    results = [linearizer(root) for _ in range(3)]
    for result in results:
        assert_same(result, reference.linearize(TREE, root))
