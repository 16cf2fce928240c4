"""Decisions of a schedule before loops are made: padding, storage, and where operators are computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn, TypeGuard

from ragged.api.dims import affine_sizes
from ragged.api.tensors import Kind, PartPlace, RaggedTensor, Reduction
from ragged.errors import Location, ModelError, ScheduleError
from ragged.ir.expr import Binary, Const
from ragged.ir.ops import BinaryOp, Combiner


def refuse(what: str, because: str | None = None, fix: str | None = None) -> NoReturn:
    """Refuse a step of the schedule at the user's line."""
    raise ScheduleError(what, at=Location.capture(), because=because, fix=fix)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stored dimension of a tensor: a whole one, its blocks of `factor` elements, or the elements of a block."""

    position: int
    factor: int = 1
    inner: bool = False
    tensor: RaggedTensor | None = field(default=None, compare=False, repr=False)

    def of(self, tensor: RaggedTensor) -> Piece:
        """Return the piece of a tensor's dimension."""
        return replace(self, tensor=tensor)

    def name(self, tensor: RaggedTensor) -> str:
        """Return the name of the piece in messages and listings."""
        own = tensor.dims[self.position].dim.name
        return own if self.factor == 1 else f"{own}_{'i' if self.inner else 'o'}"


@dataclass(frozen=True, slots=True)
class ScheduleDecisions:
    """Padding of loops and of storage (multiples, by tensor and position), and where tensors are computed.

    `at` maps a tensor to the consumer with the nest that computes it, and to the number of loops around it. `groups`
    maps a tensor with split, fused or reordered dimensions to the pieces of each stored dimension. `bulk` maps a tensor
    with rows stored as one dimension to the positions of the two dimensions, and to the multiple that the sum of the
    rows is padded to.
    """

    loops: dict[tuple[RaggedTensor, int], int] = field(default_factory=dict)
    storage: dict[tuple[RaggedTensor, int], int] = field(default_factory=dict)
    at: dict[RaggedTensor, tuple[RaggedTensor, int]] = field(default_factory=dict)
    groups: dict[RaggedTensor, tuple[tuple[Piece, ...], ...]] = field(default_factory=dict)
    bulk: dict[RaggedTensor, tuple[int, int, int]] = field(default_factory=dict)

    def multiple(self, tensor: RaggedTensor, position: int) -> int:
        """Return the multiple that the loop over a dimension of a tensor is padded to."""
        return self.loops.get((self.owner(tensor, position), position), 1)

    def owner(self, tensor: RaggedTensor, position: int) -> RaggedTensor:
        """Return the tensor with the nest that has the loop over a dimension of `tensor`."""
        while tensor in self.at and position < self.at[tensor][1]:
            tensor = self.at[tensor][0]
        return tensor

    def home(self, tensor: RaggedTensor) -> tuple[RaggedTensor, int]:
        """Return the nest that a tensor of `at` is computed in, and the number of loops around it.

        It is hoisted out of the loops around its reader that it does not depend on.
        """
        reader, depth = self.at[tensor]
        while reader in self.at and depth <= self.at[reader][1]:
            reader = self.at[reader][0]
        return reader, depth

    def is_padded(self, tensor: RaggedTensor) -> bool:
        """True if a loop around a tensor's computation is padded."""
        return any(self.multiple(tensor, position) > 1 for position in range(len(tensor.dims)))


def _require_own_names(outputs: Sequence[RaggedTensor], tensors: Sequence[RaggedTensor]) -> None:
    """Raise `ModelError` if two results, two inputs or two parameters have one name: calls know them by it."""
    groups = {
        "results": outputs,
        "inputs": [each for each in tensors if each.kind is Kind.INPUT],
        "parameters": [each for each in tensors if each.kind is Kind.PARAMETER],
    }
    for what, group in groups.items():
        names = [each.name for each in group]
        for each in group:
            if names.count(each.name) > 1:
                raise ModelError(
                    f"Schedule: two {what} are called '{each.name}'",
                    at=each.at,
                    because="calls know them by their names",
                    fix="another name, or one tensor in both places",
                )


def tensors_of(outputs: Sequence[RaggedTensor]) -> list[RaggedTensor]:
    """Return the outputs and all tensors that they read, in topological order.

    Raises:
        ModelError: two results, two inputs or two parameters have one name.
    """
    found: dict[RaggedTensor, None] = {}
    pending: list[tuple[RaggedTensor, bool]] = [(output, False) for output in reversed(outputs)]
    while pending:
        tensor, done = pending.pop()
        if tensor in found:
            continue
        if done:
            found[tensor] = None
            continue
        pending.append((tensor, True))
        pending += [(other, False) for other in reversed(list(reads(tensor))) if other not in found]
    tensors = list(found)
    _require_own_names(outputs, tensors)
    return tensors


