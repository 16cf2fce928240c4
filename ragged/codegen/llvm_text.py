"""Writing small functions as LLVM IR, for scalars and for vectors of any number of lanes.

TVM links the text into its module and has LLVM inline every function of it. (Bindings in TIR expressions would not
do: TVM's simplifier evaluates them again and fails where it folds a constant.)

The order of rounding is part of a program, but TVM tells LLVM to contract `a * b + c` into a
fused multiply-add wherever it can, and no setting of TVM's says otherwise. So a product is written
`fma(a, b, -0.0)`, which is the product rounded once and cannot be contracted, with a -0.0 that LLVM may not look
through; on any processor with fused multiply-add it costs what a multiplication costs.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TypeAlias

from ragged.errors import InternalError

_SCALED_LANES = 16
"""The lanes of floats that an instruction of AVX-512 multiplies by powers of two."""
_SHIFT, _SHIFT_BITS = 1.5 * 2.0**52, 0x4338000000000000
"""Added to a double, it leaves the nearest integer in the low bits; and the bits of it."""
Operand: TypeAlias = str
"""A value in LLVM's text: `%t3`, or a constant."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """A type: `lanes` elements of `element`, which is "float", "double", "i32" or "i64"; one lane is a scalar."""

    element: str
    lanes: int = 1

    def __str__(self) -> str:
        return self.element if self.lanes == 1 else f"<{self.lanes} x {self.element}>"

    @property
    def suffix(self) -> str:
        """What names this type in the name of a function: `f32`, `v16f32`."""
        short = {"float": "f32", "double": "f64"}.get(self.element, self.element)
        return short if self.lanes == 1 else f"v{self.lanes}{short}"

    def of(self, element: str) -> Lanes:
        """Return the type of as many elements of another kind."""
        return Lanes(element, self.lanes)

    def number(self, value: float) -> Operand:
        """Return a constant, the same in each lane."""
        text = str(int(value)) if self.element.startswith("i") else _float(value, self.element)
        if self.lanes == 1:
            return text
        return "<" + ", ".join([f"{self.element} {text}"] * self.lanes) + ">"


def _float(value: float, element: str) -> str:
    """Return a float constant by its bits; LLVM writes float's as those of the double of the same value."""
    rounded = struct.unpack("f", struct.pack("f", value))[0] if element == "float" else value
    return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"


