"""The shape-generic search space: micro-kernels, which are register tiles over a whole reduction.

DietCode, section 4.1, for registers: a micro-kernel has no size of the program in it, so one serves all shapes. All of
one parameter's kernels read it in panels of the same width, because it is packed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ragged.machine import Machine

UNROLL = 4
"""Elements of the reduction per iteration of a micro-kernel's loop."""
MOST_VECTORS = 8
_REGISTERS_PER_SPARE = 16
"""Registers for each one that stays free: with fewer free ones, register allocation spills in some schedules."""
_BRANCH_BYTES = 40
"""Bytes of code that compute a block's number of rows and branch to its kernel."""
_KERNEL_BYTES = 90
"""Bytes of a kernel's scalar code: the loop's counter, and the addresses of its operands."""


@dataclass(frozen=True, slots=True, order=True)
class MicroKernel:
    """A register tile over a whole reduction: rows of one operand, vectors of columns of the other."""

    rows: int
    vectors: int

    def code_bytes(self, machine: Machine) -> int:
        """Return the bytes of its code: fused multiply-adds, loads and broadcasts, first zeros and last stores."""
        narrow = machine.vector_bytes < 64  # a VEX prefix is a byte or two shorter than an EVEX one
        multiply_add, load, broadcast, zero, store = (5, 6, 6, 4, 6) if narrow else (6, 7, 8, 4, 8)
        sums = self.rows * self.vectors
        step = sums * multiply_add + self.vectors * load + self.rows * broadcast
        return UNROLL * step + sums * (zero + store) + self.rows * 8 + _KERNEL_BYTES


class Remainder(Enum):
    """What computes the rows that fill no tile; each is a few calls of the primitives `split` and `specialize`.

    OVERLAP: a full tile that computes rows of the tile before again (`Tail.OVERLAP`, in place of the paper's local
    padding); for as many rows as a tile has, or more. EXACT: one tile of as many rows (`Tail.PEEL`, specialized).
    BALANCE: the last two tiles share them evenly (`Tail.BALANCE`, specialized).
    """

    OVERLAP = "overlapping"
    EXACT = "exact"
    BALANCE = "balanced"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to compute all rows: a micro-kernel, and the strategy for the remainder."""

    kernel: MicroKernel
    remainder: Remainder

    def kernels(self) -> tuple[MicroKernel, ...]:
        """Return the micro-kernels that its code consists of."""
        rows, vectors = self.kernel.rows, self.kernel.vectors
        match self.remainder:
            case Remainder.OVERLAP:
                return (self.kernel,)
            case Remainder.EXACT | Remainder.BALANCE:
                return tuple(MicroKernel(count, vectors) for count in range(rows, 0, -1))

    def code_bytes(self, machine: Machine) -> int:
        """Return the bytes of its code."""
        kernels = self.kernels()
        return sum(each.code_bytes(machine) for each in kernels) + _BRANCH_BYTES * (len(kernels) + 1)

    @property
    def least_rows(self) -> int:
        """The fewest rows that it computes."""
        return self.kernel.rows if self.remainder is Remainder.OVERLAP else 1

    def tiles(self, rows: int) -> dict[int, int]:
        """Return the number of tiles for each number of rows that a tile computes, overlapping rows included."""
        most = self.kernel.rows
        full, rest = divmod(rows, most)
        match self.remainder:
            case Remainder.OVERLAP:
                parts = [most] if rest else []
            case Remainder.BALANCE if rest and full:
                full -= 1
                parts = [(most + rest + 1) // 2, (most + rest) // 2]
            case _:
                parts = [rest] if rest else []
        tiles = {most: full} if full else {}
        for part in parts:
            tiles[part] = tiles.get(part, 0) + 1
        return tiles

    def __str__(self) -> str:
        return f"{self.kernel.rows}x{self.kernel.vectors} {self.remainder.value}"


def most_rows(machine: Machine, vectors: int) -> int:
    """Return the most rows of a tile of so many vectors, 0 if none fits in registers."""
    spare = machine.vector_registers // _REGISTERS_PER_SPARE
    return max(0, (machine.vector_registers - spare - vectors - 1) // vectors)


def micro_kernels(machine: Machine) -> Iterator[MicroKernel]:
    """Yield the micro-kernels that fit in registers with their accumulators, vectors of one operand and a broadcast.

    Fewer accumulators than hide the latency of a multiply-add are left to remainders: they are never the best for many
    rows.
    """
    for vectors in range(1, MOST_VECTORS + 1):
        for rows in range(1, most_rows(machine, vectors) + 1):
            if rows * vectors >= machine.accumulators:
                yield MicroKernel(rows, vectors)


def candidates(machine: Machine, vectors: int) -> Iterator[Candidate]:
    """Yield the candidates for panels of so many vectors."""
    for kernel in micro_kernels(machine):
        if kernel.vectors == vectors:
            for remainder in Remainder:
                if kernel.rows > 1 or remainder is Remainder.EXACT:
                    yield Candidate(kernel, remainder)
