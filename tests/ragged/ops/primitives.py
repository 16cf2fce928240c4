"""What each primitive of a schedule can be applied to in a program.

The rows of the table in docs/reference/ragged_primitives.md.

A row is a primitive and a kind of place: "rows" are loops over rows of different lengths and the dimensions like them,
"dense" those with a number as extent, "sums" the loops of reductions. Places are listed from a program's result
backwards to what it is made of. Steps are small: blocks of two, multiples of four.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from ragged.api.program import reads
from ragged.api.schedule import RaggedSchedule
from ragged.api.signature import Policy
from ragged.api.tensors import Kind, Loop, RaggedTensor, Reduction, TensorDim
from ragged.api.values import Value
from ragged.ir.expr import Const, Ref
from ragged.ir.stmt import Block, For
from ragged.ir.walk import subexpressions
from ragged.transform.loops.split import Tail

Pair = tuple[TensorDim, TensorDim]


@dataclass(frozen=True, slots=True)
class Place:
    """A loop or a dimension of `tensor`, and the step that applies a primitive there."""

    tensor: RaggedTensor
    step: Callable[[RaggedSchedule], object]


Places = Callable[[RaggedSchedule], Iterator[Place]]


@dataclass(frozen=True, slots=True)
class Primitive:
    """A row of the table. One that `decides` comes before loops are made. A program may have no place for it."""

    name: str
    of: str
    places: Places
    decides: bool = False


# --- what a program has ----------------------------------------------------------------------------------------


def _computed(s: RaggedSchedule) -> list[RaggedTensor]:
    return [tensor for tensor in reversed(s.tensors) if tensor.kind is Kind.COMPUTED]


def _temporaries(s: RaggedSchedule) -> list[RaggedTensor]:
    return [tensor for tensor in _computed(s) if tensor not in s.outputs and not tensor.part]


def _own(dim: TensorDim) -> RaggedTensor:
    assert dim.tensor is not None, "the dimensions of a tensor know it"
    return dim.tensor


def _loop(dim: TensorDim) -> Loop:
    return Loop(_own(dim), dim.position)


def _is_dense(dim: TensorDim) -> bool:
    return isinstance(dim.extent.expr, Const)


def _outer(dim: TensorDim) -> TensorDim | None:
    """Return a dimension that an extent depends on, None if it depends on none."""
    used = {part.var for part in subexpressions(dim.extent.expr) if isinstance(part, Ref)}
    return next((other for other in _own(dim).dims if other.dim.var in used), None)


def _with_loops(s: RaggedSchedule, tensor: RaggedTensor) -> tuple[TensorDim, ...]:
    """Return the dimensions that a tensor has loops of its own for."""
    return tensor.dims[s.decisions.at.get(tensor, (tensor, 0))[1] :]


def _rows(s: RaggedSchedule) -> Iterator[TensorDim]:
    return (dim for t in _computed(s) for dim in _with_loops(s, t) if _outer(dim) is not None)


def _dense(s: RaggedSchedule) -> Iterator[TensorDim]:
    return (dim for t in _computed(s) for dim in reversed(_with_loops(s, t)) if _is_dense(dim))


def _rows_of_result(s: RaggedSchedule) -> Iterator[TensorDim]:
    return (dim for tensor in s.outputs for dim in tensor.dims if _outer(dim) is not None)


def _inside(s: RaggedSchedule) -> Iterator[TensorDim]:
    """Yield the dimensions of temporaries; sums inside of an expression are stored as the rows that they are of."""
    return (dim for tensor in _temporaries(s) for dim in reversed(tensor.dims))


def _sums(s: RaggedSchedule) -> Iterator[Loop]:
    return (loop for tensor in _computed(s) for loop in tensor.loops[len(tensor.dims) :])


def _nested_rows(s: RaggedSchedule) -> Iterator[Pair]:
    """Yield neighbouring dimensions of which the inner one's extent depends on the outer one."""
    return (pair for t in _computed(s) for pair in pairwise(_with_loops(s, t)) if _outer(pair[1]) is pair[0])


def _nested_others(s: RaggedSchedule) -> Iterator[Pair]:
    for tensor in _computed(s):
        for outer, inner in reversed(list(pairwise(_with_loops(s, tensor)))):
            if _outer(inner) is not outer:
                yield outer, inner


