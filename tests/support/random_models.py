"""Random small models, written through the public `cortex.ra` alone.

`models()` draws a model of 1 to 3 results over a random kind of structure. Everything that the language has may
stand in it, and any expression, compute or branch may be used again wherever it has a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from cortex import ra
from tests.support.random_atoms import KINDS
from tests.support.random_expressions import Expressions, of_arity
from tests.support.random_scopes import ANY, Known, Scope, conditions


@st.composite
def models(draw: st.DrawFn) -> ra.Model:
    """Draw a model."""
    return _Builder(draw, draw(st.sampled_from(list(KINDS)))).model()


@dataclass
class _Builder(Expressions):
    # --- the recursion ------------------------------------------------------------------------------------

    def model(self) -> ra.Model:
        shapes = [self.shape() for _ in range((1, 1, 2, 3)[self.number(3)])]
        self.placeholders = [
            ra.placeholder((ra.N, *shape), name=f"h{o}_ph", default=self.choose([None, None, 0.0, 0.5]))
            for o, shape in enumerate(shapes)
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
            condition, holds, fails = self.choice(n, known)
            chosen.append(self.branches(shape, holds, depth - 1, recurs=recurs))
            chosen.append(self.branches(shape, fails, depth - 1, recurs=recurs))
            return condition, *chosen

        branch = ra.if_then_else((ra.N, *shape), of_arity(function, 1 + len(shape)), name=self.name())
        self.tensors.append((branch, known))
        return branch

    def choice(self, n: Any, known: Known) -> tuple[Any, Known, Known]:
        """Draw a condition that decides a branch: of the structure, of an integer that the node carries, or of both."""
        condition, holds, fails = conditions(self.draw, n, known)
        if self.number(2):
            return condition, holds, fails
        value = self.payload(self.choose(["type", "count"]), n)
        number = self.number(4) - 1
        asked = self.choose(
            [value == number, value != number, number < value, value <= number, value % 2 == 0]
        )
        return self.choose([(asked, known, known), (asked & condition, holds, known)])

    def tensor(self, shape: tuple[int, ...], known: Known) -> None:
        """Make a tensor that others may read: of floats, of integers, or with a value for each child."""
        match self.number(3):
            case 0 | 1:
                self.branches(shape, known, 1)
            case 2:
                self.compute(shape, known, children=True)
            case _:
                self.integers(known)

    def integers(self, known: Known) -> None:
        made = ra.compute((ra.N,), lambda n: self.integer(Scope(n, (), (), known), 2), name=self.name())
        self.tensors.append((made, known))
