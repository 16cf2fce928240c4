"""Random steps on a program's loops: what draws the arguments of each primitive of `ragged.transform`.

`STEPS` is the table. Arguments are drawn where the primitive has a chance, and about as often anywhere: loops and
buffers that are gone, factors of nothing, names that are taken.
"""

from __future__ import annotations

from collections.abc import Callable

from ragged.auto.rebase_batches import batches_of
from ragged.ir.expr import Binary, Call, Const, Expr, Ref, Role
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import Rewritten
from ragged.ir.stmt import For, Let, LoopKind, Reduce
from ragged.transform.code.compute_at import compute_at
from ragged.transform.code.hoist_loads import hoist_loads
from ragged.transform.code.inline import inline
from ragged.transform.code.lift_lets import lift_lets
from ragged.transform.code.pair_products import pair_products
from ragged.transform.code.prefetch import prefetch
from ragged.transform.code.reorder_stmts import reorder_stmts
from ragged.transform.code.simplify_guards import simplify_guards
from ragged.transform.code.tensorize import tensorize
from ragged.transform.loops.declare_order import declare_order
from ragged.transform.loops.dispatch import dispatch
from ragged.transform.loops.fission import fission
from ragged.transform.loops.fuse import fuse
from ragged.transform.loops.fuse_horizontally import fuse_horizontally
from ragged.transform.loops.fuse_ragged import fuse_ragged
from ragged.transform.loops.fuse_siblings import fuse_siblings
from ragged.transform.loops.pad_loop import pad_loop
from ragged.transform.loops.partition_loop import partition_loop
from ragged.transform.loops.remap_iterations import remap_iterations
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.reroll import reroll
from ragged.transform.loops.slice_columns import slice_columns
from ragged.transform.loops.specialize import specialize
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.unroll import unroll
from ragged.transform.loops.unroll_fully import unroll_fully
from ragged.transform.loops.version_loop import version_loop
from ragged.transform.mapping.balance_shares import balance_shares
from ragged.transform.mapping.distribute_over_blocks import distribute_over_blocks
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from ragged.transform.mapping.distribute_over_threads import distribute_over_threads
from ragged.transform.mapping.parallel import parallel
from ragged.transform.mapping.serial import serial
from ragged.transform.mapping.share_nest import share_nest
from ragged.transform.mapping.vectorize import vectorize
from ragged.transform.storage.cache_padded import cache_padded
from ragged.transform.storage.cache_read import cache_read
from ragged.transform.storage.cache_write import cache_write
from ragged.transform.storage.concat_buffers import concat_buffers
from ragged.transform.storage.expand_storage import expand_storage
from ragged.transform.storage.keep_on_chip import keep_on_chip
from ragged.transform.storage.pack import pack
from ragged.transform.storage.rebase_storage import rebase_storage
from ragged.transform.storage.set_order import set_order
from tests.support.random_places import GONE, Places, loops_in, parts_of, read_in
from tests.support.random_prepared import (
    Asked,
    Attempt,
    at_once,
    bordered,
    expanded,
    lets,
    prefetched,
    remapped,
    rolled,
    sliced,
)
from tests.support.random_targets import blocks, on_chip, paired, tensorized, threads


def _loop(d: Places, attempt: Attempt) -> Asked:
    return Asked((d.loop(),))


def _constant(d: Places, attempt: Attempt) -> Asked:
    return Asked((d.loop(lambda loop: isinstance(loop.extent, Const)),))


def _innermost(d: Places, attempt: Attempt) -> Asked:
    return Asked((d.loop(lambda loop: isinstance(loop.extent, Const) and not loops_in(loop.body)),))


def _of_kind(kind: LoopKind) -> Callable[[Places, Attempt], Asked]:
    return lambda d, attempt: Asked((d.loop(lambda loop: loop.kind is kind),))


def _somewhere(d: Places, attempt: Attempt) -> Asked:
    return Asked(() if d.chance(4) else (d.loop(),))


def _siblings(d: Places, attempt: Attempt) -> Asked:
    return Asked(d.pair(d.siblings()))


def _moved(d: Places, attempt: Attempt) -> Asked:
    """Draw two loops of one block, mostly not the first and the next: that would change nothing."""
    blocks = [[part.var for part in block if isinstance(part, For)] for block in d.blocks()]
    pairs = [(one, other) for loops in blocks for one in loops for other in loops if one is not other]
    return Asked(d.pair(pairs) if d.chance(9) else (d.label(), d.loop()))