def _homes(s: RaggedSchedule) -> Iterator[tuple[RaggedTensor, Loop]]:
    """Yield each temporary with the loops of what reads it, innermost first."""
    for tensor in _temporaries(s):
        for reader in (other for other in _computed(s) if tensor in set(reads(other))):
            for position in reversed(range(min(len(tensor.dims), len(reader.dims)))):
                yield tensor, Loop(reader, position)


# --- steps that are more than a call ---------------------------------------------------------------------------


def _pad_both(dim: TensorDim, s: RaggedSchedule) -> None:
    s.pad_loop(_loop(dim), 4)
    s.pad_dimension(dim, 4)


def _bulk(pair: Pair, s: RaggedSchedule) -> None:
    s.fuse_dimensions(*pair, pad=4)
    s.fuse_loops(*map(_loop, pair), pad=4)


def _swap(pair: Pair, s: RaggedSchedule) -> None:
    dims, at = list(_own(pair[0]).dims), pair[0].position
    dims[at : at + 2] = reversed(pair)
    s.reorder_dimensions(*dims)


def _store_blocks(dim: TensorDim, s: RaggedSchedule) -> None:
    blocks, places = s.split_dimension(dim, 2)
    dims, at = _own(dim).dims, dim.position
    s.reorder_dimensions(*dims[:at], places, blocks, *dims[at + 1 :])


def _inline(home: tuple[RaggedTensor, Loop], s: RaggedSchedule) -> None:
    s.compute_at(*home)
    s.inline(home[0])


# --- places ----------------------------------------------------------------------------------------------------


def _dims(
    found: Callable[[RaggedSchedule], Iterator[TensorDim]],
    step: Callable[[TensorDim, RaggedSchedule], object],
) -> Places:
    return lambda s: (Place(_own(dim), partial(step, dim)) for dim in found(s))


def _pairs(
    found: Callable[[RaggedSchedule], Iterator[Pair]], step: Callable[[Pair, RaggedSchedule], object]
) -> Places:
    return lambda s: (Place(_own(pair[0]), partial(step, pair)) for pair in found(s))


def _loops(
    found: Callable[[RaggedSchedule], Iterator[Loop]], step: Callable[[Loop, RaggedSchedule], object]
) -> Places:
    return lambda s: (Place(loop.tensor, partial(step, loop)) for loop in found(s))


def _outermost(s: RaggedSchedule) -> Iterator[Loop]:
    return (Loop(t, 0) for t in _computed(s) if t not in s.decisions.at)


def _work(loop: Loop) -> Value:
    """Return more work for each iteration than for the one before: the last one comes first."""
    return 1 + loop.tensor.dims[0].dim.value


def _any_loop(s: RaggedSchedule) -> Iterator[Loop]:
    return (loop for t in _computed(s) for loop in t.loops[len(t.dims) - len(_with_loops(s, t)) :])


def _compute_at(s: RaggedSchedule) -> Iterator[Place]:
    return (Place(home[0], lambda s, home=home: s.compute_at(*home)) for home in _homes(s))


def _inlined(s: RaggedSchedule) -> Iterator[Place]:
    for tensor, loop in _homes(s):
        if loop.position + 1 == len(tensor.dims) and not isinstance(tensor.body, Reduction):
            yield Place(tensor, partial(_inline, (tensor, loop)))


def _cache_read(s: RaggedSchedule) -> Iterator[Place]:
    for reader in _computed(s):
        for given in reads(reader):
            for loop in reader.loops[len(reader.dims) - len(_with_loops(s, reader)) :]:
                yield Place(reader, lambda s, given=given, loop=loop: s.cache_read(given, loop))


def _siblings(s: RaggedSchedule) -> Iterator[Place]:
    """Yield the nests that stand after each other, the last ones first."""
    kernel = s.lowered.program.kernel
    owners = {var: tensor for (tensor, position), var in s.lowered.loops.items() if position == 0}
    stmts = kernel.body if isinstance(kernel, Block) else (kernel,)
    nests = [owners[stmt.var] for stmt in stmts if isinstance(stmt, For)]
    for first, second in reversed(list(pairwise(nests))):
        loops = Loop(first, 0), Loop(second, 0)
        yield Place(second, lambda s, loops=loops: s.fuse_horizontally(*loops))


def _everywhere(s: RaggedSchedule) -> Iterator[Place]:
    yield Place(s.outputs[0], lambda s: s.simplify_guards())


# --- the table's rows ------------------------------------------------------------------------------------------

