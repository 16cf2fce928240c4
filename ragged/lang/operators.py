"""Python's operators on expressions; each front end defines what they build."""

from __future__ import annotations

from abc import abstractmethod
from types import SimpleNamespace
from typing import Any, ClassVar, Generic, Never, TypeVar

import numpy as np

from ragged.errors import Location, ModelError
from ragged.ir.elementwise import COMPOSED, FUNCTIONS, Elementwise, names
from ragged.ir.ops import BinaryOp, UnaryOp

E = TypeVar("E")
"""The expression type that operators return."""
L = TypeVar("L")
"""The type of the other operand: an expression or a number."""
_OF_NUMPY: dict[Any, BinaryOp] = {
    np.add: BinaryOp.ADD,
    np.subtract: BinaryOp.SUB,
    np.multiply: BinaryOp.MUL,
    np.divide: BinaryOp.DIV,
    np.floor_divide: BinaryOp.FLOORDIV,
    np.remainder: BinaryOp.MOD,
    np.less: BinaryOp.LT,
    np.less_equal: BinaryOp.LE,
    np.greater: BinaryOp.GT,
    np.greater_equal: BinaryOp.GE,
    np.equal: BinaryOp.EQ,
    np.not_equal: BinaryOp.NE,
    np.bitwise_and: BinaryOp.AND,
    np.bitwise_or: BinaryOp.OR,
}
"""What NumPy calls for an operator with one of its numbers on the left."""
_POWER = SimpleNamespace(
    exp=lambda x: x._under(FUNCTIONS["exp"]),
    log=lambda x: x._under(FUNCTIONS["log"]),
    where=lambda condition, x, y: condition._choose(x, y),
)
"""The functions that a power expands into."""


class Operators(Generic[E, L]):
    """Arithmetic, comparison and logic (`&`, `|`, `~`) that build expressions; `bool()` is refused.

    NumPy's numbers are numbers here; its functions are refused, with the front end's own function in the message.
    """

    __slots__ = ()
    _front_end: ClassVar[str]
    """What programs call the front end: `ra`, `ragged`."""
    _reductions: ClassVar[str]
    """What stands for a loop of Python."""

    @abstractmethod
    def _with(self, op: BinaryOp, other: L) -> E:
        """Return `self op other`."""

    @abstractmethod
    def _after(self, op: BinaryOp, other: L) -> E:
        """Return `other op self`."""

    @abstractmethod
    def _under(self, op: UnaryOp | Elementwise) -> E:
        """Return `op self`."""

    @abstractmethod
    def _choose(self, if_true: L, if_false: L) -> E:
        """Return one of two values by the condition that this is."""

    @abstractmethod
    def _branch(self) -> Exception:
        """Return the error for an expression used as a Python truth value."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> E:
        op = _OF_NUMPY.get(ufunc)
        if op is None or method != "__call__" or options:
            raise self._unknown(f"numpy.{ufunc.__name__} is given an expression", self._functions())
        left, right = operands
        return self._with(op, right) if left is self else self._after(op, left)

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

    def __pow__(self, exponent: float) -> E:
        found: E = COMPOSED["pow"].expand(_POWER, self, exponent)
        return found

    def __rpow__(self, base: float) -> Never:
        raise ModelError(
            f"{base!r} is raised to the power of an expression",
            at=Location.capture(),
            because="exponents are numbers",
            fix=f"{self._front_end}.exp2(x) or exp10(x); of another base {self._front_end}.exp(x * math.log(base))",
        )

    def __matmul__(self, other: object) -> Never:
        raise ModelError(
            "'@' joins expressions, which are numbers",
            at=Location.capture(),
            fix=f"{self._front_end}.sum(extent, lambda k: x[..., k] * y[k, ...]) of two tensors",
        )

    __rmatmul__ = __matmul__

    def __abs__(self) -> E:
        return self._under(UnaryOp.ABS)

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> Never:
        raise self._branch()

    def __float__(self) -> Never:
        raise self._unknown("an expression is given for a number of Python", self._functions())

    def __index__(self) -> Never:
        raise self._unknown(
            "an expression is given for an integer of Python, as in range(...)", self._reductions
        )

    @classmethod
    def __torch_function__(cls, function: Any, *_: object) -> Never:
        raise cls._unknown(f"torch.{function.__name__} is given an expression", cls._functions())

    @classmethod
    def _functions(cls) -> str:
        return f"a function of {cls._front_end}: {', '.join((*names(), 'maximum', 'minimum'))}"

    @staticmethod
    def _unknown(what: str, fix: str) -> ModelError:
        because = "its value is known when the function runs, not while it is written"
        return ModelError(what, at=Location.capture(), because=because, fix=fix)
