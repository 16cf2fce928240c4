"""What primitives and functions are given, of another type: refused before anything is asked of it."""

from __future__ import annotations

from cortex.ra.base import ModelTensor
from cortex.ra.model import Model
from ragged.errors import Location, ScheduleError, UserError


def require_model(what: str, given: object) -> Model:
    """Return a model, or refuse it as one of `what` was called."""
    if isinstance(given, Model):
        return given
    raise UserError(
        f"{what}: {type(given).__name__} is no model",
        fix="what `ra.recursion_op` returned, or cortex.models.tree_rnn(hidden=8, embed=6, vocab=10)",
    )


def require_tensor(what: str, given: object) -> ModelTensor:
    """Return a tensor of a model, or refuse it as one of the primitive `what`."""
    if isinstance(given, ModelTensor):
        return given
    raise ScheduleError(
        f"{what}: {type(given).__name__} is no tensor of a model",
        at=Location.capture(),
        fix="what `ra.compute` or `ra.if_then_else` returned, or one of `model.computes`",
    )
