"""Schedule primitives: functions from a program to a program, each of which checks its own legality or refuses.

Loops: their order, extents and number. Storage: the buffers, their layout and copies. Code: statements and expressions.
Mapping: loops onto lanes, workers and GPU threads. The page docs/reference/primitives.md is made of their docstrings.
"""

from ragged.transform.code.compute_at import compute_at as compute_at
from ragged.transform.code.hoist_loads import hoist_loads as hoist_loads
from ragged.transform.code.inline import inline as inline
from ragged.transform.code.lift_lets import lift_lets as lift_lets
from ragged.transform.code.pair_products import pair_products as pair_products
from ragged.transform.code.prefetch import prefetch as prefetch
from ragged.transform.code.reorder_stmts import reorder_stmts as reorder_stmts
from ragged.transform.code.simplify_guards import simplify_guards as simplify_guards
from ragged.transform.code.tensorize import tensorize as tensorize
from ragged.transform.loops.declare_order import declare_order as declare_order
from ragged.transform.loops.dispatch import dispatch as dispatch
from ragged.transform.loops.fission import fission as fission
from ragged.transform.loops.fuse import fuse as fuse
from ragged.transform.loops.fuse_horizontally import fuse_horizontally as fuse_horizontally
from ragged.transform.loops.fuse_ragged import fuse_ragged as fuse_ragged
from ragged.transform.loops.fuse_siblings import fuse_siblings as fuse_siblings
from ragged.transform.loops.pad_loop import pad_loop as pad_loop
from ragged.transform.loops.partition_loop import partition_loop as partition_loop
from ragged.transform.loops.remap_iterations import remap_iterations as remap_iterations
from ragged.transform.loops.reorder import reorder as reorder
from ragged.transform.loops.reroll import reroll as reroll
from ragged.transform.loops.slice_columns import slice_columns as slice_columns
from ragged.transform.loops.specialize import specialize as specialize
from ragged.transform.loops.split import split as split
from ragged.transform.loops.unroll import unroll as unroll
from ragged.transform.loops.unroll_fully import unroll_fully as unroll_fully
from ragged.transform.loops.version_loop import version_loop as version_loop
from ragged.transform.mapping.balance_shares import balance_shares as balance_shares
from ragged.transform.mapping.distribute_over_blocks import distribute_over_blocks as distribute_over_blocks
from ragged.transform.mapping.distribute_over_team import distribute_over_team as distribute_over_team
from ragged.transform.mapping.distribute_over_threads import (
    distribute_over_threads as distribute_over_threads,
)
from ragged.transform.mapping.parallel import parallel as parallel
from ragged.transform.mapping.serial import serial as serial
from ragged.transform.mapping.share_nest import share_nest as share_nest
from ragged.transform.mapping.vectorize import vectorize as vectorize
from ragged.transform.storage.cache_padded import cache_padded as cache_padded
from ragged.transform.storage.cache_read import cache_read as cache_read
from ragged.transform.storage.cache_write import cache_write as cache_write
from ragged.transform.storage.concat_buffers import concat_buffers as concat_buffers
from ragged.transform.storage.expand_storage import expand_storage as expand_storage
from ragged.transform.storage.keep_on_chip import keep_on_chip as keep_on_chip
from ragged.transform.storage.pack import pack as pack
from ragged.transform.storage.read_in_place import read_in_place as read_in_place
from ragged.transform.storage.rebase_storage import rebase_storage as rebase_storage
from ragged.transform.storage.recycle_storage import recycle_storage as recycle_storage
from ragged.transform.storage.set_order import set_order as set_order

LOOPS = (
    declare_order,
    dispatch,
    fission,
    fuse,
    fuse_horizontally,
    fuse_ragged,
    fuse_siblings,
    pad_loop,
    partition_loop,
    remap_iterations,
    reorder,
    reroll,
    slice_columns,
    specialize,
    split,
    unroll,
    unroll_fully,
    version_loop,
)
STORAGE = (
    cache_padded,
    cache_read,
    cache_write,
    concat_buffers,
    expand_storage,
    keep_on_chip,
    pack,
    read_in_place,
    rebase_storage,
    recycle_storage,
    set_order,
)
CODE = (
    compute_at,
    hoist_loads,
    inline,
    lift_lets,
    pair_products,
    prefetch,
    reorder_stmts,
    simplify_guards,
    tensorize,
)
MAPPING = (
    balance_shares,
    distribute_over_blocks,
    distribute_over_team,
    distribute_over_threads,
    parallel,
    serial,
    share_nest,
    vectorize,
)
GROUPS = {"loops": LOOPS, "storage": STORAGE, "code": CODE, "mapping": MAPPING}
"""The primitives, each in the file of its own name."""
