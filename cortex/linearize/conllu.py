"""Reads CoNLL-U files, the form of Universal Dependencies: heads as trees, enhanced dependencies as graphs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, overload

import conllu
from conllu.exceptions import ParseException

from cortex.linearize.dependencies import Cycle, Sentence, Token, TokenId, graph_of, tree_of
from cortex.linearize.faults import unknown_word
from cortex.linearize.node import Node
from cortex.linearize.options import check_vocab
from cortex.linearize.vocab import Vocab
from ragged.errors import DataError

_KEPT = ("lemma", "upos", "xpos", "feats", "deprel")
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class CyclicSentence:
    """A sentence that is no tree or DAG: its place in the file from 0, its name there, and one of its cycles."""

    number: int
    sent_id: str | None
    cycle: Cycle

    def __str__(self) -> str:
        """Return `sentence 3 (weblog-0004): 5 -> 7 -> 5`."""
        name = "" if self.sent_id is None else f" ({self.sent_id})"
        return f"sentence {self.number}{name}: {self.cycle}"


OnCycle: TypeAlias = Callable[[CyclicSentence], object]


@overload
def read_conllu(
    path: str | os.PathLike[str],
    vocab: Vocab | None = None,
    *,
    enhanced: Literal[False] = False,
    on_cycle: OnCycle | None = None,
) -> list[Node]: ...


@overload
def read_conllu(
    path: str | os.PathLike[str],
    vocab: Vocab | None = None,
    *,
    enhanced: Literal[True],
    on_cycle: OnCycle | None = None,
) -> list[Any]: ...


def read_conllu(
    path: str | os.PathLike[str],
    vocab: Vocab | None = None,
    *,
    enhanced: bool = False,
    on_cycle: OnCycle | None = None,
) -> list[Node] | list[Any]:
    """Read the sentences of a UTF-8 file.

    Args:
        path: the file.
        vocab: numbers the tokens, each the payload `word`.
        enhanced: False for the tree of column HEAD, True for the graph of column DEPS.
        on_cycle: is given each sentence whose graph has a cycle. Such a one is left out; without `on_cycle` a
            warning says which.

    Returns:
        For each sentence the root of its tree, a `Node` of any arity, or a `networkx.DiGraph` over the tokens' ids
        with an edge from each head to each dependent, whose relations are the edge's list `deprel`. Children are in
        the order of the sentence. Nodes carry `id`, `token`, `word`, and as far as they are given `lemma`, `upos`,
        `xpos`, `feats` and `deprel`. Where a token of the text spans several words, the words are nodes; empty
        nodes, "8.1", stand in the graphs alone.

    Raises:
        DataError: the file is no CoNLL-U, a sentence has not the column that is asked for, a head is no token, a
            tree has two roots, or the vocabulary refuses a word.

    Example::

        trees = read_conllu("en_ewt-ud-dev.conllu", vocab=vocab)
        graphs = read_conllu("en_ewt-ud-dev.conllu", vocab=vocab, enhanced=True)
    """
    check_vocab(vocab)
    found: list[Any] = []
    cyclic: list[CyclicSentence] = []
    for number, sentence in enumerate(_sentences(path, vocab)):
        made = graph_of(sentence) if enhanced else tree_of(sentence)
        if isinstance(made, Cycle):
            cyclic.append(CyclicSentence(number, sentence.sent_id, made))
        else:
            found.append(made)
    if on_cycle is not None:
        for one in cyclic:
            on_cycle(one)
    elif cyclic:
        warnings.warn(_report(path, cyclic, len(found) + len(cyclic)), stacklevel=2)
    return found


def _report(path: str | os.PathLike[str], cyclic: list[CyclicSentence], total: int) -> str:
    shown = "; ".join(map(str, cyclic[:_SHOWN]))
    more = f"; and {len(cyclic) - _SHOWN} more" if len(cyclic) > _SHOWN else ""
    have = "has a cycle and is" if len(cyclic) == 1 else "have cycles and are"
    return (
        f"read_conllu: {os.fspath(path)}: {len(cyclic)} of {total} sentences {have} left out: {shown}{more}"
    )


def _sentences(path: str | os.PathLike[str], vocab: Vocab | None) -> Iterator[Sentence]:
    with Path(path).open(encoding="utf-8") as file:
        parsed = iter(conllu.parse_incr(file))
        for number in range(2**63):
            where = f"read_conllu: {os.fspath(path)}, sentence {number}"
            try:
                tokens = next(parsed)
            except StopIteration:
                return
            except ParseException as error:
                raise DataError(
                    f"{where}: this is no CoNLL-U",
                    because=str(error),
                    fix="give each token a line of ten columns with tabs between them",
                ) from None
            sent_id = tokens.metadata.get("sent_id")
            given = [token for token in tokens if not _is_range(token["id"])]
            yield Sentence(where, sent_id, tuple(_token(token, where, vocab) for token in given))


def _is_range(number: object) -> bool:
    """Whether a line is that of a token of the text that spans several words: 5-6."""
    return isinstance(number, tuple) and "-" in number


def _token(given: conllu.Token, where: str, vocab: Vocab | None) -> Token:
    token, form = _number(given["id"]), given["form"]
    payload = {"id": token, "token": form}
    if vocab is not None:
        row = vocab.rows.get(form, vocab.unknown)
        if row is None:
            raise unknown_word(f"{where}, token {token}", form)
        payload["word"] = row
    payload |= {name: given[name] for name in _KEPT if given.get(name) not in (None, "_")}
    # What the library cannot read as a list of heads it leaves as it stands.
    deps = given.get("deps")
    heads = [(relation, _number(head)) for relation, head in deps] if isinstance(deps, list) else None
    return Token(token, given.get("head"), heads, payload)


def _number(number: int | tuple[int, str, int]) -> TokenId:
    return number if isinstance(number, int) else "".join(map(str, number))
