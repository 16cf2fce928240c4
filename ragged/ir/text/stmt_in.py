"""Parsing statements."""

from __future__ import annotations

import ast

from ragged.ir.dtype import DType
from ragged.ir.expr import Buffer, Const, Expr, Load, Var
from ragged.ir.ops import Combiner
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    BarrierScope,
    Check,
    For,
    If,
    Label,
    Let,
    LoopKind,
    Prefetch,
    Reduce,
    Stmt,
    Store,
    block,
)
from ragged.ir.text.decl_in import read_buffer
from ragged.ir.text.expr_in import read, read_all
from ragged.ir.text.scope import NameScope, called, elements

_KINDS = {kind.value: kind for kind in LoopKind}
_COMBINERS = {combiner.value: combiner for combiner in Combiner}
_BARRIERS = {scope.value: scope for scope in BarrierScope}


def read_suite(scope: NameScope, nodes: list[ast.stmt]) -> Stmt:
    """Return the statements of a suite; a let or an allocation takes the rest of it as its body."""
    parts: list[Stmt] = []
    for position, node in enumerate(nodes):
        match node:
            case ast.Pass():
                continue
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                parts.append(_binding(scope, node, name, value, nodes[position + 1 :]))
                break
            case _:
                parts.append(_stmt(scope, node))
    return block(*parts)


def _binding(scope: NameScope, node: ast.stmt, name: str, value: ast.expr, rest: list[ast.stmt]) -> Stmt:
    if isinstance(value, ast.Call) and called(value) == "local":
        buffer = read_buffer(scope, name, value)
        inner = scope.bind(node, name, buffer).inside(scope.nesting.in_alloc(buffer))
        return Alloc(buffer, read_suite(inner, rest), scope.at(node))
    bound = read(scope, value)
    var = Var(name, bound.dtype)
    inner = scope.bind(node, name, var).inside(scope.nesting.in_let(var, bound))
    return Let(var, bound, read_suite(inner, rest), scope.at(node))


def _stmt(scope: NameScope, node: ast.stmt) -> Stmt:
    match node:
        case ast.For(target=ast.Name(id=name), iter=ast.Call() as head, body=body, orelse=[]):
            return _loop(scope, node, name, head, body)
        case ast.If(test=test, body=body, orelse=orelse):
            otherwise = read_suite(scope, orelse) if orelse else None
            return If(read(scope, test), read_suite(scope, body), otherwise, scope.at(node))
        case ast.With(items=[ast.withitem(ast.Name(id="scope"), None)], body=body):
            return read_suite(scope, body)
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            return _assignment(scope, target, None, value)
        case ast.AnnAssign(target=ast.Subscript() as target, annotation=label, value=ast.expr() as value):
            return _assignment(scope, target, label, value)
        case ast.AugAssign(target=ast.Subscript() as target, op=ast.Add(), value=value):
            return _reduce(scope, target, None, Combiner.SUM, value, {})
        case ast.Expr(value=ast.Call() as call):
            return _command(scope, call)
        case _:
            text = ast.unparse(node).splitlines()[0]
            raise scope.error(node, f"'{text}' is no statement of a program")


def _loop(scope: NameScope, node: ast.For, name: str, head: ast.Call, body: list[ast.stmt]) -> For:
    kind = called(head)
    if kind not in _KINDS:
        raise scope.error(head, f"'{ast.unparse(head.func)}' is no kind of loop", fix=", ".join(_KINDS))
    extent, *dims = scope.arguments(head, 1, 2)
    scope.options(head)
    var = Var(name)
    inner = scope.bind(node, name, var).inside(scope.nesting.in_loop(var))
    dim = scope.dim(dims[0]) if dims else None
    return For(var, read(scope, extent), read_suite(inner, body), _KINDS[kind], dim, scope.at(node))


