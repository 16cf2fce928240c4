"""Writes the types of the elementwise functions of both APIs from their table: python -m tools.elementwise_stubs.

At run time a front end looks a function up in the table; the stubs are what type checkers and editors know of them.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from ragged.ir.elementwise import COMPOSED, FUNCTIONS, Composed, Elementwise

ROOT = Path(__file__).parents[1]
HEADER = """\
# The elementwise functions of the {api}: python -m tools.elementwise_stubs writes this file.

from {module} import {result}, {argument}
"""
FRONT_ENDS = {
    ROOT / "ragged/api/elementwise.pyi": ("Ragged API", "ragged.api.values", "Value", "ValueLike"),
    ROOT / "cortex/ra/elementwise.pyi": ("Recursive API", "cortex.ra.expr", "Expr", "ExprLike"),
}


def stub(api: str, module: str, result: str, argument: str) -> str:
    """Return the stub of a front end, in which functions take `argument` and return `result`."""
    lines = [HEADER.format(api=api, module=module, result=result, argument=argument)]
    rows: list[Elementwise | Composed] = [*FUNCTIONS.values(), *COMPOSED.values()]
    for row in rows:
        constants = "".join(f", {each}" for each in _constants(row))
        lines.append(f"def {row.name}(x: {argument}{constants}) -> {result}: ...")
    return "\n".join(lines) + "\n"


def _constants(row: Elementwise | Composed) -> list[str]:
    """Return the parameters after the operand, which are numbers."""
    if isinstance(row, Elementwise):
        return []
    _, _, *rest = inspect.signature(row.expand).parameters.values()
    ends = ("" if each.default is each.empty else " = ..." for each in rest)
    return [f"{each.name}: float{end}" for each, end in zip(rest, ends, strict=True)]


def main() -> int:
    """Write the stubs."""
    for path, front_end in FRONT_ENDS.items():
        path.write_text(stub(*front_end), encoding="utf-8")
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
