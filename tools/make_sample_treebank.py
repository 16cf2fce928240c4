"""Write the sample treebank: binary trees of English-like sentences, each node labelled 0 (bad) to 4 (good).

    python tools/make_sample_treebank.py            # renews cortex/data/sample_trees.txt

The sentences come from the grammar below, which is ours. The format is that of the Stanford Sentiment
Treebank, one tree a line: `(label word)` is a leaf, `(label left right)` an inner node.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TypeVar

T = TypeVar("T")

SAMPLE = Path(__file__).resolve().parents[1] / "cortex" / "data" / "sample_trees.txt"
SEED = 2021
COUNT = 300
FEWEST_LEAVES, MOST_LEAVES = 5, 40

# A symbol and its expansions, each with its weight. More than two symbols are binarised to the right; one
# alone makes no node of its own, so every inner node has two children.
GRAMMAR = """
S      6 CLAUSE STOP | 5 CLAUSE COMMA CONTRAST CLAUSE STOP | 4 FRONT COMMA CLAUSE STOP
CLAUSE 1 NP VP
FRONT  4 SUBORD CLAUSE | 3 PREP NP | 1 ADVERB
NP     6 DET NBAR | 3 DET NBAR PP | 2 DET NBAR THAT VP | 3 PRONOUN | 1 DET NBAR AND DET NBAR
NBAR   5 NOUN | 5 ADJP NOUN | 1 ADJECT NBAR
ADJP   5 ADJECT | 2 DEGREE ADJECT | 1 ADJECT AND ADJECT
PP     1 PREP NP
VP     5 VERB NP | 3 COPULA ADJP | 2 COPULA NOT ADJP | 2 ADVERB VERB NP | 2 COMES PP | 1 VP AND VP
"""

# A pre-terminal and its words, equally likely. Each + or - after a word moves its label up or down by one.
LEXICON = """
DET      the the the this that our my their every
PRONOUN  it everyone nobody someone you
NOUN     gardener teacher orchestra kitchen bridge river lantern neighbour carpenter village library ferry
NOUN     harvest clock bakery storm- quarrel- leak- delay- swindle-- melody+ shelter+ rescue+ feast+
ADJECT   quiet small old wooden narrow distant northern kind+ patient+ bright+ graceful+ honest+ careful+
ADJECT   generous++ splendid++ wonderful++ dull- clumsy- broken- bitter- tired- dreadful-- hopeless--
VERB     followed described painted carried heard finished found remembered repaired+ admired+ praised+
VERB     welcomed+ rescued++ ignored- forgot- spoiled- ruined-- neglected--
COMES    stood waited walked slept arrived returned vanished- sang+
COPULA   was seemed became remained
NOT      not never hardly
ADVERB   slowly often soon again quietly gladly+ kindly+ badly- sadly-
DEGREE   very truly deeply remarkably
PREP     near beyond with without beside after before under
SUBORD   although because when while
CONTRAST but yet
AND      and
THAT     that
COMMA    ,
STOP     . . . !
"""

# What a word does to the sentiment at its right.
FACTORS = dict.fromkeys(["not", "never", "nobody", "without"], -0.75)
FACTORS |= dict.fromkeys(["very", "truly", "deeply", "remarkably", "but", "yet"], 1.5)
FACTORS |= {"hardly": -0.5, "although": 0.5}


@dataclass(frozen=True, slots=True)
class Tree:
    """A word or two subtrees; `sentiment` is 0 where neutral and has no bounds, `leaves` counts the words."""

    sentiment: float
    leaves: int
    content: str | tuple[Tree, Tree]

    def __str__(self) -> str:
        label = min(4, max(0, round(2 + self.sentiment)))
        inside = self.content if isinstance(self.content, str) else f"{self.content[0]} {self.content[1]}"
        return f"({label} {inside})"


def read_grammar() -> dict[str, list[tuple[int, list[str]]]]:
    """Return each symbol's expansions, with their weights."""
    rules = {}
    for line in GRAMMAR.strip().splitlines():
        symbol, expansions = line.split(maxsplit=1)
        rules[symbol] = [(int(weight), rest) for weight, *rest in map(str.split, expansions.split("|"))]
    return rules


def read_lexicon() -> dict[str, list[Tree]]:
    """Return each pre-terminal's words, as leaves."""
    leaves: dict[str, list[Tree]] = {}
    for line in LEXICON.strip().splitlines():
        symbol, *words = line.split()
        for word in words:
            bare = word.rstrip("+-")
            leaf = Tree(sentiment=word.count("+") - word.count("-"), leaves=1, content=bare)
            leaves.setdefault(symbol, []).append(leaf)
    return leaves


def choose(rng: Random, options: Sequence[T], weights: Sequence[int]) -> T:
    """Return one of `options`; `rng.random` alone is used: its numbers are the same in every Python."""
    left = rng.random() * sum(weights)
    for option, weight in zip(options, weights, strict=True):
        left -= weight
        if left < 0:
            return option
    return options[-1]


def join(left: Tree, right: Tree) -> Tree:
    """Return the tree of two subtrees: sentiments add up, except where `left` is a word of FACTORS."""
    factor = FACTORS.get(left.content.lower()) if isinstance(left.content, str) else None
    sentiment = left.sentiment + right.sentiment if factor is None else factor * right.sentiment
    return Tree(sentiment, left.leaves + right.leaves, (left, right))


def capitalize(tree: Tree) -> Tree:
    """Return the tree with a capital on its first word."""
    if isinstance(tree.content, str):
        return replace(tree, content=tree.content.capitalize())
    left, right = tree.content
    return replace(tree, content=(capitalize(left), right))


class Grower:
    """Draws trees from the grammar."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)
        self._rules = read_grammar()
        self._lexicon = read_lexicon()

    def grow(self, symbol: str) -> Tree:
        """Return a random tree for `symbol`."""
        if symbol in self._lexicon:
            words = self._lexicon[symbol]
            return choose(self._rng, words, [1] * len(words))
        weights, expansions = zip(*self._rules[symbol], strict=True)
        *first, last = [self.grow(part) for part in choose(self._rng, expansions, weights)]
        for tree in reversed(first):
            last = join(tree, last)
        return last


def make(seed: int, count: int) -> list[str]:
    """Return `count` different bracketed sentences of FEWEST_LEAVES to MOST_LEAVES words."""
    grower = Grower(seed)
    lines: dict[str, None] = {}
    while len(lines) < count:
        tree = grower.grow("S")
        if FEWEST_LEAVES <= tree.leaves <= MOST_LEAVES:
            lines[str(capitalize(tree))] = None
    return list(lines)


def main() -> None:
    """Write the treebank."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--output", type=Path, default=SAMPLE)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT)
    options = parser.parse_args()
    options.output.write_text("\n".join(make(options.seed, options.count)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
