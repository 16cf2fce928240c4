"""What generated code calls and LLVM inlines: exact products, pairs, exp, tanh, sigmoid, floor division.

Vectors, their remainders and scalars go through the same operations, so a value has the same bits wherever its
element stands. exp, tanh and sigmoid of float32 hold to 1e-6 of the value wherever it is a normal number, at the
infinities and NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ragged.codegen.llvm_text import Lanes, Operand, Writer

_LOG2_E = 1.44269504088896341
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
"""Their sum is ln 2, and n * _LN2_HIGH is exact for |n| < 2 ** 15."""
_EXP_LOWEST, _EXP_HIGHEST = -104.0, 89.0
"""Beyond them exp is 0 and inf in float32."""
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
"""Of Cephes' expf: exp(r) = 1 + r + r * r * p(r) for |r| <= ln(2) / 2."""

_TANH_BOUND = 7.99881172180175781
"""Where the approximation of tanh reaches 1."""
_TANH_SMALL = 0.0004
"""Below it tanh(x) is x."""
_TANH_ABOVE = (
    -2.76076847742355e-16,
    2.00018790482477e-13,
    -8.60467152213735e-11,
    5.12229709037114e-08,
    1.48572235717979e-05,
    6.37261928875436e-04,
    4.89352455891786e-03,
)
_TANH_BELOW = (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)
"""tanh(x) = x * above(x * x) / below(x * x): the approximation of degrees 13 and 6 that Eigen and XLA use."""


@dataclass(frozen=True, slots=True)
class Helper:
    """A function of generated code: which one, for operands of which type."""

    operation: str
    type: Lanes

    @property
    def name(self) -> str:
        """The name that it is called by."""
        return f"ragged_{self.operation}_{self.type.suffix}"


def helpers_text(helpers: Iterable[Helper]) -> str:
    """Return LLVM IR that defines `helpers`; the empty text if there are none."""
    declared: set[str] = set()
    defined: list[str] = []
    for helper in sorted(set(helpers), key=lambda helper: helper.name):
        parameters, build = OPERATIONS[helper.operation]
        writer = Writer(helper.type)
        result = build(writer, *(f"%p{i}" for i in range(parameters)))
        defined.append(writer.define(helper.name, parameters, result))
        declared |= writer.declared
    return "".join((*sorted(declared), *defined))


Scale: TypeAlias = Callable[[Writer, Operand, Operand], Operand]
"""Writes `x * 2 ** n`, rounded once, for floats x of 0.5 .. 2 and whole n of -150 .. 129; of NaN, NaN."""


def exp(w: Writer, x: Operand) -> Operand:
    """Return the power of e."""
    return _exp(w, x, _scaled)


def exp_avx512(w: Writer, x: Operand) -> Operand:
    """Return what `exp` does, of sixteen lanes by AVX-512."""
    return _exp(w, x, _scaled_avx512)


def _exp(w: Writer, x: Operand, scale: Scale) -> Operand:
    """Return 2 ** n times the power of e of r, with x = n * ln 2 + r."""
    x = w.clamped(x, _EXP_LOWEST, _EXP_HIGHEST)
    n = w.call("rint", w.mul(x, w.type.number(_LOG2_E)))
    r = w.fma(n, w.type.number(-_LN2_LOW), w.fma(n, w.type.number(-_LN2_HIGH), x))
    series = w.fma(w.polynomial(_EXP, r), w.mul(r, r), w.op("fadd", r, w.type.number(1.0)))
    return scale(w, series, n)


def _scaled(w: Writer, x: Operand, n: Operand) -> Operand:
    # in two steps: 2 ** n itself may be no float, too large or subnormal; of NaN, n is whatever it is
    integers = w.type.of("i32")
    power = w.emit(f"freeze {integers} {w.convert('fptosi', n, w.type, integers)}")
    half = w.op("ashr", power, integers.number(1), integers)
    rest = w.op("sub", power, half, integers)
    return w.mul(w.mul(x, _power_of_two(w, half)), _power_of_two(w, rest))


def _scaled_avx512(w: Writer, x: Operand, n: Operand) -> Operand:
    """Do so by one instruction, where `_scaled` takes nine: all lanes, rounded as usual (4)."""
    name, type = "@llvm.x86.avx512.mask.scalef.ps.512", w.type
    w.declared.add(f"declare {type} {name}({type}, {type}, {type}, i16, i32)\n")
    return w.emit(f"call {type} {name}({type} {x}, {type} {n}, {type} zeroinitializer, i16 -1, i32 4)")


def _power_of_two(w: Writer, n: Operand) -> Operand:
    """Return 2 ** n as float, for an i32 of -126 .. 127: `n` as a float's exponent."""
    integers = w.type.of("i32")
    bits = w.op("shl", w.op("add", n, integers.number(127), integers), integers.number(23), integers)
    return w.convert("bitcast", bits, integers, w.type)


def tanh(w: Writer, x: Operand) -> Operand:
    """Return the hyperbolic tangent."""
    bounded = w.clamped(x, -_TANH_BOUND, _TANH_BOUND)
    square = w.mul(bounded, bounded)
    above = w.mul(bounded, w.polynomial(_TANH_ABOVE, square))
    quotient = w.op("fdiv", above, w.polynomial(_TANH_BELOW, square))
    return w.select(w.op("fcmp olt", w.call("fabs", x), w.type.number(_TANH_SMALL)), x, quotient)


def sigmoid(w: Writer, x: Operand) -> Operand:
    """Return `1 / (1 + exp(-x))`, which is 0 and 1 at the infinities."""
    return _sigmoid(w, x, _scaled)


def sigmoid_avx512(w: Writer, x: Operand) -> Operand:
    """Return what `sigmoid` does, of sixteen lanes by AVX-512."""
    return _sigmoid(w, x, _scaled_avx512)


def _sigmoid(w: Writer, x: Operand, scale: Scale) -> Operand:
    one = w.type.number(1.0)
    return w.op("fdiv", one, w.op("fadd", one, _exp(w, w.emit(f"fneg {w.type} {x}"), scale)))


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
    """Return bits whose upper half is that bfloat16."""
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
    "exp": (1, exp),
    "exp_avx512": (1, exp_avx512),
    "tanh": (1, tanh),
    "sigmoid": (1, sigmoid),
    "sigmoid_avx512": (1, sigmoid_avx512),
    "floordiv": (2, floor_division),
    "floormod": (2, floor_remainder),
}
"""How many operands each operation has, and what writes it."""
