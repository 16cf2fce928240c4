"""What each primitive of a schedule can be applied to in a program: the rows of the table of docs/ragged_primitives.md.

A row is a primitive and a kind of place: "rows" are loops over rows of different lengths and the dimensions like them,
"dense" those whose extent is a number, "sums" the loops of reductions. Places are listed from the program's result
backwards to what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from ragged.api.program import reads
from ragged.api.schedule import Schedule
from ragged.api.tensors import Kind, Loop, Tensor, TensorDim
from ragged.ir.expr import Const, Ref
from ragged.ir.stmt import Block, For
from ragged.ir.walk import subexpressions
from ragged.schedule.split import Tail

Step = Callable[[Schedule], object]


@dataclass(frozen=True, slots=True)
class Place:
    """A step that applies a primitive to a loop or a dimension of `tensor`, or where it is computed."""

    tensor: Tensor
    step: Step


@dataclass(frozen=True, slots=True)
class Primitive:
    """A row of the table; `places` of a program may be none."""

    name: str
    of: str
    places: Callable[[Schedule], Iterator[Place]]


def _computed(s: Schedule) -> list[Tensor]:
    """Return the tensors that a program computes, its result first."""
    return [tensor for tensor in reversed(s.tensors) if tensor.kind is Kind.COMPUTED]


def _temporaries(s: Schedule) -> list[Tensor]:
    return [tensor for tensor in _computed(s) if tensor not in s.outputs]


def _is_dense(dim: TensorDim) -> bool:
    return isinstance(dim.extent.expr, Const)


def _outer(dim: TensorDim) -> TensorDim | None:
    """Return the dimension that an extent depends on, None if it depends on none."""
    used = {part.var for part in subexpressions(dim.extent.expr) if isinstance(part, Ref)}
    assert dim.tensor is not None
    return next((other for other in dim.tensor.dims if other.dim.var in used), None)


def _loop(dim: TensorDim) -> Loop:
    assert dim.tensor is not None
    return Loop(dim.tensor, dim.position)


def _rows(tensors: list[Tensor]) -> Iterator[TensorDim]:
    return (dim for tensor in tensors for dim in tensor.dims if _outer(dim) is not None)


def _dense(tensors: list[Tensor]) -> Iterator[TensorDim]:
    return (dim for tensor in tensors for dim in reversed(tensor.dims) if _is_dense(dim))


def _sums(tensors: list[Tensor]) -> Iterator[Loop]:
    return (loop for tensor in tensors for loop in tensor.loops[len(tensor.dims) :])


def _pairs(tensors: list[Tensor]) -> Iterator[tuple[TensorDim, TensorDim]]:
    return (pair for tensor in tensors for pair in reversed(list(pairwise(tensor.dims))))


def _own(dim: TensorDim) -> Tensor:
    assert dim.tensor is not None
    return dim.tensor


# --- storage and padding ---------------------------------------------------------------------------------------


def _pad_both(dim: TensorDim, s: Schedule) -> None:
    s.pad_loop(_loop(dim), 4)
    s.pad_dimension(dim, 4)


def _swap(first: TensorDim, second: TensorDim, s: Schedule) -> None:
    dims = list(_own(first).dims)
    at = first.position
    dims[at : at + 2] = [second, first]
    s.reorder_dimensions(*dims)


def _split_apart(dim: TensorDim, s: Schedule) -> None:
    blocks, places = s.split_dimension(dim, 2)
    others = list(_own(dim).dims)
    s.reorder_dimensions(*others[: dim.position], places, blocks, *others[dim.position + 1 :])


def _of_dims(found: Callable[[Schedule], Iterator[TensorDim]], step: Callable[[TensorDim, Schedule], object]):
    def places(s: Schedule) -> Iterator[Place]:
        return (Place(_own(dim), partial(step, dim)) for dim in found(s))

    return places


def _of_pairs(varies: bool, step: Callable[[TensorDim, TensorDim, Schedule], object]):
    def places(s: Schedule) -> Iterator[Place]:
        for first, second in _pairs(_computed(s)):
            if (_outer(second) is first) == varies:
                yield Place(_own(first), partial(step, first, second))

    return places


def _of_sums(step: Callable[[Loop, Schedule], object]):
    def places(s: Schedule) -> Iterator[Place]:
        return (Place(loop.tensor, partial(step, loop)) for loop in _sums(_computed(s)))

    return places


def _all_rows(s: Schedule) -> Iterator[TensorDim]:
    return _rows(_computed(s))


def _all_dense(s: Schedule) -> Iterator[TensorDim]:
    return _dense(_computed(s))


def _output_rows(s: Schedule) -> Iterator[TensorDim]:
    return _rows(list(s.outputs))


def _inner_dims(s: Schedule) -> Iterator[TensorDim]:
    inside = _temporaries(s)
    yield from _dense(inside)
    yield from _rows(inside)


# --- where tensors are computed --------------------------------------------------------------------------------


def _homes(s: Schedule) -> Iterator[tuple[Tensor, Loop]]:
    """Yield each temporary with the loops of what reads it, innermost first."""
    for tensor in _temporaries(s):
        if not tensor.part:
            for reader in (other for other in _computed(s) if tensor in set(reads(other))):
                for position in reversed(range(min(len(tensor.dims), len(reader.dims)))):
                    yield tensor, Loop(reader, position)


def _compute_at(s: Schedule) -> Iterator[Place]:
    return (Place(tensor, lambda s, t=tensor, at=loop: s.compute_at(t, at)) for tensor, loop in _homes(s))


def _inline(s: Schedule) -> Iterator[Place]:
    def step(tensor: Tensor, loop: Loop, s: Schedule) -> None:
        s.compute_at(tensor, loop)
        s.inline(tensor)

    for tensor, loop in _homes(s):
        if loop.position + 1 == len(tensor.dims):
            yield Place(tensor, partial(step, tensor, loop))
    for tensor in _temporaries(s):
        yield Place(tensor, lambda s, t=tensor: s.inline(t))


def _cache_read(s: Schedule) -> Iterator[Place]:
    for reader in _computed(s):
        for given in reads(reader):
            for loop in reader.loops:
                yield Place(reader, lambda s, t=given, at=loop: s.cache_read(t, at))


# --- loops -----------------------------------------------------------------------------------------------------


def _bulk(first: TensorDim, second: TensorDim, s: Schedule) -> None:
    s.fuse_dimensions(first, second, pad=4)
    s.fuse_loops(_loop(first), _loop(second), pad=4)


def _split(tail: Tail, dim: TensorDim, s: Schedule) -> None:
    s.split_loop(_loop(dim), 2, tail)


def _blocks(dim: TensorDim, s: Schedule) -> object:
    """Split a loop whose length is no number, and return the loop over the places of a block."""
    return s.split_loop(_loop(dim), 2, Tail.PEEL)[1]


def _vectorize_blocks(dim: TensorDim, s: Schedule) -> None:
    s.vectorize(s.split_loop(_loop(dim), 2, Tail.PEEL)[1])


def _unroll_blocks(dim: TensorDim, s: Schedule) -> None:
    s.unroll(s.split_loop(_loop(dim), 2, Tail.PEEL)[1])


def _hoist(s: Schedule) -> Iterator[Place]:
    return (Place(t, lambda s, at=loop: s.hoist_loads(at)) for t in _computed(s) for loop in t.loops)


def _horizontal(s: Schedule) -> Iterator[Place]:
    """Yield the pairs of loops that stand after each other at the top, the last ones first."""
    kernel = s.lower().kernel
    owners = {var: tensor for (tensor, position), var in s.lowered.loops.items() if position == 0}
    nests = [
        each.var
        for each in (kernel.body if isinstance(kernel, Block) else (kernel,))
        if isinstance(each, For)
    ]
    for first, second in reversed(list(pairwise(nests))):
        loops = Loop(owners[first], 0), Loop(owners[second], 0)
        yield Place(owners[second], lambda s, pair=loops: s.fuse_horizontally(*pair))


def _everywhere(s: Schedule) -> Iterator[Place]:
    yield Place(s.outputs[0], lambda s: s.simplify_guards())


PRIMITIVES = (
    Primitive("pad_loop", "rows", _of_dims(_all_rows, lambda d, s: s.pad_loop(_loop(d), 4))),
    Primitive("pad_loop", "sums", _of_sums(lambda loop, s: s.pad_loop(loop, 4))),
    Primitive("pad_dimension", "rows", _of_dims(_all_rows, lambda d, s: s.pad_dimension(d, 4))),
    Primitive("pad_loop, pad_dimension", "rows", _of_dims(_all_rows, _pad_both)),
    Primitive(
        "split_dimension", "rows of the result", _of_dims(_output_rows, lambda d, s: s.split_dimension(d, 2))
    ),
    Primitive("split_dimension", "a temporary", _of_dims(_inner_dims, _split_apart)),
    Primitive("fuse_dimensions", "rows", _of_pairs(True, lambda a, b, s: s.fuse_dimensions(a, b))),
    Primitive("fuse_dimensions", "others", _of_pairs(False, lambda a, b, s: s.fuse_dimensions(a, b))),
    Primitive("reorder_dimensions", "rows", _of_pairs(True, _swap)),
    Primitive("reorder_dimensions", "others", _of_pairs(False, _swap)),
    Primitive("compute_at", "a temporary", _compute_at),
    Primitive("inline", "a temporary", _inline),
    Primitive("fuse_loops", "rows", _of_pairs(True, lambda a, b, s: s.fuse_loops(_loop(a), _loop(b)))),
    Primitive("fuse_loops, pad=4", "rows", _of_pairs(True, _bulk)),
    Primitive("fuse_loops", "others", _of_pairs(False, lambda a, b, s: s.fuse_loops(_loop(a), _loop(b)))),
    Primitive("fuse_horizontally", "two nests", _horizontal),
    Primitive("split_loop", "rows", _of_dims(_all_rows, partial(_split, Tail.GUARD))),
    Primitive("split_loop, PEEL", "rows", _of_dims(_all_rows, partial(_split, Tail.PEEL))),
    Primitive("split_loop", "sums", _of_sums(lambda loop, s: s.split_loop(loop, 2, Tail.PEEL))),
    Primitive("cut", "rows", _of_dims(_all_rows, lambda d, s: s.cut(_loop(d), "2"))),
    Primitive("cut", "sums", _of_sums(lambda loop, s: s.cut(loop, "2"))),
    Primitive("tile", "rows", _of_pairs(True, lambda a, b, s: s.tile((_loop(a), _loop(b)), (2, 2)))),
    Primitive("tile", "others", _of_pairs(False, lambda a, b, s: s.tile((_loop(a), _loop(b)), (2, 2)))),
    Primitive("reorder", "rows", _of_pairs(True, lambda a, b, s: s.reorder(_loop(b), _loop(a)))),
    Primitive("reorder", "others", _of_pairs(False, lambda a, b, s: s.reorder(_loop(b), _loop(a)))),
    Primitive("parallel", "dense", _of_dims(_all_dense, lambda d, s: s.parallel(_loop(d)))),
    Primitive("parallel", "sums", _of_sums(lambda loop, s: s.parallel(loop))),
    Primitive("vectorize", "dense", _of_dims(_all_dense, lambda d, s: s.vectorize(_loop(d)))),
    Primitive("vectorize", "rows", _of_dims(_all_rows, lambda d, s: s.vectorize(_loop(d)))),
    Primitive("split_loop, vectorize", "rows", _of_dims(_all_rows, _vectorize_blocks)),
    Primitive("unroll", "dense", _of_dims(_all_dense, lambda d, s: s.unroll(_loop(d)))),
    Primitive("unroll", "rows", _of_dims(_all_rows, lambda d, s: s.unroll(_loop(d)))),
    Primitive("split_loop, unroll", "rows", _of_dims(_all_rows, _unroll_blocks)),
    Primitive("cache_read", "what is read", _cache_read),
    Primitive("hoist_loads", "any loop", _hoist),
    Primitive("simplify_guards", "everywhere", _everywhere),
)
