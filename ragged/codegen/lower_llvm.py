"""What LLVM does not know by itself, as calls of functions that are compiled along and inlined.

TVM's pass for this, LowerIntrin, is not used: it visits what it has lowered once more, and its simplifier fails
where a constant was folded in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ragged.codegen import masked_text, team_text, tile_text, transpose_text
from ragged.codegen.elementary import Helper, helpers_text, pairs_name, pairs_text
from ragged.codegen.llvm_text import Lanes
from ragged.codegen.load_tvm import Call, StringImm, tirx, tvm_ffi
from ragged.codegen.ops import (
    BARRIER,
    CLAIM,
    MASKED_LOAD,
    MASKED_SCATTER,
    MASKED_STORE,
    MULTIPLY,
    OPERATIONS,
    PAIRED,
    PAIRS,
    PREFETCH,
    PREFIX,
    RELEASE,
    TRANSPOSE,
    TirExpr,
)
from ragged.ir.elementwise import FUNCTIONS

_PREFETCH = (
    "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"
    "define i32 @ragged_prefetch(ptr %address) {\n"
    "  call void @llvm.prefetch.p0(ptr %address, i32 0, i32 3, i32 1)\n"  # for reading, into all caches, data
    "  ret i32 0\n}\n"
)
_ELEMENTS = {"float32": "float", "float64": "double", "int32": "i32", "int64": "i64"}


def lower_for_llvm(function: Any, processor: str, *, has_pairs: bool = False, has_scale: bool = False) -> Any:
    """Return a `tirx.PrimFunc` with the operations of `ragged.codegen.ops` and floor division lowered.

    `processor` is the first word of LLVM's triple; with `has_pairs` it multiplies pairs by one instruction, and with
    `has_scale` sixteen floats by powers of two. Comes last, after loops have become vectors.
    """
    lowering = _Lowering(processor, has_pairs)
    rules = ((Call, lowering.call), (tirx.FloorDiv, lowering.division), (tirx.FloorMod, lowering.remainder))
    body = tvm_ffi.structural_map(function.body, rules)
    text = helpers_text(lowering.used, avx512=has_scale) + "".join(lowering.texts.values())
    if text:
        body = tirx.AttrStmt(tirx.IntImm("int32", 0), "pragma_import_llvm", StringImm(text), body)
    return function.with_body(body)


@dataclass
class _Lowering:
    """Replaces single nodes and collects the helpers that are used."""

    processor: str
    has_pairs: bool
    used: set[Helper] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)

    def call(self, call: Any) -> TirExpr:
        name = getattr(call.op, "name", "")
        if name == BARRIER:
            shared = len(call.args) - 2
            text = team_text.barrier_text(shared, self.processor)
            return self._extern(team_text.barrier_name(shared), text, call.args)
        if name == PREFETCH:
            return self._extern("ragged_prefetch", _PREFETCH, call.args)
        if name == CLAIM:
            return self._extern("ragged_claim", team_text.CLAIM, call.args)
        if name == PAIRS:
            lanes = call.ty.dtype.lanes
            self.texts[pairs_name(lanes)] = pairs_text(lanes)
            return tirx.call_pure_extern(str(call.ty.dtype), pairs_name(lanes), *call.args)
        if name == RELEASE:
            return self._extern("ragged_release", tile_text.RELEASE, call.args)
        if name == MULTIPLY:
            return self._multiply(*call.args)
        if name == TRANSPOSE:
            return self._transpose(call.args)
        if name == MASKED_LOAD:
            return self._masked_load(call)
        if name in (MASKED_STORE, MASKED_SCATTER):
            return self._masked_store("store" if name == MASKED_STORE else "scatter", *call.args)
        function = name.removeprefix(PREFIX)
        operation = function if function in FUNCTIONS else OPERATIONS.get(name)
        if operation == "dot" and self.has_pairs and call.ty.dtype.lanes in PAIRED:
            operation = "dot_bf16"
        return call if operation is None else self._helper(operation, call.ty.dtype, *call.args)

    def _multiply(self, tiles: Any, *args: TirExpr) -> TirExpr:
        count = int(tiles.value)
        self.texts["tiles"] = tile_text.DECLARED
        return self._extern(tile_text.multiply_name(count), tile_text.multiply_text(count), args)

    def _transpose(self, args: Any) -> TirExpr:
        rows = args[3:]
        shape = rows[0].ty.dtype.lanes, len(rows)
        return self._extern(
            transpose_text.transpose_name(*shape), transpose_text.transpose_text(*shape), args
        )

    def _masked_load(self, call: Any) -> TirExpr:
        lanes = call.ty.dtype.lanes
        name = masked_text.masked_name("load", lanes)
        self.texts[name] = masked_text.masked_load_text(lanes)
        self.texts["smin"] = masked_text.DECLARED
        return tirx.call_extern(str(call.ty.dtype), name, *call.args)

    def _masked_store(self, operation: str, *args: TirExpr) -> TirExpr:
        lanes = args[1].ty.dtype.lanes
        self.texts["smin"] = masked_text.DECLARED
        text = masked_text.masked_store_text if operation == "store" else masked_text.masked_scatter_text
        return self._extern(masked_text.masked_name(operation, lanes), text(lanes), args)

    def _extern(self, name: str, text: str, args: Any) -> TirExpr:
        self.texts[name] = text
        return tirx.call_extern("int32", name, *args)

    def division(self, node: Any) -> TirExpr:
        power = _power_of_two(node.b)
        if power is not None:
            return tirx.shift_right(node.a, _like(node.b, power))
        return self._helper("floordiv", node.ty.dtype, node.a, node.b)

    def remainder(self, node: Any) -> TirExpr:
        power = _power_of_two(node.b)
        if power is not None:
            return tirx.bitwise_and(node.a, _like(node.b, (1 << power) - 1))
        return self._helper("floormod", node.ty.dtype, node.a, node.b)

    def _helper(self, operation: str, dtype: Any, *args: TirExpr) -> TirExpr:
        helper = Helper(operation, Lanes(_ELEMENTS[str(dtype.with_lanes(1))], dtype.lanes))
        self.used.add(helper)
        return tirx.call_pure_extern(str(dtype), helper.name, *args)


def _power_of_two(divisor: TirExpr) -> int | None:
    """Return the logarithm of a constant divisor that is a power of two, else None."""
    number = divisor.value if isinstance(divisor, tirx.Broadcast) else divisor
    if not isinstance(number, tirx.IntImm):
        return None
    value = int(number.value)
    return value.bit_length() - 1 if value > 0 and value & (value - 1) == 0 else None


def _like(divisor: TirExpr, value: int) -> TirExpr:
    """Return an integer constant of the dtype of a constant divisor, in as many lanes."""
    if isinstance(divisor, tirx.Broadcast):
        return tirx.Broadcast(_like(divisor.value, value), divisor.lanes)
    return tirx.IntImm(divisor.ty, value)