def _nested(d: Places, attempt: Attempt) -> Asked:
    return Asked(d.pair(d.nested()))


def _swapped(d: Places, attempt: Attempt) -> Asked:
    return Asked((d.pair(d.nested())[::-1],), {"reassociate": True} if d.chance(2) else {})


def _ragged(d: Places, attempt: Attempt) -> Asked:
    constant = {loop.var for loop in d.loops if isinstance(loop.extent, Const)}
    likely = [pair for pair in d.nested() if pair[1] not in constant]
    return Asked(d.pair(likely or d.inside()), {"tables": True} if d.chance(5) else {})


def _fission(d: Places, attempt: Attempt) -> Asked:
    cuts = d.cuts()
    return Asked(d.pick(cuts) if cuts and d.chance(8) else (d.loop(), d.pick([d.label(), d.loop()])))


def _split(d: Places, attempt: Attempt) -> Asked:
    return Asked((d.loop(), d.pick([2, 3, 1, 4, 0]), d.pick(list(Tail))))


def _pad_loop(d: Places, attempt: Attempt) -> Asked:
    return Asked((d.loop(), d.pick([2, 4, 3, 1, 0])))


def _cut(d: Places, attempt: Attempt) -> Asked:
    loop = d.loop()
    extent: Expr = next((each.extent for each in d.loops if each.var is loop), Const(3))
    half = Binary(BinaryOp.FLOORDIV, extent, Const(2))
    last, beyond = Binary(BinaryOp.SUB, extent, Const(1)), Binary(BinaryOp.SUB, Const(2), extent)
    return Asked((loop, d.pick([half, Const(1), Const(2), last, beyond, Ref(loop)])))


def _specialize(d: Places, attempt: Attempt) -> Asked:
    loop = d.loop(lambda loop: not isinstance(loop.extent, Const))
    return Asked((loop, d.pick([(1,), (1, 2), (0, 3), (2, 1), (), (1, 1), (-1,)])))


def _dispatch(d: Places, attempt: Attempt) -> Asked:
    loop = d.loop(lambda loop: not isinstance(loop.extent, Const))
    return Asked((loop, d.pick([(2,), (1, 3), (2, 4, 5), (), (0, 2), (3, 3)])))


def _cache_read(d: Places, attempt: Attempt) -> Asked:
    loop = d.find(d.loop())
    if loop is None:
        return Asked((d.pick(d.buffers), GONE))
    return Asked((d.likely(read_in(loop), d.buffers), loop.var))


def _cache_write(d: Places, attempt: Attempt) -> Asked:
    pairs = [(site.stmt.label, loop) for site, loop in d.around(lambda stmt: isinstance(stmt, Reduce))]
    return Asked(d.pick(pairs) if pairs and d.chance(8) else (d.label(), d.loop()))


def _compute_at(d: Places, attempt: Attempt) -> Asked:
    loop = d.find(d.loop())
    return Asked(
        (d.likely([] if loop is None else read_in(loop), d.buffers), GONE if loop is None else loop.var)
    )


def _inline(d: Places, attempt: Attempt) -> Asked:
    return Asked((d.buffer(Role.WORKSPACE, Role.LOCAL),))


def _set_order(d: Places, attempt: Attempt) -> Asked:
    buffer = d.buffer(Role.WORKSPACE, Role.LOCAL, Role.OUTPUT)
    places = [*range(len(buffer.shape) - (0 if d.chance(9) else 1))]
    return Asked((buffer, tuple(d.draw.sample(places, max(0, len(places))))))


def _rebase(d: Places, attempt: Attempt) -> Asked:
    """Draw the rows of batches where there are some, or one row for each iteration of a loop."""
    known = batches_of(d.program)
    if known and d.chance(9):
        rows = d.pick(known)
        place = d.pick([0, 0, 0, 1])
        return Asked((d.buffer(Role.WORKSPACE), place, rows.loop, rows.begin, rows.length, rows.widest))
    loop = d.loop(lambda loop: loop.kind is LoopKind.SERIAL)
    begin: Expr = Ref(loop) if d.chance(9) else Const(0)
    room = Const(d.pick([1, 1, 2]))
    return Asked((d.buffer(Role.WORKSPACE), d.pick([0, 0, 1]), loop, begin, Const(1), room))


