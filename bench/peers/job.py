"""What a peer is asked to compute: a cell, its size and its parameters. See cortex.models for its equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Answers: TypeAlias = Mapping[str, npt.NDArray[np.float32]]
"""By output: an array (roots, ...), in the order of the trees."""


class Cell(Enum):
    """The cells, by what a peer has to compute at a node."""

    TREE_FC = "tree_fc"
    TREE_LSTM = "tree_lstm"
    TREE_LSTM_RECURSIVE = "tree_lstm_recursive"
    ANOTHER_CELL = "another_cell"
    MV_RNN = "mv_rnn"
    TREE_GRU_RECURSIVE = "tree_gru_recursive"
    DAG_RNN = "dag_rnn"
    GATED_DAG = "gated_dag"
    TERNARY_LSTM = "ternary_lstm"
    LSTM = "lstm"
    GRU = "gru"
    GRU_RESET_AFTER = "gru_reset_after"


SEQUENTIAL = (Cell.LSTM, Cell.GRU, Cell.GRU_RESET_AFTER)
"""The cells of sequences: a step's only child is the step before, and each carries a vector x."""


@dataclass(frozen=True, slots=True)
class Job:
    """A cell of a size, its parameters (float32, C-contiguous), and how many threads there are to compute with.

    Where nodes carry vectors, `payloads` has by their names the rows that nodes carry, each node those of its word.
    """

    cell: Cell
    hidden: int
    params: Mapping[str, Array]
    threads: int
    payloads: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gated:
    """A child-sum cell with gates, for peers that compute all gates of the children's sum in one product.

    With s the sum of the children's h: `U` (gates x hidden, hidden) times s, plus `b`, are the gates one after
    another: those that a sigmoid follows, and last the candidate, which a tanh follows. The state c is the product of
    all but the output gate, which is the second, plus each child's c times its forget gate: the sigmoid of `U_f` times
    its h, plus `b_f`. A leaf's h and c stand in tables, or else are computed from `emb` with `W` and no children.
    """

    gates: int
    U: Array
    b: Array
    U_f: Array
    b_f: Array
    leaf_h: Array | None = None
    leaf_c: Array | None = None
    emb: Array | None = None
    W: Array | None = None
    output: str = "h"


def gated(job: Job) -> Gated:
    """Return the parameters of a cell with gates, put together."""
    p = job.params

    def stack(name: str, gates: str) -> Array:
        return stacked(job, name, gates)

    match job.cell:
        case Cell.TREE_LSTM:
            own = (3, stack("U", "iou"), stack("b", "iou"), p["U_f"], p["b_f"])
            return Gated(*own, emb=p["emb"], W=stack("W", "iou"))
        case Cell.TREE_LSTM_RECURSIVE:
            own = (3, stack("U", "iou"), stack("b", "iou"), p["U_f"], p["b_f"])
            return Gated(*own, leaf_h=p["emb_h"], leaf_c=p["emb_c"])
        case Cell.ANOTHER_CELL:
            own = (4, stack("A", "pqmg"), stack("d", "pqmg"), p["A_e"], p["d_e"])
            return Gated(*own, leaf_h=p["table_y"], leaf_c=p["table_z"], output="y")
        case _:
            raise ValueError(f"{job.cell} has no gates")


def stacked(job: Job, name: str, gates: str) -> Array:
    """Return the parameters of these gates one after another: matrices (gates x hidden, hidden), or vectors."""
    return np.concatenate([job.params[f"{name}_{gate}"] for gate in gates])


def reset_after(job: Job) -> tuple[Array, Array]:
    """Return what multiplies a step's state in that GRU, for r, z and g (3 hidden, hidden), and is added there."""
    zeros = np.zeros(2 * job.hidden, np.float32)
    return stacked(job, "U", "rzg"), np.concatenate([zeros, job.params["d_g"]])


def ternary(job: Job) -> tuple[Array, Array]:
    """Return the gates i, o, u, f_1, f_2, f_3 of three children as one matrix (6 hidden, 3 hidden), and the biases."""
    p = job.params
    blocks = [*(p[f"U_{gate}"] for gate in "iou"), *p["U_f"]]  # each (3, hidden, hidden), by child
    matrix = np.concatenate([np.concatenate(list(block), axis=1) for block in blocks])
    return matrix, np.concatenate([p[f"b_{gate}"] for gate in "ioufff"])
