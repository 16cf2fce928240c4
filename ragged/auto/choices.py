"""What the default schedule chooses, each with the reason for its default: a user may choose otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields
from typing import Any

from ragged.errors import ScheduleError, UserError
from ragged.machine import Machine

_WHY = "why"
_ROWS, _MOST_ROWS, _VECTORS = 4, 6, 4
"""Rows of a tile, where matrices stay in the first cache and where they do not, and its vectors."""
ENOUGH_SUMS = 8
"""So many sums hide the latency of a multiply-add, four cycles, of which two start in each."""
_SUMS, _MOST_SHARING = 16, ENOUGH_SUMS
"""Sums of a tile whose columns are few vectors, without parameters, and the most rows that they make."""
_REGISTERS = 32
"""Those that a tile of the most rows and a column of its operands take."""
_WIDE, _WIDE_ON_UNIT = 12, 8
"""Iterations of a batch, for each core, that make it wide; of products on a matrix unit, which take less time."""
_TURN, _LONG = 4, 64
"""Elements that are added in one turn of the loop of a sum that has so many or more."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Choices:
    """The numbers that the default schedule goes by. No choice changes the order of a sum, nor a bit of a result.

    Attributes:
        tile: rows and vectors of columns of a matrix product's register tile: rows * vectors sums are held at once.
            None is (4, 4), and (6, 4) where a batch's matrices are larger than the first cache and registers suffice;
            (12, 2) where they are larger than the second one, a slice of them has so few columns, and so many rows
            take half of the first one or less; eight rows for a product without parameters whose columns are one or
            two vectors, as attention's scores.
        row_vectors: vectors of columns of a tile of one row.
        nodes: iterations of a batch (nodes, edges) that are computed together; None is as many as a tile has rows.
        slice_vectors: the most vectors of columns in a slice: what a core takes at a time of a batch's columns.
        columns: whether cores share the columns of a batch, where it has enough of them, or else its nodes.
        wide: a batch that has so many iterations for each core has them shared out, and not its columns; if the
            matrices fit into the second cache of each. None is 12, 8 where products are on a matrix unit, or fewer
            where the rows of fewer are as large as the matrices.
        own: whether a core that needs whole rows of a sum over children, or of pairs, makes them itself.
        turns: whether a core takes its columns forwards in one batch and backwards in the next.
        rebase: whether temporaries of a batch have room for the widest batch and not for all nodes, where that costs no
            time.
        block: iterations, for each core, of a loop that stands in no other one, as that over the leaves, for which rows
            that products read are copied at a time.
        matrices: whether products of matrices of parameters with those of nodes are computed in columns of their own:
            what nodes have is stored as they read it, a core takes all slices of a node, and the rows of a tile are
            used right after they are computed.
        tensorize: whether sums of products of pairs of bfloat16 run on the processor's matrix unit, if it has one.
        roll: whether products of one operand with several parameters, a cell's gates, are one nest over one table.
        prefetch: whether what the rows of a tile read besides its sums is brought near while the sums are computed.
        steps: elements of a sum that are added in one turn of its loop; fewer where they do not divide its length. None
            is four for sums of 64 elements and more, and one for others.
        scalar_steps: the same of a product that has no columns side by side, and is computed number by number.
        temporaries: the most bytes that iterations computed together may have on the stack.

    Raises:
        UserError: a number is not one from 1 up, or a switch neither true nor false.
    """

    # Rows: 6 take 0.92 of 4's time for TreeFC, TreeGRU and TreeLSTM at 256 and 512, ten trees, where a core does two
    # multiply-adds of 16 numbers a cycle, and within 5 % of it where it does one. They take longer to compile.
    # 8 rows of 1 vector take 0.88 of 4's time for attention over RACE's lengths; 12 take 0.98 of 8's, and half as long
    # again to compile. TreeLSTM, TreeGRU, TreeFC at 32 take
    # 0.95, 0.89 and 0.86, ten trees, but with the tails of all gates three times as long to compile.
    # 12 rows of 2 vectors take 0.85 of what 6 of 2 do for ternary TreeLSTM at 512, whose matrices are 18 MiB, where the
    # first cache has 48 KiB; for TreeLSTM at 1024, with rows of 4 KiB where it has 32, they take 1.12.
    tile: tuple[int, int] | None = field(
        default=None,
        metadata={
            _WHY: "sixteen sums hide the latency of a multiply-add; twenty-four read a large matrix less often"
        },
    )
    row_vectors: int = field(default=8, metadata={_WHY: "enough sums to hide the latency of a multiply-add"})
    nodes: int | None = field(default=None, metadata={_WHY: "a tile's rows are nodes"})
    slice_vectors: int = field(default=4, metadata={_WHY: "a slice is as wide as a tile"})
    columns: bool = field(
        default=True, metadata={_WHY: "a core finds its own columns of the weights in its own cache"}
    )
    # Ten trees, 2 cores of 2 MiB each: TreeFC takes 0.91 of the time at 512, 0.88 at 256, TreeLSTM 0.95 at 256, MV-RNN
    # 0.8 at 64. With 8, one tree takes TreeLSTM 1.06; where matrices do not fit, any number costs: TreeGRU 512 1.09.
    # On a matrix unit ten trees take with 8 at 256 0.91 (TreeGRU), 0.89 (TreeLSTM), 0.93 (TreeFC) of the time with 12.
    # MV-RNN, whose nodes have matrices of their own, takes with 1 at 64, ten trees, 0.85 of what it takes with 12.
    wide: int | None = field(
        default=None,
        metadata={_WHY: "rows of what came before are read by one core, where all would read all of them"},
    )
    # One tree, 2 cores, at 256: 0.75 of the time for DAG-RNN, 0.89 to 0.90 for TreeLSTM, TreeGRU and a gated DAG
    # network; ten: 0.93 to 0.95. In bfloat16 on a matrix unit, one tree: 0.75 to 0.9 at 256, ten: 0.79 to 1.0.
    own: bool = field(
        default=True,
        metadata={_WHY: "to make a few rows takes less long than to wait for the others' columns"},
    )
    # One tree, 2 cores of 2 MiB of second cache each: matrices of 4 MiB (TreeLSTM, 512) 0.86 of the time, with those of
    # the inputs 0.90, of 18 MiB (ternary) 0.93; ten trees 0.97; nothing where they fit.
    turns: bool = field(
        default=True, metadata={_WHY: "what a batch read last of the matrices the next finds in the caches"}
    )
    rebase: bool = field(
        default=True, metadata={_WHY: "the next batch has the same room, and finds it in the caches"}
    )
    # TreeLSTM with embeddings, 2 cores of 1 MiB each: 0.96 to 1.0 of the time of all leaves at once at 256, 0.99 to 1.0
    # at 512, 1.0 to 1.01 at 64; as long with two, four and eight times as many.
    block: int = field(
        default=24, metadata={_WHY: "copies of rows stay in the second cache, and have room for these"}
    )
    # MV-RNN, ten trees, 2 cores: 0.81 of the time at 64, 0.80 at 128.
    matrices: bool = field(
        default=True,
        metadata={_WHY: "sums over what is side by side are computed in vectors, and rows read once"},
    )
    # Of the time of pairs one after another, ten trees, 2 cores: TreeFC 0.16 at 512, TreeLSTM 0.38 at 256, MV-RNN 0.35
    # at 128.
    tensorize: bool = field(
        default=True,
        metadata={_WHY: "an instruction sums up sixteen pairs for each of sixteen rows and columns"},
    )
    roll: bool = field(default=True, metadata={_WHY: "gates that are one nest are one pass over one table"})
    # Ten structures, 2 cores, at 256: 0.98 of the time for TreeLSTM, TreeGRU and DAG-RNN, 0.97 for a gated DAG network.
    # What children returned was just written, and gains nothing: 1.01 to 1.03 for LSTM by recursion and MV-RNN.
    prefetch: bool = field(
        default=True, metadata={_WHY: "the rest of what a tile reads comes while its sums are computed"}
    )
    # 4 take 0.86 to 0.94 of the time of 1 for TreeFC and TreeLSTM at 256 and 512, and 8 as long as 4.
    steps: int | None = field(
        default=None, metadata={_WHY: "a long sum's loop turns less often; code for a short one stays small"}
    )
    # MV-RNN's M v, a matrix of the node's own: 8 makes the whole kernel 10 to 19 % faster than 1 at hidden 32 to 128.
    scalar_steps: int = field(
        default=8,
        metadata={_WHY: "what a turn reads of a row is side by side, and read at once, not gathered"},
    )
    temporaries: int = field(default=96 * 1024, metadata={_WHY: "a core's caches hold them"})

    def __post_init__(self) -> None:
        """Refuse what is no choice."""
        tile: object = (_ROWS, _VECTORS) if self.tile is None else self.tile
        if not (isinstance(tile, tuple) and len(tile) == 2 and all(map(_is_count, tile))):
            raise UserError(f"choices: tile={tile!r} is not two numbers from 1 up", fix="(rows, vectors)")
        counts = {
            name: getattr(self, name)
            for name in (
                "row_vectors",
                "nodes",
                "slice_vectors",
                "wide",
                "block",
                "steps",
                "scalar_steps",
                "temporaries",
            )
        }
        for name, value in counts.items():
            if not _is_count(value) and (value is not None or name not in ("nodes", "steps", "wide")):
                raise UserError(f"choices: {name}={value!r} is not a number from 1 up")
        for name in ("columns", "own", "turns", "rebase", "matrices", "tensorize", "roll", "prefetch"):
            if type(getattr(self, name)) is not bool:
                raise UserError(f"choices: {name}={getattr(self, name)!r} is neither True nor False")

    def tile_on(self, machine: Machine) -> tuple[int, int]:
        """Return the most rows and vectors of columns that a tile has on a machine."""
        if self.tile is not None:
            return self.tile
        return (_MOST_ROWS if machine.vector_registers >= _REGISTERS else _ROWS), _VECTORS

    def together(self, machine: Machine, matrices: int, vectors: int, row: int) -> tuple[int, ...]:
        """Return how many iterations of a batch are computed together, first what is best.

        `matrices` are the bytes of the parameters that they are multiplied with, `vectors` those of the most columns
        that they have, `row` the bytes that a sum of one of them reads besides.
        """
        if self.nodes is not None:
            return (self.nodes,)
        rows, most_vectors = self.tile_on(machine)
        if self.tile is not None:
            return (rows,)
        if not matrices:
            return (max(_ROWS, min(_MOST_SHARING, -(-_SUMS // vectors))), _ROWS)
        if rows == _ROWS:
            return (rows,)
        few_columns = 2 * vectors <= most_vectors
        if matrices > machine.l2_bytes and few_columns and 2 * rows * row <= machine.l1_bytes // 2:
            return (2 * rows, rows, _ROWS)
        return (rows, _ROWS) if matrices > machine.l1_bytes else (_ROWS,)

    def on_unit(self, machine: Machine) -> bool:
        """Return whether products of pairs are to run on a machine's matrix unit."""
        return machine.matrix_unit and self.tensorize

    def wide_for(self, matrices: int, rows: int, *, on_unit: bool = False) -> int:
        """Return how many iterations of a batch for each core make it wide.

        `matrices` are the bytes of all matrices, `rows` of what an iteration of each core reads of what came before;
        `on_unit` says whether products are on a matrix unit.
        """
        most = _WIDE_ON_UNIT if on_unit else _WIDE
        return self.wide or max(1, min(most, matrices // max(1, rows)))

    def turn(self, length: int) -> int:
        """Return how many elements of a sum of this length are added in one turn of its loop, at most."""
        if self.steps is not None:
            return self.steps
        return _TURN if length >= _LONG else 1

    def check(self, machine: Machine) -> None:
        """Raise `ScheduleError` if a tile's sums are more than the machine's registers."""
        rows, vectors = self.tile_on(machine)
        for name, held, shape in (
            ("tile", rows * vectors, f"{rows} rows of {vectors} vectors"),
            ("row_vectors", self.row_vectors, "a row"),
        ):
            if held > machine.vector_registers:
                raise ScheduleError(
                    f"choices: {name}={(rows, vectors) if name == 'tile' else held} does not fit in registers",
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
