"""States of children and the gates on them, each a tensor (ra.N, hidden)."""

from __future__ import annotations

from cortex import ra
from cortex.ra.expr import Expr
from cortex.ra.tensor import Indexed, Placeholder


def child_sum(state: Placeholder, name: str) -> Indexed:
    """Return the sum of a state (ra.N, hidden) over the children, in order: zero at a leaf."""
    return ra.compute(state.shape, lambda n, i: ra.sum_children(n, lambda k: state[k, i]), name=name)


def child_at(state: Placeholder, position: int, name: str) -> Indexed:
    """Return the state (ra.N, hidden) of the child at a position: its default where there is none."""
    return ra.compute(state.shape, lambda n, i: state[n.child(position), i], name=name)


def gate(g: str, Wx: Indexed, state: Indexed, hidden: int) -> Indexed:
    """Return act(W_g x + U_g h + b_g): tanh for the candidates u and g, the logistic function for all others.

    Args:
        g: the gate's name; its parameters are U_g (hidden, hidden) and b_g (hidden,).
        Wx: W_g x, a tensor (ra.N, hidden).
        state: h, a tensor (ra.N, hidden).
        hidden: the extent of both.
    """
    U, b = ra.input_tensor(f"U_{g}", (hidden, hidden)), ra.input_tensor(f"b_{g}", (hidden,))
    Uh = ra.compute(
        (ra.N, hidden), lambda n, i: ra.sum(hidden, lambda j: U[i, j] * state[n, j]), name=f"Uh_{g}"
    )

    def activated(x: Expr) -> Expr:
        return ra.tanh(x) if g in "ug" else ra.sigmoid(x)

    return ra.compute((ra.N, hidden), lambda n, i: activated(Wx[n, i] + Uh[n, i] + b[i]), name=f"gate_{g}")