@dataclass
class Writer:
    """Writes the body of one function of operands of type `type`, statement by statement.

    It is a `ragged.ir.lane_writer.LaneWriter`; with `avx512`, for a processor with AVX-512.
    """

    type: Lanes
    lines: list[str] = field(default_factory=list)
    declared: set[str] = field(default_factory=set)
    avx512: bool = False

    def define(self, name: str, parameters: int, result: Operand) -> str:
        """Return the whole function: `name` of `%p0`, `%p1`.., which returns `result`."""
        arguments = ", ".join(f"{self.type} %p{i}" for i in range(parameters))
        body = "\n".join(f"  {line}" for line in (*self.lines, f"ret {self.type} {result}"))
        return f"define {self.type} @{name}({arguments}) {{\n{body}\n}}\n"

    def emit(self, text: str) -> Operand:
        """Append an instruction and return its result."""
        name = f"%t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def call(self, intrinsic: str, *operands: Operand) -> Operand:
        """Call LLVM's `intrinsic` of this type."""
        name = f"@llvm.{intrinsic}.{self.type.suffix}"
        self.declared.add(f"declare {self.type} {name}({', '.join([str(self.type)] * len(operands))})\n")
        return self.emit(f"call {self.type} {name}({', '.join(f'{self.type} {x}' for x in operands)})")

    def op(self, name: str, a: Operand, b: Operand, type: Lanes | None = None) -> Operand:
        """Apply LLVM's binary instruction `name`."""
        return self.emit(f"{name} {type or self.type} {a}, {b}")

    def select(self, condition: Operand, if_true: Operand, if_false: Operand) -> Operand:
        """Choose lane by lane."""
        bits = self.type.of("i1")
        return self.emit(f"select {bits} {condition}, {self.type} {if_true}, {self.type} {if_false}")

    def convert(self, name: str, value: Operand, old: Lanes, new: Lanes) -> Operand:
        """Apply LLVM's conversion `name`."""
        return self.emit(f"{name} {old} {value} to {new}")

    def fma(self, a: Operand, b: Operand, c: Operand) -> Operand:
        """Return `a * b + c`, rounded once."""
        return self.call("fma", a, b, c)

    @property
    def is_double(self) -> bool:
        """True of float64."""
        return self.type.element == "double"

    def wide(self) -> Writer:
        """Return a writer of the same function for float64."""
        return Writer(self.type.of("double"), self.lines, self.declared, self.avx512)

    def number(self, value: float) -> Operand:
        """Return a constant, the same in each lane."""
        return self.type.number(value)

    def library(self, name: str, x: Operand) -> Operand:
        """Call a function of the C library for each lane."""
        element = self.type.element
        self.declared.add(f"declare {element} @{name}({element}) nounwind memory(none)\n")
        if self.type.lanes == 1:
            return self.emit(f"call {element} @{name}({element} {x})")
        result = "poison"
        for lane in range(self.type.lanes):
            each = self.emit(f"extractelement {self.type} {x}, i32 {lane}")
            value = self.emit(f"call {element} @{name}({element} {each})")
            result = self.emit(f"insertelement {self.type} {result}, {element} {value}, i32 {lane}")
        return result

    def integer(self, name: str, a: Operand, b: Operand | int) -> Operand:
        """Apply LLVM's instruction `name` to two integers, as wide as the floats."""
        integers = self._integers
        return self.op(name, a, integers.number(b) if isinstance(b, int) else b, integers)

    def cast(self, name: str, x: Operand) -> Operand:
        """Convert as `ragged.ir.lane_writer.LaneWriter.cast` says."""
        integers, double = self._integers, self.type.of("double")
        match name:
            case "low_bits":
                words = self.type.of("i64")
                return self.convert(
                    "trunc", self.convert("bitcast", x, double, words), words, self.type.of("i32")
                )
            case "bits":
                return self.convert("bitcast", x, self.type, integers)
            case "from_bits":
                return self.convert("bitcast", x, integers, self.type)
            case "to_float" if self.is_double:  # not all processors convert vectors of int64
                shifted = self.cast("from_bits", self.integer("add", x, _SHIFT_BITS))
                return self.op("fsub", shifted, self.number(_SHIFT))
            case "to_float":
                return self.convert("sitofp", x, integers, self.type)
            case "widen":
                return self.convert("fpext", x, self.type, double)
            case "narrow":
                return self.convert("fptrunc", x, double, self.type)
            case _:
                raise InternalError(f"no conversion '{name}'")

    def neg(self, x: Operand) -> Operand:
        """Return `-x`."""
        return self.emit(f"fneg {self.type} {x}")

    def scaled(self, x: Operand, n: Operand) -> Operand:
        """Return `x * 2 ** n`, rounded once, for floats x of 0.5 .. 2 and whole n of normal numbers; of NaN, NaN."""
        type = self.type
        if self.is_double:  # in two steps, as below; not all processors convert vectors to int64
            first = self.call("floor", self.mul(n, self.number(0.5)))
            second = self.op("fsub", n, first)
            return self.mul(self.mul(x, self._power_of_double(first)), self._power_of_double(second))
        if self.avx512 and type.lanes == _SCALED_LANES:  # one instruction, all lanes, rounded as usual (4)
            name = "@llvm.x86.avx512.mask.scalef.ps.512"
            self.declared.add(f"declare {type} {name}({type}, {type}, {type}, i16, i32)\n")
            return self.emit(
                f"call {type} {name}({type} {x}, {type} {n}, {type} zeroinitializer, i16 -1, i32 4)"
            )
        # in two steps: 2 ** n itself may be too large for a float; of NaN, n is whatever it is
        integers = type.of("i32")
        power = self.emit(f"freeze {integers} {self.convert('fptosi', n, type, integers)}")
        half = self.integer("ashr", power, 1)
        return self.mul(
            self.mul(x, self._power_of_two(half)), self._power_of_two(self.integer("sub", power, half))
        )

    def _power_of_two(self, n: Operand) -> Operand:
        """Return 2 ** n as float, for an int32 of -126 .. 127: `n` as a float's exponent."""
        return self.cast("from_bits", self.integer("shl", self.integer("add", n, 127), 23))

    def _power_of_double(self, n: Operand) -> Operand:
        """Return 2 ** n as double, for a whole double n of -1022 .. 1023."""
        bits = self.cast("bits", self.op("fadd", n, self.number(_SHIFT)))
        return self.cast("from_bits", self.integer("shl", self.integer("add", bits, 1023), 52))

    @property
    def _integers(self) -> Lanes:
        """Integers as wide as the floats."""
        return self.type.of("i64" if self.is_double else "i32")

    def mul(self, a: Operand, b: Operand) -> Operand:
        """Return `a * b`, rounded by itself."""
        return self.fma(a, b, self.call("arithmetic.fence", self.type.number(-0.0)))

    def polynomial(self, coefficients: tuple[float, ...], x: Operand) -> Operand:
        """Return the polynomial of `coefficients`, highest first, by Horner's rule."""
        value = self.type.number(coefficients[0])
        for coefficient in coefficients[1:]:
            value = self.fma(value, x, self.type.number(coefficient))
        return value

    def clamped(self, x: Operand, low: float, high: float) -> Operand:
        """Return `x` kept within bounds; the comparisons are false of NaN, which so stays."""
        least, most = self.type.number(low), self.type.number(high)
        x = self.select(self.op("fcmp olt", x, least), least, x)
        return self.select(self.op("fcmp ogt", x, most), most, x)
