"""A square of floats transposed in registers, as LLVM IR."""

from __future__ import annotations

from ragged.codegen.llvm_text import Lanes


def transpose_name(side: int) -> str:
    """Return the name of the function that transposes a square of so many rows and columns."""
    return f"ragged_transpose_v{side}"


def transpose_text(side: int) -> str:
    """Return LLVM IR of a function that stores a square of floats the other way round; `side` is a power of two.

    It is `i32 (rows, row_stride, out, out_stride)`: element j of row i of what begins at `rows` becomes element i of
    row j of what begins at `out`. Strides are in elements. Each step exchanges the quarters that are off the diagonal,
    of blocks half as large as those of the step before.
    """
    row = Lanes("float", side)
    lines: list[str] = []
    rows = []
    for i in range(side):
        lines += [
            f"%from_{i} = mul i64 %row_stride, {i}",
            f"%row_{i} = getelementptr float, ptr %rows, i64 %from_{i}",
            f"%r_{i} = load {row}, ptr %row_{i}, align 4",
        ]
        rows.append(f"%r_{i}")
    half = side // 2
    while half:
        for i in (i for i in range(side) if not i & half):
            above, below = rows[i], rows[i + half]
            kept = [j if not j & half else side + j - half for j in range(side)]
            moved = [j + half if not j & half else side + j for j in range(side)]
            for place, order in ((i, kept), (i + half, moved)):
                name = f"%s_{half}_{place}"
                lines.append(f"{name} = shufflevector {row} {above}, {row} {below}, {_mask(order)}")
                rows[place] = name
        half //= 2
    for i, result in enumerate(rows):
        lines += [
            f"%to_{i} = mul i64 %out_stride, {i}",
            f"%out_{i} = getelementptr float, ptr %out, i64 %to_{i}",
            f"store {row} {result}, ptr %out_{i}, align 4",
        ]
    body = "\n".join(f"  {line}" for line in (*lines, "ret i32 0"))
    parameters = "ptr %rows, i64 %row_stride, ptr %out, i64 %out_stride"
    return f"define i32 @{transpose_name(side)}({parameters}) {{\n{body}\n}}\n"


def _mask(order: list[int]) -> str:
    return f"<{len(order)} x i32> <" + ", ".join(f"i32 {place}" for place in order) + ">"