def _assignment(scope: NameScope, target: ast.Subscript, label: ast.expr | None, value: ast.expr) -> Stmt:
    if isinstance(value, ast.Call) and called(value) == "reduce":
        combiner, operand = scope.arguments(value, 2, 2)
        if not isinstance(combiner, ast.Name) or combiner.id not in _COMBINERS:
            known = ", ".join(_COMBINERS)
            raise scope.error(combiner, f"'{ast.unparse(combiner)}' is no combiner", fix=f"one of {known}")
        options = scope.options(value, "over", "init")
        return _reduce(scope, target, label, _COMBINERS[combiner.id], operand, options)
    buffer, indices = _place(scope, target)
    return Store(_label(scope, label, target.value), buffer, indices, read(scope, value), scope.at(target))


def _reduce(
    scope: NameScope,
    target: ast.Subscript,
    label: ast.expr | None,
    combiner: Combiner,
    value: ast.expr,
    options: dict[str, ast.expr],
) -> Reduce:
    buffer, indices = _place(scope, target)
    axes = scope.nesting.default_axes(buffer, indices)
    if "over" in options:
        axes = tuple(scope.var(axis) for axis in elements(options["over"]))
    init = (
        read(scope, options["init"])
        if "init" in options
        else _identity(scope, target, combiner, buffer.dtype)
    )
    operand = read(scope, value)
    named = _label(scope, label, target.value)
    return Reduce(named, buffer, indices, combiner, operand, axes, init, scope.at(target))


def _identity(scope: NameScope, node: ast.expr, combiner: Combiner, dtype: DType) -> Const:
    identity = combiner.identity
    if dtype.is_float:
        return Const(identity, dtype, scope.at(node))
    if combiner not in (Combiner.SUM, Combiner.PROD):
        raise scope.error(node, f"no {dtype.value} is the {combiner.value} of nothing", fix="say init=")
    return Const(int(identity), dtype, scope.at(node))


def _place(scope: NameScope, target: ast.Subscript) -> tuple[Buffer, tuple[Expr, ...]]:
    buffer, indices = scope.buffer(target.value), read_all(scope, elements(target.slice))
    if len(indices) != len(buffer.shape):
        raise scope.error(target, f"'{buffer.name}' has {len(buffer.shape)} dimensions, not {len(indices)}")
    return buffer, indices


def _label(scope: NameScope, node: ast.expr | None, default: ast.expr) -> Label:
    """Return a new label, named by the dotted name `node`, or else by `default`."""
    name = ast.unparse(default if node is None else node)
    if not all(part.isidentifier() for part in name.split(".")):
        raise scope.error(node or default, f"'{name}' is no label")
    return Label(name)


def _command(scope: NameScope, call: ast.Call) -> Stmt:
    at = scope.at(call)
    name = called(call)
    label = _label(scope, scope.options(call, "label").get("label"), call.func)
    match name:
        case "check":
            condition, message, *witness = scope.arguments(call, 2, len(call.args) + 2)
            if not isinstance(message, ast.Constant) or not isinstance(message.value, str):
                raise scope.error(message, f"'{ast.unparse(message)}' is no message")
            return Check(label, read(scope, condition), message.value, read_all(scope, witness), at)
        case "barrier":
            (scope_name,) = scope.arguments(call, 1, 1)
            if not isinstance(scope_name, ast.Name) or scope_name.id not in _BARRIERS:
                raise scope.error(
                    scope_name,
                    f"'{ast.unparse(scope_name)}' is no scope of a barrier",
                    fix=", ".join(_BARRIERS),
                )
            return Barrier(label, _BARRIERS[scope_name.id], at)
        case "prefetch":
            (value,) = scope.arguments(call, 1, 1)
            element = read(scope, value)
            if not isinstance(element, Load):
                raise scope.error(value, f"'{ast.unparse(value)}' is no element of a buffer")
            return Prefetch(label, element, at)
        case _:
            raise scope.error(call, f"'{ast.unparse(call.func)}' is no statement of a program")
