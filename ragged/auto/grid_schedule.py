"""The schedule that a program gets for a GPU: one persistent kernel with columns of the weights in each block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragged.analysis.contractions import contractions
from ragged.analysis.loop_bodies import loop_of
from ragged.auto.columns import outermost, slice_loop
from ragged.auto.fuse_edges import fuse_edges
from ragged.auto.rules import Rule, run_rules
from ragged.auto.tile_tables import tile_tables
from ragged.errors import ScheduleError
from ragged.ir.buffer_size import bytes_of
from ragged.ir.expr import Buffer, Const, Load, Role, Var
from ragged.ir.index import contents
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import For, LoopKind, Reduce
from ragged.ir.walk import expressions, leaves, mentions, statements, subexpressions
from ragged.machine import Grid, Machine
from ragged.passes.contract_storage import contract_storage
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.schedule.result import ScheduleResult
from ragged.transform.loops.fuse import fuse
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import split
from ragged.transform.loops.unroll_fully import unroll_fully
from ragged.transform.mapping.distribute_over_blocks import distribute_over_blocks
from ragged.transform.mapping.distribute_over_threads import distribute_over_threads
from ragged.transform.storage.cache_write import cache_write
from ragged.transform.storage.keep_on_chip import keep_on_chip


@dataclass(frozen=True, slots=True)
class GridSchedule:
    """A pass that schedules a program for a grid of blocks by public primitives; its notes are their log.

    `machine` is what binds the parameters: a GPU runs the kernel alone.
    """

    grid: Grid
    machine: Machine

    @property
    def __name__(self) -> str:
        return "default_schedule"

    def __call__(self, program: Program) -> ScheduleResult:
        """Return the scheduled program. Comes before `fuse_multiply_add`.

        What a batch's nodes do is cut into columns, which are independent of each other between one product and the
        next. Blocks have the columns, the same ones in every batch; their threads have a column of a node each. So
        blocks meet where a product reads whole rows, and the weights of a block's columns are on its chip, where they
        fit.

        Raises:
            ScheduleError: the kernel has no parallel loops, or does something else too.
        """
        state = _GridState(LoopSchedule(program, trusted=True), self.grid, self.machine)
        rules = run_rules(GRID_RULES, state)
        schedule = state.schedule
        notes = (*schedule.log().splitlines(), *state.notes)
        return ScheduleResult(schedule.checked(), schedule.forwarding, notes, rules=rules)


@dataclass(slots=True)
class _GridState:
    """What rules for a GPU know of each other: `pairs` are loops over nodes and over their columns, to be fused."""

    schedule: LoopSchedule
    grid: Grid
    machine: Machine
    pairs: tuple[tuple[Var, Var], ...] = ()
    notes: tuple[str, ...] = ()


def _slice_all(state: _GridState) -> None:
    for loop in [each.var for each in outermost(state.schedule.program)]:
        for part in list(fuse_edges(state.schedule, loop)):
            slice_loop(state.schedule, part, _one)


def _group_columns(state: _GridState) -> None:
    loops = outermost(state.schedule.program)
    state.pairs = tuple(pair for loop in loops for pair in _columns(state.schedule, state.grid, loop.var))


def _fuse_columns(state: _GridState) -> None:
    for nodes, columns in state.pairs:
        state.schedule.apply(fuse, nodes, columns)


def _distribute_over_blocks(state: _GridState) -> None:
    state.schedule.apply(distribute_over_blocks, _blocks(state.schedule.program, state.grid))


def _keep_on_chip(state: _GridState) -> None:
    state.notes = tuple(_keep_weights(state.schedule, state.grid))


def _contract(state: _GridState) -> None:
    state.schedule.apply(contract_storage)


def _distribute_over_threads(state: _GridState) -> None:
    state.schedule.apply(distribute_over_threads, state.grid.threads)


GRID_RULES: tuple[Rule[_GridState], ...] = (
    Rule("slice_columns", _slice_all, "each column of a batch is independent up to the next contraction"),
    Rule(
        "group_columns", _group_columns, "a block computes several columns where there are more than blocks"
    ),
    Rule(
        "contract_storage",
        _contract,
        "temporaries of one column stay with it; before loops are fused",
    ),
    Rule("fuse_columns", _fuse_columns, "a thread computes one column of one row"),
    Rule("hold_sums", lambda s: _hold_sums(s.schedule), "a sum stays in a register and is stored once"),
    Rule("unroll_single", lambda s: _unroll_single(s.schedule), "loops of one iteration need no loop"),
    Rule(
        "distribute_over_blocks",
        _distribute_over_blocks,
        "blocks keep the same columns in every batch; barriers stand where a contraction reads whole rows",
    ),
    Rule("keep_on_chip", _keep_on_chip, "weights that fit are loaded once; needs each block's columns"),
    Rule(
        "unroll_single again",
        lambda s: _unroll_single(s.schedule),
        "loops that blocks left with one iteration",
    ),
    Rule(
        "distribute_over_threads",
        _distribute_over_threads,
        "threads share what is left of a block's loops",
    ),
    Rule(
        "tile_tables", lambda s: tile_tables(s.schedule, s.machine), "the CPU fills tables in register tiles"
    ),
)
"""The rules for a GPU in their order."""


def _one(extent: int) -> int:
    """Return the columns of a slice: a block gets several of them later."""
    return 1


def _columns(schedule: LoopSchedule, grid: Grid, loop: Var) -> Iterator[tuple[Var, Var]]:
    """Give each block several columns where there are more than blocks; yield the loops over nodes and over those.

    A thread has one column of one node, so both loops become one, in which columns come next to each other.
    """
    outer = loop_of(schedule.program, loop)
    inner = outer.body
    if not (isinstance(inner, For) and inner.kind is LoopKind.PARALLEL and isinstance(outer.extent, Const)):
        return
    width = _width(int(outer.extent.value), grid.blocks)
    if width == 1:
        return
    before = schedule.checkpoint()
    try:
        _, columns = schedule.apply(split, loop, width).loops[loop]
        schedule.apply(reorder, (inner.var, columns))
    except ScheduleError:
        schedule.restore(before)
        return
    yield inner.var, columns


def _width(columns: int, blocks: int) -> int:
    """Return how many columns to deal out together: of those that leave the busiest block the least, the most."""

    def busiest(width: int) -> int:
        return -(-columns // width // blocks) * width

    widths = (each for each in range(1, columns + 1) if columns % each == 0)
    return min(widths, key=lambda w: (busiest(w), -w), default=1)  # without columns there are no widths


def _blocks(program: Program, grid: Grid) -> int:
    """Return how many blocks there is something to do for."""
    extents = [loop.extent for loop in outermost(program)]
    numbers = [int(extent.value) for extent in extents if isinstance(extent, Const)]
    return min(grid.blocks, max(1, *numbers)) if len(numbers) == len(extents) > 0 else grid.blocks


def _unroll_single(schedule: LoopSchedule) -> None:
    """Put the bodies of loops of one iteration in their place."""
    found = [
        stmt.var
        for stmt in statements(schedule.program.kernel)
        if isinstance(stmt, For) and stmt.extent == Const(1) and stmt.kind is LoopKind.SERIAL
    ]
    for loop in reversed(found):  # the innermost ones first
        schedule.apply(unroll_fully, loop)


def _hold_sums(schedule: LoopSchedule) -> None:
    """Sum up in a register what goes to memory, and write it once."""
    local = {
        leaf.label
        for leaf in leaves(schedule.program.kernel)
        if isinstance(leaf, Reduce) and leaf.buffer.role is Role.LOCAL
    }
    for contraction in list(contractions(schedule.program)):
        if contraction.update in local:
            continue
        with schedule.attempt():
            schedule.apply(cache_write, contraction.update, contraction.outputs[-1].var)


def _keep_weights(schedule: LoopSchedule, grid: Grid) -> Iterator[str]:
    """Keep the parameters of products on chip as far as they fit; yield a comment for each that does not."""
    left = grid.shared_bytes
    for buffer in _weights(schedule.program):
        before = schedule.checkpoint()
        try:
            schedule.apply(keep_on_chip, buffer)
        except ScheduleError as refusal:
            yield f"# not on chip: {' '.join(str(refusal).split())}"
            continue
        size = bytes_of(list(_chips(schedule.program))[-1])
        if size > left:
            schedule.restore(before)
            reason = f"{buffer.name}, of which a block has {size} bytes, with {left} left"
            schedule.refuse(f"keep_on_chip: {buffer.name}", ScheduleError(reason))
            yield f"# not on chip: {reason}"
        else:
            left -= size


def _weights(program: Program) -> list[Buffer]:
    """Return the parameters that sums read in their loops, those first that every batch reads."""
    repeated: dict[Buffer, bool] = {}
    for site in sites(program):
        if site.stage.kind is not StageKind.KERNEL or not isinstance(site.stmt, Reduce):
            continue
        parts = [part for expr in expressions(site.stmt) for part in subexpressions(expr)]
        for part in (part for part in parts if isinstance(part, Load)):
            looped = any(mentions(index, site.stmt.axes) for index in part.indices)
            if looped and part.buffer.role in (Role.PARAMETER, Role.BOUND):
                repeated[part.buffer] = repeated.get(part.buffer, False) or _in_batches(site)
    return sorted(repeated, key=lambda buffer: not repeated[buffer])


def _in_batches(site: Site) -> bool:
    """True if a loop over batches stands around what a block has a share of: one that runs as often for each block."""
    team, *loops = site.loops
    for loop in loops:
        if loop.kind is LoopKind.PARALLEL:
            return False
        if not isinstance(loop.extent, Const) and not mentions(site.expand(loop.extent), (team.var,)):
            return True
    return False


def _chips(program: Program) -> Iterator[Buffer]:
    """Yield what is kept on chip, in the order in which it was."""
    return (buffer for buffer in contents(program.kernel).buffers if buffer.scope is MemoryScope.SHARED)
