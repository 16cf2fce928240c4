"""Whether what is computed and stored beyond the end of a dimension is known there: lengths are not."""

from __future__ import annotations

from collections.abc import Iterable

from ragged.api.program import Decisions
from ragged.api.tensors import Tensor
from ragged.api.values import Value
from ragged.errors import Location, ScheduleError
from ragged.ir.expr import Call, Var
from ragged.ir.printer import expr_text
from ragged.ir.walk import mentions, subexpressions


def require_known(what: str, tensor: Tensor, position: int, decisions: Decisions, multiple: int) -> None:
    """Return if the loop of a tensor's dimension can go on beyond its extent, up to a multiple.

    Raises:
        ScheduleError: the tensor, or one that is computed inside of the loop, looks up a length at the loop's index;
            `what` is the refusal.
    """
    inside = (other for other in decisions.at if decisions.owner(other, position) is tensor)
    for other in dict.fromkeys((tensor, *inside)):
        own = {other.dims[position].dim.var, other.indices[position]}
        _refuse_lookups(what, other.expressions, own, multiple)


def require_stored_known(what: str, tensor: Tensor, position: int, multiple: int) -> None:
    """Return if storage of a dimension can go on beyond its extent, up to a multiple; errors as `require_known`."""
    _refuse_lookups(what, [each.extent for each in tensor.dims], {tensor.dims[position].dim.var}, multiple)


def _refuse_lookups(what: str, values: Iterable[Value], own: set[Var], multiple: int) -> None:
    for value in values:
        for part in subexpressions(value.expr):
            if multiple > 1 and isinstance(part, Call) and any(mentions(arg, own) for arg in part.args):
                raise ScheduleError(
                    what,
                    at=Location.capture(),
                    because=f"{expr_text(part)} is looked up at its index, and is not known beyond its end",
                )
