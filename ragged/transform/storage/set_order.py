"""set_order: the order of dimensions that a buffer is stored in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragged.analysis.buffers import Exchange, check_alone, check_known
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Role
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten

_ROLES = (Role.WORKSPACE, Role.LOCAL, Role.OUTPUT)


def set_order(program: Program, buffer: Buffer, order: Sequence[int]) -> Rewritten:
    """Store a buffer row-major over its dimensions in this order; what is computed stays.

    before::

        M: workspace(float32[num_nodes, 64, 64])

    after `set_order(program, M, (0, 2, 1))`::

        M: workspace(float32[num_nodes, 64, 64], order=(0, 2, 1))

    Elements along the dimension that comes last are side by side in memory. Indices stay as they are. The buffer is a
    new one of the same name. An output is handed over in the order of its dimensions, as a view of what is stored.

    Raises:
        ScheduleError: the buffer is the caller's, or made when parameters are bound; it shares its memory with another;
            the order does not permute its dimensions.
    """
    check_known(program, buffer, "set_order")
    if buffer.role not in _ROLES:
        raise ScheduleError(
            f"set_order: '{buffer.name}' is no result and no temporary",
            because=f"its role is '{buffer.role.value}': its producer determines the layout",
            fix="pack it, if it is a parameter",
        )
    check_alone(program, buffer, "set_order")
    if sorted(order) != list(range(len(buffer.shape))):
        raise ScheduleError(
            f"set_order: {tuple(order)} is no order of the dimensions of '{buffer.name}'",
            because=f"it has {len(buffer.shape)} of them",
            example=f"{buffer.order} is the one that it is stored in",
        )
    new = replace(buffer, order=tuple(order))
    rewriter = Exchange(buffers={buffer: new})
    declared = tuple(new if other is buffer else other for other in program.buffers)
    return rewriter.program(program, buffers=declared)
