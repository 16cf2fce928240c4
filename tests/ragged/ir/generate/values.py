"""Expressions that are in bounds, defined and tame: no overflow, no division by zero, no chaos of rounding.

Conditions never depend on what was computed in floating point, so that programs that round differently still
take the same branches.
"""

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from ragged.ir.build import add
from ragged.ir.dtype import INDEX, DType
from ragged.ir.elementwise import FUNCTIONS
from ragged.ir.expr import Binary, Buffer, Call, Cast, Const, Expr, Fma, Load, Ref, Role, Select, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from tests.ragged.ir.generate.functions import World

LIMIT = 64
COMPARISONS = (BinaryOp.EQ, BinaryOp.NE, BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE)


@dataclass(frozen=True)
class Here:
    """What a place in a program may use.

    `ints` are index expressions with their least and greatest value, `scalars` variables of other dtypes.
    `shapes` are the extents of the buffers that may be read, `writable` those that may be written too; one in
    `own` only at these positions, because other iterations use the rest.
    """

    ints: tuple[tuple[Expr, int, int], ...] = ()
    scalars: tuple[Var, ...] = ()
    shapes: dict[Buffer, tuple[int, ...]] = field(default_factory=dict)
    writable: frozenset[Buffer] = frozenset()
    own: dict[Buffer, dict[int, Expr]] = field(default_factory=dict)

    def with_int(self, expr: Expr, lo: int, hi: int) -> "Here":
        return replace(self, ints=(*self.ints, (expr, lo, hi)))

    def without(self, buffer: Buffer) -> "Here":
        return replace(self, shapes={b: s for b, s in self.shapes.items() if b is not buffer})


_COMPUTED = (DType.BOOL, DType.INT32, DType.INT64, DType.FLOAT32, DType.FLOAT64)
"""The types of drawn expressions; all others are only what arrays hold."""


def number(value: int, dtype: DType) -> Const:
    return Const(float(value) if dtype.is_float else value, dtype)


