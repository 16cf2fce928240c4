"""The arrays and sizes that the linearizer makes for a plan, in one table.

A row has an array's kind, its extent, and the payloads, positions or classes of which there is one. From the rows
follow the functions of a program, the requests to the native linearizer and to its reference, the shapes that a batch
must have, and the attributes of `cortex.linearize.Linearized`. A new array is a row here, and the code that fills it:
in `linearize/native/number.cpp` (with its kind in `requests.h`) and in `tests/linearize/numbering.py`. What
programs may assume of it is a fact in `structure_facts.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from cortex.ilir.plan import Plan


class IndexKind(Enum):
    """What an index array holds; the value is the format of its name."""

    NUM_NODES = "num_nodes"
    NUM_INNER = "num_inner"
    NUM_EDGES = "num_edges"
    NUM_BATCHES = "num_batches"
    NUM_ROOTS = "num_roots"
    WIDEST_NODES = "widest_nodes"
    WIDEST_EDGES = "widest_edges"
    BATCH_BEGIN = "batch_begin"
    BATCH_LENGTH = "batch_length"
    CHILD_BEGIN = "child_begin"
    CHILD = "child"
    ROOTS = "roots"
    POSITION = "child_{number}"
    NUM_CARRIERS = "num_with_{payload}"
    NUM_INNER_CARRIERS = "num_inner_with_{payload}"
    CARRIER = "with_{payload}"
    CARRIER_PLACE = "place_with_{payload}"
    NUM_STEPS = "num_steps"
    NUM_TOPS = "num_tops"
    TOP_BEGIN = "top_begin"
    STEP_TOP = "step_top"
    HEIGHT = "height"
    STEP_GROUP = "step_group"
    CLASS_LENGTH = "class_length_{number}"
    STRUCTURE_COUNT = "structure_count"
    MEMBER_BEGIN = "member_begin"
    MEMBER = "member"
    STRUCTURE_OF = "structure_of"
    STORAGE_ROWS = "storage_rows"
    STORAGE_BEGIN = "storage_begin"
    STORAGE_ROW = "storage_row"
    PAYLOAD_BEGIN = "begin_of_{payload}"
    PAYLOAD_SIZE = "size_of_{payload}"


@dataclass(frozen=True, slots=True)
class IndexArray:
    """One array or size of a plan: its kind and, of some kinds, a payload, or a child's position or a class.

    An array has `extent` elements, the name of a size, and `more` beyond that; a size has none. `name` is unique in a
    plan: it names the function in programs and the attribute of `Linearized`.
    """

    kind: IndexKind
    name: str
    payload: str | None = None
    number: int | None = None
    extent: str | None = None
    more: int = 0
    parameter: str = "n"

    def shape(self, sizes: Mapping[str, object]) -> tuple[int, ...]:
        """Return the shape that the array has in a batch of these sizes, by name; () of a size."""
        if self.extent is None:
            return ()
        size = sizes[self.extent]
        assert isinstance(size, int)
        return (size + self.more,)


@dataclass(frozen=True, slots=True)
class _Row:
    """The arrays of one kind: `each` yields the payloads, positions or classes of which a plan has one."""

    kind: IndexKind
    extent: IndexKind | None = None
    more: int = 0
    parameter: str = "n"
    each: Callable[[Plan], Iterator[str | int | None]] = lambda plan: iter((None,))

    def arrays(self, plan: Plan) -> Iterator[IndexArray]:
        for key in self.each(plan):
            payload, number = (key, None) if isinstance(key, str) else (None, key)
            name = _name(plan, self.kind, key)
            extent = None if self.extent is None else _name(plan, self.extent, key)
            yield IndexArray(self.kind, name, payload, number, extent, self.more, self.parameter)


_SIDES = ("left", "right")


def _name(plan: Plan, kind: IndexKind, key: str | int | None) -> str:
    if kind is IndexKind.POSITION and plan.max_children == 2 and isinstance(key, int):
        return _SIDES[key] if key < 2 else kind.value.format(number=key)
    return kind.value.format(payload=key, number=key)


def _positions(plan: Plan) -> Iterator[int]:
    return iter(plan.positions)


def _carriers(plan: Plan) -> Iterator[str]:
    return (payload.name for payload in plan.payloads if payload.name in plan.carriers)


def _unrolled(plan: Plan) -> Iterator[None]:
    return iter((None,) if plan.unrolled else ())


def _classes(plan: Plan) -> Iterator[int]:
    return iter(range(len(plan.classes) - 1))  # the last has what is left of a batch


def _recycled(plan: Plan) -> Iterator[None]:
    return iter((None,) if plan.recycled else ())


def _members(plan: Plan) -> Iterator[None]:
    return iter((None,) if plan.members else ())


def _vectors(plan: Plan) -> Iterator[str]:
    return (payload.name for payload in plan.payloads if payload.shape and payload.dtype.is_float)


_K = IndexKind
_TABLE = (
    _Row(_K.NUM_NODES),
    _Row(_K.NUM_INNER),
    _Row(_K.NUM_EDGES),
    _Row(_K.NUM_BATCHES),
    _Row(_K.NUM_ROOTS),
    _Row(_K.WIDEST_NODES),
    _Row(_K.WIDEST_EDGES),
    _Row(_K.BATCH_BEGIN, _K.NUM_BATCHES, 0, "b"),
    _Row(_K.BATCH_LENGTH, _K.NUM_BATCHES, 0, "b"),
    _Row(_K.CHILD_BEGIN, _K.NUM_NODES, 1),
    _Row(_K.CHILD, _K.NUM_EDGES, 0, "e"),
    _Row(_K.ROOTS, _K.NUM_ROOTS, 0, "r"),
    _Row(_K.POSITION, _K.NUM_INNER, each=_positions),
    _Row(_K.NUM_CARRIERS, each=_carriers),
    _Row(_K.NUM_INNER_CARRIERS, each=_carriers),
    _Row(_K.CARRIER, _K.NUM_CARRIERS, 0, "p", each=_carriers),
    _Row(_K.CARRIER_PLACE, _K.NUM_NODES, each=_carriers),
    _Row(_K.NUM_STEPS, each=_unrolled),
    _Row(_K.NUM_TOPS, each=_unrolled),
    _Row(_K.TOP_BEGIN, _K.NUM_STEPS, 1, "s", each=_unrolled),
    _Row(_K.STEP_TOP, _K.NUM_TOPS, 0, "t", each=_unrolled),
    _Row(_K.HEIGHT, _K.NUM_NODES, each=_unrolled),
    _Row(_K.STEP_GROUP, _K.NUM_NODES, each=_unrolled),
    _Row(_K.CLASS_LENGTH, _K.NUM_BATCHES, 0, "b", each=_classes),
    _Row(_K.STRUCTURE_COUNT, each=_members),
    _Row(_K.MEMBER_BEGIN, _K.STRUCTURE_COUNT, 1, "s", each=_members),
    _Row(_K.MEMBER, _K.NUM_NODES, 0, "m", each=_members),
    _Row(_K.STRUCTURE_OF, _K.NUM_NODES, each=_members),
    _Row(_K.STORAGE_ROWS, each=_recycled),
    _Row(_K.STORAGE_BEGIN, _K.NUM_BATCHES, 0, "b", each=_recycled),
    _Row(_K.STORAGE_ROW, _K.NUM_NODES, each=_recycled),
    _Row(_K.PAYLOAD_BEGIN, _K.NUM_NODES, each=_vectors),
    _Row(_K.PAYLOAD_SIZE, each=_vectors),
)


@lru_cache(maxsize=256)
def index_arrays(plan: Plan) -> tuple[IndexArray, ...]:
    """Return the arrays and sizes that a batch of `plan` has, in the order of the table."""
    return tuple(array for row in _TABLE for array in row.arrays(plan))


def in_place_names(payload: str) -> tuple[str, str]:
    """Return the names of a payload's functions: where each node's vector begins, and how many elements hold all."""
    return _K.PAYLOAD_BEGIN.value.format(payload=payload), _K.PAYLOAD_SIZE.value.format(payload=payload)
