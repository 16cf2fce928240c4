"""The input x_n of a node: a word, a vector, or projected by the weights of each gate."""

from __future__ import annotations

from cortex import ra
from cortex.ra.tensor import Indexed
from ragged.errors import Location, ModelError


def projections(
    input: str, gates: str, hidden: int, embed: int | None, vocab: int | None
) -> dict[str, Indexed]:
    """Return W_g x_n for each gate g, each a tensor (ra.N, hidden).

    Args:
        input: "word": x_n = emb[word], 0 where a node carries no word; "vector": x_n is the payload `x`, 0 where a node
            carries none; "projected": W_g x_n is the payload `x_<g>`, required at each node where the model reads it.
        gates: the name of each gate, one letter each.
        hidden: the extent of each W_g x_n.
        embed: the extent of x_n; unused by "projected".
        vocab: the number of words, for "word" alone.

    Raises:
        ModelError: `input` is none of these, an extent that it needs is missing, or `vocab` is given to another one.
    """
    x = _given(input, embed, vocab)
    if x is None:
        return {gate: ra.node_input(f"x_{gate}", (hidden,)) for gate in gates}
    return {gate: _product(f"W_{gate}", x, hidden, f"Wx_{gate}") for gate in gates}


def projection(input: str, hidden: int, embed: int | None, vocab: int | None) -> Indexed:
    """Return W x_n, a tensor (ra.N, hidden), for a model without gates; projected, it is the payload `x_h`.

    Arguments and errors are those of `projections`.
    """
    x = _given(input, embed, vocab)
    return ra.node_input("x_h", (hidden,)) if x is None else _product("W", x, hidden, "Wx")


def _given(input: str, embed: int | None, vocab: int | None) -> Indexed | None:
    """Return x_n, a tensor (ra.N, embed), or None for projected inputs."""
    if vocab is not None and input in ("vector", "projected"):
        raise ModelError(
            f"vocab={vocab!r} is given, and input={input!r} reads no word",
            at=Location.capture(),
            because="nodes carry vectors, which are looked up in no table",
            fix='input="word", or leave vocab= out',
        )
    match input:
        case "projected":
            return None
        case "vector":
            return ra.node_input("x", (_needed(input, "embed", embed),), default=0.0)
        case "word":
            return _looked_up(_needed(input, "embed", embed), _needed(input, "vocab", vocab))
        case _:
            raise ModelError(
                f"input={input!r} is no way to give a node its input",
                at=Location.capture(),
                fix='"word", "vector" or "projected"',
            )


def _looked_up(embed: int, vocab: int) -> Indexed:
    """Return emb[word], or zero where a node carries no word."""
    emb = ra.input_tensor("emb", (vocab, embed))
    word = ra.node_input("word", dtype="int32", default=-1)
    return ra.compute((ra.N, embed), lambda n, i: ra.where(word[n] >= 0, emb[word[n], i], 0.0), name="x")


def _product(weight: str, x: Indexed, hidden: int, name: str) -> Indexed:
    embed = x.shape[-1]
    assert isinstance(embed, int)
    W = ra.input_tensor(weight, (hidden, embed))
    return ra.compute((ra.N, hidden), lambda n, i: ra.sum(embed, lambda j: W[i, j] * x[n, j]), name=name)


def _needed(input: str, name: str, extent: int | None) -> int:
    if extent is None:
        raise ModelError(
            f"input={input!r} needs {name}=",
            at=Location.capture(),
            fix=f"{name}=300" if name == "embed" else f"{name}=20_000",
        )
    return extent
