"""Random small models, written through the public `cortex.ra` alone.

`models()` draws a model of 1 to 3 results over a random kind of structure. Everything that the language has may
stand in it, and any expression, compute or branch may be used again wherever it has a value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from cortex import ra
from tests.support.random_expressions import BOUNDED, KINDS, Expressions
from tests.support.random_scopes import ANY, Known, Scope, conditions


@st.composite
def models(draw: st.DrawFn) -> ra.Model:
    """Draw a model."""
    return _Builder(draw, draw(st.sampled_from(list(KINDS)))).model()


@dataclass
class _Builder(Expressions):
    count: int = 0

    # --- the recursion ------------------------------------------------------------------------------------

    def model(self) -> ra.Model:
        shapes = [self.shape() for _ in range((1, 1, 2, 3)[self.number(3)])]
        self.placeholders = [
            ra.placeholder((ra.N, *shape), name=f"h{o}_ph") for o, shape in enumerate(shapes)
        ]
        for _ in range(self.number(1)):
            self.tensor(self.shape(), ANY)
        results: list[Any] = []
        for output, shape in enumerate(shapes):
            same = [result for result in results if result.shape == (ra.N, *shape)]
            if same and self.number(2) == 0:
                results.append(self.choose(same))
            else:
                results.append(self.branches(shape, ANY, 2, recurs=output == 0))
        outputs = {f"h{o}": pair for o, pair in enumerate(zip(self.placeholders, results, strict=True))}
        return ra.recursion_op(outputs, structure=KINDS[self.kind][0]())

    def shape(self) -> tuple[int, ...]:
        rank = (1, 1, 1, 0, 2)[self.number(4)]
        if rank == 1 and self.number(4) == 0:
            return (self.choose([8, 16, 19]),)  # wide enough for the schedule to tile
        return tuple(1 + self.number(4) for _ in range(rank))

    def branches(self, shape: tuple[int, ...], known: Known, depth: int, *, recurs: bool = False) -> Any:
        """Return a result: a compute, or a choice between two. One that `recurs` calls at children."""
        usable = [t for t, k in self.tensors if t.shape == (ra.N, *shape) and known.within(k)]
        usable = [tensor for tensor in usable if tensor.dtype is self.placeholders[0].dtype]
        if usable and not recurs and self.number(3) == 0:
            return self.choose(usable)
        if depth == 0 or self.number(2) == 0:
            return self.compute(shape, known, recurs=recurs)
        chosen: list[Any] = []

        def function(n: Any, *indices: Any) -> Any:
            condition, holds, fails = conditions(self.draw, n, known)
            chosen.append(self.branches(shape, holds, depth - 1, recurs=recurs))
            chosen.append(self.branches(shape, fails, depth - 1, recurs=recurs))
            return condition, *chosen

        branch = ra.if_then_else((ra.N, *shape), _of_arity(function, 1 + len(shape)), name=self.name())
        self.tensors.append((branch, known))
        return branch

    def tensor(self, shape: tuple[int, ...], known: Known) -> None:
        """Make a tensor that others may read: of floats, of integers, or with a value for each child."""
        match self.number(3):
            case 0 | 1:
                self.branches(shape, known, 1)
            case 2:
                self.compute(shape, known, children=True)
            case _:
                self.integers(known)

    def compute(
        self, shape: tuple[int, ...], known: Known, *, recurs: bool = False, children: bool = False
    ) -> Any:
        def function(n: Any, *rest: Any) -> Any:
            kids = (rest[0],) if children else ()
            indices = tuple(zip(rest[len(kids) :], shape, strict=True))
            scope = Scope(n, indices, kids, Known(max(known.low, 1), known.high) if children else known)
            value = self.expr(scope, (1, 2, 2, 3)[self.number(3)])
            if recurs:
                value = value + self.over_children(scope, 1, calls=True)
            return self.choose([*BOUNDED, lambda x: x])(value) if not children else ra.tanh(value)

        dims = (ra.N, *((ra.K,) if children else ()), *shape)
        made = ra.compute(dims, _of_arity(function, len(dims)), name=self.name())
        self.tensors.append((made, known))
        return made

    def integers(self, known: Known) -> None:
        made = ra.compute((ra.N,), lambda n: self.integer(Scope(n, (), (), known), 2), name=self.name())
        self.tensors.append((made, known))

    def name(self) -> str:
        self.count += 1
        return f"t{self.count}"


def _of_arity(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return the function with as many arguments as the language asks a compute's function to have."""
    return {
        1: lambda n: function(n),
        2: lambda n, i: function(n, i),
        3: lambda n, i, j: function(n, i, j),
        4: lambda n, k, i, j: function(n, k, i, j),
    }[count]