@dataclass
class Values:
    """Draws expressions."""

    world: World

    def pick(self, options):
        return self.world.draw(st.sampled_from(list(options)))

    # --- indices

    def index(self, here: Here, extent: Expr, count: int, depth: int = 1) -> Expr:
        """Return an index in [0, count), where `count` is the value of `extent`."""
        ways = [lambda: Const(self.world.integer(0, count - 1))]
        fitting = [expr for expr, lo, hi in here.ints if lo >= 0 and hi < count]
        if fitting:
            ways += 3 * [lambda: self.pick(fitting)]
        if depth > 0:
            ways += [
                lambda: Binary(BinaryOp.MOD, self.integer(here, depth - 1)[0], extent),
                lambda: self._clamped(self.integer(here, depth - 1)[0], count - 1),
            ]
        calls = [
            f for f in self._callable() if self.world.ranges[f][0] >= 0 and self.world.ranges[f][1] < count
        ]
        if calls and depth > 0:
            ways += 2 * [lambda: self.call(here, self.pick(calls), depth - 1)]
        return self.pick(ways)()

    def _clamped(self, value: Expr, greatest: int) -> Expr:
        return Binary(BinaryOp.MIN, Binary(BinaryOp.MAX, value, Const(0)), Const(greatest))

    def _callable(self):
        return [f for f in self.world.ranges if self.world.domains.get(f, 1) > 0]

    def call(self, here: Here, function, depth: int) -> Expr:
        """Return a call inside the function's domain."""
        domain = ((p.extent, self.world.domains[function]) for p in function.params)
        return Call(function, tuple(self.index(here, extent, count, depth) for extent, count in domain))

    def extent(self, here: Here) -> tuple[Expr, int]:
        """Return how often a loop runs, four times at most, with its greatest value."""
        small = [(expr, hi) for expr, lo, hi in here.ints if lo >= 0 and hi <= 4]
        calls = [f for f in self._callable() if self.world.ranges[f][0] >= 0 and self.world.ranges[f][1] <= 4]
        ways = [lambda: (lambda k: (Const(k), k))(self.world.integer(0, 3))]
        if small:
            ways.append(lambda: self.pick(small))
        if calls:
            ways += 2 * [
                lambda: (lambda f: (self.call(here, f, 1), self.world.ranges[f][1]))(self.pick(calls))
            ]
        return self.pick(ways)()

    def load(self, here: Here, buffer: Buffer, depth: int = 1) -> Load:
        """Return an element of `buffer` that may be read here."""
        return Load(buffer, self.place(here, buffer, depth))

    def place(self, here: Here, buffer: Buffer, depth: int = 1) -> tuple[Expr, ...]:
        """Return where `buffer` may be read, and written if at all."""
        own, counts = here.own.get(buffer, {}), here.shapes[buffer]
        axes = enumerate(zip(buffer.shape, counts, strict=True))
        return tuple(own[k] if k in own else self.index(here, e, c, depth) for k, (e, c) in axes)

    # --- values

    def integer(self, here: Here, depth: int) -> tuple[Expr, int]:
        return self.value(here, INDEX, depth)

    def value(self, here: Here, dtype: DType, depth: int = 2) -> tuple[Expr, float]:
        """Return an expression of `dtype` and how far from zero it gets at most."""
        if dtype is DType.BOOL:
            return self.condition(here, depth), 1
        deeper = depth > 0 and self.pick((True, True, False))
        expr, bound = self._inner(here, dtype, depth) if deeper else self._leaf(here, dtype)
        return (self.bounded(expr, 8), 8) if bound > LIMIT else (expr, bound)

    def bounded(self, expr: Expr, bound: int) -> Expr:
        """Return `expr`, cut off at `bound` either side."""
        lo, hi = number(-bound, expr.dtype), number(bound, expr.dtype)
        return Binary(BinaryOp.MIN, Binary(BinaryOp.MAX, expr, lo), hi)

    def _leaf(self, here: Here, dtype: DType) -> tuple[Expr, float]:
        ways = [lambda: (self._constant(dtype), 2)]
        loads = [buffer for buffer in here.shapes if buffer.dtype is dtype]
        scalars = [var for var in here.scalars if var.dtype is dtype]
        if loads:
            ways += 3 * [lambda: (self.load(here, self.pick(loads), 0), LIMIT)]
        if scalars:
            ways += 2 * [lambda: (Ref(self.pick(scalars)), LIMIT)]
        if dtype is INDEX and here.ints:
            ways += 3 * [
                lambda: (lambda atom: (atom[0], max(abs(atom[1]), abs(atom[2]))))(self.pick(here.ints))
            ]
        if dtype is INDEX and self._callable():
            ways.append(lambda: (lambda f: (self.call(here, f, 0), LIMIT))(self.pick(self._callable())))
        return self.pick(ways)()

    def _constant(self, dtype: DType) -> Const:
        value = self.world.integer(-8, 8)
        return Const(value / 4, dtype) if dtype.is_float else Const(value // 4, dtype)

    def _inner(self, here: Here, dtype: DType, depth: int) -> tuple[Expr, float]:
        lhs, b = self.value(here, dtype, depth - 1)
        rhs, c = self.value(here, dtype, depth - 1)
        ways = [
            lambda: (Binary(self.pick((BinaryOp.ADD, BinaryOp.SUB)), lhs, rhs), b + c),
            lambda: (Binary(BinaryOp.MUL, lhs, rhs), b * c),
            lambda: (Binary(self.pick((BinaryOp.MIN, BinaryOp.MAX)), lhs, rhs), max(b, c)),
            lambda: (Unary(self.pick((UnaryOp.NEG, UnaryOp.ABS)), lhs), b),
            lambda: (Select(self.condition(here, depth - 1), lhs, rhs), max(b, c)),
            lambda: self._cast(here, dtype, depth),
        ]
        ways += self._float_ways(lhs, rhs, b, c) if dtype.is_float else self._int_ways(lhs, b)
        return self.pick(ways)()

    def _float_ways(self, lhs: Expr, rhs: Expr, b: float, c: float):
        dtype = lhs.dtype
        one = number(1, dtype)
        positive = Binary(BinaryOp.ADD, Unary(UnaryOp.ABS, rhs), one)
        return [
            lambda: (Binary(BinaryOp.DIV, lhs, positive), b),
            lambda: (Fma(lhs, rhs, one), b * c + 1),
            lambda: (Unary(self.pick((FUNCTIONS["tanh"], FUNCTIONS["sigmoid"])), lhs), 1),
            lambda: (Unary(FUNCTIONS["exp"], Binary(BinaryOp.MIN, lhs, number(2, dtype))), 8),
            lambda: (Unary(self.pick((FUNCTIONS["log"], FUNCTIONS["sqrt"])), positive), 8),
        ]

    def _int_ways(self, lhs: Expr, b: float):
        divisor = number(self.world.integer(1, 4), lhs.dtype)
        return [lambda: (Binary(self.pick((BinaryOp.FLOORDIV, BinaryOp.MOD)), lhs, divisor), b + 4)]

    def _cast(self, here: Here, dtype: DType, depth: int) -> tuple[Expr, float]:
        """Return something of another dtype as `dtype`; floats become ints only where they are exact."""
        if dtype.is_float or self.world.flag():
            others = [
                other for other in _COMPUTED if other is not dtype and (dtype.is_float or not other.is_float)
            ]
            operand, bound = self.value(here, self.pick(others), depth - 1)
            return Cast(dtype, operand), bound
        given = self._given(here)
        return (Cast(dtype, self.load(here, self.pick(given), 0)), 2) if given else (self._constant(dtype), 2)

    def _given(self, here: Here) -> list[Buffer]:
        return [b for b in here.shapes if b.dtype.is_float and b.role in (Role.PARAMETER, Role.PAYLOAD)]

    def condition(self, here: Here, depth: int = 1) -> Expr:
        """Return a condition that no rounding decides."""
        compared = self.pick(COMPARISONS)
        ways = [lambda: Binary(compared, self.integer(here, 0)[0], self.integer(here, 0)[0])] * 3
        ways.append(lambda: Const(self.world.flag(), DType.BOOL))
        loads = [buffer for buffer in here.shapes if buffer.dtype is DType.BOOL]
        if loads:
            ways.append(lambda: self.load(here, self.pick(loads), 0))
        given = self._given(here)
        if given:
            exact = self.pick(given)
            ways.append(lambda: Binary(compared, self.load(here, exact, 0), self._constant(exact.dtype)))
        if depth > 0:
            logical = self.pick((BinaryOp.AND, BinaryOp.OR))
            ways += [
                lambda: Binary(logical, self.condition(here, depth - 1), self.condition(here, depth - 1)),
                lambda: Unary(UnaryOp.NOT, self.condition(here, depth - 1)),
            ]
        return self.pick(ways)()

    def offset(self, function, arg: Expr, var: Var) -> Expr:
        return add(Call(self.world.offsets[function], (arg,)), var)
