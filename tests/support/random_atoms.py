"""What random expressions are made of: constants, payloads, parameters, indices, and reads of what is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from cortex import ra
from tests.support.random_scopes import Known, Scope, handles

KINDS = {
    "binary": (lambda: ra.Tree(max_children=2), 2),
    "any": (lambda: ra.Tree(), None),
    "sized": (lambda: ra.Tree(max_children=3), 3),
    "dag": (lambda: ra.Dag(), None),
    "sequence": (lambda: ra.Sequence(), 1),
}
"""The structures by name, and the largest number of children that they declare."""


@dataclass
class Atoms:
    """Draws the leaves of expressions, and declares the model's inputs as they are asked for.

    `tensors` are the model's computes so far, and at which nodes each has a value.
    """

    draw: st.DrawFn
    kind: str
    inputs: dict[str, Any] = field(default_factory=dict)
    placeholders: list[Any] = field(default_factory=list)
    tensors: list[tuple[Any, Known]] = field(default_factory=list)
    count: int = 0

    def number(self, high: int) -> int:
        return self.draw(st.integers(0, high))

    def choose(self, options: list[Any]) -> Any:
        return options[self.number(len(options) - 1)]

    def shape(self) -> tuple[int, ...]:
        rank = (1, 1, 1, 0, 2)[self.number(4)]
        if rank == 1 and self.number(4) == 0:
            return (self.choose([8, 16, 19]),)  # wide enough for the schedule to tile
        return tuple(1 + self.number(4) for _ in range(rank))

    def name(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def atom(self, scope: Scope) -> Any:
        all_handles = handles(scope, KINDS[self.kind][1], self.kind)
        at = self.choose(all_handles)
        match self.number(9):
            case 0:
                return self.choose([0.5, -1.0, 0.0, 1.5, 1])
            case 1 | 2:
                calls = self.calls(scope)
                return self.call(scope, *self.choose(calls)) if calls else self.payload("sign", at)
            case 3:
                return self.vector(scope, at)
            case 4:
                return self.payload("sign", at)
            case 5:
                return self.integer(scope, 1) * 0.25
            case 6 | 7:
                read = self.compute_read(scope)
                return self.vector(scope, at) if read is None else read
            case 8:
                extents = [extent for _, extent in scope.indices][: self.number(2)]
                return self.parameter(tuple(extents))[tuple(self.index(scope, extent) for extent in extents)]
            case _:
                inner = (self.index(scope, 3),)
                return self.payload_table((4,), inner, (3,), at)

    def vectors(self, scope: Scope) -> list[tuple[int, Callable[[Any], Any]]]:
        """Return the vectors that may be read at this place: their extents, and what gives an element."""
        places = self.calls(scope)
        places += [(t, scope.node) for t, k in self.tensors if t.dtype.is_float and scope.known.within(k)]
        return [
            (tensor.shape[1], lambda j, tensor=tensor, at=at: tensor[at, j])
            for tensor, at in places
            if len(tensor.shape) == 2 and isinstance(tensor.shape[1], int)
        ]

    def calls(self, scope: Scope) -> list[tuple[Any, Any]]:
        """Return the results that may be read at this place, and at which child; one with a default at any."""
        most = KINDS[self.kind][1]
        below = [handle for handle in handles(scope, most, self.kind) if handle is not scope.node]
        anywhere = [scope.node.child(position) for position in range(most or 0)]
        return [
            (result, at)
            for result in self.placeholders
            for at in (below if result.default is None else [*below, *anywhere])
        ]

    def call(self, scope: Scope, result: Any, at: Any) -> Any:
        return result[(at, *(self.index(scope, extent) for extent in result.shape[1:]))]

    def compute_read(self, scope: Scope) -> Any | None:
        if self.count < 6 and self.number(2) == 0:
            self.compute(self.shape(), scope.known)
        usable = [
            t for t, k in self.tensors if scope.known.within(k) and (ra.K not in t.shape or scope.children)
        ]
        if not usable:
            return None
        tensor = self.choose(usable)
        dense = [extent for extent in tensor.shape if isinstance(extent, int)]
        child = (self.choose(list(scope.children)),) if ra.K in tensor.shape else ()
        value = tensor[(scope.node, *child, *(self.index(scope, extent) for extent in dense))]
        return value if tensor.dtype.is_float else (value % 5) * 0.25

    def integer(self, scope: Scope, depth: int) -> Any:
        """Return an expression of small integers."""
        at = self.choose(handles(scope, KINDS[self.kind][1], self.kind))
        if depth:
            first, second = self.integer(scope, depth - 1), self.integer(scope, depth - 1)
            options: list[Callable[[], Any]] = [
                lambda: first + second,
                lambda: first - 2 * second,
                lambda: first // 2,
                lambda: first % 3,
                lambda: -first,
                lambda: ra.maximum(first, ra.abs(second)),
                lambda: ra.where(self.condition(scope.given()), first, second),
            ]
            return self.choose(options)()
        indices = [index for index, _ in scope.indices]
        atoms = [ra.num_children(at), self.payload("type", at), self.payload("count", at), *indices]
        return self.choose(atoms)

    def index(self, scope: Scope, extent: int) -> Any:
        """Return an index of a dimension, inside it wherever it is evaluated."""
        fits = [index for index, own in scope.indices if own == extent]
        if fits and self.number(3):
            return self.choose(fits)
        if fits and self.number(1):
            return extent - 1 - self.choose(fits)
        return self.choose([self.number(extent - 1), self.integer(scope, 0) % extent])

    def vector(self, scope: Scope, at: Any) -> Any:
        index = self.index(scope, 3)
        return self.payload("x", at, index)

    def payload(self, name: str, at: Any, *indices: Any) -> Any:
        return self.inputs.setdefault(name, self.declared(name))[(at, *indices)]

    def declared(self, name: str) -> Any:
        if name in self.inputs:
            return self.inputs[name]
        wide = self.choose(["int32", "int64"])
        match name:
            case "x":
                return ra.node_input("x", (3,), default=self.choose([None, 0.0]))
            case "sign":
                return ra.node_input("sign", default=self.choose([None, 0.5]))
            case "type":
                return ra.node_input("type", dtype=wide, default=self.choose([None, 1]))
            case "count":
                return ra.node_input("count", dtype=wide, default=self.choose([None, -3]))
            case _:
                return ra.node_input("word", dtype=wide, default=self.choose([None, -1]))

    def payload_table(
        self, first: tuple[int], rest: tuple[Any, ...], extents: tuple[int, ...], at: Any
    ) -> Any:
        """Return an element of a table that a payload indexes; a node that carries none reads 0."""
        name = "type" if first == (3,) else "word"
        value = self.payload(name, at)
        element = self.parameter((*first, *extents))[(value, *rest)]
        return element if self.inputs[name].default != -1 else ra.where(value >= 0, element, 0.0)

    def parameter(self, shape: tuple[int, ...]) -> Any:
        known = [t for name, t in self.inputs.items() if name.startswith("p") and t.shape == shape]
        if known and self.number(1):
            return self.choose(known)
        name = f"p{len(self.inputs)}"
        return self.inputs.setdefault(name, ra.input_tensor(name, shape))
