"""Columns of a matrix for each worker: loops over batches, arranged so that slices of what they compute are shared out.

A worker that has the same columns of a weight matrix in every batch finds them in its own cache again: the CPU's form
of model persistence. What reads whole rows of what came before starts a loop of its own, after a barrier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragged.auto.machine import Machine
from ragged.auto.products import products
from ragged.errors import ScheduleError
from ragged.ir.analysis import sites
from ragged.ir.expr import Buffer, Const, Load, Ref, Role, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.stmt import Block, For, Label, Let, LoopKind, Reduce, Stmt, Store
from ragged.ir.walk import leaves, statements, subexpressions
from ragged.schedule.fission import fission
from ragged.schedule.fuse_ragged import fuse_ragged
from ragged.schedule.parallel import parallel
from ragged.schedule.roll import roll
from ragged.schedule.schedule import Schedule
from ragged.schedule.slice_columns import slice_columns
from ragged.schedule.stack import stack

VECTORS = 4
"""The vectors of columns of a slice: as many as a register tile has."""


def share_columns(schedule: Schedule, machine: Machine) -> None:
    """Slice the columns of parallel loops around products with a parameter.

    Sums of products that differ only in what they read and write become one nest in a loop; those over the children of
    a batch's nodes a loop over all their edges. What a primitive refuses is left as it is. Comes first, on the program
    as the model says it: every temporary is materialised.
    """
    for loop in _worth(schedule.program):
        _roll_products(schedule, loop)
        for part in _without_rows(schedule, loop):
            _slice(schedule, machine, part)


def _worth(program: Program) -> list[Var]:
    """Return the outermost parallel loops around products with a parameter."""
    updates = {product.update for product in products(program) if product.packed is not None}
    found: list[Var] = []
    for site in sites(program):
        loop = site.stmt
        if site.stage.kind is not StageKind.KERNEL or not isinstance(loop, For):
            continue
        if loop.kind is not LoopKind.PARALLEL or any(o.kind is LoopKind.PARALLEL for o in site.loops):
            continue
        if any(leaf.label in updates for leaf in leaves(loop)):
            found.append(loop.var)
    return found


def _loop(schedule: Schedule, var: Var) -> For:
    return next(
        stmt
        for stage in schedule.program.stages
        for stmt in statements(stage.body)
        if isinstance(stmt, For) and stmt.var is var
    )


def _parts(loop: For) -> list[Stmt]:
    """Return the statements directly in a loop, lets seen through."""
    body = loop.body
    while isinstance(body, Let):
        body = body.body
    return list(body.body) if isinstance(body, Block) else [body]


# --- products side by side ----------------------------------------------------------------------------------


def _roll_products(schedule: Schedule, loop: Var) -> None:
    """Make one nest of each run of products in a loop that differ in parameter and result alone."""
    run: list[For] = []
    for part in [*_parts(_loop(schedule, loop)), None]:
        if isinstance(part, For) and _rollable(part) and (not run or _alike(run[0], part)):
            run.append(part)
            continue
        if len(run) > 1:
            _roll(schedule, run)
        run = [part] if isinstance(part, For) and _rollable(part) else []


def _roll(schedule: Schedule, run: list[For]) -> None:
    before = schedule.checkpoint()
    results = [_result(nest) for nest in run]
    weights = [_weights(nest) for nest in run]
    try:
        schedule.apply(stack, tuple(results), _joined(schedule.program, results))
        schedule.apply(stack, tuple(weights), _joined(schedule.program, weights))
        schedule.apply(roll, tuple(nest.var for nest in run), "g")
    except ScheduleError:
        schedule.restore(before)


def _joined(program: Program, buffers: list[Buffer]) -> str:
    taken = {buffer.name for buffer in program.buffers} | {function.name for function in program.functions}
    name = "_".join(buffer.name for buffer in buffers)
    while name in taken:
        name += "_"
    return name


def _result(nest: For) -> Buffer:
    return next(leaf.buffer for leaf in leaves(nest) if isinstance(leaf, Reduce))


def _weights(nest: For) -> Buffer:
    return next(buffer for buffer in _read(nest) if buffer.role is Role.PARAMETER)


def _read(nest: For) -> list[Buffer]:
    values = [leaf.value for leaf in leaves(nest) if isinstance(leaf, Reduce)]
    return [part.buffer for value in values for part in subexpressions(value) if isinstance(part, Load)]


def _rollable(nest: For) -> bool:
    """True for a sum of products of one parameter and one other operand, into a temporary."""
    writers = [leaf for leaf in leaves(nest) if isinstance(leaf, Store | Reduce)]
    if (
        len(writers) != 2
        or not isinstance(writers[1], Reduce)
        or writers[1].buffer.role is not Role.WORKSPACE
    ):
        return False
    operands = _read(nest)
    return len(operands) == 2 and sum(buffer.role is Role.PARAMETER for buffer in operands) == 1


def _alike(a: For, b: For) -> bool:
    """True if two products read one other operand, and parameters of one shape."""
    mine, yours = _weights(a), _weights(b)
    others = [
        [buffer for buffer in _read(nest) if buffer is not own] for nest, own in ((a, mine), (b, yours))
    ]
    distinct = mine is not yours and _result(a) is not _result(b)
    return distinct and others[0] == others[1] and mine.shape == yours.shape


# --- rows of different lengths ------------------------------------------------------------------------------


def _without_rows(schedule: Schedule, loop: Var) -> Iterator[Var]:
    """Give each product over children a loop of its own over all edges; yield it, and the loops that are left."""
    current = loop
    while True:
        parts = _parts(_loop(schedule, current))
        at = next((i for i, part in enumerate(parts) if _is_ragged_product(schedule.program, part)), None)
        if at is None:
            yield current
            return
        before = schedule.checkpoint()
        try:
            ragged, rest, earlier = current, None, None
            if at:
                earlier, ragged = schedule.apply(fission, current, _name(parts[at - 1])).loops[current]
            if at + 1 < len(parts):
                ragged, rest = schedule.apply(fission, ragged, _name(parts[at])).loops[ragged]
            inner = parts[at]
            assert isinstance(inner, For)
            (fused,) = schedule.apply(fuse_ragged, ragged, inner.var).loops[ragged]
            schedule.apply(parallel, fused)
        except ScheduleError:
            schedule.restore(before)
            yield current
            return
        if earlier is not None:
            yield earlier
        yield fused
        if rest is None:
            return
        current = rest


def _name(part: Stmt) -> Label | Var:
    match part:
        case For(var=var):
            return var
        case Store(label=label) | Reduce(label=label):
            return label
        case _:
            raise ScheduleError(f"a {type(part).__name__} cannot be cut at")


def _is_ragged_product(program: Program, part: Stmt) -> bool:
    if not isinstance(part, For) or isinstance(part.extent, Const):
        return False
    updates = {product.update for product in products(program) if product.packed is not None}
    return any(leaf.label in updates for leaf in leaves(part))


# --- slices ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Column:
    """The loop over the columns of a statement directly in a loop over a batch."""

    part: Stmt
    var: Var
    extent: int


def _slice(schedule: Schedule, machine: Machine, loop: Var) -> None:
    """Slice a loop over a batch; where one set of slices does not do for all of it, cut it in two and try again."""
    columns = [_column(part) for part in _parts(_loop(schedule, loop))]
    known = [column for column in columns if column is not None]
    current, start = loop, 0
    if len(known) < len(columns):
        return
    while start < len(known):
        before = schedule.checkpoint()
        for end in range(len(known), start, -1):
            group = known[start:end]
            schedule.restore(before)
            try:
                here, rest = current, None
                if end < len(known):
                    here, rest = schedule.apply(fission, current, _name(group[-1].part)).loops[current]
                if len({column.extent for column in group}) > 1:
                    raise ScheduleError("columns of several extents")
                width = _width(machine, group[0].extent)
                schedule.apply(slice_columns, here, tuple(column.var for column in group), width)
            except ScheduleError:
                continue
            if rest is None:
                return
            current, start = rest, end
            break
        else:
            schedule.restore(before)
            return


def _column(part: Stmt) -> _Column | None:
    """Return the outermost loop of constant extent over what a statement writes, a row of it being the loop's."""
    stmt = part
    while not (isinstance(stmt, For) and isinstance(stmt.extent, Const) and not _is_rolled(stmt)):
        match stmt:
            case For(body=body) | Let(body=body):
                stmt = body
            case _:
                return None
    return _Column(part, stmt.var, int(stmt.extent.value))


def _is_rolled(loop: For) -> bool:
    """True for a loop over stacked buffers: its variable comes before the row in what it writes."""
    writers = [leaf for leaf in leaves(loop) if isinstance(leaf, Store | Reduce)]
    return all(leaf.indices[:1] == (Ref(loop.var),) for leaf in writers)


def _width(machine: Machine, extent: int) -> int:
    """Return the columns of a slice: a few vectors, and slices that can be shared out evenly.

    The measure is what the busiest core does, in vectors; a tile of few vectors keeps the units less busy.

    Raises:
        ScheduleError: there are not enough columns for each core to have a vector of them. Cores share nodes then.
    """
    lanes = machine.lanes(4)

    def cost(width: int) -> tuple[float, bool, int]:
        vectors, slices = -(-width // lanes), -(-extent // width // machine.cores)
        return slices * (vectors + 0.5), width % lanes != 0, -width

    most = min(VECTORS * lanes, extent // machine.cores)
    widths = [width for width in range(lanes, most + 1) if extent % width == 0]
    if not widths:
        raise ScheduleError(f"{extent} columns are too few to share")
    return min(widths, key=cost)
