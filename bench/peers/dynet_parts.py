"""DyNet, set up, and what models in it are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from dynet_config import set as configure

configure(autobatch=1, mem=1024)

import dynet as dy  # noqa: E402  DyNet reads its configuration when it is imported

from bench.peers.job import Array, Job  # noqa: E402
from bench.trees import Tree  # noqa: E402

Expr = Any
State = tuple[Expr, ...]

__all__ = ["Expr", "State", "carried", "dy", "gate_parameters", "lookup_table", "rows"]


def gate_parameters(job: Job, parameters: Any, letter: str) -> tuple[Expr, Expr]:
    """Return a gate's bias and matrix, as `affine_transform` takes them."""
    bias, matrix = (parameters.parameters_from_numpy(job.params[f"{name}_{letter}"]) for name in "bU")
    return bias, matrix


def carried(tree: Tree, name: str) -> Expr:
    """Return a vector that a node carries."""
    return dy.inputTensor(getattr(tree, name))


def lookup_table(parameters: Any, table: Array) -> Any:
    """Return a look-up table of rows: vectors, or matrices, which DyNet reads column by column."""
    by_column = table if table.ndim == 2 else np.ascontiguousarray(table.swapaxes(1, 2)).reshape(table.shape)
    return parameters.lookup_parameters_from_numpy(by_column)


def rows(expr: Expr) -> Array:
    """Return the values of expressions that stand side by side as (roots, ...): DyNet puts the roots last."""
    values = expr.npvalue()
    dims, roots = expr.dim()
    return np.moveaxis(values.reshape(*dims, roots, order="F"), -1, 0)
