"""The trees that every peer is given: plain Python objects, and how they travel between processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

NO_WORD = -1
"""What an inner node carries in place of a word."""


class Tree:
    """A node: its children in order, and its word if it is a leaf."""

    def __init__(self, children: Iterable[Tree] = (), word: int = NO_WORD) -> None:
        self.children = tuple(children)
        self.word = word


Flat: TypeAlias = list[tuple[int, int]]
"""A tree in post-order: how many children each node has, and its word."""


def flatten(root: Tree) -> Flat:
    """Return a tree as numbers, which can be sent to another process however deep the tree is."""
    order: list[Tree] = []
    stack = [root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += node.children
    return [(len(node.children), node.word) for node in reversed(order)]


def unflatten(flat: Flat) -> Tree:
    """Return the tree of these numbers, made of new objects."""
    done: list[Tree] = []
    for count, word in flat:
        children = done[len(done) - count :]
        del done[len(done) - count :]
        done.append(Tree(children, word))
    (root,) = done
    return root


def perfect_tree(height: int, words: Iterable[int]) -> Tree:
    """Return the perfect binary tree of so many levels under its root, its leaves' words in order."""
    given = iter(words)
    level = [Tree(word=next(given)) for _ in range(2**height)]
    while len(level) > 1:
        level = [Tree(level[i : i + 2]) for i in range(0, len(level), 2)]
    return level[0]


def perfect_trees(count: int, height: int, vocab: int, seed: int) -> list[Tree]:
    """Return perfect trees whose words are drawn at random."""
    words = np.random.default_rng(seed).integers(vocab, size=(count, 2**height)).tolist()
    return [perfect_tree(height, each) for each in words]


def read_treebank(path: Path) -> list[Tree]:
    """Return the bracketed binary trees of a file, one a line; words are numbered as they come.

    Raises `DataError` for a fault in the file, with line and column.
    """
    # Only the process that deals out the trees needs the compiler: the peers' have nothing to do with it.
    from cortex import Vocab, read_ptb

    vocab = Vocab.from_trees(path.read_text(encoding="utf-8"))
    return [_own(tree) for tree in read_ptb(path, vocab=vocab)]


def number_words(trees: Sequence[Tree]) -> int:
    """Number the words of these trees anew, from 0 in the order they come, and return how many there are.

    Tables need no rows then for words that no tree has.
    """
    numbers: dict[int, int] = {}
    for node in nodes(trees):
        if not node.children:
            node.word = numbers.setdefault(node.word, len(numbers))
    return len(numbers)


def nodes(trees: Sequence[Tree]) -> list[Tree]:
    """Return all nodes of trees, parents before children."""
    found = list(trees)
    for node in found:
        found += node.children
    return found


def _own(root: object) -> Tree:
    """Return a tree of the library's nodes as one of ours."""
    order = [root]
    for node in order:
        order += node.children  # type: ignore[attr-defined]
    made: dict[int, Tree] = {}
    for node in reversed(order):
        children = [made[id(child)] for child in node.children]  # type: ignore[attr-defined]
        made[id(node)] = Tree(children, NO_WORD if children else node.word)  # type: ignore[attr-defined]
    return made[id(root)]
