"""Python's operators on expressions; each front end defines what they build."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Generic, Never, TypeVar

from ragged.ir.ops import BinaryOp, UnaryOp

E = TypeVar("E")
"""The expression type that operators return."""
L = TypeVar("L")
"""The type of the other operand: an expression or a number."""


class Operators(Generic[E, L]):
    """Arithmetic, comparison and logic (`&`, `|`, `~`) that build expressions; `bool()` is refused."""

    __slots__ = ()
    __array_ufunc__: ClassVar[None] = None  # a NumPy number on the left leaves the operator to this class

    @abstractmethod
    def _with(self, op: BinaryOp, other: L) -> E:
        """Return `self op other`."""

    @abstractmethod
    def _after(self, op: BinaryOp, other: L) -> E:
        """Return `other op self`."""

    @abstractmethod
    def _under(self, op: UnaryOp) -> E:
        """Return `op self`."""

    @abstractmethod
    def _branch(self) -> Exception:
        """Return the error for an expression used as a Python truth value."""

    def __add__(self, other: L) -> E:
        return self._with(BinaryOp.ADD, other)

    def __radd__(self, other: L) -> E:
        return self._after(BinaryOp.ADD, other)

    def __sub__(self, other: L) -> E:
        return self._with(BinaryOp.SUB, other)

    def __rsub__(self, other: L) -> E:
        return self._after(BinaryOp.SUB, other)

    def __mul__(self, other: L) -> E:
        return self._with(BinaryOp.MUL, other)

    def __rmul__(self, other: L) -> E:
        return self._after(BinaryOp.MUL, other)

    def __truediv__(self, other: L) -> E:
        return self._with(BinaryOp.DIV, other)

    def __rtruediv__(self, other: L) -> E:
        return self._after(BinaryOp.DIV, other)

    def __floordiv__(self, other: L) -> E:
        return self._with(BinaryOp.FLOORDIV, other)

    def __rfloordiv__(self, other: L) -> E:
        return self._after(BinaryOp.FLOORDIV, other)

    def __mod__(self, other: L) -> E:
        return self._with(BinaryOp.MOD, other)

    def __rmod__(self, other: L) -> E:
        return self._after(BinaryOp.MOD, other)

    def __lt__(self, other: L) -> E:
        return self._with(BinaryOp.LT, other)

    def __le__(self, other: L) -> E:
        return self._with(BinaryOp.LE, other)

    def __gt__(self, other: L) -> E:
        return self._with(BinaryOp.GT, other)

    def __ge__(self, other: L) -> E:
        return self._with(BinaryOp.GE, other)

    def __eq__(self, other: L) -> E:  # type: ignore[override]
        return self._with(BinaryOp.EQ, other)

    def __ne__(self, other: L) -> E:  # type: ignore[override]
        return self._with(BinaryOp.NE, other)

    def __and__(self, other: L) -> E:
        return self._with(BinaryOp.AND, other)

    def __rand__(self, other: L) -> E:
        return self._after(BinaryOp.AND, other)

    def __or__(self, other: L) -> E:
        return self._with(BinaryOp.OR, other)

    def __ror__(self, other: L) -> E:
        return self._after(BinaryOp.OR, other)

    def __invert__(self) -> E:
        return self._under(UnaryOp.NOT)

    def __neg__(self) -> E:
        return self._under(UnaryOp.NEG)

    def __abs__(self) -> E:
        return self._under(UnaryOp.ABS)

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> Never:
        raise self._branch()
