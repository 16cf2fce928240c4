"""Random valid programs, with data on which they run: for tests that compare two ways to run a program.

@given(cases())
def test_something(case):
    assert_close(interpret(case.program, case.sizes, case.arrays), run_otherwise(case))
"""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from hypothesis import strategies as st

from ragged.ir.build import index
from ragged.ir.dtype import DType
from ragged.ir.expr import Buffer, Const, Expr, Role
from ragged.ir.printer import to_text
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.stmt import Stmt, block
from tests.ragged.ir.generate.body import DIMS, DTYPES, Bodies
from tests.ragged.ir.generate.functions import World, draw_functions
from tests.ragged.ir.generate.values import Here


@dataclass(frozen=True)
class Case:
    """A valid program that runs without a fault on the sizes and arrays beside it, which are by name.

    It writes all of its bound buffers, workspaces and outputs, and holds every kind of node now and then. All
    values stay small, and no branch depends on how a float was rounded.
    """

    program: Program
    sizes: dict[str, int]
    arrays: dict[str, np.ndarray]

    def _repr_pretty_(self, printer, cycle: bool) -> None:
        """Show the program's text where Hypothesis shows an example."""
        printer.text(f"{to_text(self.program)}\n{self.sizes}\n{self.arrays}")


def programs() -> st.SearchStrategy[Program]:
    """Random valid programs."""
    return cases().map(lambda case: case.program)


@st.composite
def cases(draw: st.DrawFn, *, teams: bool = True) -> Case:
    """Random valid programs with data; without team loops unless `teams`."""
    world = World(draw)
    draw_functions(world)
    buffers = _draw_buffers(world)
    bodies = Bodies(world)
    given = {b: s for b, s in buffers.items() if b.role in (Role.PARAMETER, Role.PAYLOAD)}
    bound = {b: s for b, s in buffers.items() if b.role is Role.BOUND}
    made = {b: s for b, s in buffers.items() if b.role in (Role.OUTPUT, Role.WORKSPACE)}
    stages = []
    if bound:
        binding = Bodies(World(draw))  # it knows no function
        first = {b: s for b, s in given.items() if b.role is Role.PARAMETER}
        stages.append(Stage(StageKind.BIND, _fill_all(binding, Here(shapes=first), bound)))
    here = Here(shapes={**given, **bound})
    early = {b: s for b, s in made.items() if b.role is Role.WORKSPACE and world.flag()}
    if early:
        stages.append(Stage(StageKind.PRELUDE, _fill_all(bodies, here, early)))
    late = {b: s for b, s in made.items() if b not in early}
    everything = Here(shapes={**here.shapes, **made}, writable=frozenset(made))
    parts: list[Stmt] = [_fill_all(bodies, Here(shapes={**here.shapes, **early}), late)]
    parts += [bodies.stmt(everything, 3) for _ in range(world.integer(2, 5))]
    if teams and world.flag():
        parts.insert(world.integer(1, len(parts)), bodies.team(everything))
    stages.append(Stage(StageKind.KERNEL, block(*parts)))
    program = Program("drawn", tuple(world.functions), tuple(buffers), tuple(world.facts), tuple(stages))
    return Case(program, world.sizes, world.arrays | _contents(world, given))


def _fill_all(bodies: Bodies, here: Here, buffers: dict[Buffer, tuple[int, ...]]) -> Stmt:
    return block(*(bodies.fill(here, buffer, counts) for buffer, counts in buffers.items()))


def _draw_buffers(world: World) -> dict[Buffer, tuple[int, ...]]:
    """Draw the declared buffers; every role but LOCAL, with the value of each extent."""
    constants: list[tuple[Expr, int]] = [(Const(k), k) for k in (1, 2, 3, 4)]
    sizes = [(index(f), world.sizes[f.name]) for f in world.functions if f.is_size and world.sizes[f.name]]
    buffers: dict[Buffer, tuple[int, ...]] = {}
    for role, name, most in (
        (Role.PARAMETER, "w", 2),
        (Role.BOUND, "t", 1),
        (Role.PAYLOAD, "x", 2),
        (Role.WORKSPACE, "u", 1),
        (Role.OUTPUT, "h", 2),
    ):
        fixed = role in (Role.PARAMETER, Role.BOUND)
        extents = constants if fixed else [*constants, *2 * sizes, *2 * world.totals]
        least = 1 if role in (Role.PARAMETER, Role.OUTPUT) else 0
        for number in range(world.integer(least, most)):
            buffer, counts = _draw_buffer(world, f"{name}{number}", role, extents)
            buffers[buffer] = counts
    return buffers


def _draw_buffer(
    world: World, name: str, role: Role, extents: list[tuple[Expr, int]]
) -> tuple[Buffer, tuple[int, ...]]:
    axes = world.draw(st.lists(st.sampled_from(extents), max_size=3))
    order = world.draw(st.sampled_from(list(permutations(range(len(axes))))))
    dims = tuple(world.draw(st.sampled_from((None, *DIMS))) for _ in axes)
    dtype, align = world.draw(st.sampled_from(DTYPES)), world.draw(st.sampled_from((64, 16)))
    shape = tuple(extent for extent, _ in axes)
    return Buffer(name, dtype, shape, role, dims, order=order, align=align), tuple(count for _, count in axes)


def _contents(world: World, buffers: dict[Buffer, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Return contents in [-2, 2], quarters where they are floats."""
    random = np.random.default_rng(world.integer(0, 1000))
    return {b.name: _content(random, b.dtype, counts) for b, counts in buffers.items()}


def _content(random: np.random.Generator, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    quarters = random.integers(-8, 9, shape)
    values = quarters > 0 if dtype is DType.BOOL else quarters / 4 if dtype.is_float else quarters // 4
    return np.asarray(values, dtype.numpy)
