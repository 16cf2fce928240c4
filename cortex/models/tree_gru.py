"""Child-sum TreeGRU, in the two forms of the literature."""

from __future__ import annotations

from cortex import ra
from cortex.models.gru_cell import gru_cell
from cortex.models.inputs import projections
from cortex.models.states import child_sum


def tree_gru(
    hidden: int, embed: int | None = None, vocab: int | None = None, input: str = "word"
) -> ra.Model:
    """Return the child-sum TreeGRU, over trees of any arity.

    r, z = σ(W x + U h~ + b), g = tanh(W x + U (r h~) + b); h = z h~ + (1 - z) g, where h~ = Σ_k h_k.

    Parameters: emb (vocab, embed) for input="word"; W_g (hidden, embed) unless input="projected"; U_g (hidden,
    hidden) and b_g (hidden,) for g in r, z, g. Payloads: word, or x (embed,), or x_g (hidden,) for each g.
    Output: h (hidden,). `ModelError` if an extent that `input` needs is missing.

    Example:
        >>> model = tree_gru(hidden=256, embed=300, vocab=20_000)
    """
    return _tree_gru(hidden, embed, vocab, input, simple=False)


def simple_tree_gru(
    hidden: int, embed: int | None = None, vocab: int | None = None, input: str = "word"
) -> ra.Model:
    """Return the child-sum TreeGRU with h = (1 - z) g; otherwise as `tree_gru`.

    Example:
        >>> model = simple_tree_gru(hidden=256, embed=300, vocab=20_000)
    """
    return _tree_gru(hidden, embed, vocab, input, simple=True)


def _tree_gru(hidden: int, embed: int | None, vocab: int | None, input: str, *, simple: bool) -> ra.Model:
    Wx = projections(input, "rzg", hidden, embed, vocab)
    h_ph = ra.placeholder((ra.N, hidden), name="h_ph")
    h = gru_cell(child_sum(h_ph, "hs"), Wx, hidden, simple=simple)
    return ra.recursion_op({"h": (h_ph, h)}, structure=ra.Tree())
