"""The layout of a table that holds what it is made of tiled, in another order of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragged.arith.bindings import Bindings, is_fixed
from ragged.arith.fold import floordiv, plus
from ragged.arith.index_intervals import divided
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Buffer, Const, Dim, Expr
from ragged.ir.ops import BinaryOp


@dataclass(frozen=True, slots=True)
class _Piece:
    """A dimension of a table: of `extent` values, the blocks of `factor` of a dimension, or the places in them."""

    dimension: int
    extent: Expr
    factor: int
    inner: bool


@dataclass(frozen=True, slots=True)
class TiledLayout:
    """The dimensions of a table, in the order of the text."""

    pieces: tuple[_Piece, ...]

    @property
    def shape(self) -> tuple[Expr, ...]:
        """The extents of the table."""
        return tuple(piece.extent for piece in self.pieces)

    def names(self, buffer: Buffer) -> tuple[Dim | None, ...]:
        """Return the dimensions of the table that are those of the buffer, None for parts of them."""
        return tuple(buffer.dims[p.dimension] if p.factor == 1 else None for p in self.pieces)

    def place(self, indices: Sequence[Expr], known: Bindings) -> tuple[Expr, ...]:
        """Return the table's indices for an element of what it is made from."""
        parts = {
            (piece.dimension, piece.factor): _divided(indices[piece.dimension], piece.factor, known)
            for piece in self.pieces
        }
        return tuple(parts[piece.dimension, piece.factor][piece.inner] for piece in self.pieces)


def tiled_layout(
    parameter: Buffer,
    shape: tuple[Expr, ...],
    tiles: Sequence[tuple[int, int]],
    order: Sequence[int],
    multiple: int,
) -> TiledLayout:
    """Return the layout that `pack` describes; refused where the tiles or the order are not of the dimensions."""
    if multiple < 1:
        raise ScheduleError(
            f"pack: cannot store blocks of '{parameter.name}' up to a multiple of {multiple}",
            fix="a multiple from 1 up",
        )
    factors: dict[int, int] = {}
    for dimension, factor in tiles:
        if not 0 <= dimension < len(shape) or factor < 1 or dimension in factors:
            raise ScheduleError(
                f"pack: cannot tile dimension {dimension} of '{parameter.name}' by {factor}",
                because=f"it has {len(shape)} dimensions, from 0, and each is tiled once, by 1 or more",
            )
        factors[dimension] = factor
    pieces: list[_Piece] = []
    for dimension, extent in enumerate(shape):
        if dimension not in factors:
            pieces.append(_Piece(dimension, extent, 1, inner=False))
            continue
        factor = factors[dimension]
        blocks = floordiv(plus(extent, Const(factor - 1)), factor)
        pieces.append(_Piece(dimension, blocks, factor, inner=False))
        pieces.append(_Piece(dimension, Const(-(-factor // multiple) * multiple), factor, inner=True))
    if sorted(order) != list(range(len(pieces))):
        raise ScheduleError(
            f"pack: {tuple(order)} is no order of the dimensions of '{parameter.name}'",
            because=f"tiled, it has {len(pieces)} of them",
            example=f"{tuple(range(len(pieces)))} leaves them as they are",
        )
    return TiledLayout(tuple(pieces[position] for position in order))


def _divided(index: Expr, factor: int, known: Bindings) -> tuple[Expr, Expr]:
    """Return the block and the place in it; lets are seen through where that spares the division."""
    plain = divided(index, factor, known.below)
    if factor == 1 or not _divides(plain):
        return plain
    seen = known.expand(index)
    through = divided(seen, factor, known.below)
    return through if is_fixed(seen) and not _divides(through) else plain


def _divides(parts: tuple[Expr, Expr]) -> bool:
    return isinstance(parts[1], Binary) and parts[1].op is BinaryOp.MOD
