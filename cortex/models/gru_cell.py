"""The cell that tree_gru, simple_tree_gru and gru share (Cho et al. 2014)."""

from __future__ import annotations

from collections.abc import Mapping

from cortex import ra
from cortex.models.states import gate
from cortex.ra.tensor import Compute, Indexed


def gru_cell(before: Indexed, Wx: Mapping[str, Indexed], hidden: int, *, simple: bool = False) -> Compute:
    """Return h = z h~ + (1 - z) g, or (1 - z) g if `simple`: a tensor (ra.N, hidden).

    r, z = σ(W x + U h~ + b), g = tanh(W x + U (r h~) + b).

    Args:
        before: h~, the state of the children, a tensor (ra.N, hidden), zero at a leaf.
        Wx: W_g x for g in r, z, g, each a tensor (ra.N, hidden).
        hidden: the extent of all of these, and of the parameters U_g (hidden, hidden) and b_g (hidden,).
        simple: whether h~ reaches h through g alone.
    """
    shape = (ra.N, hidden)
    r_, z_ = (gate(g, Wx[g], before, hidden) for g in "rz")
    # A leaf has no state to reset, so that its gate is not computed.
    reset = ra.compute(shape, lambda n, i: ra.where(ra.isleaf(n), 0.0, r_[n, i] * before[n, i]), name="reset")
    g_ = gate("g", Wx["g"], reset, hidden)
    if simple:
        return ra.compute(shape, lambda n, i: (1.0 - z_[n, i]) * g_[n, i], name="h")
    return ra.compute(shape, lambda n, i: z_[n, i] * before[n, i] + (1.0 - z_[n, i]) * g_[n, i], name="h")
