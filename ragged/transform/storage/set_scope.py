"""set_scope: the memory that a local buffer lives in."""

from __future__ import annotations

from dataclasses import replace

from ragged.analysis.buffers import Exchange, all_buffers, allocation
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Const, Scope
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten


def set_scope(program: Program, buffer: Buffer, scope: Scope) -> Rewritten:
    """Put a local buffer into other memory; what is computed stays.

    before::

        acc = local(float32[4, 16])

    after `set_scope(program, acc, Scope.REGISTER)`::

        acc = local(float32[4, 16], scope=register)

    The buffer is a new one of the same name, and so are those that share its memory.

    Raises:
        ScheduleError: the buffer is not local, or it is to be in registers and its size is no number.
    """
    allocation(program, buffer, "set_scope")
    if scope is Scope.REGISTER and not all(isinstance(extent, Const) for extent in buffer.shape):
        raise ScheduleError(
            f"set_scope: '{buffer.name}' cannot be in registers",
            because="how many it takes has to be known, and its extents are not all numbers",
            fix="split the loops that it is indexed by, so that they have constant extents",
        )
    exchanged = {buffer: replace(buffer, scope=scope)}
    for other in all_buffers(program):  # what it aliases comes before it in the text
        if other.aliases in exchanged:
            exchanged[other] = replace(other, scope=scope, aliases=exchanged[other.aliases])
    return Exchange(buffers=exchanged).program(program)
