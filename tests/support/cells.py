"""Cells written in the Recursive API that tests compile beside the library's models."""

from __future__ import annotations

from cortex import ra

N, K = ra.N, ra.K


def child_sum(hidden: int) -> ra.Model:
    """Return the child-sum cell of the design: any arity, two results, a gate for each child.

    Parameters: U, U_f (hidden, hidden). Payloads: x (hidden,). Outputs: h and c (hidden,).
    """
    H = hidden
    U, U_f = ra.input_tensor("U", (H, H)), ra.input_tensor("U_f", (H, H))
    x = ra.node_input("x", (H,))
    h_ph, c_ph = ra.placeholder((N, H)), ra.placeholder((N, H))
    hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
    u = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + ra.sum(H, lambda j: U[i, j] * hs[n, j])))
    f = ra.compute((N, K, H), lambda n, k, i: ra.sigmoid(ra.sum(H, lambda j: U_f[i, j] * h_ph[k, j])))
    c = ra.compute((N, H), lambda n, i: u[n, i] + ra.sum_children(n, lambda k: f[n, k, i] * c_ph[k, i]))
    h = ra.compute((N, H), lambda n, i: ra.tanh(c[n, i]))
    return ra.recursion_op({"h": (h_ph, h), "c": (c_ph, c)}, structure=ra.Tree())
