"""Random recurrent cells, of what the default schedule looks for: sums over children, and inputs that nodes may lack.

`cells()` draws a model of one or two results. Its computes are products of parameters with what is zero at some nodes,
with what is not, and with each other; an input is carried by all nodes, by some, by leaves or by inner nodes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from cortex import ra

WORDS = 5
KINDS = {"tree": lambda: ra.Tree(), "dag": lambda: ra.Dag(), "sequence": lambda: ra.Sequence()}


@st.composite
def cells(draw: st.DrawFn, hidden: int = 4, embed: int = 3) -> ra.Model:
    """Draw a cell of `hidden` elements, with inputs of `embed`."""
    return _Cell(draw, hidden, embed).model()


@dataclass
class _Cell:
    draw: st.DrawFn
    hidden: int
    embed: int
    parameters: int = 0
    computes: int = 0
    states: list[Any] = field(default_factory=list)
    vectors: list[tuple[Any, int]] = field(default_factory=list)

    def pick(self, options: list[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def parameter(self, *shape: int) -> Any:
        self.parameters += 1
        return ra.input_tensor(f"P{self.parameters}", shape)

    def compute(self, extent: int, function: Callable[[Any, Any], Any]) -> Any:
        self.computes += 1
        made = ra.compute((ra.N, extent), function, name=f"v{self.computes}")
        self.vectors.append((made, extent))
        return made

    def model(self) -> ra.Model:
        H = self.hidden
        structure = KINDS[self.pick(list(KINDS))]()
        two = self.pick([True, False])
        self.states = [
            ra.placeholder((ra.N, H), name=name) for name in (("h_ph", "c_ph") if two else ("h_ph",))
        ]
        self.inputs()
        self.compute(H, lambda n, i: ra.sum_children(n, lambda k: self.states[0][k, i]))
        for _ in range(self.pick([1, 2, 3])):
            self.pick([self.product, self.product, self.elements, self.per_child])()
        gates = [self.product() for _ in range(self.pick([1, 2, 4]))]
        c = self.result([*gates, self.pick(self.wide())])
        if not two:
            return ra.recursion_op(self.states[0], c, structure=structure)
        h = self.result([c, *gates[:1]])
        return ra.recursion_op({"h": (self.states[0], h), "c": (self.states[1], c)}, structure=structure)

    def wide(self) -> list[Any]:
        return [vector for vector, extent in self.vectors if extent == self.hidden]

    # --- inputs

    def inputs(self) -> None:
        """Declare what nodes carry, and make the vectors of it."""
        E = self.embed
        word = ra.node_input("word", dtype="int32", default=-1)
        other = ra.node_input("other", dtype="int64", default=-2)
        x = ra.node_input("x", (E,), default=0.0) if self.pick([True, False]) else ra.node_input("x", (E,))
        emb = ra.input_tensor("emb", (WORDS, E))
        guarded = [
            lambda n, i: ra.where(word[n] >= 0, emb[word[n], i], 0.0),
            lambda n, i: ra.where(other[n] >= 0, emb[other[n], i], 0.0),
            lambda n, i: ra.where(word[n] >= 0, emb[word[n], i], 0.5),
            lambda n, i: ra.where(word[n] >= 0, ra.where(other[n] >= 0, emb[other[n], i], 0.0), 0.0),
            lambda n, i: x[n, i],
            lambda n, i: ra.tanh(x[n, i]) - 0.5,
        ]
        for _ in range(self.pick([1, 2])):
            made = self.compute(E, self.pick(guarded))
            if self.pick([True, False]):
                self.scaled(made, E)

    def scaled(self, vector: Any, extent: int) -> Any:
        """Return a vector times a parameter, element by element."""
        scale = self.parameter(extent)
        ways = [
            lambda n, i: vector[n, i] * scale[i],
            lambda n, i: -(scale[i] * vector[n, i]),
            lambda n, i: scale[i] * vector[n, i] - vector[n, i],
        ]
        return self.compute(extent, self.pick(ways))

    # --- vectors

    def product(self) -> Any:
        """Return a product of a matrix with a vector, or two of them."""
        vector, extent = self.pick(self.vectors)
        W, b = self.parameter(self.hidden, extent), self.parameter(self.hidden)
        other, width = self.pick(self.vectors)
        V = self.parameter(self.hidden, width)

        def first(n: Any, i: Any) -> Any:
            return ra.sum(extent, lambda j: W[i, j] * vector[n, j])

        ways = [
            first,
            first,
            lambda n, i: ra.tanh(first(n, i) + b[i]),
            lambda n, i: first(n, i) - ra.sum(width, lambda j: V[i, j] * other[n, j]),
            lambda n, i: ra.where(ra.isleaf(n), b[i], first(n, i)),
            lambda n, i: ra.where(ra.isleaf(n), first(n, i), 0.25),
            lambda n, i: ra.sum(extent, lambda j: ra.tanh(vector[n, j]) * W[i, j]),
            lambda n, i: ra.max(extent, lambda j: W[i, j] * vector[n, j]),
        ]
        return self.compute(self.hidden, self.pick(ways))

    def elements(self) -> Any:
        """Return a vector made of others element by element."""
        vectors = self.wide()
        a, b = self.pick(vectors), self.pick(vectors)
        ways = [
            lambda n, i: a[n, i] + b[n, i],
            lambda n, i: a[n, i] * b[n, i],
            lambda n, i: a[n, i] * ra.sigmoid(b[n, i]),
            lambda n, i: ra.where(ra.isleaf(n), a[n, i], b[n, i]),
            lambda n, i: -a[n, i] * 0.5,
        ]
        return self.compute(self.hidden, self.pick(ways))

    def per_child(self) -> Any:
        """Return a sum over children of a gate for each."""
        H, U, (vector, extent) = (
            self.hidden,
            self.parameter(self.hidden, self.hidden),
            self.pick(self.vectors),
        )
        W = self.parameter(H, extent)
        self.computes += 1
        gate = ra.compute(
            (ra.N, ra.K, H),
            lambda n, k, i: ra.sigmoid(
                ra.sum(H, lambda j: U[i, j] * self.states[0][k, j])
                + ra.sum(extent, lambda j: W[i, j] * vector[n, j])
            ),
            name=f"f{self.computes}",
        )
        return self.compute(
            H, lambda n, i: ra.sum_children(n, lambda k: gate[n, k, i] * self.states[0][k, i])
        )

    def result(self, parts: list[Any]) -> Any:
        """Return a bounded result of these vectors and of what children give."""
        H, b = self.hidden, self.parameter(self.hidden)

        def function(n: Any, i: Any) -> Any:
            total = b[i]
            for part in parts:
                total = total + part[n, i]
            first, last = self.states[0], self.states[-1]
            return ra.tanh(total + 0.5 * ra.sum_children(n, lambda k: first[k, i] * last[k, i]))

        self.computes += 1
        return ra.compute((ra.N, H), function, name=f"r{self.computes}")
