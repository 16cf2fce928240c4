"""Legality of computing an operator inside the loops of another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragged.api.program import ScheduleDecisions, reads, refuse
from ragged.api.tensors import RaggedTensor
from ragged.ir.expr import Expr, Ref
from ragged.ir.rewrite import substitute
from ragged.ir.walk import loads


def check_attached(
    what: str,
    tensor: RaggedTensor,
    consumer: RaggedTensor,
    depth: int,
    tensors: Sequence[RaggedTensor],
    outputs: Sequence[RaggedTensor],
    decisions: ScheduleDecisions,
) -> None:
    """Check that `tensor` can be computed inside `depth` loops of `consumer`; `what` is the refusal.

    Raises:
        ScheduleError: it is an output, its dimensions are others than those of the loops, or something else reads it.
    """
    if tensor in outputs:
        refuse(what, because="the caller wants all of it: it is an output")
    if depth > min(len(consumer.dims), len(tensor.dims)):
        refuse(what, because="there are not so many dimensions that both have")
    same = {own.dim.var: Ref(other.dim.var) for own, other in zip(tensor.dims, consumer.dims, strict=False)}
    for place in range(depth):
        mine = substitute(tensor.dims[place].extent.expr, {k: v for k, v in same.items()})
        if mine != consumer.dims[place].extent.expr:
            refuse(
                what,
                because=f"dimension '{tensor.dims[place].dim.name}' extends {tensor.dims[place].extent.text()} and "
                f"the loop {consumer.dims[place].extent.text()}",
                fix="compute it in the loops around; then split this one, and name the loop over blocks",
            )
    for reader in tensors:
        if tensor not in set(reads(reader)):
            continue
        if _depth(reader, consumer, decisions) < depth:
            refuse(
                what,
                because=f"'{reader.name}' reads it, and is not computed there",
                fix=f"compute_at({reader.name}, ...) in the same loop first",
            )
        for indices in read_at(reader, tensor):
            if indices[:depth] != tuple(map(Ref, reader.indices[:depth])):
                refuse(
                    what,
                    because=f"'{reader.name}' reads it at other indices than those of the loops",
                    fix="split the loop first, and name the loop over blocks: it computes what a block reads",
                )


def _depth(reader: RaggedTensor, consumer: RaggedTensor, decisions: ScheduleDecisions) -> int:
    """Return the number of a consumer's loops around a tensor; 0 if it is elsewhere."""
    depth = len(consumer.dims)
    while reader is not consumer:
        if reader not in decisions.at:
            return 0
        reader, own = decisions.at[reader]
        depth = min(depth, own)
    return depth


def read_at(reader: RaggedTensor, tensor: RaggedTensor) -> Iterator[tuple[Expr, ...]]:
    """Yield the indices at which a tensor's computation reads another one."""
    for value in reader.expressions:
        for part in loads(value.expr):
            if part.buffer is tensor.buffer:
                yield part.indices


def require_undecided(what: str, tensor: RaggedTensor, depth: int, decisions: ScheduleDecisions) -> None:
    """Refuse to move a tensor into other loops after decisions on its own loops or storage."""
    own = [(tensor, position) for position in range(depth)]
    if (
        tensor in decisions.groups
        or tensor in decisions.bulk
        or any(key in decisions.loops or key in decisions.storage for key in own)
    ):
        refuse(
            what,
            because=f"how '{tensor.name}' is stored or padded has been decided on, and would not count any more",
            fix="leave those decisions out",
        )
