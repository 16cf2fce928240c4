"""The structures that every peer is given: plain Python objects, and how they travel between processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TypeAlias

import numpy as np

from bench.peers.job import Array

NO_WORD = -1
"""What an inner node carries in place of a word."""


class Tree:
    """A node: its children in order, and its word if it is a leaf.

    In a DAG each node has a word, and may have several parents. Where nodes carry vectors, they are attributes too.
    """

    def __init__(self, children: Iterable[Tree] = (), word: int = NO_WORD) -> None:
        self.children = tuple(children)
        self.word = word


Flat: TypeAlias = list[tuple[tuple[int, ...], int]]
"""A structure of one root, children first: of each node the places of its children in this list, and its word."""


def flatten(root: Tree) -> Flat:
    """Return a structure as numbers, which can be sent to another process however deep it is."""
    order = nodes([root])
    places = {id(node): place for place, node in enumerate(order)}
    return [(tuple(places[id(child)] for child in node.children), node.word) for node in order]


def unflatten(flat: Flat, payloads: Mapping[str, Array] | None = None) -> Tree:
    """Return the structure of these numbers, made of new objects.

    `payloads` are rows of vectors: each node carries, by these names, the rows of its word.
    """
    done: list[Tree] = []
    for children, word in flat:
        node = Tree([done[child] for child in children], word)
        for name, rows in (payloads or {}).items():
            setattr(node, name, rows[word])
        done.append(node)
    return done[-1]


def perfect_tree(height: int, words: Iterable[int]) -> Tree:
    """Return the perfect binary tree of so many levels under its root, its leaves' words in order."""
    given = iter(words)
    level = [Tree(word=next(given)) for _ in range(2**height)]
    while len(level) > 1:
        level = [Tree(level[i : i + 2]) for i in range(0, len(level), 2)]
    return level[0]


def perfect_trees(count: int, height: int, vocab: int, seed: int) -> list[Tree]:
    """Return perfect trees of words that are drawn at random."""
    words = np.random.default_rng(seed).integers(vocab, size=(count, 2**height)).tolist()
    return [perfect_tree(height, each) for each in words]


def ternary_trees(count: int, vocab: int, seed: int) -> list[Tree]:
    """Return trees of inner nodes with three children: 4 to 14 of them, drawn at random, as the words are."""
    random = np.random.default_rng(seed)
    return [_ternary_tree(random, vocab) for _ in range(count)]


def _ternary_tree(random: np.random.Generator, vocab: int) -> Tree:
    inner = int(random.integers(4, 15))
    parts = [Tree(word=int(word)) for word in random.integers(vocab, size=2 * inner + 1)]
    while len(parts) > 1:
        at = int(random.integers(len(parts) - 2))
        parts[at : at + 3] = [Tree(parts[at : at + 3])]
    return parts[0]


def grids(count: int, side: int, vocab: int, seed: int) -> list[Tree]:
    """Return grids of so many nodes a side; a node's children are its neighbours above, to the left, and between them.

    Every node has a word, drawn at random. The last corner is the root.
    """
    words = np.random.default_rng(seed).integers(vocab, size=(count, side, side)).tolist()
    return [_grid(side, each) for each in words]


def _grid(side: int, words: list[list[int]]) -> Tree:
    made: dict[tuple[int, int], Tree] = {}
    for i, j in product(range(side), repeat=2):
        before = ((i - 1, j), (i, j - 1), (i - 1, j - 1))
        made[i, j] = Tree([made[place] for place in before if place in made], words[i][j])
    return made[side - 1, side - 1]


def sequences(count: int, length: int, vocab: int, seed: int) -> list[Tree]:
    """Return sequences of so many steps; the child of a step is the one before, the root is the last.

    Every step has a word, drawn at random.
    """
    words = np.random.default_rng(seed).integers(vocab, size=(count, length)).tolist()
    return [unflatten([((at - 1,) if at else (), word) for at, word in enumerate(each)]) for each in words]


def steps(last: Tree) -> list[Tree]:
    """Return the steps of a sequence from its first on."""
    found = [last]
    while found[-1].children:
        found.append(found[-1].children[0])
    return found[::-1]


def other_words(trees: Sequence[Tree], count: int, seed: int) -> list[Tree]:
    """Return so many trees like these, again and again in their order, their words drawn from those of all."""
    random = np.random.default_rng(seed)
    leaves = [node.word for node in nodes(trees) if not node.children]
    return [_with_words(trees[number % len(trees)], leaves, random) for number in range(count)]


def _with_words(tree: Tree, words: Sequence[int], random: np.random.Generator) -> Tree:
    flat = flatten(tree)
    drawn = random.integers(len(words), size=len(flat)).tolist()
    return unflatten(
        [(below, word if below else words[at]) for (below, word), at in zip(flat, drawn, strict=True)]
    )


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
        if node.word != NO_WORD:
            node.word = numbers.setdefault(node.word, len(numbers))
    return len(numbers)


def nodes(trees: Iterable[Tree]) -> list[Tree]:
    """Return all nodes once, tree by tree, children before parents."""
    found: dict[int, Tree] = {}
    for tree in trees:
        stack = [tree]
        while stack:
            missing = [child for child in stack[-1].children if id(child) not in found]
            if missing:
                stack += reversed(missing)
            else:
                node = stack.pop()
                found.setdefault(id(node), node)
    return list(found.values())


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
