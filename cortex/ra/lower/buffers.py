"""The arrays of a lowered model: parameters, payloads, results and temporaries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cortex.ilir.structure import CHILD, NODE, PLACE, ROOT, STRUCTURE, StructureFunctions
from cortex.ra.base import ModelTensor, S
from cortex.ra.model import Model
from cortex.ra.tensor import Compute, InputTensor, NodeInput, Placeholder
from ragged.ir.build import add
from ragged.ir.dtype import DType
from ragged.ir.expr import Buffer, Call, Const, Dim, Expr, Role


@dataclass(frozen=True, slots=True)
class TableKeys:
    """The payload values that a table has rows for: `low` <= value < `high`.

    Nodes that carry the payload have one of `carried` (first, past the last); others have `default`. Rows between the
    two ranges, which no node reads, are filled as for `default`.
    """

    payload: str
    low: int
    high: int
    carried: tuple[int, int]
    default: int


@dataclass
class Buffers:
    """The buffer of each tensor of a model, created once and shared by its cases.

    Temporaries are fully materialised: a value for each node (or each edge, for tensors with the dimension K), as in
    the paper's Listing 2. With `roots_alone`, `outputs` are temporaries too, and `roots` maps each to the result with a
    row for each root. Buffers in `listed` have a row for each node that carries a payload, numbered from 1; row 0
    stands for all other nodes.
    """

    model: Model
    functions: StructureFunctions
    roots_alone: bool = False
    parameters: dict[InputTensor, Buffer] = field(init=False)
    payloads: dict[NodeInput, Buffer] = field(init=False)
    outputs: dict[Placeholder, Buffer] = field(init=False)
    roots: dict[Buffer, Buffer] = field(default_factory=dict)
    heads: dict[ModelTensor, Buffer] = field(init=False)
    after: dict[ModelTensor, Buffer] = field(init=False)
    root_temporaries: list[Buffer] = field(default_factory=list)
    temporaries: dict[ModelTensor, Buffer] = field(default_factory=dict)
    leaves: dict[ModelTensor, Buffer] = field(default_factory=dict)
    reductions: list[Buffer] = field(default_factory=list)
    constants: list[Buffer] = field(default_factory=list)
    tables: dict[Buffer, TableKeys] = field(default_factory=dict)
    listed: dict[Buffer, str | None] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        functions = self.functions
        self.names |= {function.name for function in functions.all()}
        self.names |= {*self.model.inputs, *self.model.payloads, *self.model.outputs, *self.model.heads}
        self.names |= {*self.model.after}
        self.parameters = {
            tensor: Buffer(name, tensor.dtype, _extents(tensor.shape), Role.PARAMETER)
            for name, tensor in self.model.inputs.items()
        }
        self.payloads = {
            tensor: self._nodes(name, tensor.dtype, _extents(tensor.shape), Role.PAYLOAD)
            for name, tensor in self.model.payloads.items()
            if name not in functions.payloads
        }
        self.outputs = {
            placeholder: self._output(name, placeholder)
            for name, (placeholder, _) in self.model.outputs.items()
        }
        self.heads = {}
        for name, body in self.model.heads.items():
            self.heads[body] = self._roots(name, body.dtype, _extents(body.shape), Role.OUTPUT)
            self.listed[self.heads[body]] = None
        self.after = {
            body: self._structures(name, body.dtype, _extents(body.shape), Role.OUTPUT)
            for name, body in self.model.after.items()
        }

    def _output(self, name: str, placeholder: Placeholder) -> Buffer:
        """Return the buffer of an output at each node; with `roots_alone`, create the result's buffer as well."""
        dtype, rest = placeholder.dtype, _extents(placeholder.shape[1:])
        if name in self.model.states:
            return self._nodes(name, dtype, rest, Role.WORKSPACE)
        if not self.roots_alone:
            return self._nodes(name, dtype, rest, Role.OUTPUT)
        nodes = self.nodes(f"{name}_nodes", dtype, rest)
        self.roots[nodes] = self._roots(name, dtype, rest, Role.OUTPUT)
        return nodes

    def _roots(self, name: str, dtype: DType, rest: tuple[Expr, ...], role: Role) -> Buffer:
        dims: tuple[Dim | None, ...] = (ROOT, *(None for _ in rest))
        return Buffer(name, dtype, (Call(self.functions.num_roots), *rest), role, dims)

    def _structures(self, name: str, dtype: DType, rest: tuple[Expr, ...], role: Role) -> Buffer:
        assert self.functions.members is not None
        dims: tuple[Dim | None, ...] = (STRUCTURE, *(None for _ in rest))
        return Buffer(name, dtype, (Call(self.functions.members.structures), *rest), role, dims)

    def name(self, wanted: str) -> str:
        """Return `wanted`, with a number appended if it is taken."""
        name, count = wanted, 1
        while name in self.names:
            count += 1
            name = f"{wanted}_{count}"
        self.names.add(name)
        return name

    def nodes(self, name: str, dtype: DType, rest: tuple[Expr, ...]) -> Buffer:
        """Return a new temporary with a row for each node."""
        return self._nodes(self.name(name), dtype, rest, Role.WORKSPACE)

    def _nodes(self, name: str, dtype: DType, rest: tuple[Expr, ...], role: Role) -> Buffer:
        dims: tuple[Dim | None, ...] = (NODE, *(None for _ in rest))
        return Buffer(name, dtype, (Call(self.functions.num_nodes), *rest), role, dims)

    def carriers(self, name: str, dtype: DType, rest: tuple[Expr, ...], payload: str | None) -> Buffer:
        """Return a new temporary with a row for each node that carries a payload, and row 0 for all others.

        Without a `payload`, it has a row for each root.
        """
        if payload is None:
            buffer = self._roots(self.name(name), dtype, rest, Role.WORKSPACE)
        else:
            rows = add(Call(self.functions.carriers[payload].count), 1)
            dims: tuple[Dim | None, ...] = (PLACE, *(None for _ in rest))
            buffer = Buffer(self.name(name), dtype, (rows, *rest), Role.WORKSPACE, dims)
        self.listed[buffer] = payload
        return buffer

    def edges(self, name: str, dtype: DType, rest: tuple[Expr, ...]) -> Buffer:
        """Return a new temporary with a row for each edge from a node to a child."""
        dims: tuple[Dim | None, ...] = (CHILD, *(None for _ in rest))
        return Buffer(self.name(name), dtype, (Call(self.functions.num_edges), *rest), Role.WORKSPACE, dims)

    def structures(self, name: str, dtype: DType, rest: tuple[Expr, ...]) -> Buffer:
        """Return a new temporary with a row for each structure."""
        return self._structures(self.name(name), dtype, rest, Role.WORKSPACE)

    def after_of(self, compute: Compute) -> Buffer:
        """Return the buffer of what is computed after the recursion, of structures, at nodes or for their children."""
        if compute not in self.after:
            rest = tuple(Const(index.extent) for index in compute.indices)
            make = (
                self.structures if S in compute.shape else self.nodes if compute.child is None else self.edges
            )
            self.after[compute] = make(self.model.names[compute], compute.dtype, rest)
        return self.after[compute]

    def bound(self, name: str, dtype: DType, rest: tuple[Expr, ...]) -> Buffer:
        """Return a new buffer of one row, filled when parameters are bound."""
        buffer = Buffer(self.name(name), dtype, (Const(1), *rest), Role.BOUND)
        self.constants.append(buffer)
        return buffer

    def table(self, name: str, dtype: DType, keys: TableKeys, rest: tuple[Expr, ...]) -> Buffer:
        """Return a new buffer with a row for each value of a payload, filled when parameters are bound."""
        buffer = Buffer(self.name(name), dtype, (Const(keys.high - keys.low), *rest), Role.BOUND)
        self.constants.append(buffer)
        self.tables[buffer] = keys
        return buffer

    def at_leaves(self, compute: Compute) -> Buffer:
        """Return the buffer of a compute's values in cases of leaves, where they are not in `temporary`."""
        if compute not in self.leaves:
            rest = tuple(Const(index.extent) for index in compute.indices)
            self.leaves[compute] = self.nodes(f"{self.model.names[compute]}_leaf", compute.dtype, rest)
        return self.leaves[compute]

    def temporary(self, compute: Compute, payload: str | None = None) -> Buffer:
        """Return the buffer of a compute's values, the same in every case.

        Where `payload` is given at its creation, it has rows for the nodes that carry that payload only.
        """
        if compute not in self.temporaries:
            name = self.model.names[compute]
            rest = tuple(Const(index.extent) for index in compute.indices)
            if payload is not None:
                buffer = self.carriers(name, compute.dtype, rest, payload)
            elif compute.child is None:
                buffer = self.nodes(name, compute.dtype, rest)
            else:
                buffer = self.edges(name, compute.dtype, rest)
            self.temporaries[compute] = buffer
        return self.temporaries[compute]

    def all(self) -> tuple[Buffer, ...]:
        """Every buffer, in the order of a program's arguments."""
        groups: Iterable[Iterable[Buffer]] = (
            self.parameters.values(),
            self.payloads.values(),
            self.outputs.values(),
            self.roots.values(),
            self.heads.values(),
            self.after.values(),
            self.root_temporaries,
            self.temporaries.values(),
            self.leaves.values(),
            self.reductions,
            self.constants,
        )
        return tuple(buffer for group in groups for buffer in group)


def _extents(shape: Iterable[object]) -> tuple[Expr, ...]:
    return tuple(Const(extent) for extent in shape if isinstance(extent, int))
