"""A typed recursive network: each type of node has weight matrices of its own.

A node carries its type, and the type chooses the matrices:

    inner node:  h = tanh(L[type] h_left + R[type] h_right + b[type])
    leaf:        h = tanh(v[type] · value + b[type])

The structures are objects of the user's own class, arithmetic expressions with `left` and `right`. From the root of the
repository:

    python examples/typed_tree.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cortex
from cortex import ra

TYPES = ["number", "variable", "+", "-", "*", "/"]
Array = NDArray[np.float64]


@dataclass(eq=False)
class Term:
    """A term of an expression: the attributes are what the model reads, `type` a row of `TYPES`."""

    type: int
    left: Term | None = None
    right: Term | None = None
    value: float = 0.0


def number(value: float) -> Term:
    """Return a number."""
    return Term(TYPES.index("number"), value=value)


def op(sign: str, left: Term, right: Term) -> Term:
    """Return `left sign right`."""
    return Term(TYPES.index(sign), left, right)


def typed_tree(hidden: int, types: int) -> ra.Model:
    """Return the model, over binary trees; payloads type, a number below `types`, and value; output h (hidden,)."""
    N, H, T = ra.N, hidden, types
    L, R = ra.input_tensor("L", (T, H, H)), ra.input_tensor("R", (T, H, H))
    v, b = ra.input_tensor("v", (T, H)), ra.input_tensor("b", (T, H))
    kind, value = ra.node_input("type", dtype="int32"), ra.node_input("value")
    h_ph = ra.placeholder((N, H))

    leaf = ra.compute((N, H), lambda n, i: ra.tanh(v[kind[n], i] * value[n] + b[kind[n], i]))
    Lh = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: L[kind[n], i, j] * h_ph[n.left, j]))
    Rh = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: R[kind[n], i, j] * h_ph[n.right, j]))
    inner = ra.compute((N, H), lambda n, i: ra.tanh(Lh[n, i] + Rh[n, i] + b[kind[n], i]))
    h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, inner))
    return ra.recursion_op(h_ph, h, structure=ra.Tree(max_children=2))


def by_hand(params: dict[str, Any], root: Term) -> Array:
    """Return the h of each term (terms, hidden) in post-order, by plain recursion in float64."""
    p = {name: np.asarray(value, np.float64) for name, value in params.items()}
    rows: list[Array] = []

    def visit(term: Term) -> Array:
        if term.left is None or term.right is None:
            h: Array = np.tanh(p["v"][term.type] * term.value + p["b"][term.type])
        else:
            left, right = visit(term.left), visit(term.right)
            h = np.tanh(p["L"][term.type] @ left + p["R"][term.type] @ right + p["b"][term.type])
        rows.append(h)
        return h

    visit(root)
    return np.array(rows)


def main() -> None:
    """Compile the model, run it over expressions, and compare every term of them."""
    x = Term(TYPES.index("variable"), value=0.5)
    terms = [op("*", op("+", x, number(2.0)), number(-1.5)), op("/", number(1.0), number(4.0)), number(0.25)]
    model = typed_tree(hidden=24, types=len(TYPES))
    params = model.init_params(seed=0)
    fn = cortex.compile(model, params)
    out = fn(terms)
    print(f"{out.num_structures} expressions of {[len(rows) for rows in out.nodes('h')]} terms")
    for row, term in enumerate(terms):
        want = by_hand(params, term)
        oracle: Any = ra.evaluate(model, params, term)
        for got in (out.nodes("h")[row], oracle["h"]):
            assert np.abs(got - want).max() <= 1e-5 * max(1.0, np.abs(want).max())
    print("h of every term agrees with the recursion by hand and with ra.evaluate")
    try:
        fn(Term(len(TYPES), number(1.0), number(2.0)))
    except cortex.DataError as error:
        print(f"a type that there is not is refused: {error}")


if __name__ == "__main__":
    main()