STORAGE = (
    Primitive("pad_loop", "rows", _dims(_rows, lambda d, s: s.pad_loop(_loop(d), 4)), True),
    Primitive("pad_loop", "sums", _loops(_sums, lambda loop, s: s.pad_loop(loop, 4)), True),
    Primitive("pad_dimension", "rows", _dims(_rows, lambda d, s: s.pad_dimension(d, 4)), True),
    Primitive("pad_loop, pad_dimension", "rows", _dims(_rows, _pad_both), True),
    Primitive(
        "split_dimension",
        "rows of the result",
        _dims(_rows_of_result, lambda d, s: s.split_dimension(d, 2)),
        True,
    ),
    Primitive("split_dimension", "a temporary", _dims(_inside, _store_blocks), True),
    Primitive("fuse_dimensions", "rows", _pairs(_nested_rows, lambda p, s: s.fuse_dimensions(*p)), True),
    Primitive("fuse_dimensions", "others", _pairs(_nested_others, lambda p, s: s.fuse_dimensions(*p)), True),
    Primitive("reorder_dimensions", "rows", _pairs(_nested_rows, _swap), True),
    Primitive("reorder_dimensions", "others", _pairs(_nested_others, _swap), True),
    Primitive("compute_at", "a temporary", _compute_at, True),
)
LOOPS = (
    Primitive("fuse_loops", "rows", _pairs(_nested_rows, lambda p, s: s.fuse_loops(*map(_loop, p)))),
    Primitive("fuse_dimensions, fuse_loops, pad=4", "rows", _pairs(_nested_rows, _bulk), True),
    Primitive("fuse_loops", "others", _pairs(_nested_others, lambda p, s: s.fuse_loops(*map(_loop, p)))),
    Primitive("fuse_horizontally", "two nests", _siblings),
    Primitive("split_loop", "rows", _dims(_rows, lambda d, s: s.split_loop(_loop(d), 2))),
    Primitive("split_loop, PEEL", "rows", _dims(_rows, lambda d, s: s.split_loop(_loop(d), 2, Tail.PEEL))),
    Primitive("split_loop, PEEL", "sums", _loops(_sums, lambda loop, s: s.split_loop(loop, 2, Tail.PEEL))),
    Primitive("partition_loop", "rows", _dims(_rows, lambda d, s: s.partition_loop(_loop(d), "2"))),
    Primitive("partition_loop", "sums", _loops(_sums, lambda loop, s: s.partition_loop(loop, "2"))),
    Primitive("reorder", "rows", _pairs(_nested_rows, lambda p, s: s.reorder(*map(_loop, reversed(p))))),
    Primitive("reorder", "others", _pairs(_nested_others, lambda p, s: s.reorder(*map(_loop, reversed(p))))),
    Primitive("parallel", "dense", _dims(_dense, lambda d, s: s.parallel(_loop(d)))),
    Primitive("parallel", "sums", _loops(_sums, lambda loop, s: s.parallel(loop))),
    Primitive("vectorize", "dense", _dims(_dense, lambda d, s: s.vectorize(_loop(d)))),
    Primitive("vectorize", "rows", _dims(_rows, lambda d, s: s.vectorize(_loop(d)))),
    Primitive(
        "split_loop, vectorize",
        "rows",
        _dims(_rows, lambda d, s: s.vectorize(s.split_loop(_loop(d), 2, Tail.PEEL)[1])),
    ),
    Primitive("unroll", "dense", _dims(_dense, lambda d, s: s.unroll(_loop(d)))),
    Primitive("unroll", "rows", _dims(_rows, lambda d, s: s.unroll(_loop(d)))),
    Primitive(
        "split_loop, unroll",
        "rows",
        _dims(_rows, lambda d, s: s.unroll(s.split_loop(_loop(d), 2, Tail.PEEL)[1])),
    ),
    Primitive("compute_at, inline", "a temporary", _inlined, True),
    Primitive("cache_read", "what is read", _cache_read),
    Primitive("hoist_loads", "any loop", _loops(_any_loop, lambda loop, s: s.hoist_loads(loop))),
    Primitive("simplify_guards", "everywhere", _everywhere),
    Primitive(
        "remap",
        "the outermost loop",
        _loops(_outermost, lambda loop, s: s.remap(loop, _work(loop), Policy.LONGEST_FIRST)),
        True,
    ),
    Primitive(
        "balance",
        "the outermost loop",
        _loops(_outermost, lambda loop, s: s.balance(loop, _work(loop))),
        True,
    ),
)
PRIMITIVES = (*STORAGE, *LOOPS)
