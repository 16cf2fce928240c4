"""Parsing declarations: functions with their facts, and buffers."""

from __future__ import annotations

import ast
from enum import Enum
from typing import TypeVar

from ragged.errors import InternalError
from ragged.ir.dtype import INDEX, DType
from ragged.ir.expr import Binary, Buffer, Call, Function, Param, Ref, Role, Source, Var
from ragged.ir.expr import Scope as Memory
from ragged.ir.facts import (
    Descends,
    Fact,
    Follows,
    Injective,
    Layered,
    Monotone,
    Owner,
    PrefixSum,
    Range,
    Tiling,
    Uniform,
)
from ragged.ir.text.decl_out import DEFAULT_ALIGN
from ragged.ir.text.expr_in import read, read_all
from ragged.ir.text.names import DTYPES
from ragged.ir.text.scope import Scope, called, elements

_SOURCES = {source.value: source for source in Source}
_ROLES = {role.value: role for role in Role}
Choice = TypeVar("Choice", bound=Enum)


def read_declaration(scope: Scope, node: ast.AnnAssign) -> Function | Buffer:
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


def read_buffer(scope: Scope, name: str, call: ast.Call) -> Buffer:
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
            _choice(scope, Memory, options["scope"]) if "scope" in options else Memory.GLOBAL,
            tuple(_int(scope, k) for k in elements(options["order"])) if "order" in options else (),
            _int(scope, options["align"]) if "align" in options else DEFAULT_ALIGN,
            scope.buffer(options["aliases"]) if "aliases" in options else None,
        )
    except InternalError as fault:
        raise scope.error(call, fault.what) from None


def read_facts(scope: Scope, function: Function, node: ast.expr) -> list[Fact]:
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


def _function(scope: Scope, name: str, source: Source, call: ast.Call) -> Function:
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


def _param(scope: Scope, node: ast.expr) -> Param:
    match node:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Lt()], comparators=[extent]):
            return Param(Var(name), read(scope, extent))
        case _:
            raise scope.error(node, f"'{ast.unparse(node)}' is no parameter", fix="write i < extent")


def _fact(scope: Scope, function: Function, node: ast.expr) -> Fact:
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


def _named_fact(scope: Scope, function: Function, node: ast.Call) -> Fact:
    match called(node):
        case "monotone":
            scope.arguments(node, 0, 0)
            options = scope.options(node, "strict")
            return Monotone(function, "strict" in options and _true(scope, options["strict"]))
        case "injective":
            scope.arguments(node, 0, 0)
            return Injective(function)
        case "prefix_sum":
            (length,) = scope.arguments(node, 1, 1)
            return PrefixSum(function, scope.function(length))
        case "owner":
            (offset,) = scope.arguments(node, 1, 1)
            return Owner(function, scope.function(offset))
        case "tiling":
            length, first, total = scope.arguments(node, 3, 3)
            return Tiling(function, scope.function(length), read(scope, first), read(scope, total))
        case "follows":
            begin, length = scope.arguments(node, 2, 2)
            options = scope.options(node, "via", "optional")
            via = scope.function(options["via"]) if "via" in options else None
            optional = "optional" in options and _true(scope, options["optional"])
            return Follows(function, scope.function(begin), scope.function(length), via, optional)
        case "uniform":
            return _uniform(scope, function, node)
        case "layered":
            begin, group, height, layers = scope.arguments(node, 4, 4)
            tops = scope.function(begin), scope.function(group), scope.function(height)
            return Layered(function, *tops, _int(scope, layers))
        case "descends":
            group, height, layers = scope.arguments(node, 3, 3)
            options = scope.options(node, "via", "optional")
            via = scope.function(options["via"]) if "via" in options else None
            optional = "optional" in options and _true(scope, options["optional"])
            own = scope.function(group), scope.function(height), _int(scope, layers)
            return Descends(function, *own, via, optional)
        case _:
            raise scope.error(node, f"'{ast.unparse(node)}' is no fact")


def _uniform(scope: Scope, function: Function, node: ast.Call) -> Uniform:
    begin, length, holds = scope.arguments(node, 3, 3)
    compared = read(scope, holds)
    whole = Call(function, tuple(Ref(param.var) for param in function.params))
    match compared:
        case Binary(op=op, lhs=lhs, rhs=value) if op.is_comparison and lhs == whole:
            return Uniform(function, op, value, scope.function(begin), scope.function(length))
        case _:
            raise scope.error(
                holds, f"'{ast.unparse(holds)}' does not compare '{function.name}' of its parameters"
            )


def _choice(scope: Scope, kind: type[Choice], node: ast.expr) -> Choice:
    """Return the member of an enum that `node` names by its value."""
    for member in kind:
        if isinstance(node, ast.Name) and node.id == member.value:
            return member
    wanted = ", ".join(str(member.value) for member in kind)
    raise scope.error(node, f"'{ast.unparse(node)}' is none of {wanted}")


def _int(scope: Scope, node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case _:
            raise scope.error(node, f"'{ast.unparse(node)}' is no whole number")


def _true(scope: Scope, node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=bool() as value):
            return value
        case _:
            raise scope.error(node, f"'{ast.unparse(node)}' is neither True nor False")
