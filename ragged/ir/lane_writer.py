"""What recipes of elementwise functions write instructions through."""

from __future__ import annotations

from typing import Protocol, TypeAlias

Operand: TypeAlias = str
"""A value in generated code, of one lane or several."""


class LaneWriter(Protocol):
    """Writes operations on vectors of floats; a comparison's or an integer's vector has as many lanes."""

    @property
    def is_double(self) -> bool:
        """True of float64."""

    def number(self, value: float) -> Operand:
        """Return a constant, the same in each lane."""

    def library(self, name: str, x: Operand) -> Operand:
        """Call a function of the C library for each lane."""

    def wide(self) -> LaneWriter:
        """Return a writer of the same code for float64."""

    def op(self, name: str, a: Operand, b: Operand) -> Operand:
        """Apply LLVM's instruction `name` to two floats: "fadd", "fsub", "fdiv", "fcmp olt"."""

    def integer(self, name: str, a: Operand, b: Operand | int) -> Operand:
        """Apply LLVM's instruction `name` to two integers, as wide as the floats: "add", "and", "shl", "icmp ne"."""

    def cast(self, name: str, x: Operand) -> Operand:
        """Convert between floats and integers as wide: "bits", "from_bits", "to_float" of less than 2 ** 31.

        "widen" and "narrow" convert between float32 and float64, "low_bits" of a float64 are an int32.
        """

    def call(self, intrinsic: str, *operands: Operand) -> Operand:
        """Call LLVM's intrinsic."""

    def select(self, condition: Operand, if_true: Operand, if_false: Operand) -> Operand:
        """Choose lane by lane."""

    def fma(self, a: Operand, b: Operand, c: Operand) -> Operand:
        """Return `a * b + c`, rounded once."""

    def mul(self, a: Operand, b: Operand) -> Operand:
        """Return `a * b`, rounded by itself."""

    def neg(self, x: Operand) -> Operand:
        """Return `-x`."""

    def polynomial(self, coefficients: tuple[float, ...], x: Operand) -> Operand:
        """Return the polynomial of `coefficients`, highest first."""

    def clamped(self, x: Operand, low: float, high: float) -> Operand:
        """Return `x` limited to low .. high; NaN stays."""

    def scaled(self, x: Operand, n: Operand) -> Operand:
        """Return `x * 2 ** n`, rounded once, for floats x of 0.5 .. 2 and whole n of normal numbers; of NaN, NaN."""
