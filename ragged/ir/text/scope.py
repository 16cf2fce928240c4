"""What the parser knows at a place in the text, and how it refuses what stands there."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ragged.errors import Location, ModelError
from ragged.ir.dtype import DType
from ragged.ir.expr import Buffer, Dim, Function, Var
from ragged.ir.nesting import Nesting
from ragged.ir.text.names import DTYPES, reserved_words

Symbol: TypeAlias = Var | Function | Buffer
Node: TypeAlias = ast.expr | ast.stmt | ast.keyword


@dataclass(frozen=True, slots=True)
class NameScope:
    """The names in scope at one place in the text of `file`; the first use of a dim names it for the whole file."""

    file: str
    values: Mapping[str, Symbol] = field(default_factory=dict)
    dims: dict[str, Dim] = field(default_factory=dict)
    nesting: Nesting = field(default_factory=Nesting)

    def at(self, node: Node) -> Location:
        """Return where `node` stands."""
        return Location(self.file, node.lineno)

    def error(self, node: Node, what: str, *, fix: str | None = None) -> ModelError:
        """Return the error that says `what` of `node`."""
        return ModelError(what, at=self.at(node), fix=fix)

    def bind(self, node: Node, name: str, symbol: Symbol) -> NameScope:
        """Return the scope in which `name` means `symbol`."""
        if name in self.values or name in reserved_words():
            raise self.error(node, f"the name '{name}' means something else here", fix="choose another name")
        return replace(self, values={**self.values, name: symbol})

    def inside(self, nesting: Nesting) -> NameScope:
        """Return the scope with `nesting` around it."""
        return replace(self, nesting=nesting)

    def look_up(self, node: ast.Name) -> Symbol:
        """Return what a name means."""
        try:
            return self.values[node.id]
        except KeyError:
            raise self.error(node, f"unknown name '{node.id}'") from None

    def var(self, node: ast.expr) -> Var:
        """Return the variable that `node` names."""
        match node:
            case ast.Name() if isinstance(symbol := self.look_up(node), Var):
                return symbol
            case _:
                raise self.error(node, f"'{ast.unparse(node)}' is no variable")

    def function(self, node: ast.expr) -> Function:
        """Return the function that `node` names."""
        match node:
            case ast.Name() if isinstance(symbol := self.look_up(node), Function):
                return symbol
            case _:
                raise self.error(node, f"'{ast.unparse(node)}' is no function")

    def buffer(self, node: ast.expr) -> Buffer:
        """Return the buffer that `node` names."""
        match node:
            case ast.Name() if isinstance(symbol := self.look_up(node), Buffer):
                return symbol
            case _:
                raise self.error(node, f"'{ast.unparse(node)}' is no buffer")

    def dim(self, node: ast.expr) -> Dim | None:
        """Return the dim that `node` names, None for `None`."""
        match node:
            case ast.Constant(value=None):
                return None
            case ast.Name(id=name):
                return self.dims.setdefault(name, Dim(name))
            case _:
                raise self.error(node, f"'{ast.unparse(node)}' is no name of a dimension")

    def dtype(self, node: ast.expr) -> DType:
        """Return the dtype that `node` names."""
        match node:
            case ast.Name(id=name) if name in DTYPES:
                return DTYPES[name]
            case _:
                raise self.error(node, f"'{ast.unparse(node)}' is no dtype")

    def options(self, call: ast.Call, *allowed: str) -> dict[str, ast.expr]:
        """Return a call's keyword arguments, which must be among `allowed`."""
        for keyword in call.keywords:
            if keyword.arg not in allowed:
                raise self.error(keyword, f"'{ast.unparse(call.func)}' takes no '{keyword.arg}='")
        return {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}

    def arguments(self, call: ast.Call, least: int, most: int) -> list[ast.expr]:
        """Return a call's positional arguments, of which there must be from `least` to `most`."""
        if not least <= len(call.args) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self.error(
                call, f"'{ast.unparse(call.func)}' takes {wanted} arguments, not {len(call.args)}"
            )
        return call.args


def called(node: ast.expr | None) -> str | None:
    """Return the name that `node` calls, None if it is no call of a name."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name
        case _:
            return None


def elements(node: ast.expr) -> list[ast.expr]:
    """Return the elements of a tuple, or `node` itself as the only one."""
    return node.elts if isinstance(node, ast.Tuple) else [node]
