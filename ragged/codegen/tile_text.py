"""Products of matrices on a matrix unit (Intel AMX), as LLVM IR.

A unit has eight tiles of sixteen rows of 64 bytes. Four of them hold sums, of sixteen rows and up to 64 columns; one
holds rows of pairs, and two take turns with what is multiplied with them.
"""

from __future__ import annotations

RELEASE = """\
declare void @llvm.x86.tilerelease()
define i32 @ragged_release(ptr %shape) {
  %known = load i64, ptr %shape
  %used = icmp ne i64 %known, 0
  br i1 %used, label %release, label %done
release:
  call void @llvm.x86.tilerelease()
  br label %done
done:
  ret i32 0
}
"""
"""Gives the unit back, if it was used; `shape` is what `multiply_text` keeps."""

SHAPE_WORDS = 8
"""Words of eight bytes of the tile configuration; zero before the first product."""

_A, _B = 4, 5
DECLARED = """\
declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tilezero(i8)
declare void @llvm.x86.tileloadd64(i8, ptr, i64)
declare void @llvm.x86.tilestored64(i8, ptr, i64)
declare void @llvm.x86.tdpbf16ps(i8, i8, i8)
"""
"""What products call."""


def multiply_name(tiles: int) -> str:
    """Return the name of the product with so many tiles of columns."""
    return f"ragged_multiply_{tiles}"


def multiply_text(tiles: int) -> str:
    """Return LLVM IR of a product of `rows` rows, and of `tiles` times sixteen columns.

    It is `i32 (shape, rows, steps, out, out_at, out_stride, other, other_at, other_stride, weight, weight_at,
    weight_stride)`: the sums over `steps` times sixteen pairs of rows of `other`, with columns of `weight`. Places
    and strides are in elements of four bytes. `shape` is the last configuration in this call of the kernel:
    loading one takes as long as a small product, so the same is not loaded twice.
    """
    zero = "\n  ".join(f"call void @llvm.x86.tilezero(i8 {t})" for t in range(tiles))
    step = "\n  ".join(
        line
        for t in range(tiles)
        for line in (
            f"%weight_{t} = getelementptr i8, ptr %weight_here, i64 {64 * t}",
            f"call void @llvm.x86.tileloadd64(i8 {_B + t % 2}, ptr %weight_{t}, i64 %weight_bytes)",
            f"call void @llvm.x86.tdpbf16ps(i8 {t}, i8 {_A}, i8 {_B + t % 2})",
        )
    )
    store = "\n  ".join(
        line
        for t in range(tiles)
        for line in (
            f"%out_{t} = getelementptr i8, ptr %out_here, i64 {64 * t}",
            f"call void @llvm.x86.tilestored64(i8 {t}, ptr %out_{t}, i64 %out_bytes)",
        )
    )
    operands = ", ".join(
        f"ptr %{name}, i64 %{name}_at, i64 %{name}_stride" for name in ("out", "other", "weight")
    )
    return f"""\
define i32 @{multiply_name(tiles)}(ptr %shape, i64 %rows, i64 %steps, {operands}) {{
entry:
  %out_bytes = shl i64 %out_stride, 2
  %other_bytes = shl i64 %other_stride, 2
  %weight_bytes = shl i64 %weight_stride, 2
  %out_first = getelementptr i32, ptr %out, i64 %out_at
  %other_first = getelementptr i32, ptr %other, i64 %other_at
  %weight_first = getelementptr i32, ptr %weight, i64 %weight_at
  %shape_rows = getelementptr i64, ptr %shape, i64 6
  br label %blocks
blocks:
  %row = phi i64 [ 0, %entry ], [ %row_next, %done ]
  %left = sub i64 %rows, %row
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %block, label %end
block:
  %short = icmp slt i64 %left, 16
  %count = select i1 %short, i64 %left, i64 16
  %all_rows = mul i64 %count, {0x0101010101}
  %wanted = or i64 %all_rows, {0x101010 << 40}
  %known = load i64, ptr %shape_rows
  %same = icmp eq i64 %known, %wanted
  br i1 %same, label %start, label %tell
tell:
  store i64 1, ptr %shape
  %shape_columns = getelementptr i64, ptr %shape, i64 2
  store i64 {0x0040004000400040}, ptr %shape_columns
  %shape_more = getelementptr i64, ptr %shape, i64 3
  store i64 {0x0040004000400040}, ptr %shape_more
  store i64 %wanted, ptr %shape_rows
  call void @llvm.x86.ldtilecfg(ptr %shape)
  br label %start
start:
  {zero}
  %other_skipped = mul i64 %row, %other_bytes
  %other_row = getelementptr i8, ptr %other_first, i64 %other_skipped
  br label %step
step:
  %k = phi i64 [ 0, %start ], [ %k_next, %step ]
  %other_k = shl i64 %k, 6
  %other_here = getelementptr i8, ptr %other_row, i64 %other_k
  %weight_rows = shl i64 %k, 4
  %weight_k = mul i64 %weight_rows, %weight_bytes
  %weight_here = getelementptr i8, ptr %weight_first, i64 %weight_k
  call void @llvm.x86.tileloadd64(i8 {_A}, ptr %other_here, i64 %other_bytes)
  {step}
  %k_next = add i64 %k, 1
  %again = icmp slt i64 %k_next, %steps
  br i1 %again, label %step, label %done
done:
  %out_skipped = mul i64 %row, %out_bytes
  %out_here = getelementptr i8, ptr %out_first, i64 %out_skipped
  {store}
  %row_next = add i64 %row, 16
  br label %blocks
end:
  ret i32 0
}}
"""