def reads(tensor: RaggedTensor) -> Iterator[RaggedTensor]:
    """Yield the tensors that a tensor's computation reads, each once."""
    seen: set[RaggedTensor] = set()
    for value in tensor.expressions:
        for source in value.sources.values():
            assert not isinstance(source, Reduction), "a body has none inside"
            if isinstance(source, RaggedTensor) and source not in seen:
                seen.add(source)
                yield source


def with_parts(tensor: RaggedTensor) -> list[RaggedTensor]:
    """Return a tensor after the parts inside its expression, innermost first."""
    parts = [part for other in reads(tensor) if other.part is not None for part in with_parts(other)]
    return [*parts, tensor]


def computed(tensors: Sequence[RaggedTensor]) -> list[RaggedTensor]:
    """Return the computed tensors."""
    return [tensor for tensor in tensors if tensor.kind is Kind.COMPUTED]


def is_product(body: object) -> TypeGuard[Reduction]:
    """Return whether a body is a sum of products."""
    if not isinstance(body, Reduction) or body.combiner is not Combiner.SUM:
        return False
    return isinstance(body.body.expr, Binary) and body.body.expr.op is BinaryOp.MUL


def decide_parts(tensors: Sequence[RaggedTensor], decisions: ScheduleDecisions) -> None:
    """Compute each reduction inside an expression in the rows of that expression's tensor.

    Two sums of products in one expression are nests of their own: in the rows of one result neither has a tile.
    """
    read_by = {tensor: _last_reader(tensor, tensors) for tensor in tensors if tensor.part}
    products = Counter(reader for tensor, reader in read_by.items() if _is_tiled_product(tensor))
    for tensor, reader in read_by.items():
        if products[reader] > 1 and _is_tiled_product(tensor):
            continue
        depth = _part_depth(tensor, reader, _loops_around(tensor, reader))
        if depth:
            decisions.at[tensor] = (reader, depth)


def keep_products_apart(decisions: ScheduleDecisions) -> None:
    """Compute sums of products inside expressions in the rows of these, if still where `decide_parts` put them.

    There each is a nest of its own, the factors of which a pass can round.
    """
    for part, (reader, depth) in list(decisions.at.items()):
        if part.part is PartPlace.ROWS and _is_tiled_product(part) and depth == len(reader.dims):
            decisions.at[part] = (reader, min(depth, rows_of(reader)))


def _last_reader(part: RaggedTensor, tensors: Sequence[RaggedTensor]) -> RaggedTensor:
    """Return the reader of a part that others are computed for, if it has several (`reduce_rows_in_lanes`)."""
    return [other for other in tensors if part in set(reads(other))][-1]


def _is_tiled_product(tensor: RaggedTensor) -> bool:
    """Return whether a tensor has sums of products that have tiles in nests of their own.

    These are over all places of its dimensions, or of rows that vary with as many columns as a size says.
    """
    if not is_product(tensor.body) or not tensor.dims:
        return False
    *rows, columns = (each.extent.expr for each in tensor.dims)
    sized = affine_sizes(columns) is not None and not isinstance(columns, Const)
    return sized or all(affine_sizes(each) is not None for each in (*rows, columns))


def take_parts_along(
    tensor: RaggedTensor, depth: int, decisions: ScheduleDecisions, reading: RaggedTensor | None = None
) -> None:
    """Move reductions inside a tensor's expression, if still where `decide_parts` put them, inside `depth` loops.

    With `reading` only those that read it.
    """
    for part in reads(tensor):
        if reading is not None and reading not in reads(part):
            continue
        own = _part_depth(part, tensor, _loops_around(part, tensor))
        if part.part and decisions.at.get(part, (tensor, 0)) == (tensor, own):
            decisions.at[part] = (tensor, max(own, _part_depth(part, tensor, depth)))


def _loops_around(part: RaggedTensor, reader: RaggedTensor) -> int:
    """Return the number of loops of its reader that a part is computed in, if it has as many dimensions."""
    if part.part is PartPlace.COLUMNS:
        return max(0, min(rows_of(reader), len(reader.dims) - 1))
    if part.part is PartPlace.ELEMENTS or _is_tiled_product(part):
        return len(reader.dims)
    return rows_of(reader)


def _part_depth(part: RaggedTensor, reader: RaggedTensor, most: int) -> int:
    """Return the number of leading dimensions, at most `most`, that a reduction shares with its reader."""
    pairs = zip(part.dims[:most], reader.dims, strict=False)
    return next(
        (k for k, (own, other) in enumerate(pairs) if own.dim is not other.dim), min(most, len(part.dims))
    )


def rows_of(tensor: RaggedTensor) -> int:
    """Return the number of a tensor's row loops: all but the dense inner ones, and at least one."""
    ragged = [k for k, each in enumerate(tensor.dims) if not isinstance(each.extent.expr, Const)]
    return max([1, *(k + 1 for k in ragged)])
