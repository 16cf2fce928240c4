"""What a caller may say about the objects that are linearized, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cortex.ilir.plan import Plan
from cortex.linearize.faults import MOST_NODES, Names
from cortex.linearize.vocab import Vocab
from ragged.errors import DataError, UserError


def check_names(children: Names) -> Names:
    """Return the names of the attributes that hold children; refuse what names none with a `DataError`."""
    if children is None:
        return None
    names: Any = (children,) if isinstance(children, str) else children
    named = isinstance(names, tuple) and names and all(isinstance(name, str) and name for name in names)
    if not named or len(set(names)) < len(names):
        raise DataError(
            f"linearize: children={children!r} names no attributes, or one twice",
            because='it is one name of a list of children, or a tuple with a name for each child: ("l", "r")',
            fix='children="kids", or children=("left", "right")',
        )
    return children


def check_payloads(payloads: Mapping[str, str] | None, plan: Plan) -> dict[str, str] | None:
    """Return the attributes that have payloads under other names; refuse what names none with a `DataError`."""
    if payloads is None:
        return None
    read = [payload.name for payload in plan.payloads]
    given: Any = payloads
    named = isinstance(given, Mapping) and all(type(own) is str and own for own in given.values())
    if not named or not set(payloads) <= set(read):
        raise DataError(
            f"linearize: payloads={payloads!r} does not say where nodes have a payload",
            because=f"the model reads {', '.join(f'`{each}`' for each in read) or 'no payload'}",
            fix='payloads={"word": "token_id"}: the payload `word` is the attribute, or key, `token_id` of a node',
        )
    return dict(payloads)


def check_max_nodes(max_nodes: int) -> int:
    """Return the most nodes that a batch may have; refuse what is no such number with a `DataError`."""
    if type(max_nodes) is int and 1 <= max_nodes <= MOST_NODES:
        return max_nodes
    raise DataError(
        f"linearize: max_nodes={max_nodes!r} is no number of nodes",
        because="nodes are counted in 32 bits",
        fix=f"a number from 1 to {MOST_NODES}",
    )


def check_vocab(vocab: Vocab | None) -> Vocab | None:
    """Return the vocabulary; refuse anything else with a `DataError`."""
    if vocab is None or isinstance(vocab, Vocab):
        return vocab
    raise DataError(
        f"linearize: vocab is of type {type(vocab).__name__}",
        because="a vocabulary also says what becomes of unknown words",
        fix='vocab=cortex.Vocab(words, unk="<unk>")',
    )


def check_words(vocab: Vocab | None, plan: Plan, what: str = "compile") -> None:
    """Refuse a vocabulary where the model reads no word, or has a smaller table of words, with a `UserError`.

    `what` is the function that it is given to, for messages.
    """
    known = check_vocab(vocab)
    if known is None:
        return
    word = plan.payload("word")
    if word is None:
        read = ", ".join(f"`{payload.name}`" for payload in plan.payloads) or "no payload"
        raise UserError(
            f"{what}: vocab= is given, and the model reads no word",
            because=f"a vocabulary numbers the payload `word`, and the model reads {read}",
            fix='leave vocab= out, or make the model with input="word"',
        )
    rows = len(known) if word.range is None else word.range[1]
    if len(known) > rows:
        raise UserError(
            f"{what}: the vocabulary has {len(known)} words, and the model a table of {rows} rows",
            because="a word's number is its row",
            example=f"the word {[*known][rows]!r} has the number {rows}",
            fix="make the model with vocab=len(vocab)",
        )
