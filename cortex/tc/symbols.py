"""The names of a recursive comprehension, and the dimensions of its tensors for given sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ragged.errors import Location
from ragged.tc import tree as tc
from ragged.tc.builtins import builtin
from ragged.tc.errors import refuse
from ragged.tc.text import expression_text
from ragged.tc.types import canonical

NODE_FUNCTIONS: Final = frozenset(("left", "right", "child", "children", "leaf", "num_children"))
"""What a text asks of a node."""
_ARITHMETIC = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "/": int.__floordiv__, "%": int.__mod__}
_TYPES = ("float32", "int32", "int64")


@dataclass(slots=True)
class Tensor:
    """A tensor of a text: its dense extents, None where they are not known yet.

    `node` says that it has a value for each node, `child` one for each child of a node.
    """

    name: str
    type: str
    dims: list[int | None]
    node: bool
    child: bool = False

    @property
    def known(self) -> list[int]:
        """The dense extents, which are known."""
        return [extent for extent in self.dims if extent is not None]

    @property
    def before(self) -> int:
        """The number of indices before the dense ones."""
        return self.node + self.child


@dataclass(slots=True)
class Symbols:
    """The node, the sizes with their values, and the tensors of a definition."""

    node: str
    sizes: Mapping[str, int]
    tensors: dict[str, Tensor] = field(default_factory=dict)


def size_names(definition: tc.Definition) -> tuple[str, ...]:
    """Return the names of the sizes of a recursive definition, in order of appearance."""
    found: dict[str, None] = {}
    for declared in (*definition.parameters, *definition.outputs):
        for dim in declared.dims:
            if isinstance(dim, tc.Name) and dim.id != _node(definition).node:
                found[dim.id] = None
    return tuple(found)


def symbols_of(definition: tc.Definition, sizes: Mapping[str, int]) -> Symbols:
    """Return the names of a definition for given sizes.

    Raises:
        TcError: a name is defined twice, or a type or a dimension is not possible ("check").
    """
    found = Symbols(_node(definition).node, sizes)
    taken = {found.node, *sizes}
    for declared in definition.parameters:
        _check_free(declared.name, declared.at, taken)
        assert declared.type is not None, "parameters have types"
        type_ = canonical(declared.type)
        if type_ not in _TYPES:
            raise refuse(f"'{declared.name}' is of type {type_}", declared.at, fix=" or ".join(_TYPES))
        found.tensors[declared.name] = _tensor(found, declared, type_)
    for statement in definition.statements:
        if isinstance(statement, tc.CallStatement):
            raise refuse("a recursive function calls no other one", statement.at)
        name = statement.target.id
        if name not in found.tensors:
            _check_free(name, statement.at, taken)
            child = any(_is_second(statement, each) for each in statement.clauses)
            dense = len(statement.indices) - 1 - child
            found.tensors[name] = Tensor(name, "float32", [None] * max(dense, 0), node=True, child=child)
    for declared in definition.outputs:
        tensor = found.tensors.get(declared.name)
        if tensor is None or declared.name in {each.name for each in definition.parameters}:
            raise refuse(f"the output '{declared.name}' is never written", declared.at)
        if tensor.child:
            raise refuse(f"the output '{declared.name}' has a value for each child of a node", declared.at)
        if declared.dims:
            own = _tensor(found, declared, "float32")
            if not own.node or len(own.dims) != len(tensor.dims):
                raise refuse(
                    f"the output '{declared.name}' is declared with other dimensions than it is written with",
                    declared.at,
                )
            tensor.dims = own.dims
    return found


def _node(definition: tc.Definition) -> tc.StructureDeclaration:
    assert definition.structure is not None, "a recursive definition has a structure"
    return definition.structure


def _is_second(statement: tc.Comprehension, clause: tc.Clause) -> bool:
    second = statement.indices[1].id if len(statement.indices) > 1 else None
    return isinstance(clause, tc.MembersClause) and second == clause.index


def _check_free(name: str, at: Location, taken: set[str]) -> None:
    if name in taken:
        raise refuse(f"'{name}' is already defined", at)
    if name in NODE_FUNCTIONS or builtin(name) is not None:
        raise refuse(f"'{name}' is the name of a function", at, fix="another name")
    taken.add(name)


def _tensor(symbols: Symbols, declared: tc.Declaration, type_: str) -> Tensor:
    dims = list(declared.dims)
    first = dims[0] if dims else None
    node = isinstance(first, tc.Name) and first.id == symbols.node
    extents: list[int | None] = [_extent(symbols, dim) for dim in dims[node:]]
    if not node and not extents:
        raise refuse(
            f"'{declared.name}' is a number",
            declared.at,
            fix=f"a tensor of one element: {declared.type}(1) {declared.name}",
        )
    return Tensor(declared.name, type_, extents, node)


def _extent(symbols: Symbols, dim: tc.TcExpression) -> int:
    found = value_at(dim, symbols.sizes)
    if found is None or found < 1:
        raise refuse(f"'{expression_text(dim)}' is no extent", dim.at, fix="a size or a number from 1 up")
    return found


def value_at(node: tc.TcExpression, values: Mapping[str, int]) -> int | None:
    """Return the value of an integer expression of numbers and of names with values; None if it is another one."""
    match node:
        case tc.NumberLiteral(value=int(value)):
            return value
        case tc.Name(id=name):
            return values.get(name)
        case tc.Prefix(op="-", operand=operand):
            own = value_at(operand, values)
            return None if own is None else -own
        case tc.Infix(op="+" | "-" | "*" | "/" | "%" as op, lhs=lhs, rhs=rhs):
            left, right = value_at(lhs, values), value_at(rhs, values)
            if left is None or right is None or (right == 0 and op in "/%"):
                return None
            return _ARITHMETIC[op](left, right)
        case _:
            return None
