"""Loads and stores of some lanes of a vector, as LLVM IR."""

from __future__ import annotations

DECLARED = "declare i64 @llvm.smin.i64(i64, i64)\ndeclare i64 @llvm.smax.i64(i64, i64)\n"


def masked_name(operation: str, lanes: int) -> str:
    """Return the name of the function that loads, stores or scatters (`operation`) the first of so many lanes."""
    return f"ragged_masked_{operation}_v{lanes}"


def masked_load_text(lanes: int) -> str:
    """Return LLVM IR of `<lanes x float> (address, first, count)`.

    Lanes before `first`, and from `count` on, are zero, and are not read.
    """
    vector, mask = f"<{lanes} x float>", f"<{lanes} x i1>"
    callee = f"@llvm.masked.load.v{lanes}f32.p0"
    return (
        f"declare {vector} {callee}(ptr, i32, {mask}, {vector})\n"
        f"define {vector} @{masked_name('load', lanes)}(ptr %from, i64 %first, i64 %count) {{\n"
        f"{_below('first', lanes)}{_below('count', lanes)}"
        f"  %from_first = xor {mask} %below_first, <{', '.join(['i1 true'] * lanes)}>\n"
        f"  %inside = and {mask} %from_first, %below_count\n"
        f"  %value = call {vector} {callee}(ptr %from, i32 4, {mask} %inside, {vector} zeroinitializer)\n"
        f"  ret {vector} %value\n}}\n"
    )


def masked_store_text(lanes: int) -> str:
    """Return LLVM IR of `i32 (address, value, count)`: lanes from `count` on are not written."""
    vector, mask = f"<{lanes} x float>", f"<{lanes} x i1>"
    callee = f"@llvm.masked.store.v{lanes}f32.p0"
    return (
        f"declare void {callee}({vector}, ptr, i32, {mask})\n"
        f"define i32 @{masked_name('store', lanes)}(ptr %to, {vector} %value, i64 %count) {{\n{_below('count', lanes)}"
        f"  call void {callee}({vector} %value, ptr %to, i32 4, {mask} %below_count)\n"
        "  ret i32 0\n}\n"
    )


def masked_scatter_text(lanes: int) -> str:
    """Return LLVM IR of `i32 (address, value, count, stride)`: lanes below `count` go `stride` elements apart."""
    vector, mask, pointers = f"<{lanes} x float>", f"<{lanes} x i1>", f"<{lanes} x ptr>"
    callee, words = f"@llvm.masked.scatter.v{lanes}f32.v{lanes}p0", f"<{lanes} x i64>"
    numbers = ", ".join(f"i64 {lane}" for lane in range(lanes))
    return (
        f"declare void {callee}({vector}, {pointers}, i32, {mask})\n"
        f"define i32 @{masked_name('scatter', lanes)}(ptr %to, {vector} %value, i64 %count, i64 %stride) {{\n"
        f"{_below('count', lanes)}"
        f"  %step = insertelement {words} poison, i64 %stride, i32 0\n"
        f"  %steps = shufflevector {words} %step, {words} poison, <{lanes} x i32> zeroinitializer\n"
        f"  %apart = mul {words} %steps, <{numbers}>\n"
        f"  %places = getelementptr float, ptr %to, {words} %apart\n"
        f"  call void {callee}({vector} %value, {pointers} %places, i32 4, {mask} %below_count)\n"
        "  ret i32 0\n}\n"
    )


def _below(end: str, lanes: int) -> str:
    """Return lines that set `%below_<end>` where the number of a lane is below `%<end>`, which may be any number."""
    words = f"<{lanes} x i32>"
    numbers = ", ".join(f"i32 {lane}" for lane in range(lanes))
    return (
        f"  %few_{end} = call i64 @llvm.smin.i64(i64 %{end}, i64 {lanes})\n"
        f"  %some_{end} = call i64 @llvm.smax.i64(i64 %few_{end}, i64 0)\n"
        f"  %number_{end} = trunc i64 %some_{end} to i32\n"
        f"  %one_{end} = insertelement {words} poison, i32 %number_{end}, i32 0\n"
        f"  %all_{end} = shufflevector {words} %one_{end}, {words} poison, {words} zeroinitializer\n"
        f"  %below_{end} = icmp slt {words} <{numbers}>, %all_{end}\n"
    )
