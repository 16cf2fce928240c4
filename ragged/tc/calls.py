"""Calls of other functions: their parameters bound to the arguments."""

from __future__ import annotations

from ragged.ir import expr as ir
from ragged.tc import tree as tc
from ragged.tc.checked import CheckedFunction, LengthParameter, SizeCheck, TensorVersion
from ragged.tc.errors import refuse
from ragged.tc.reads import lengths_of, named_in
from ragged.tc.scope import TcScope
from ragged.tc.text import expression_text
from ragged.tc.types import BOOL, INT, canonical, narrows


def bind_arguments(
    function: CheckedFunction, caller: TcScope, callee: tc.Definition, call: tc.Access
) -> TcScope:
    """Return the scope of a called function: its tensors are the caller's versions, its sizes their extents.

    What the extents of arguments have to equal is noted in `function`, into which the call is inlined.
    """
    scope = TcScope({}, {})
    lengths = lengths_of(callee)
    extents: list[tuple[TensorVersion, int, tc.TcExpression, str]] = []
    for declared, argument in zip(callee.parameters, call.arguments, strict=True):
        what = f"'{declared.name}' of '{call.name}'"
        assert declared.type is not None, "parameters have types"
        type_ = canonical(declared.type)
        if not declared.dims:
            value, given = TcScope(caller.values, caller.tensors).typed(argument)
            _require_type(argument, given, type_, what)
            scope.values[declared.name] = value, type_
            continue
        if declared.name in lengths:
            scope.lengths[declared.name] = _lengths(caller, declared, argument, what)
            continue
        version = _tensor(caller, declared, argument, what)
        _require_type(argument, version.type, type_, what)
        scope.tensors[declared.name] = version
        for position, dim in enumerate(declared.dims):
            if any(each.name in lengths for each in named_in(dim) if isinstance(each, tc.Access)):
                continue  # the extent is the argument's own
            extents.append((version, position, dim, what))
    names_first = sorted(extents, key=lambda extent: not isinstance(extent[2], tc.Name))
    for each in names_first:
        _bind_extent(function, scope, *each)
    return scope


def _tensor(caller: TcScope, declared: tc.Declaration, argument: tc.TcExpression, what: str) -> TensorVersion:
    version = caller.tensors.get(argument.id) if isinstance(argument, tc.Name) else None
    if version is None:
        raise refuse(
            f"{what} is a tensor, and is given '{expression_text(argument)}'",
            argument.at,
            fix="the name of a tensor; a statement before the call may compute one",
        )
    if version.rank != len(declared.dims):
        raise refuse(
            f"{what} has {len(declared.dims)} dimensions, and '{version.name}' {version.rank}", argument.at
        )
    return version


def _lengths(
    caller: TcScope, declared: tc.Declaration, argument: tc.TcExpression, what: str
) -> LengthParameter:
    own = caller.lengths.get(argument.id) if isinstance(argument, tc.Name) else None
    if own is None or own.version.rank != len(declared.dims):
        raise refuse(
            f"{what} has lengths, and is given '{expression_text(argument)}'",
            argument.at,
            fix=f"a parameter of integers with {len(declared.dims)} dimensions that an extent is read from",
        )
    return own


def _require_type(argument: tc.TcExpression, given: str, type_: str, what: str) -> None:
    if narrows(given, type_) and not fits(argument, type_):
        raise refuse(f"{what} is of type {type_}, and '{expression_text(argument)}' of {given}", argument.at)


def _bind_extent(
    function: CheckedFunction,
    scope: TcScope,
    version: TensorVersion,
    position: int,
    dim: tc.TcExpression,
    what: str,
) -> None:
    var = ir.Var(f"{version.name}.{position}")
    function.aliases[var] = version, position
    if isinstance(dim, tc.Name) and dim.id not in scope.values:
        scope.values[dim.id] = ir.Ref(var), INT
        return
    wanted = TcScope(scope.values, {}, in_bound=True).integer(dim, "an extent")
    text = f"the extent of dimension {position} of {what}"
    function.size_checks.append(SizeCheck(ir.Ref(var), wanted, text, dim.at))


def fits(value: tc.TcExpression, type_: str) -> bool:
    """Return whether a value is an integer literal, which every type of numbers takes."""
    return isinstance(value, tc.NumberLiteral) and isinstance(value.value, int) and type_ != BOOL
