"""Expressions of a recursive comprehension as those of the Recursive API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cortex import ra
from cortex.ra.expr import Expression, as_float
from cortex.ra.tensor import NodeInput, Placeholder
from cortex.tc.ranges import children_indices
from cortex.tc.symbols import Symbols, Tensor
from ragged.ir.elementwise import COMPOSED, FUNCTIONS
from ragged.tc import tree as tc
from ragged.tc.errors import refuse
from ragged.tc.text import expression_text, statement_text

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "%": lambda x, y: x % y,
    "==": lambda x, y: x == y, "!=": lambda x, y: x != y, "<": lambda x, y: x < y, "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y, ">=": lambda x, y: x >= y, "&&": lambda x, y: x & y, "||": lambda x, y: x | y,
}  # fmt: skip
_OTHERS: dict[str, Callable[..., Any]] = {
    "max": ra.maximum, "fmax": ra.maximum, "min": ra.minimum, "fmin": ra.minimum, "abs": ra.abs, "fabs": ra.abs,
    "fma": lambda x, y, z: x * y + z,
}  # fmt: skip


@dataclass(slots=True)
class ModelTensors:
    """The tensors of a model that is being built.

    `current` hold the values at the node now, `placeholders` the outputs at its children; `read_at_children` are the
    names of outputs that are read there.
    """

    symbols: Symbols
    current: dict[str, Any] = field(default_factory=dict)
    placeholders: dict[str, Placeholder] = field(default_factory=dict)
    read_at_children: set[str] = field(default_factory=set)


class StatementExpressions:
    """Builds the expressions of one statement; a scope has what its indices stand for."""

    def __init__(self, tensors: ModelTensors, source: tc.Comprehension) -> None:
        self.tensors, self.source, self.symbols = tensors, source, tensors.symbols
        self.children = children_indices(source)
        self.lets = {each.name: each.value for each in source.clauses if isinstance(each, tc.LetClause)}
        self.open: list[str] = []

    def expression(self, node: tc.TcExpression, scope: Mapping[str, Any]) -> Any:
        """Return an expression as one of the Recursive API."""
        match node:
            case tc.NumberLiteral(value=value):
                return value
            case tc.Name():
                return self._named(node, scope)
            case tc.Access():
                return self._access(node, scope)
            case tc.Prefix(op=op, operand=operand):
                own = self.expression(operand, scope)
                return ~own if op == "!" else -own
            case tc.Infix(op="/", lhs=lhs, rhs=rhs):
                left, right = self.expression(lhs, scope), self.expression(rhs, scope)
                return left // right if _is_int(left) and _is_int(right) else left / right
            case tc.Infix(op=op, lhs=lhs, rhs=rhs):
                return _BINARY[op](self.expression(lhs, scope), self.expression(rhs, scope))
            case tc.Conditional(condition=condition, if_true=if_true, if_false=if_false):
                branches = self.expression(if_true, scope), self.expression(if_false, scope)
                return ra.where(self.expression(condition, scope), *branches)
            case tc.Conversion(type=("float" | "float32"), operand=operand):
                return as_float(self.expression(operand, scope))
            case tc.Conversion(type=type_):
                raise refuse(
                    f"nothing is converted to {type_} in a recursive function", node.at, fix="float(...)"
                )

    def _named(self, node: tc.Name, scope: Mapping[str, Any]) -> Any:
        name = node.id
        if name in self.lets:
            if name in self.open:
                raise refuse(f"'{name}' is defined by itself", node.at)
            self.open.append(name)
            found = self.expression(self.lets[name], scope)
            self.open.pop()
            return found
        if name in self.symbols.sizes:
            return self.symbols.sizes[name]
        if name == self.symbols.node or name in self.children:
            raise refuse(
                f"the node '{name}' is no number", node.at, fix=f"the first index of a tensor: x({name}, i)"
            )
        return scope[name]

    def _access(self, node: tc.Access, scope: Mapping[str, Any]) -> Any:
        name, arguments = node.name, node.arguments
        if name in ("leaf", "num_children"):
            self._count(node, 1)
            at = self._node_at(arguments[0], scope)
            return ra.isleaf(at) if name == "leaf" else ra.num_children(at)
        tensor = self.symbols.tensors.get(name)
        if tensor is not None:
            return self._read(node, tensor, scope)
        own = name if name in FUNCTIONS or name in COMPOSED or name in _OTHERS else name.removesuffix("f")
        function = _OTHERS.get(own) or (getattr(ra, own) if own in FUNCTIONS or own in COMPOSED else None)
        if function is None:
            known = ", ".join(sorted((*FUNCTIONS, *COMPOSED, *_OTHERS)))
            raise refuse(
                f"'{name}' is no tensor or function that is defined here", node.at, fix=f"one of {known}"
            )
        return function(*(self.expression(each, scope) for each in arguments))

    def _count(self, node: tc.Access, number: int) -> None:
        if len(node.arguments) != number:
            raise refuse(
                f"'{node.name}' takes {number} arguments and is given {len(node.arguments)}", node.at
            )

    def _node_at(self, node: tc.TcExpression, scope: Mapping[str, Any]) -> Any:
        """Return a node: the function's own one, or a child of it."""
        match node:
            case tc.Name(id=name) if name == self.symbols.node or name in self.children:
                return scope[name]
            case tc.Access(name="left" | "right" as side, arguments=(parent,)):
                return getattr(self._node_at(parent, scope), side)
            case tc.Access(name="child", arguments=(parent, tc.NumberLiteral(value=int(position)))):
                return self._node_at(parent, scope).child(position)
            case _:
                node_name = self.symbols.node
                raise refuse(
                    f"'{expression_text(node)}' is no node",
                    node.at,
                    fix=f"{node_name}, left({node_name}), child({node_name}, 2), or an index in children({node_name})",
                )

    def _read(self, node: tc.Access, tensor: Tensor, scope: Mapping[str, Any]) -> Any:
        self._count(node, len(tensor.dims) + tensor.before)
        first = [self._node_at(each, scope) for each in node.arguments[: tensor.before]]
        indices = [self.expression(each, scope) for each in node.arguments[tensor.before :]]
        known = self.tensors
        own = not first or first[0] is scope[self.symbols.node]
        if not own and node.name in known.placeholders:
            known.read_at_children.add(node.name)
            return known.placeholders[node.name][(*first, *indices)]
        tensor_now = known.current.get(node.name)
        if tensor_now is None:
            raise refuse(
                f"'{node.name}' is read at the node before it is written in '{statement_text(self.source)}'",
                node.at,
            )
        if not own and not isinstance(tensor_now, NodeInput):
            raise refuse(
                f"'{node.name}' is read at a child, and is no output",
                node.at,
                fix=f"'{node.name}' among the outputs: a node takes the outputs of its children",
            )
        return tensor_now[(*first, *indices)]


def _is_int(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, Expression) and value.dtype.is_int)
