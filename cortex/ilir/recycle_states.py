"""Keep what nodes have in memory where other nodes had it that no parent waits for any more."""

from __future__ import annotations

from cortex.ilir.structure import BATCH, NODE
from ragged.errors import ScheduleError
from ragged.ir.build import add
from ragged.ir.expr import Binary, Call, Const, Expr, Function, Ref, Role
from ragged.ir.ops import BinaryOp
from ragged.ir.pointer_facts import Follows
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import sites
from ragged.ir.stmt import For
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.storage.recycle_storage import recycle_storage
from ragged.transform.storage.row_map import Pointer, RowMap, RowRange


def recycle_states(program: Program) -> Rewritten:
    """Return the program with the rows of storage that the linearizer has assigned to nodes, where nothing refuses.

    before::

        h_nodes: workspace(float32[num_nodes, 256])

    after::

        h_nodes: workspace(float32[storage_rows, 256])

    Programs that hand over roots' results alone have such rows, if they go batch by batch: `Plan.recycled`. Comes after
    all that asks what depends on what: nodes have rows of their own until then. Its notes are its steps, and why a
    workspace is left as it is.
    """
    functions = {function.name: function for function in program.functions}
    loops = [site for site in sites(program) if isinstance(site.stmt, For) and site.stmt.dim is BATCH]
    if "storage_row" not in functions or len(loops) != 1:
        return Rewriter().finish(program, program)
    schedule = LoopSchedule(program, trusted=True)
    (site,) = loops
    loop = site.stmt
    assert isinstance(loop, For)
    later = _rows(functions, _batch(loop))
    first = _rows(functions, Const(0))
    last = (functions["roots"],)
    pointers = tuple(Pointer(f.pointer, f.via) for f in program.facts if isinstance(f, Follows))
    kept = RowMap(functions["storage_row"], Call(functions["storage_rows"]), pointers, last)
    whole: list[str] = []
    for buffer in program.buffers:
        if buffer.role is Role.WORKSPACE and NODE in buffer.dims:
            dimension = buffer.dims.index(NODE)
            if buffer.shape[dimension] == Call(functions["num_nodes"]):
                try:
                    schedule.apply(recycle_storage, buffer, dimension, loop.var, later, first, kept)
                except ScheduleError as refusal:
                    whole.append(f"# {buffer.name} has a row for each node: {' '.join(str(refusal).split())}")
    return Rewritten(schedule.checked(), schedule.forwarding, (*schedule.log().splitlines(), *whole))


def _batch(loop: For) -> Expr:
    """Return which batch an iteration is: leaves may come before the loop."""
    match loop.extent:
        case Binary(op=BinaryOp.SUB, rhs=Const(value=1)):
            return add(Ref(loop.var), 1)
        case _:
            return Ref(loop.var)


def _rows(functions: dict[str, Function], batch: Expr) -> RowRange:
    begin, length, first = (
        Call(functions[name], (batch,)) for name in ("batch_begin", "batch_length", "storage_begin")
    )
    return RowRange(begin, length, first)
