"""Dependency trees and graphs of a sentence."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from cortex.linearize.node import Node
from ragged.errors import DataError

TokenId: TypeAlias = int | str
"""A token's number in its sentence, or "8.1" for an empty node of the enhanced dependencies."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its head (0 for none), its heads with their relations in the enhanced graph, and what it carries.

    `head` and `deps` are None where the file does not give them.
    """

    id: TokenId
    head: int | None
    deps: list[tuple[str, TokenId]] | None
    payload: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Sentence:
    """The tokens of a sentence in order; `where` names it in messages, `sent_id` is its name in the file."""

    where: str
    sent_id: str | None
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Cycle:
    """Tokens each of which depends on the next; the last is the first."""

    tokens: tuple[TokenId, ...]

    def __str__(self) -> str:
        """Return `5 -> 7 -> 5`."""
        return " -> ".join(map(str, self.tokens))


def tree_of(sentence: Sentence) -> Node | Cycle:
    """Return the root of the tree of heads, or a cycle in it."""
    heads = {token.id: token.head for token in sentence.tokens if isinstance(token.id, int)}
    for token, head in heads.items():
        if head is None:
            raise _lacking(sentence, token, "HEAD")
        _check_head(sentence, token, head, heads)
    roots = [token for token, head in heads.items() if head == 0]
    if len(roots) > 1:
        raise DataError(
            f"{sentence.where}: two roots in one tree",
            because=f"tokens {roots[0]} and {roots[1]} have no head",
            fix="let all but one depend on another token",
        )
    cycle = _cycle(heads)
    if cycle is not None:
        return cycle
    nodes = {token.id: Node(**token.payload) for token in sentence.tokens if token.id in heads}
    below: dict[object, list[Node]] = {}
    for token, head in heads.items():
        below.setdefault(head, []).append(nodes[token])
    for token, node in nodes.items():
        node.children = tuple(below.get(token, ()))
    return nodes[roots[0]]


def graph_of(sentence: Sentence) -> Any | Cycle:
    """Return the networkx.DiGraph of the enhanced dependencies, or a cycle in it."""
    import networkx  # here, for it takes half a second, and trees do without

    graph = networkx.DiGraph(sent_id=sentence.sent_id)
    graph.add_nodes_from((token.id, token.payload) for token in sentence.tokens)
    for token in sentence.tokens:
        if token.deps is None:
            raise _lacking(sentence, token.id, "DEPS")
        for relation, head in token.deps:
            _check_head(sentence, token.id, head, graph)
            if head != 0 and graph.has_edge(head, token.id):
                graph.edges[head, token.id]["deprel"].append(relation)
            elif head != 0:
                graph.add_edge(head, token.id, deprel=[relation])
    if networkx.is_directed_acyclic_graph(graph):
        return graph
    heads = [head for head, _ in networkx.find_cycle(graph)]
    return Cycle((*reversed(heads), heads[-1]))


def _cycle(heads: Mapping[int, int | None]) -> Cycle | None:
    """Return a cycle of tokens, each the head of the next, or None."""
    done: set[object] = {0}
    for token in heads:
        path: dict[int, None] = {}
        above: int | None = token
        while above not in done and above is not None:
            if above in path:
                tokens = list(path)
                return Cycle((*tokens[tokens.index(above) :], above))
            path[above] = None
            above = heads[above]
        done.update(path)
    return None


def _check_head(sentence: Sentence, token: TokenId, head: TokenId, tokens: Container[object]) -> None:
    if head != 0 and head not in tokens:
        raise DataError(
            f"{sentence.where}: the head of token {token} is {head}",
            because="the sentence has no such token",
            fix="let it be a token's number, or 0 for the root",
        )


def _lacking(sentence: Sentence, token: TokenId, column: str) -> DataError:
    other = "read the trees instead: enhanced=False" if column == "DEPS" else "give each word its head"
    return DataError(
        f"{sentence.where}: token {token} has no {column}",
        because=f"the column is empty or no {'list of heads' if column == 'DEPS' else 'number'}",
        fix=other,
    )
