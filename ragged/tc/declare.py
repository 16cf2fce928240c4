"""Checks of a function's names, and of the types and the extents of its parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ragged.errors import Location
from ragged.ir import expr as ir
from ragged.tc import tree as tc
from ragged.tc.builtins import builtin
from ragged.tc.checked import AXES, CheckedFunction, IndexRange, LengthParameter, TensorVersion
from ragged.tc.errors import refuse
from ragged.tc.scope import TcScope
from ragged.tc.text import expression_text
from ragged.tc.types import INT, canonical, is_int


def refuse_recursion(definition: tc.Definition) -> None:
    """Refuse a recursive definition, and nodes in one that is not."""
    if definition.structure is not None:
        raise refuse(
            f"'{definition.name}' is recursive: it runs over a {definition.structure.kind}",
            definition.structure.at,
            fix="cortex.tc.define(text) makes a recursive model of it",
        )
    for statement in definition.statements:
        for clause in statement.clauses if isinstance(statement, tc.Comprehension) else ():
            if isinstance(clause, tc.MembersClause):
                raise refuse(
                    f"'{clause.index}' is an index over nodes, and '{definition.name}' runs over no structure",
                    clause.at,
                    fix="a range, as in where i in 0:N; or a parameter such as 'tree n'",
                )


def check_names(definition: tc.Definition) -> None:
    """Refuse names that are defined twice, or are functions of numbers."""
    for group, what in ((definition.parameters, "a parameter"), (definition.outputs, "an output")):
        seen: set[str] = set()
        for declared in group:
            check_free(declared.name, declared.at)
            if declared.name in seen:
                raise refuse(f"'{declared.name}' is already defined as {what}", declared.at)
            seen.add(declared.name)


def check_free(name: str, at: Location) -> None:
    """Refuse the name of a function of numbers."""
    if builtin(name) is not None:
        raise refuse(f"'{name}' is the name of a function", at, fix="another name")


def declare_sizes(function: CheckedFunction, scope: TcScope, parameters: Sequence[tc.Declaration]) -> None:
    """Note the sizes that stand alone as extents of parameters: others may use them in expressions before."""
    names = {each.name for each in parameters}
    for dim in (dim for each in parameters for dim in each.dims):
        if isinstance(dim, tc.Name) and dim.id not in names:
            _size(function, scope, dim.id)


def _size(function: CheckedFunction, scope: TcScope, name: str) -> ir.Expr:
    size = ir.Ref(function.sizes.setdefault(name, ir.Var(name)))
    scope.values.setdefault(name, (size, INT))
    return size


def declare(
    function: CheckedFunction, scope: TcScope, declared: tc.Declaration, lengths: Collection[str]
) -> None:
    """Note a parameter: an integer scalar is a value, integers in `lengths` are lengths, all else is a tensor."""
    assert declared.type is not None, "parameters have types"
    type_ = canonical(declared.type)
    if is_int(type_) and not declared.dims:
        var = function.scalars[declared.name] = ir.Var(declared.name)
        scope.values[declared.name] = ir.Ref(var), type_
        return
    if len(declared.dims) > len(AXES):
        raise refuse(f"'{declared.name}' has more than {len(AXES)} dimensions", declared.at)
    extents: list[ir.Expr] = []
    along: dict[str, ir.Var] = {}
    for axis, dim in zip(AXES, declared.dims, strict=False):
        extents.append(extent_of_dim(function, scope, dim, along))
        along[expression_text(dim)] = axis
    domain = tuple(IndexRange(ir.Const(0), extent) for extent in extents)
    version = function.add(
        TensorVersion(declared.name, type_, len(domain), declared.at, given=True, domain=domain)
    )
    if is_int(type_) and declared.name in lengths:
        params = tuple(ir.Param(ir.Var(axis.name), ir.Const(0)) for axis in AXES[: len(extents)])
        own = ir.Function(declared.name, params, ir.Source.INPUT)
        function.lengths[declared.name] = LengthParameter(own, version)
        return
    function.parameters[declared.name] = scope.tensors[declared.name] = version


def extent_of_dim(
    function: CheckedFunction, scope: TcScope, dim: tc.TcExpression, along: Mapping[str, ir.Var]
) -> ir.Expr:
    """Return the extent of a dimension; `along` are the indices of those before it by their texts."""
    match dim:
        case tc.NumberLiteral(value=int(value)):
            return ir.Const(value)
        case tc.Name(id=name):
            if name in function.scalars:
                return ir.Ref(function.scalars[name])
            return _size(function, scope, name)
        case _:
            inner = TcScope(scope.values, {}, in_bound=True, lengths=function.lengths, dims=dict(along))
            return inner.integer(dim, "the extent")
