"""A tile of floats transposed in registers, as LLVM IR."""

from __future__ import annotations

from ragged.codegen.llvm_text import Lanes


def transpose_name(lanes: int, columns: int) -> str:
    """Return the name of the function that transposes as many rows as `columns`, of so many lanes each."""
    return f"ragged_transpose_v{lanes}x{columns}"


def transpose_text(lanes: int, columns: int) -> str:
    """Return LLVM IR of a function that stores a tile of floats the other way round; `lanes` is a power of two.

    It is `i32 (out, out_stride, stored, rows...)`: element j of row i becomes element i of row j of what begins at
    `out`, for all `columns` rows, which are vectors, and each j below `stored`, which may be any number. The stride is
    in elements.
    """
    vector = Lanes("float", lanes)
    groups = [range(first, min(first + lanes, columns)) for first in range(0, columns, lanes)]
    lines, turned = list[str](), list[list[str]]()
    for group in groups:
        square = [f"%r_{i}" for i in group] + ["poison"] * (lanes - len(group))
        turned.append(_turned(square, lanes, group.start, lines))
    for j in range(lanes):
        lines += [
            f"  %some_{j} = icmp sgt i64 %stored, {j}",
            f"  br i1 %some_{j}, label %store_{j}, label %done",
            f"store_{j}:",
            f"  %to_{j} = mul i64 %out_stride, {j}",
            f"  %out_{j} = getelementptr float, ptr %out, i64 %to_{j}",
        ]
        for group, results in zip(groups, turned, strict=True):
            own, part = f"{group.start}_{j}", f"<{len(group)} x float>"  # of one element too
            first = ", ".join(f"i32 {place}" for place in range(len(group)))
            lines += [
                f"  %part_{own} = shufflevector {vector} {results[j]}, {vector} poison, <{len(group)} x i32> <{first}>",
                f"  %at_{own} = getelementptr float, ptr %out_{j}, i64 {group.start}",
                f"  store {part} %part_{own}, ptr %at_{own}, align 4",
            ]
    body = "\n".join((*lines, "  br label %done", "done:", "  ret i32 0"))
    rows = ", ".join(f"{vector} %r_{i}" for i in range(columns))
    parameters = f"ptr %out, i64 %out_stride, i64 %stored, {rows}"
    return f"define i32 @{transpose_name(lanes, columns)}({parameters}) {{\n{body}\n}}\n"


def _turned(rows: list[str], lanes: int, own: int, lines: list[str]) -> list[str]:
    """Return the names of a square's columns; `lines` that compute them, with names by the number `own`, are added.

    Each step exchanges the quarters that are off the diagonal, of blocks half as large as those of the step before.
    """
    vector, half = Lanes("float", lanes), lanes // 2
    while half:
        for i in (i for i in range(lanes) if not i & half):
            above, below = rows[i], rows[i + half]
            kept = [j if not j & half else lanes + j - half for j in range(lanes)]
            moved = [j + half if not j & half else lanes + j for j in range(lanes)]
            for place, order in ((i, kept), (i + half, moved)):
                name = f"%s_{own}_{half}_{place}"
                mask = ", ".join(f"i32 {each}" for each in order)
                lines.append(
                    f"  {name} = shufflevector {vector} {above}, {vector} {below}, <{lanes} x i32> <{mask}>"
                )
                rows[place] = name
        half //= 2
    return rows
