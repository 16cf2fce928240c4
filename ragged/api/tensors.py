"""Tensors of the Ragged API: inputs, parameters, and computed tensors, with their dimensions and loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from ragged.api.dims import RaggedDim
from ragged.api.values import Value, ValueLike, ValueSource, as_index
from ragged.errors import Location, ModelError
from ragged.ir import expr as ir
from ragged.ir.dtype import DType
from ragged.ir.ops import Combiner


class Kind(Enum):
    """The origin of a tensor's values: a call, bound parameters, or a computation."""

    INPUT = "input"
    PARAMETER = "parameter"
    COMPUTED = "computed"


class PartPlace(Enum):
    """Where something inside another tensor's computation is computed, unless its user decides on that."""

    ROWS = "in the rows of its reader"
    COLUMNS = "in the rows of its reader, for all elements of the last dimension"
    ELEMENTS = "for each element of its reader"


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """A loop of a reduction, 0 <= var < extent."""

    var: ir.Var
    extent: Value


@dataclass(frozen=True, slots=True, eq=False)
class Reduction(ValueSource):
    """`body` combined over `axes`, outermost first, in their order. `buffer` stands for it in expressions.

    It starts from `init`, which the axes are not in scope of, or from the combiner's identity.
    """

    combiner: Combiner
    axes: tuple[Axis, ...]
    body: Value
    buffer: ir.Buffer
    at: Location | None = None
    init: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TensorDim:
    """A dimension of a tensor, and its extent, a function of outer dimensions."""

    dim: RaggedDim
    extent: Value
    tensor: RaggedTensor | None = None
    position: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop of the nest that computes a tensor; those of a reduction come after those over the dimensions."""

    tensor: RaggedTensor
    position: int

    @property
    def name(self) -> str:
        """The loop's name."""
        return self.tensor.loop_vars[self.position].name


@dataclass(slots=True, eq=False)
class RaggedTensor(ValueSource):
    """A tensor: named dimensions, a dtype, and the body that computes its elements.

    `indices` are the index variables of `body`. `part` marks what is inside another tensor's computation. Reading a
    tensor at indices gives a value.
    """

    name: str
    kind: Kind
    dtype: DType
    dims: tuple[TensorDim, ...]
    indices: tuple[ir.Var, ...] = ()
    body: Value | Reduction | None = None
    at: Location | None = field(default=None, repr=False)
    part: PartPlace | None = None
    buffer: ir.Buffer = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.dims = tuple(TensorDim(d.dim, d.extent, self, place) for place, d in enumerate(self.dims))
        shape = tuple(each.extent.expr for each in self.dims)
        self.buffer = ir.Buffer(self.name, self.dtype, shape, ir.Role.WORKSPACE)

    def __getitem__(self, indices: ValueLike | tuple[ValueLike, ...]) -> Value:
        """Return the element at `indices`, integers, one for each dimension."""
        given = indices if isinstance(indices, tuple) else (indices,)
        if len(given) != len(self.dims):
            raise ModelError(
                f"'{self.name}' has {len(self.dims)} dimensions and is read at {len(given)} indices",
                at=Location.capture(),
            )
        values = [as_index(each, f"an index of '{self.name}'") for each in given]
        sources = {key: source for value in values for key, source in value.sources.items()}
        load: ir.Expr = ir.Load(self.buffer, tuple(value.expr for value in values), Location.capture())
        if self.dtype.computed is not self.dtype:
            load = ir.Cast(self.dtype.computed, load)
        return Value(load, {**sources, self.buffer: self})

    @property
    def index_of_dim(self) -> dict[ir.Var, ir.Expr]:
        """The index in `body` for the variable of each dimension."""
        pairs = zip(self.dims, self.indices, strict=True)
        return {each.dim.var: ir.Ref(index) for each, index in pairs}

    @property
    def loop_vars(self) -> tuple[ir.Var, ...]:
        """The variables of its nest: its indices, and the axes of its reduction."""
        axes = self.body.axes if isinstance(self.body, Reduction) else ()
        return (*self.indices, *(axis.var for axis in axes))

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops of its nest: over its dimensions, then those of its reduction."""
        return tuple(Loop(self, place) for place in range(len(self.loop_vars)))

    @property
    def expressions(self) -> tuple[Value, ...]:
        """The extents and the body."""
        extents = tuple(each.extent for each in self.dims)
        match self.body:
            case Reduction(axes=axes, body=body, init=init):
                started = () if init is None else (init,)
                return (*extents, *(axis.extent for axis in axes), *started, body)
            case Value() as body:
                return (*extents, body)
            case None:
                return extents


DimLike: TypeAlias = TensorDim | tuple[RaggedDim, ValueLike]
