"""What the default schedule chooses, each with the reason for its default: a user may choose otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields
from typing import Any

from ragged.auto.machine import Machine
from ragged.errors import ScheduleError, UserError

_WHY = "why"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Choices:
    """The numbers that the default schedule goes by. No choice changes the order of a sum, nor a bit of a result.

    Attributes:
        tile: rows and vectors of columns of a matrix product's register tile: rows * vectors sums are held at once.
        row_vectors: vectors of columns of a tile of one row.
        nodes: iterations of a batch (nodes, edges) that are computed together; None is as many as a tile has rows.
        slice_vectors: the most vectors of columns in a slice: what a core takes at a time of a batch's columns.
        columns: whether cores share the columns of a batch, where it has enough of them, or else its nodes.
        roll: whether products of one operand with several parameters, a cell's gates, are one nest over one table.
        steps: elements of a sum that are added in one turn of its loop; fewer where they do not divide its length.
        scalar_steps: the same of a product that has no columns side by side, and is computed number by number.
        temporaries: the most bytes that iterations computed together may have on the stack.

    Raises:
        UserError: a number is not one from 1 up, or a switch neither true nor false.
    """

    tile: tuple[int, int] = field(
        default=(4, 4),
        metadata={
            _WHY: "sixteen sums hide the latency of a multiply-add, and leave registers for what they read"
        },
    )
    row_vectors: int = field(default=8, metadata={_WHY: "enough sums to hide the latency of a multiply-add"})
    nodes: int | None = field(default=None, metadata={_WHY: "a tile's rows are nodes"})
    slice_vectors: int = field(default=4, metadata={_WHY: "a slice is as wide as a tile"})
    columns: bool = field(
        default=True, metadata={_WHY: "a core finds its own columns of the weights in its own cache"}
    )
    roll: bool = field(default=True, metadata={_WHY: "gates that are one nest are one pass over one table"})
    steps: int = field(default=1, metadata={_WHY: "a turn of the loop is a tile of multiply-adds already"})
    # MV-RNN's M v, a matrix of the node's own: 8 makes the whole kernel 10 to 19 % faster than 1 at hidden 32 to 128.
    scalar_steps: int = field(
        default=8,
        metadata={_WHY: "what a turn reads of a row is side by side, and read at once, not gathered"},
    )
    temporaries: int = field(default=96 * 1024, metadata={_WHY: "a core's caches hold them"})

    def __post_init__(self) -> None:
        """Refuse what is no choice."""
        tile: object = self.tile
        if not (isinstance(tile, tuple) and len(tile) == 2 and all(map(_is_count, tile))):
            raise UserError(f"choices: tile={tile!r} is not two numbers from 1 up", fix="(rows, vectors)")
        counts = {
            name: getattr(self, name)
            for name in ("row_vectors", "slice_vectors", "steps", "scalar_steps", "temporaries")
        }
        if self.nodes is not None:
            counts["nodes"] = self.nodes
        for name, value in counts.items():
            if not _is_count(value):
                raise UserError(f"choices: {name}={value!r} is not a number from 1 up")
        for name in ("columns", "roll"):
            if type(getattr(self, name)) is not bool:
                raise UserError(f"choices: {name}={getattr(self, name)!r} is neither True nor False")

    @property
    def together(self) -> int:
        """How many iterations of a batch are computed together."""
        return self.tile[0] if self.nodes is None else self.nodes

    def check(self, machine: Machine) -> None:
        """Raise `ScheduleError` if a tile's sums are more than the machine's registers."""
        rows, vectors = self.tile
        for name, held, shape in (
            ("tile", rows * vectors, f"{rows} rows of {vectors} vectors"),
            ("row_vectors", self.row_vectors, "a row"),
        ):
            if held > machine.vector_registers:
                raise ScheduleError(
                    f"choices: {name}={getattr(self, name)!r} does not fit in registers",
                    because=f"{shape} are {held} sums, and the machine has {machine.vector_registers} registers",
                    fix="fewer rows, or fewer vectors",
                )

    def __repr__(self) -> str:
        """Return the choices that are not the default, as the call that makes them."""
        chosen = (f"{each.name}={getattr(self, each.name)!r}" for each in self._chosen())
        return f"{type(self).__name__}({', '.join(chosen)})"

    def _chosen(self) -> Iterator[Field[Any]]:
        return (each for each in fields(self) if getattr(self, each.name) != each.default)

    def notes(self) -> Iterator[str]:
        """Yield a comment for each choice that is not the default, with the default and the reason for it."""
        for each in self._chosen():
            value = getattr(self, each.name)
            yield f"# {each.name}={value!r} is chosen; {each.default!r} by default: {each.metadata[_WHY]}"


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 1


DEFAULT = Choices()
"""What the default schedule goes by where nobody chooses."""
