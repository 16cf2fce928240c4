"""Activation functions that constructors take by name."""

from __future__ import annotations

from collections.abc import Callable

from cortex import ra
from cortex.ra.expr import Expr, ExprLike
from ragged.errors import Location, ModelError

_BY_NAME: dict[str, Callable[[ExprLike], Expr]] = {"relu": ra.relu, "tanh": ra.tanh}


def activation_function(name: str) -> Callable[[ExprLike], Expr]:
    """Return the activation "relu" or "tanh"; `ModelError` for any other name."""
    if name not in _BY_NAME:
        raise ModelError(f"activation={name!r} is unknown", at=Location.capture(), fix='"relu" or "tanh"')
    return _BY_NAME[name]
