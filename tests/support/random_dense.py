"""Random programs of dense nests: what the loops of recurrent models have not.

Nests follow each other over equal extents; elements are read under a condition on indices, temporaries hold more than
is read, and products have as many columns and terms as matrix units take.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from ragged.ir.parser import parse
from tests.ragged.ir.strategies import Case

HEAD = """\
program("dense")

rows: call()
n: call()
x: payload(float32[rows, n])
w: payload(float32[3])
"""
PRODUCTS = ((16, 32), (32, 32), (16, 32), (3, 5), (2, 4))
"""The columns and terms of products."""


@st.composite
def dense_cases(draw: st.DrawFn) -> Case:
    """Draw a program of two to four nests, with its data."""
    return _Nests(draw).case()


@dataclass
class _Nests:
    draw: st.DrawFn
    buffers: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    tables: dict[str, int] = field(default_factory=lambda: {"x": 0})
    sums: list[str] = field(default_factory=list)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def case(self) -> Case:
        for number in range(self.pick(2, 1, 3)):
            self.pick(self.elements, self.elements, self.window, self.sum, self.product)(number)
        self.elements("y", role="output")
        text = f"{HEAD}{''.join(self.buffers)}\nwith kernel:\n{''.join(self.lines)}"
        sizes = {"rows": self.pick(2, 1, 3, 0), "n": self.pick(4, 1, 5, 7, 0, 9)}
        random = np.random.default_rng(self.pick(0, 1, 2))
        shapes = {"x": (sizes["rows"], sizes["n"]), "w": (3,), **self.shapes}
        shapes |= {name: (sizes["rows"], *shape) for name, shape in shapes.items() if name.startswith("v")}
        arrays = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
        return Case(parse(text), sizes, arrays)

    def nest(self, extent: str, *body: str) -> None:
        """Write loops over rows and columns around lines; the outer one runs at once."""
        rows, columns = "for r in {}(rows):", f"for j in {{}}({extent}):"
        loops = self.pick((rows, columns), (rows, columns), (columns, rows))
        for depth, (loop, kind) in enumerate(
            zip(loops, ("parallel", self.pick("parallel", "serial")), strict=True)
        ):
            self.lines.append(f"    {'    ' * depth}{loop.format(kind)}\n")
        self.lines += [f"            {line}\n" for line in body]

    def declare(self, name: str, extra: int, role: str = "workspace") -> str:
        """Declare a table with `extra` more columns than the input has; return how many it has."""
        self.buffers.append(f"{name}: {role}(float32[rows, {_columns(extra)}])\n")
        return _columns(extra)

    def read(self, extra: int, taps: str = "") -> str:
        """Return an element of what was written before, a number where there is none; `extra` is that of the loop."""
        if self.sums and self.pick(False, False, True):
            return f"{self.pick(*self.sums)}[r]"
        name = self.pick(*reversed(self.tables))
        own = self.tables[name]
        offset = self.pick(0, 0, -1, 1, 2, own - extra)
        row = self.pick("r", "r", "r", "rows - 1 - r")
        place = (
            "j"
            + (f" + {taps}" if taps else "")
            + (f" {'-' if offset < 0 else '+'} {abs(offset)}" if offset else "")
        )
        conditions = [f"{place} >= 0"] if offset < 0 else []
        conditions += [f"{place} < {_columns(own)}"] if offset + extra + (2 if taps else 0) > own else []
        element = f"{name}[{row}, {place}]"
        if not conditions:
            return element
        return f"({element} if {' and '.join(conditions)} else {self.pick('0.0', '0.5')})"

    def elements(self, number: int | str, role: str = "workspace") -> None:
        """Write a table of each element by itself."""
        name, extra = (str(number), 0) if role == "output" else (f"t{number}", self.pick(0, 2, 3))
        one, other = self.read(extra), self.read(extra)
        value = self.pick(f"{one} + {other}", f"{one} * 0.5", f"tanh({one}) - {other}", f"{one} * {other}")
        self.nest(self.declare(name, extra, role), f"{name}[r, j] = {value}")
        self.tables[name] = extra

    def window(self, number: int) -> None:
        """Write a table of sums over the neighbours of an element."""
        name, extra = f"t{number}", self.pick(0, 1)
        value = self.read(extra, "k")
        lines = (f"{name}[r, j] = 0.0", "for k in serial(3):", f"    {name}[r, j] += {value} * w[k]")
        self.nest(self.declare(name, extra), *lines)
        self.tables[name] = extra

    def sum(self, number: int) -> None:
        """Write a sum of each row."""
        name, value = f"m{number}", self.read(0)
        self.buffers.append(f"{name}: workspace(float32[rows])\n")
        self.lines += [
            "    for r in parallel(rows):\n",
            f"        {name}[r] = 0.0\n",
            "        for j in serial(n):\n",
            f"            {name}[r] += {value}\n",
        ]
        self.sums.append(name)

    def product(self, number: int) -> None:
        """Write products of rows of an input with a parameter."""
        columns, terms = self.pick(*PRODUCTS)
        self.shapes |= {f"W{number}": (columns, terms), f"v{number}": (terms,)}
        self.buffers += [
            f"W{number}: parameter(float32[{columns}, {terms}])\n",
            f"v{number}: payload(float32[rows, {terms}])\n",
            f"a{number}: output(float32[rows, {columns}])\n",
        ]
        self.lines += [
            "    for r in parallel(rows):\n",
            f"        for i in serial({columns}):\n",
            f"            a{number}[r, i] = 0.0\n",
            f"            for k in serial({terms}):\n",
            f"                a{number}[r, i] += W{number}[i, k] * v{number}[r, k]\n",
        ]


def _columns(extra: int) -> str:
    return f"n + {extra}" if extra else "n"
