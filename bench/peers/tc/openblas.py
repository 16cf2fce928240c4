"""NumPy's formulas; their products are OpenBLAS's, which packs both operands in each call."""

from __future__ import annotations

import numpy as np

from bench.peers.tc.peer import Call, TcPeer
from bench.tc.formulas import FORMULAS, WINDOWS
from bench.tc.workloads import Operands, Workload


class Measured(TcPeer):
    """All but convolutions and pooling, which NumPy does not have."""

    functions = frozenset(FORMULAS) - WINDOWS

    def call(self, workload: Workload, operands: Operands) -> Call:
        """See `TcPeer`."""
        formula, given = FORMULAS[workload.function], tuple(operands.values())
        return lambda: formula(np, *given)
