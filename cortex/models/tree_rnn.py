"""Networks without gates: TreeRNN, and DAG-RNN (Shuai, Zuo, Wang, Wang 2015)."""

from __future__ import annotations

from collections.abc import Callable

from cortex import ra
from cortex.models.activations import activation_function
from cortex.models.inputs import projection
from cortex.models.states import child_sum
from cortex.ra.expr import Expr, ExprLike
from cortex.ra.structure import Structure
from cortex.ra.tensor import Indexed


def tree_rnn(
    hidden: int, embed: int | None = None, vocab: int | None = None, input: str = "word"
) -> ra.Model:
    """Return the model h = tanh(W x + U h~ + b), h~ = Σ_k h_k, over trees of any arity.

    Parameters: emb (vocab, embed) for input="word"; W (hidden, embed) unless input="projected"; U (hidden,
    hidden), b (hidden,). Payload: word, or x (embed,), or x_h (hidden,). Output: h (hidden,). `ModelError` if an
    extent that `input` needs is missing.

    Example:
        >>> model = tree_rnn(hidden=256, embed=300, vocab=20_000)
    """
    return _rnn(projection(input, hidden, embed, vocab), hidden, ra.tanh, ra.Tree())


def dag_rnn(
    hidden: int,
    embed: int | None = None,
    activation: str = "relu",
    input: str | None = None,
    vocab: int | None = None,
) -> ra.Model:
    """Return the model h = act(W x + U h~ + b), h~ = Σ_k h_k, over DAGs; children are predecessors.

    Parameters: W (hidden, embed) unless input="projected"; U (hidden, hidden), b (hidden,); emb (vocab, embed)
    for input="word". Payload: x (embed,), or word, or x_h (hidden,); without `input` it is x, and `vocab` is refused.
    Output: h (hidden,). `activation` is "relu" or "tanh". `ModelError` for another activation, or if an extent that
    `input` needs is missing.

    Example:
        >>> model = dag_rnn(hidden=256, activation="tanh", input="projected")
    """
    act = activation_function(activation)
    return _rnn(projection(input or "vector", hidden, embed, vocab), hidden, act, ra.Dag())


def _rnn(Wx: Indexed, hidden: int, act: Callable[[ExprLike], Expr], structure: Structure) -> ra.Model:
    N, H = ra.N, hidden
    U, b = ra.input_tensor("U", (H, H)), ra.input_tensor("b", (H,))
    h_ph = ra.placeholder((N, H), name="h_ph")
    hs = child_sum(h_ph, "hs")
    Uh = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: U[i, j] * hs[n, j]), name="Uh")
    h = ra.compute((N, H), lambda n, i: act(Wx[n, i] + Uh[n, i] + b[i]), name="h")
    return ra.recursion_op({"h": (h_ph, h)}, structure=structure)
