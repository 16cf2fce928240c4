"""The schedule that a program gets where its user asks for none."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from ragged.analysis.contractions import contractions, packed_bytes, row_operand_bytes
from ragged.auto.columns import Columns, share_columns
from ragged.auto.fuse_child_loops import fuse_child_loops
from ragged.auto.fuse_nests import fuse_nests
from ragged.auto.fuse_row_loops import fuse_row_loops
from ragged.auto.fuse_slices import fuse_slices
from ragged.auto.options import DEFAULT, ScheduleOptions
from ragged.auto.order_storage import order_loops, order_storage
from ragged.auto.partition_choices import partition_choices
from ragged.auto.planned_panels import PlannedPanels, blocks_of
from ragged.auto.prefetch_ahead import prefetch_ahead
from ragged.auto.rebase_batches import Batches, batches_of, rebase_batches
from ragged.auto.row_variants import RowPlan, options_for, plan_rows, table_of, tile_rows
from ragged.auto.rules import Rule, run_rules
from ragged.auto.shapes import Shape
from ragged.auto.share_evenly import share_evenly
from ragged.auto.share_out import share_out
from ragged.auto.share_panels import share_blocks
from ragged.auto.tile_batches import tile_batches
from ragged.auto.tile_lanes import tile_lanes
from ragged.auto.tile_panels import tile_panels
from ragged.auto.tile_products import tile_products
from ragged.auto.tile_tables import tile_tables
from ragged.auto.transpose_rows import transpose_rows
from ragged.auto.variant_table import table_to_json
from ragged.auto.vectorize_columns import vectorize_columns, vectorize_rows
from ragged.ir.expr import Buffer, Var
from ragged.ir.program import Program
from ragged.ir.sites import sites
from ragged.ir.stmt import For
from ragged.ir.walk import written
from ragged.machine import Machine
from ragged.passes.contract_storage import contract_storage
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.schedule.result import ScheduleResult


@dataclass(frozen=True, slots=True)
class DefaultSchedule:
    """A pass that schedules a program for one machine by public primitives; its notes are their log.

    `options` are its numbers and switches; those that are not the default are comments before the log. `threads` is
    the most workers that will run the kernel. A program that cannot be shared out gets one, and a comment with the
    reason is the last of the notes. `shapes` are those that calls are expected to bring, which guide choices alone, and
    `code_bytes` is the most bytes of code for a kernel's variants.
    """

    machine: Machine
    threads: int = 1
    options: ScheduleOptions = DEFAULT
    shapes: tuple[Shape, ...] = ()
    code_bytes: int | None = None

    def __post_init__(self) -> None:
        """Refuse options with tiles that need more registers than the machine has, with a `ScheduleError`."""
        self.options.check(self.machine)

    @property
    def __name__(self) -> str:
        return "default_schedule"

    def __call__(self, program: Program) -> ScheduleResult:
        """Return the scheduled program. Comes before `fuse_multiply_add`.

        First loops are arranged and shared out, while temporaries are materialised and loops still parallel; then
        storage is contracted, again once iterations of a worker follow each other; tiles come last. What proofs on the
        way assumed of data is checked in the prelude.
        """
        state = _CpuState(LoopSchedule(program, trusted=True), self)
        rules = run_rules(CPU_RULES, state, self.options)
        schedule, reason = state.schedule, state.reason
        log = (*self.options.notes(), *schedule.log().splitlines())
        notes = (*log, *(() if reason is None else (f"# one worker: {reason}",)))
        sliced = state.columns.sliced
        table = table_of(state.rows, state.panels, self.machine, self.threads)
        return ScheduleResult(
            schedule.checked(), schedule.forwarding, notes, sliced, rules, table_to_json(table)
        )


@dataclass(slots=True)
class _CpuState:
    """The state of the rules for a CPU, of which `given` is asked; `reason` says why there is only one worker."""

    schedule: LoopSchedule
    given: DefaultSchedule
    columns: Columns = field(init=False)
    rows: tuple[RowPlan, ...] = ()
    panels: tuple[PlannedPanels, ...] = ()
    min_rows_per_worker: int | None = None
    batches: tuple[Batches, ...] = ()
    reason: str | None = None

    @property
    def machine(self) -> Machine:
        return self.given.machine

    @property
    def threads(self) -> int:
        return self.given.threads

    @property
    def options(self) -> ScheduleOptions:
        """The options, with the tiles that are planned."""
        return options_for(self.rows, self.given.options) if self.rows else self.given.options


def _tile_panels(state: _CpuState) -> None:
    state.panels = tile_panels(state.schedule, state.machine, state.given.options.tile, state.threads)


def _plan_rows(state: _CpuState) -> None:
    own, program = state.given, state.schedule.program
    state.rows = plan_rows(program, own.machine, own.threads, own.options, own.shapes, own.code_bytes)


def _share_columns(state: _CpuState) -> None:
    state.columns = share_columns(state.schedule, state.machine, state.options, team=state.threads > 1)


def _roll_batches(state: _CpuState) -> None:
    program = state.schedule.program
    state.min_rows_per_worker = _rows_per_worker(state) if state.columns.sliced else None
    state.batches = batches_of(program) if state.options.rolling_buffers else ()
    rebase_batches(state.schedule, state.batches, 0, _written(program, state.columns.replicated))


def _share_out(state: _CpuState) -> None:
    blocks = blocks_of(state.panels)
    rows, replicated = state.min_rows_per_worker, state.columns.replicated
    state.reason = share_out(state.schedule, state.threads, rows, replicated, blocks)


def _rows_per_worker(state: _CpuState) -> int | None:
    """Return from how many rows per worker on workers share rows; None where the matrices exceed a second cache."""
    program, machine = state.schedule.program, state.machine
    weights = packed_bytes(program)
    if weights > machine.l2_bytes:
        return None
    on_unit = state.options.on_unit(machine)
    return state.options.rows_per_worker(weights, row_operand_bytes(program) * state.threads, on_unit=on_unit)


def _contract(state: _CpuState) -> None:
    state.schedule.apply(contract_storage)


def _vectorize_elementwise(state: _CpuState) -> None:
    sums = {contraction.update for contraction in contractions(state.schedule.program)}
    vectorize_columns(state.schedule, state.machine, leave=sums)


CPU_RULES: tuple[Rule[_CpuState], ...] = (
    Rule(
        "order_storage",
        lambda s: order_storage(s.schedule),
        "reductions over contiguous elements vectorize; first, before loops follow the layout",
        "per_node_matrices",
    ),
    Rule(
        "order_loops",
        lambda s: order_loops(s.schedule),
        "innermost loops run over contiguous elements",
        "per_node_matrices",
    ),
    Rule(
        "fuse_nests",
        lambda s: fuse_nests(s.schedule, s.threads),
        "rows pass from nest to nest in caches, without a barrier; before products are tiled",
        "fuse_nests",
    ),
    Rule(
        "tile_lanes",
        lambda s: tile_lanes(s.schedule, s.machine, s.threads),
        "packed columns would fill fewer lanes; before `tile_panels`, which packs columns of what is left",
    ),
    Rule(
        "tile_panels",
        _tile_panels,
        "an input with columns of any number, contiguous or not, is packed once and read by all rows",
    ),
    Rule(
        "plan_rows",
        _plan_rows,
        "tiles and variants are chosen by predicted time and bytes of code; before slices, which are as wide as panels",
    ),
    Rule(
        "share_columns",
        _share_columns,
        "a worker's columns of the weights stay in its own cache; while loops are parallel and temporaries in memory",
    ),
    Rule(
        "fuse_slices",
        lambda s: fuse_slices(s.schedule),
        "a worker reads each row's own matrix once; needs column slices",
        "per_node_matrices",
    ),
    Rule(
        "fuse_child_loops",
        lambda s: fuse_child_loops(s.schedule),
        "a producer's values are consumed in the same iteration",
    ),
    Rule("contract_storage", _contract, "temporaries of one iteration need no row for each iteration"),
    Rule(
        "rolling_buffers",
        _roll_batches,
        "the next batch reuses the same rows, which are in the cache; before workers share them",
    ),
    Rule(
        "partition_choices",
        lambda s: partition_choices(s.schedule, s.machine),
        "loops without a choice of what is read fill vectors; before workers share them",
    ),
    Rule(
        "share_evenly",
        lambda s: share_evenly(s.schedule, s.threads),
        "few iterations leave workers idle; right before they share loops",
    ),
    Rule("distribute_over_team", _share_out, "workers run the parallel loops; barriers stand between them"),
    Rule(
        "rolling_buffers of workers",
        lambda s: rebase_batches(s.schedule, s.batches, 1),
        "the same for buffers of which each worker has a copy, which only now exist",
    ),
    Rule("contract_storage again", _contract, "iterations of one worker are sequential now"),
    Rule(
        "fuse_row_loops",
        lambda s: fuse_row_loops(s.schedule, s.machine, s.options),
        "a tile's rows are used right after they are computed",
        "per_node_matrices",
    ),
    Rule(
        "transpose_rows",
        lambda s: transpose_rows(s.schedule, s.machine),
        "contractions read contiguous columns",
    ),
    Rule(
        "vectorize_columns", _vectorize_elementwise, "elementwise loops fill vectors; before tiles copy them"
    ),
    Rule(
        "tile_rows",
        lambda s: tile_rows(s.schedule, s.rows, s.options),
        "each range of row counts has its own micro-kernel; before batches, where all tiles are alike",
    ),
    Rule(
        "tile_batches",
        lambda s: tile_batches(s.schedule, s.machine, s.options),
        "rows of a batch that run together share the loads of the matrices",
    ),
    Rule(
        "tile_products",
        lambda s: tile_products(s.schedule, s.machine, s.options),
        "accumulators in registers hide the latency of multiply-adds",
    ),
    Rule(
        "tile_tables",
        lambda s: tile_tables(s.schedule, s.machine, s.options),
        "tables are computed in register tiles too",
    ),
    Rule(
        "vectorize_columns of tiles",
        lambda s: vectorize_columns(s.schedule, s.machine),
        "loops that tiling added fill vectors",
    ),
    Rule(
        "vectorize_rows",
        lambda s: vectorize_rows(s.schedule, s.machine),
        "remainders of elementwise loops use shorter vectors; last, on loops that nothing else took",
    ),
    Rule("share_blocks", lambda s: share_blocks(s.schedule, s.panels), "few panels leave workers idle"),
    Rule(
        "prefetch_ahead",
        lambda s: prefetch_ahead(s.schedule, s.machine),
        "sums wait for rows far apart, which the processor does not foresee; last, as other steps move loops",
    ),
)
"""The rules for a CPU in their order. Where one has to come before others, its reason says so."""


def _written(program: Program, loops: Collection[Var]) -> frozenset[Buffer]:
    return frozenset(
        buffer
        for site in sites(program)
        if isinstance(site.stmt, For) and site.stmt.var in loops
        for buffer in written(site.stmt)
    )
