"""What generated code calls and LLVM inlines: exact products, pairs, elementwise functions, floor division.

Vectors, their remainders and scalars go through the same operations, so a value has the same bits in each.
`ragged.ir.elementwise` states the error of each function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ragged.codegen.llvm_text import Lanes, Operand, Writer
from ragged.ir.elementwise import FUNCTIONS


@dataclass(frozen=True, slots=True)
class Helper:
    """A function of generated code: which one, for operands of which type."""

    operation: str
    type: Lanes

    @property
    def name(self) -> str:
        """The name that it is called by."""
        return f"ragged_{self.operation}_{self.type.suffix}"


def helpers_text(helpers: Iterable[Helper], *, avx512: bool = False) -> str:
    """Return LLVM IR that defines `helpers`; the empty text if there are none. `avx512` as of `Writer`."""
    declared: set[str] = set()
    defined: list[str] = []
    for helper in sorted(set(helpers), key=lambda helper: helper.name):
        row = FUNCTIONS.get(helper.operation)
        parameters, build = (1, row.recipe) if row is not None else OPERATIONS[helper.operation]
        writer = Writer(helper.type, avx512=avx512)
        result = build(writer, *(f"%p{i}" for i in range(parameters)))
        defined.append(writer.define(helper.name, parameters, result))
        declared |= writer.declared
    return "".join((*sorted(declared), *defined))


def maximum(w: Writer, a: Operand, b: Operand) -> Operand:
    """Return the larger float; NaN if one is, and `b` of two zeros."""
    return w.select(w.op("fcmp uno", a, a), a, w.select(w.op("fcmp ogt", a, b), a, b))


def minimum(w: Writer, a: Operand, b: Operand) -> Operand:
    """Return the smaller float; NaN if one is, and `b` of two zeros."""
    return w.select(w.op("fcmp uno", a, a), a, w.select(w.op("fcmp olt", a, b), a, b))


def pair(w: Writer, first: Operand, second: Operand) -> Operand:
    """Return two floats rounded to bfloat16, the first in the upper half."""
    words = w.type.of("i32")
    upper = w.op("shl", _upper_half(w, first), words.number(16), words)
    return w.convert("bitcast", w.op("or", upper, _upper_half(w, second), words), words, w.type)


def pairs_name(lanes: int) -> str:
    """Return the name of the function that makes so many pairs."""
    return f"ragged_pairs_v{lanes}"


def pairs_text(lanes: int) -> str:
    """Return LLVM IR that makes pairs of floats side by side; each has the bits that `pair` gives it."""
    floats = Lanes("float", 2 * lanes)
    w = Writer(floats)
    words = _rounded(w, "%p0")
    halves = w.convert("bitcast", words, floats.of("i32"), Lanes("i16", 4 * lanes))
    # of each float the upper half, and of a pair the second one's first: it is the lower half
    order = ", ".join(f"i32 {4 * pair + half}" for pair in range(lanes) for half in (3, 1))
    undefined = f"<{4 * lanes} x i16> poison"
    packed = w.emit(f"shufflevector <{4 * lanes} x i16> {halves}, {undefined}, <{2 * lanes} x i32> <{order}>")
    result = w.convert("bitcast", packed, Lanes("i16", 2 * lanes), Lanes("float", lanes))
    body = "\n".join(f"  {line}" for line in (*w.lines, f"ret <{lanes} x float> {result}"))
    return f"define <{lanes} x float> @{pairs_name(lanes)}({floats} %p0) {{\n{body}\n}}\n"


def _upper_half(w: Writer, x: Operand) -> Operand:
    """Return the bits of the nearest bfloat16, the even one of two that are as near; of NaN a quiet one."""
    words = w.type.of("i32")
    return w.op("lshr", _rounded(w, x), words.number(16), words)


def _rounded(w: Writer, x: Operand) -> Operand:
    """Return 32 bits with `x` rounded to bfloat16 in the upper half."""
    words = w.type.of("i32")
    bits = w.convert("bitcast", x, w.type, words)
    odd = w.op("and", w.op("lshr", bits, words.number(16), words), words.number(1), words)
    up = w.op("add", bits, w.op("add", odd, words.number(0x7FFF), words), words)
    quiet = w.op("or", bits, words.number(0x400000), words)
    ordered = w.op("fcmp ord", x, x)
    return w.emit(f"select {w.type.of('i1')} {ordered}, {words} {up}, {words} {quiet}")


def dot(w: Writer, a: Operand, b: Operand, c: Operand) -> Operand:
    """Return `c` with the products of two pairs added, the first ones' first."""
    (a0, a1), (b0, b1) = _halves(w, a), _halves(w, b)
    return w.fma(a1, b1, w.fma(a0, b0, c))


