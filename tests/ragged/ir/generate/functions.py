"""Functions with facts that their drawn data obey."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from ragged.ir.build import add, index, sub
from ragged.ir.dtype import DType
from ragged.ir.expr import Call, Const, Expr, Function, Param, Ref, Source, Var
from ragged.ir.fact import Fact
from ragged.ir.facts import Injective, Monotone, Owner, PrefixSum, Range, Shares, Tiling, UpperBound
from ragged.ir.ops import BinaryOp
from ragged.ir.pointer_facts import Descends, Follows, Layered, Uniform


@dataclass
class World:
    """The functions of a program with their data: `ranges` are the least and greatest values of each."""

    draw: st.DrawFn
    functions: list[Function] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    ranges: dict[Function, tuple[int, int]] = field(default_factory=dict)
    domains: dict[Function, int] = field(default_factory=dict)
    offsets: dict[Function, Function] = field(default_factory=dict)
    totals: list[tuple[Expr, int]] = field(default_factory=list)

    def integer(self, lo: int, hi: int) -> int:
        return self.draw(st.integers(lo, hi))

    def flag(self) -> bool:
        return self.draw(st.booleans())

    def size(self, name: str, value: int, source: Source = Source.INPUT) -> Function:
        function = Function(name, (), source)
        self.functions.append(function)
        self.sizes[name] = value
        self.ranges[function] = (value, value)
        return function

    def array(self, name: str, values: list[int], extent: Expr, source: Source) -> Function:
        storage = DType.INT64 if self.flag() else DType.INT32
        function = Function(name, (Param(Var("i"), extent),), source, storage=storage)
        self.functions.append(function)
        self.arrays[name] = np.array(values, dtype=storage.numpy)
        self.describe(function, values)
        return function

    def describe(self, function: Function, values: list[int]) -> None:
        self.domains[function] = len(values)
        if values:
            self.ranges[function] = (min(values), max(values))

    def fact(self, fact: Fact) -> None:
        self.facts.append(fact)


def draw_functions(world: World) -> None:
    """Add sizes, and some of: pointers, a permutation, ragged rows, an expression, batches."""
    rows = world.size("rows", world.integer(1, 4))
    world.fact(Range(rows, index(1), index(5)))
    world.size("width", world.integer(1, 3), Source.CALL)
    parts = (_pointer, _permutation, _shares, _ragged, _expression, _batches, _steps)
    for part in parts:
        if world.flag():
            part(world, rows)


def _pointer(world: World, rows: Function) -> None:
    count = world.sizes["rows"]
    values = [world.integer(0, count - 1) for _ in range(count)]
    function = world.array("pointer", values, index(rows), Source.INPUT)
    world.fact(Range(function, index(0), index(rows)))


def _permutation(world: World, rows: Function) -> None:
    values = world.draw(st.permutations(range(world.sizes["rows"])))
    function = world.array("place", list(values), index(rows), Source.PAYLOAD)
    world.fact(Injective(function))
    world.fact(Range(function, index(0), index(rows)))


def _shares(world: World, rows: Function) -> None:
    total, count = world.sizes["rows"], world.integer(1, 3)
    inner = sorted(world.integer(0, total) for _ in range(count - 1))
    shares = world.size("parts", count)
    begin = world.array("part_begin", [0, *inner, total], add(Call(shares), 1), Source.PAYLOAD)
    world.fact(Shares(begin, shares, index(rows)))


def _ragged(world: World, rows: Function) -> None:
    lengths = [world.integer(0, 3) for _ in range(world.sizes["rows"])]
    offsets = [sum(lengths[:k]) for k in range(len(lengths) + 1)]
    offset = world.array("offset", offsets, add(index(rows), 1), Source.PRELUDE)
    if world.flag():
        length = world.array("length", lengths, index(rows), Source.PRELUDE)
    else:
        i = Var("i")
        body = sub(Call(offset, (add(Ref(i), 1),)), Call(offset, (Ref(i),)))
        length = Function("length", (Param(i, index(rows)),), Source.EXPRESSION, body)
        world.functions.append(length)
        world.describe(length, lengths)
    world.fact(PrefixSum(offset, length))
    world.fact(Monotone(offset))
    world.fact(Range(length, index(0), index(4)))
    world.fact(UpperBound(world.array("most_length", [max(lengths)], index(1), Source.PRELUDE), length))
    world.offsets[length] = offset
    if offsets[-1] > 0:
        world.totals.append((Call(offset, (index(rows),)), offsets[-1]))
        rows_of = [row for row, length in enumerate(lengths) for _ in range(length)]
        owner = world.array("row", rows_of, Call(offset, (index(rows),)), Source.PRELUDE)
        world.fact(Owner(owner, offset))


def _expression(world: World, rows: Function) -> None:
    i, j, width = Var("i"), Var("j"), world.functions[1]
    body = Call(width) if world.flag() else Const(world.integer(1, 3))
    flat = Function(
        "flat", (Param(i, index(rows)), Param(j, index(width))), Source.EXPRESSION, add(Ref(i), body)
    )
    world.functions.append(flat)
    world.fact(Range(flat, Ref(i), add(add(index(rows), Ref(i)), 8)))
    twice = Var("k")
    function = Function("twice", (Param(twice, index(9)),), Source.EXPRESSION, add(Ref(twice), Ref(twice)))
    world.functions.append(function)
    world.describe(function, [2 * k for k in range(9)])
    world.fact(Monotone(function, strict=True))


def _batches(world: World, rows: Function) -> None:
    lengths = [world.integer(1, 2) for _ in range(world.integer(1, 3))]
    total = sum(lengths)
    begins = [total - sum(lengths[: b + 1]) for b in range(len(lengths))]
    nodes, batches = world.size("nodes", total), world.size("batches", len(lengths))
    inner = world.size("inner", begins[0])
    begin = world.array("begin", begins, index(batches), Source.INPUT)
    length = world.array("count", lengths, index(batches), Source.INPUT)
    ends = [
        next(b + n for b, n in zip(begins, lengths, strict=True) if b <= k < b + n) for k in range(begins[0])
    ]
    child = world.array("child", [world.integer(end, total - 1) for end in ends], index(inner), Source.INPUT)
    world.fact(Tiling(begin, length, index(inner), index(nodes)))
    world.fact(Follows(child, begin, length, optional=world.flag()))
    world.fact(Range(child, add(Ref(child.params[0].var), 1), index(nodes)))
    world.fact(Uniform.of(child, BinaryOp.GE, Const(0), begin, length))


def _steps(world: World, rows: Function) -> None:
    """A chain that is taken two nodes at a time: each is one higher than the next, and the last is the leaf."""
    count = world.sizes["rows"]
    heights = [count - 1 - node for node in range(count)]
    tops = [count - 1 - min(2 * step + 2, count - 1) for step in range(count // 2)]
    groups = [(height - 1) // 2 if height else -1 for height in heights]
    steps = world.size("steps", len(tops))
    height = world.array("height", heights, index(rows), Source.INPUT)
    group = world.array("group", groups, index(rows), Source.INPUT)
    begin = world.array("step_begin", [*range(len(tops) + 1)], add(Call(steps), 1), Source.INPUT)
    top = world.array("top", tops, index(steps), Source.INPUT)
    below = world.array("below", [*range(1, count)], sub(Call(rows), 1), Source.INPUT)
    world.fact(Layered(top, begin, group, height, 2))
    world.fact(Descends(below, group, height, 2, optional=world.flag()))
