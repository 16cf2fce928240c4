"""Legality of padding: values beyond the end of a dimension must not look up lengths there."""

from __future__ import annotations

from collections.abc import Iterable

from ragged.api.program import ScheduleDecisions, refuse
from ragged.api.tensors import RaggedTensor
from ragged.api.values import Value
from ragged.ir.expr import Call, Const, Var
from ragged.ir.printer import expr_text
from ragged.ir.walk import mentions, subexpressions


def require_known(
    what: str, tensor: RaggedTensor, position: int, decisions: ScheduleDecisions, multiple: int
) -> None:
    """Check that the loop of a tensor's dimension can be padded to a multiple.

    Raises:
        ScheduleError: the tensor, or one that is computed inside of the loop, looks up a length at the loop's index;
            `what` is the refusal.
    """
    inside = (other for other in decisions.at if decisions.owner(other, position) is tensor)
    for other in dict.fromkeys((tensor, *inside)):
        own = {other.dims[position].dim.var, other.indices[position]}
        _refuse_lookups(what, other.expressions, own, multiple)


def require_stored_known(what: str, tensor: RaggedTensor, position: int, multiple: int) -> None:
    """Check that storage of a dimension can be padded to a multiple; errors as `require_known`."""
    _refuse_lookups(what, [each.extent for each in tensor.dims], {tensor.dims[position].dim.var}, multiple)


def is_whole(extent: Value, multiple: int) -> bool:
    """Return whether an extent is a constant multiple of a number, so that padding adds nothing."""
    return isinstance(extent.expr, Const) and int(extent.expr.value) % multiple == 0


def require_shown_alike(
    what: str, tensor: RaggedTensor, position: int, multiple: int, *, given: bool
) -> None:
    """Check that a dimension of an argument (`given`) or a result can be padded.

    Raises:
        ScheduleError: the tensor is a NumPy array, which has no padding; or other extents depend on the dimension,
            which `RaggedArray` stores without padding. A result's outermost
            dimension may be padded: its padding is stored last.
    """
    own = tensor.dims[position]
    if multiple == 1 or is_whole(own.extent, multiple):
        return
    everywhere = {each.dim.var for each in tensor.dims}
    if not any(mentions(each.extent.expr, everywhere) for each in tensor.dims):
        refuse(
            what,
            because=f"no dimension of '{tensor.name}' varies: callers have it as an array of NumPy's, without padding",
        )
    for other in tensor.dims:
        if mentions(other.extent.expr, {own.dim.var}) and (given or position > 0):
            refuse(
                what,
                because=f"'{other.dim.name}' extends {other.extent.text()}, which depends on it: callers have "
                f"'{tensor.name}' without padding there",
            )


def require_unpadded(what: str, tensor: RaggedTensor, decisions: ScheduleDecisions) -> None:
    """Check that no dimension of a result is padded.

    Raises:
        ScheduleError: one is; if it were fused or reordered, callers would see the padding.
    """
    for position, own in enumerate(tensor.dims):
        multiple = decisions.storage.get((tensor, position), 1)
        if multiple > 1 and not is_whole(own.extent, multiple):
            refuse(
                what,
                because=f"'{own.dim.name}' is padded, and callers of '{tensor.name}', an output, would see the padding",
                fix=f"leave out pad_dimension({tensor.name}.dims[{position}], ...)",
            )


def _refuse_lookups(what: str, values: Iterable[Value], own: set[Var], multiple: int) -> None:
    for value in values:
        for part in subexpressions(value.expr):
            if multiple > 1 and isinstance(part, Call) and any(mentions(arg, own) for arg in part.args):
                refuse(
                    what,
                    because=f"{expr_text(part)} is looked up at its index, and is not known beyond its end",
                )
