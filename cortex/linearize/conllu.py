"""Reads CoNLL-U files, the form of Universal Dependencies: heads as trees, enhanced dependencies as graphs."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from cortex.linearize.dependencies import Cycle, Sentence, Token, TokenId, graph_of, tree_of
from cortex.linearize.faults import unknown_word
from cortex.linearize.node import Node
from cortex.linearize.options import check_vocab
from cortex.linearize.utf8 import read_utf8
from cortex.linearize.vocab import Vocab
from ragged.errors import DataError, UserError

if TYPE_CHECKING:
    import conllu

_TOKEN_PAYLOADS = ("lemma", "upos", "xpos", "feats", "deprel")
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class CyclicSentence:
    """A sentence that is no tree or DAG: its number in the file from 0, its name there, and one of its cycles."""

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
        on_cycle: called with each sentence that has a cycle in its graph. Such sentences are left out; without
            `on_cycle` a warning lists them.

    Returns:
        For each sentence the root of its tree, a `Node` of any arity, or a `networkx.DiGraph` over the tokens' ids
        with an edge from each head to each dependent; its attribute `deprel` lists the relations. Children are in
        the order of the sentence. Nodes carry `id`, `token`, `word`, and as far as they are given `lemma`, `upos`,
        `xpos`, `feats` and `deprel`. Where a token of the text spans several words, the words are nodes; empty
        nodes, "8.1", stand in the graphs alone. Blocks without words, such as comments, are skipped and not counted.

    Raises:
        DataError: the file is no UTF-8 or no CoNLL-U, a sentence lacks the column that is asked for, two tokens have
            one id, a head is no token, a tree has two roots, or the vocabulary refuses a word.
        UserError: the package `conllu` is not installed.

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
        for each in cyclic:
            on_cycle(each)
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
    """Yield the sentences that have words; blocks of comments, and of empty nodes alone, have none."""
    origin = f"read_conllu: {os.fspath(path)}"
    try:  # here: what is compiled runs without the package
        import conllu
        from conllu.exceptions import ParseException
    except ModuleNotFoundError as error:
        raise UserError(
            "read_conllu: the package 'conllu' is not installed",
            because="functions are loaded and called without it",
            fix="pip install conllu, or all that cortex-compiler needs",
        ) from error

    parsed = iter(conllu.parse_incr(io.StringIO(read_utf8(path, origin))))
    number = 0
    while True:
        where = f"{origin}, sentence {number}"
        try:
            tokens = next(parsed)
        except StopIteration:
            return
        except (ParseException, ValueError) as error:  # int() refuses numbers of more than 4,300 digits
            raise DataError(
                f"{where}: this is no CoNLL-U",
                because=str(error),
                fix="give each token a line of ten columns with tabs between them",
            ) from None
        given = [token for token in tokens if not _is_range(token.get("id"))]
        if any(isinstance(token.get("id"), int | None) for token in given):
            sent_id = tokens.metadata.get("sent_id")
            sentence = Sentence(where, sent_id, tuple(_token(token, where, vocab) for token in given))
            _check_ids(sentence)
            yield sentence
            number += 1


def _is_range(number: object) -> bool:
    """Return whether a line is that of a token of the text that spans several words: 5-6."""
    return isinstance(number, tuple) and "-" in number


def _check_ids(sentence: Sentence) -> None:
    seen: set[TokenId] = set()
    for token in sentence.tokens:
        if token.id in seen:
            raise DataError(
                f"{sentence.where}: two tokens have the id {token.id}",
                because="heads name a token by its id",
                fix="number the tokens of a sentence 1, 2, 3, ...",
            )
        seen.add(token.id)


def _token(given: conllu.Token, where: str, vocab: Vocab | None) -> Token:
    for column in ("id", "form"):
        if given.get(column) is None:
            raise DataError(
                f"{where}: a token has no {column.upper()}",
                because="the column is empty or missing",
                example="\t".join(map(str, given.values()))[:80],
                fix="give each token a line of ten columns with tabs between them",
            )
    token, form = _number(given["id"]), given["form"]
    payload = {"id": token, "token": form}
    if vocab is not None:
        row = vocab.rows.get(form, vocab.unknown)
        if row is None:
            raise unknown_word(f"{where}, token {token}", form)
        payload["word"] = row
    payload |= {name: given[name] for name in _TOKEN_PAYLOADS if given.get(name) not in (None, "_")}
    deps = given.get("deps")  # a string where the library cannot read a list of heads
    heads = [(relation, _number(head)) for relation, head in deps] if isinstance(deps, list) else None
    return Token(token, given.get("head"), heads, payload)


def _number(number: int | tuple[int, str, int]) -> TokenId:
    return number if isinstance(number, int) else "".join(map(str, number))
