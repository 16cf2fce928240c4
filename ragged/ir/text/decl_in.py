"""Parsing declarations: functions with their facts, and buffers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import MISSING, Field
from enum import Enum
from typing import Any, TypeVar

import ragged.ir.pointer_facts  # noqa: F401  so that its kinds can be read
from ragged.errors import InternalError
from ragged.ir.dtype import INDEX, DType
from ragged.ir.expr import Buffer, Call, Expr, Function, Param, Ref, Role, Source, Var
from ragged.ir.fact import Fact
from ragged.ir.facts import Range
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.text.decl_out import DEFAULT_ALIGN
from ragged.ir.text.expr_in import read, read_all
from ragged.ir.text.names import DTYPES
from ragged.ir.text.scope import NameScope, called, elements

_SOURCES = {source.value: source for source in Source}
_ROLES = {role.value: role for role in Role}
Choice = TypeVar("Choice", bound=Enum)


def read_declaration(scope: NameScope, node: ast.AnnAssign) -> Function | Buffer:
    """Return what a declaration declares, its facts apart."""
    match node:
        case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Call() as call):
            kind = called(call)
            if kind in _ROLES and call.args and _is_shape(call.args[0]):
                return read_buffer(scope, name, call)
            if kind in _SOURCES:
                return _function(scope, name, _SOURCES[kind], call)
        case _:
            pass
    raise scope.error(node, f"'{ast.unparse(node)}' declares nothing")


def read_buffer(scope: NameScope, name: str, call: ast.Call) -> Buffer:
    """Return the buffer that `call` describes, which is called as its role is."""
    shape = scope.arguments(call, 1, 1)[0]
    if not isinstance(shape, ast.Subscript):
        raise scope.error(shape, f"'{ast.unparse(shape)}' is no dtype with a shape", fix="float32[2, 3]")
    options = scope.options(call, "dims", "scope", "order", "align", "aliases")
    if "dims" in options and len(elements(options["dims"])) != len(elements(shape.slice)):
        raise scope.error(options["dims"], f"'{name}' has {len(elements(shape.slice))} dimensions to name")
    try:
        return Buffer(
            name,
            scope.dtype(shape.value),
            read_all(scope, elements(shape.slice)),
            _ROLES[called(call) or ""],
            tuple(scope.dim(dim) for dim in elements(options["dims"])) if "dims" in options else (),
            _choice(scope, MemoryScope, options["scope"]) if "scope" in options else MemoryScope.GLOBAL,
            tuple(_int(scope, k) for k in elements(options["order"])) if "order" in options else (),
            _int(scope, options["align"]) if "align" in options else DEFAULT_ALIGN,
            scope.buffer(options["aliases"]) if "aliases" in options else None,
        )
    except InternalError as fault:
        raise scope.error(call, fault.what) from None


def read_facts(scope: NameScope, function: Function, node: ast.expr) -> list[Fact]:
    """Return what a declaration says of `function`; `scope` has all that is declared."""
    if not isinstance(node, ast.Call) or called(node) != "facts":
        raise scope.error(node, f"'{ast.unparse(node)}' states no facts", fix="= facts(...)")
    scope.options(node)
    for param in function.params:
        scope = scope.bind(node, param.var.name, param.var)
    return [_fact(scope, function, fact) for fact in node.args]


def _is_shape(node: ast.expr) -> bool:
    match node:
        case ast.Subscript(value=ast.Name(id=name)):
            return name in DTYPES
        case _:
            return False


def _function(scope: NameScope, name: str, source: Source, call: ast.Call) -> Function:
    options = scope.options(call, "dtype", "storage")
    domain = list(call.args)
    if source is Source.EXPRESSION and not domain:
        raise scope.error(call, f"the expression '{name}' has no body")
    body = domain.pop() if source is Source.EXPRESSION else None
    params: list[Param] = []
    for node in domain:
        param = _param(scope, node)
        params.append(param)
        scope = scope.bind(node, param.var.name, param.var)
    return Function(
        name,
        tuple(params),
        source,
        None if body is None else read(scope, body),
        scope.dtype(options["dtype"]) if "dtype" in options else INDEX,
        scope.dtype(options["storage"]) if "storage" in options else DType.INT32,
    )


def _param(scope: NameScope, node: ast.expr) -> Param:
    match node:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Lt()], comparators=[extent]):
            return Param(Var(name), read(scope, extent))
        case _:
            raise scope.error(node, f"'{ast.unparse(node)}' is no parameter", fix="write i < extent")


def _fact(scope: NameScope, function: Function, node: ast.expr) -> Fact:
    match node:
        case ast.Compare(left=lower, ops=[ast.LtE(), ast.Lt()], comparators=[value, upper]):
            whole = Call(function, tuple(Ref(param.var) for param in function.params))
            if read(scope, value) != whole:
                raise scope.error(value, f"'{ast.unparse(value)}' is not '{function.name}' of its parameters")
            return Range(function, read(scope, lower), read(scope, upper))
        case ast.Call():
            return _named_fact(scope, function, node)
        case _:
            raise scope.error(node, f"'{ast.unparse(node)}' is no fact")


def _named_fact(scope: NameScope, function: Function, node: ast.Call) -> Fact:
    kind = Fact.kinds.get(called(node) or "")
    if kind is None or kind is Range:
        raise scope.error(node, f"'{ast.unparse(node)}' is no fact")
    required = [each for each in kind.declared()[1:] if each.default is MISSING]
    optional = {each.name: each for each in kind.declared()[1:] if each.default is not MISSING}
    args = scope.arguments(node, len(required), len(required))
    values = [_field(scope, each, arg) for each, arg in zip(required, args, strict=True)]
    options = {
        name: _field(scope, optional[name], arg) for name, arg in scope.options(node, *optional).items()
    }
    try:
        make: Callable[..., Fact] = kind
        return make(function, *values, **options)
    except InternalError as fault:
        raise scope.error(node, f"'{ast.unparse(node)}': {fault.what}") from None


def _field(scope: NameScope, declared: Field[Any], node: ast.expr) -> Function | Expr | int:
    """Return what a field of a fact is, by its declared type."""
    match declared.type:
        case "Function" | "Function | None":
            return scope.function(node)
        case "int":
            return _int(scope, node)
        case "bool":
            return _true(scope, node)
        case _:
            return read(scope, node)


def _choice(scope: NameScope, kind: type[Choice], node: ast.expr) -> Choice:
    """Return the member of an enum that `node` names by its value."""
    for member in kind:
        if isinstance(node, ast.Name) and node.id == member.value:
            return member
    wanted = ", ".join(str(member.value) for member in kind)
    raise scope.error(node, f"'{ast.unparse(node)}' is none of {wanted}")


def _int(scope: NameScope, node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case _:
            raise scope.error(node, f"'{ast.unparse(node)}' is no whole number")


def _true(scope: NameScope, node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=bool() as value):
            return value
        case _:
            raise scope.error(node, f"'{ast.unparse(node)}' is neither True nor False")
