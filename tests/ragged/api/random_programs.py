"""Random programs over ragged tensors: dimensions that vary with any of those outside, several operators."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from ragged.api.declare import compute, input_tensor
from ragged.api.dims import LengthFn, RaggedDim, dim, length_fn, size
from ragged.api.functions import max_, maximum, sum_
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import RaggedTensor
from ragged.api.values import Value
from tests.ragged.api.running import Data

LENGTHS = st.sampled_from([0, 1, 2, 3, 4, 5, 7])


@dataclass
class Program:
    """A program as it is drawn: the output, and data of one call."""

    draw: st.DrawFn
    tensors: list[RaggedTensor] = field(default_factory=list)
    names: itertools.count = field(default_factory=itertools.count)

    def length(self, over: tuple[RaggedDim, ...]) -> LengthFn:
        return length_fn(f"n{next(self.names)}", over if len(over) > 1 else over[0])

    def dims(self) -> list[tuple[RaggedDim, object]]:
        """Draw nested dimensions: each extends a number, a length of any outer ones, or a triangle's side."""
        names = iter("bijk")
        found: list[tuple[RaggedDim, object]] = [(dim(next(names)), size("S"))]
        needs: dict[RaggedDim, set[RaggedDim]] = {found[0][0]: set()}
        known: list[LengthFn] = []
        for _ in range(self.draw(st.integers(1, 3))):
            own, kind = (
                dim(next(names)),
                self.draw(st.sampled_from(["length", "length", "same", "side", "number"])),
            )
            same = [n for n in known if set(n.over) <= set(needs)]
            if kind == "length":
                chosen = {outer for outer, _ in found if self.draw(st.booleans())} or {found[0][0]}
                chosen |= {d for each in chosen for d in needs[each]}
                over = tuple(outer for outer, _ in found if outer in chosen)
                known.append(self.length(over))
                extent, needed = known[-1](*over), chosen
            elif kind == "same" and same:
                length = self.draw(st.sampled_from(same))
                extent, needed = length(*length.over), set(length.over)
            elif kind == "side":
                extent, needed = found[-1][0] + 1, {found[-1][0], *needs[found[-1][0]]}
            else:
                extent, needed = self.draw(st.integers(1, 3)), set()
            found.append((own, extent))
            needs[own] = needed
        return found

    def add(self, tensor: RaggedTensor) -> RaggedTensor:
        self.tensors.append(tensor)
        return tensor

    def grow(self, before: RaggedTensor) -> RaggedTensor:
        """Draw an operator over what `before` gives."""
        name, dims = f"T{next(self.names)}", before.dims
        kind = self.draw(st.sampled_from(["map", "scale", "shift", "reduce", "center"]))
        if len(dims) < 2:
            kind = "map"
        if kind == "map":
            return self.add(compute(name, dims, lambda *at: before[at] * 0.5 + 1.0))
        if kind == "scale":
            side = self.add(input_tensor(f"V{next(self.names)}", dims[:1]))
            return self.add(compute(name, dims, lambda *at: before[at] * side[at[0]]))
        if kind == "shift":
            return self.add(
                compute(name, dims, lambda *at: before[(*at[:-1], maximum(at[-1] - 1, 0))] - before[at])
            )
        total = sum_ if self.draw(st.booleans()) else max_

        def over(at: tuple[Value, ...]) -> Value:
            own = {each.dim: place for each, place in zip(dims, at, strict=False)}
            return total(_extent(dims[-1].extent, own), lambda k: before[(*at, k)])

        if kind == "reduce":
            return self.add(compute(name, dims[:-1], lambda *at: over(at)))
        return self.add(compute(name, dims, lambda *at: before[at] - over(at[:-1])))


def _extent(extent: Value, own: dict[RaggedDim, Value]) -> Value:
    from ragged.ir.rewrite import substitute

    values = {each.var: place.expr for each, place in own.items()}
    return Value(substitute(extent.expr, values), extent.sources)


class Drawn:
    """A program's outputs, and data of calls."""

    def __init__(self, outputs: tuple[RaggedTensor, ...], data: list[Data]) -> None:
        self.outputs, self.data = outputs, data

    def schedule(self) -> RaggedSchedule:
        return RaggedSchedule(*self.outputs)

    def __repr__(self) -> str:
        lengths = [
            {n.name: list(values.values()) for n, values in each.lengths.items()} for each in self.data
        ]
        return f"{self.schedule().lower()}\n{lengths}"


@st.composite
def programs(draw) -> Drawn:
    """Draw the outputs of a program, and data: some rows empty, lengths that are off tiles' edges."""
    program = Program(draw)
    last = program.add(input_tensor("A", program.dims()))
    for _ in range(draw(st.integers(1, 3))):
        last = program.grow(last)
    outputs = (last,)
    if draw(st.booleans()):
        outputs = (last, program.grow(program.tensors[0]))
    return Drawn(outputs, [_data(draw, program, draw(st.integers(0, 4))) for _ in range(2)])


def _data(draw, program: Program, rows: int) -> Data:
    data = Data({"S": rows})
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    for tensor in program.tensors:
        if tensor.body is not None:
            continue
        for position, each in enumerate(tensor.dims):
            for source in each.extent.sources.values():
                if isinstance(source, LengthFn) and source not in data.lengths:
                    _lengths(draw, data, tensor, position, source)
        data.inputs[tensor] = {i: float(np.float32(rng.standard_normal())) for i in data.oracle.space(tensor)}
    return data


def _lengths(draw, data: Data, tensor: RaggedTensor, position: int, length: LengthFn) -> None:
    """Draw lengths at each index of what they are over: a tensor's dimensions before."""
    dims = [d for d in tensor.dims[:position] if d.dim in set(length.over)]
    domain = input_tensor("domain", [(d.dim, d.extent) for d in dims])
    values = {index: draw(LENGTHS) for index in data.oracle.space(domain)}
    data.lengths[length] = values