def _halves(w: Writer, x: Operand) -> tuple[Operand, Operand]:
    words = w.type.of("i32")
    bits = w.convert("bitcast", x, w.type, words)
    first = w.op("and", bits, words.number(-0x10000), words)
    second = w.op("shl", bits, words.number(16), words)
    return w.convert("bitcast", first, words, w.type), w.convert("bitcast", second, words, w.type)


def dot_bf16(w: Writer, a: Operand, b: Operand, c: Operand) -> Operand:
    """Return what `dot` does by one instruction of AVX512-BF16, which adds the product of the upper halves first."""
    pairs = Lanes("bfloat", 2 * w.type.lanes)
    x, y = (w.convert("bitcast", each, w.type, pairs) for each in (a, b))
    name = f"@llvm.x86.avx512bf16.dpbf16ps.{32 * w.type.lanes}"
    w.declared.add(f"declare {w.type} {name}({w.type}, {pairs}, {pairs})\n")
    return w.emit(f"call {w.type} {name}({w.type} {c}, {pairs} {x}, {pairs} {y})")


def floor_division(w: Writer, a: Operand, b: Operand) -> Operand:
    """Return the quotient of integers, rounded toward minus infinity; 0 if `b` is 0."""
    traps, by = _divisor(w, b)
    quotient = w.op("sdiv", a, by)
    rounded = w.select(_is_rounded_up(w, a, by), w.op("sub", quotient, w.type.number(1)), quotient)
    return w.select(traps, w.op("mul", a, b), rounded)


def floor_remainder(w: Writer, a: Operand, b: Operand) -> Operand:
    """Return what floor division leaves, which has the sign of `b`; `a` if `b` is 0."""
    traps, by = _divisor(w, b)
    rest = w.op("srem", a, by)
    rounded = w.select(_is_rounded_up(w, a, by), w.op("add", rest, by), rest)
    return w.select(traps, w.op("and", a, w.op("xor", b, w.type.number(-1))), rounded)


def _divisor(w: Writer, b: Operand) -> tuple[Operand, Operand]:
    """Return whether `b` is 0 or -1, where the machine's division may trap, and a divisor by which it does not."""
    traps = w.op("icmp ult", w.op("add", b, w.type.number(1)), w.type.number(2))
    return traps, w.select(traps, w.type.number(1), b)


def _is_rounded_up(w: Writer, a: Operand, b: Operand) -> Operand:
    """Return whether `sdiv` rounds up: the quotient is negative and not whole."""
    rest, zero = w.op("srem", a, b), w.type.number(0)
    opposite = w.op("icmp slt", w.op("xor", rest, b), zero)
    return w.op("and", w.op("icmp ne", rest, zero), opposite, w.type.of("i1"))


OPERATIONS: dict[str, tuple[int, Callable[..., Operand]]] = {
    "fma": (3, Writer.fma),
    "mul": (2, Writer.mul),
    "pair": (2, pair),
    "dot": (3, dot),
    "dot_bf16": (3, dot_bf16),
    "max": (2, maximum),
    "min": (2, minimum),
    "floordiv": (2, floor_division),
    "floormod": (2, floor_remainder),
}
"""How many operands each operation has, and what writes it."""
