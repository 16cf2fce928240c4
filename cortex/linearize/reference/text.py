"""Reads bracketed strings: `(label word)` is a leaf, `(label tree word ...)` an inner node, each word a leaf."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from cortex.linearize import faults
from cortex.linearize.reference.structures import (
    ABSENT,
    ReadContext,
    Structure,
    StructureNode,
    carries_nothing,
    finish,
    word_row,
)

_TOKEN = re.compile(r"[()]|[^ \t\n\r\v\f()]+")


@dataclass(slots=True)
class _Open:
    """A bracket that is not closed yet; `at` is its offset in the text. A `word` that something follows is a child."""

    at: int
    label: str | None = None
    word: tuple[int, str] | None = None
    children: list[StructureNode | None] = field(default_factory=list)


def read_text(text: str, structure: int, context: ReadContext) -> Structure:
    """Read one tree. Brackets without a label around the whole tree, as in the Penn Treebank, are dropped."""
    origin = f"linearize: structure {structure}"
    if context.vocab is None and context.plan.payload("word") is not None:
        raise faults.no_vocabulary(origin, text)
    reader = _Reader(text, structure, origin, context)
    for token in _TOKEN.finditer(text):
        match token.group():
            case "(":
                reader.open(token.start())
            case ")":
                reader.close(token.start())
            case word:
                reader.word(token.start(), word)
    if reader.stack:
        raise faults.unclosed(origin, *reader.position(reader.stack[-1].at), len(reader.stack))
    if reader.tree is None:
        raise faults.empty_text(origin)
    return Structure(reader.nodes, [reader.tree])


class _Reader:
    def __init__(self, text: str, structure: int, origin: str, context: ReadContext) -> None:
        self.text = text
        self.structure = structure
        self.origin = origin
        self.context = context
        self.stack: list[_Open] = []
        self.nodes: list[StructureNode] = []
        self.tree: StructureNode | None = None

    def position(self, at: int) -> tuple[int, int]:
        """Return line and column, each counted from one."""
        return self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at)

    def open(self, at: int) -> None:
        """Read an opening bracket."""
        if not self.stack and self.tree is not None:
            raise faults.trailing(self.origin, *self.position(at), "(")
        if self.stack:
            top = self.stack[-1]
            self.add_bare_word(top)
            if top.label is None and (len(self.stack) > 1 or top.children):
                raise faults.no_label(self.origin, *self.position(top.at))
        self.stack.append(_Open(at))

    def word(self, at: int, word: str) -> None:
        """Read a label or a word."""
        if not self.stack:
            fault = faults.no_bracket if self.tree is None else faults.trailing
            raise fault(self.origin, *self.position(at), word)
        top = self.stack[-1]
        if top.label is None:
            if top.children:
                raise faults.bare_word(self.origin, *self.position(at), word)
            top.label = word
            return
        self.add_bare_word(top)
        top.word = at, word
        if top.children:
            self.add_bare_word(top)

    def add_bare_word(self, top: _Open) -> None:
        """Make the word of a bracket, if it has one, a leaf below it."""
        if top.word is not None:
            top.children.append(self.leaf(top.word[1], top.word[0]))
            top.word = None

    def close(self, at: int) -> None:
        """Read a closing bracket, which finishes a node."""
        if not self.stack:
            raise faults.unmatched(self.origin, *self.position(at))
        top = self.stack.pop()
        place = self.position(top.at)
        if top.label is None:
            if not top.children:
                raise faults.empty_brackets(self.origin, *place)
            self.tree = top.children[0]
            return
        if top.word is None and not top.children:
            raise faults.no_content(self.origin, *place, top.label)
        if top.word is not None:
            node = self.leaf(top.word[1], top.at)
        else:
            node = StructureNode(top.label, carries_nothing, f"line {place[0]}, column {place[1]}")
            node.set_children(top.children)
            finish(self.context, self.structure, self.nodes, node)
        if self.stack:
            self.stack[-1].children.append(node)
        else:
            self.tree = node

    def leaf(self, word: str, at: int) -> StructureNode:
        """Return a leaf: the word is its key, and the word's number what it carries."""
        line, column = self.position(at)
        node = StructureNode(word, carries_nothing, f"line {line}, column {column}")
        if self.context.plan.payload("word") is not None:
            node.row = len(self.nodes)
            row = word_row(word, node, self.structure, self.context)
            node.carried = lambda name: row if name == "word" else ABSENT
        finish(self.context, self.structure, self.nodes, node)
        return node