def _pack(d: Places, attempt: Attempt) -> Asked:
    parameter = d.buffer(Role.PARAMETER, Role.BOUND)
    rank = len(parameter.shape)
    tiles = tuple((place, d.pick([2, 3, 4, 1])) for place in range(rank) if d.chance(4))
    order = [*range(rank + len(tiles) - (0 if d.chance(9) else 1))]
    multiple = {"multiple": d.pick([2, 4, 1, 0])} if d.chance(3) else {}
    return Asked((parameter, d.name("packed"), tiles, tuple(d.draw.sample(order, len(order)))), multiple)


def _stack(d: Places, attempt: Attempt) -> Asked:
    first = d.buffer(Role.PARAMETER, Role.WORKSPACE, Role.BOUND)
    alike = [each for each in d.buffers if (each.shape, each.role) == (first.shape, first.role)]
    chosen = d.likely([each for each in alike if each is not first], d.buffers)
    return Asked(((first, chosen), d.name("stacked")))


def _version(d: Places, attempt: Attempt) -> Asked:
    loop = d.loop()
    sizes = [Call(function) for function in d.program.sizes()]
    indices: list[Expr] = [Const(1), Const(3), Ref(GONE), *sizes]
    return Asked((loop, d.pick(indices), d.pick(indices)))


def _declare_order(d: Places, attempt: Attempt) -> Asked:
    return Asked((d.name("order"), d.loop(lambda loop: loop.kind is LoopKind.PARALLEL)))


def _share(d: Places, attempt: Attempt) -> Asked:
    """Draw a loop, mostly a worker's share, and one in it, mostly the last, mostly after a team is made."""
    if d.chance(8):
        attempt(distribute_over_team)
        d = Places(d.draw, attempt.program)
    shares = [loop for loop in d.loops if isinstance(loop.body, Let) and loop.var.name.endswith("_s")]
    last = [(loop.var, part.var) for loop in shares if isinstance(part := parts_of(loop)[-1], For)]
    outer, inner = d.pair(last or d.inside())
    if d.chance(8):
        attempt(parallel, inner)
    return Asked((outer, inner))


def _over_team(d: Places, attempt: Attempt) -> Asked:
    if d.chance(3):
        return Asked(())
    replicated = tuple(d.loop(lambda loop: loop.kind is LoopKind.PARALLEL) for _ in range(d.pick([0, 1, 2])))
    return Asked((), {"min_rows_per_worker": d.pick([1, 2, 0, None]), "replicated": replicated})


STEPS: dict[Callable[..., Rewritten], Callable[[Places, Attempt], Asked]] = {
    cache_padded: bordered,
    cache_read: _cache_read,
    cache_write: _cache_write,
    partition_loop: _cut,
    balance_shares: _declare_order,
    declare_order: _declare_order,
    dispatch: _dispatch,
    distribute_over_blocks: blocks,
    distribute_over_team: _over_team,
    distribute_over_threads: threads,
    expand_storage: expanded,
    fission: _fission,
    fuse: _nested,
    fuse_horizontally: at_once,
    fuse_ragged: _ragged,
    hoist_loads: _loop,
    compute_at: _compute_at,
    inline: _inline,
    fuse_siblings: _siblings,
    keep_on_chip: on_chip,
    lift_lets: lets,
    reorder_stmts: _moved,
    pack: _pack,
    pad_loop: _pad_loop,
    pair_products: paired,
    parallel: _of_kind(LoopKind.SERIAL),
    prefetch: prefetched,
    rebase_storage: _rebase,
    remap_iterations: remapped,
    reorder: _swapped,
    reroll: rolled,
    serial: _of_kind(LoopKind.PARALLEL),
    set_order: _set_order,
    share_nest: _share,
    simplify_guards: _somewhere,
    slice_columns: sliced,
    specialize: _specialize,
    split: _split,
    concat_buffers: _stack,
    tensorize: tensorized,
    unroll: _constant,
    unroll_fully: _constant,
    vectorize: _innermost,
    version_loop: _version,
}

UNDRAWN = {
    "read_in_place": "the caller gives other arrays for it",
    "recycle_storage": "the linearizer gives the row map",
}
"""The primitives that are not drawn, each with the reason."""
