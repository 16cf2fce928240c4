"""Printing a definition as text that parses to the same tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from ragged.tc import tree as tc
from ragged.tc.builtins import builtin
from ragged.tc.types import canonical

_LEVELS = {
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    "<": 3,
    "<=": 3,
    ">": 3,
    ">=": 3,
    "+": 4,
    "-": 4,
    "*": 5,
    "/": 5,
    "%": 5,
}
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_KEPT = re.compile(r"where|in|exists|bool|u?int\d*|b?float\d*|double")
_CONDITIONAL, _PREFIX, _ATOM = 0, 6, 7


def definition_text(definition: tc.Definition) -> str:
    """Return a definition as text, one statement a line."""
    parameters = ", ".join((*_structure(definition.structure), *map(_declaration, definition.parameters)))
    outputs = ", ".join(map(_declaration, definition.outputs))
    body = "".join(f"  {statement_text(each)}\n" for each in definition.statements)
    return f"def {definition.name}({parameters}) -> ({outputs}) {{\n{body}}}\n"


def erased_text(
    parameters: Sequence[tc.Declaration], outputs: Sequence[str], body: Sequence[tc.Statement]
) -> str:
    """Return parameters, names of outputs and statements as a text in which names are numbers, by first appearance.

    Texts that differ in names alone have one such text: types, keywords and functions of numbers stay.
    """
    numbers: dict[str, str] = {}

    def erased(found: re.Match[str]) -> str:
        name = found[0]
        if _KEPT.fullmatch(name) or builtin(name):
            return canonical(name)
        return numbers.setdefault(name, f"v{len(numbers)}")

    parts = [*map(_declaration, parameters), *map(statement_text, body), *outputs]
    return _NAME.sub(erased, "\n".join(parts))


def statement_text(statement: tc.Statement) -> str:
    """Return a statement as text."""
    if isinstance(statement, tc.CallStatement):
        return f"{', '.join(each.id for each in statement.targets)} = {expression_text(statement.call)}"
    indices = f"({', '.join(each.id for each in statement.indices)})" if statement.indices else ""
    clauses = f" where {', '.join(map(_clause, statement.clauses))}" if statement.clauses else ""
    return f"{statement.target.id}{indices} {statement.operator} {expression_text(statement.value)}{clauses}"


def expression_text(expression: tc.TcExpression) -> str:
    """Return an expression as text, with the parentheses that it needs."""
    return _text(expression)[0]


def _declaration(declared: tc.Declaration) -> str:
    if declared.type is None:
        return declared.name
    dims = f"({','.join(map(expression_text, declared.dims))})" if declared.dims else ""
    return f"{declared.type}{dims} {declared.name}"


def _structure(structure: tc.StructureDeclaration | None) -> tuple[str, ...]:
    if structure is None:
        return ()
    most = "" if structure.most is None else f"({structure.most})"
    return (f"{structure.kind}{most} {structure.node}",)


def _clause(clause: tc.Clause) -> str:
    match clause:
        case tc.RangeClause(index=index, lower=lower, upper=upper):
            return f"{index} in {_at(lower, _CONDITIONAL + 1)}:{_at(upper, _CONDITIONAL + 1)}"
        case tc.MembersClause(index=index, members=members):
            return f"{index} in {expression_text(members)}"
        case tc.LetClause(name=name, value=value):
            return f"{name} = {expression_text(value)}"
        case tc.ExistsClause(access=access):
            return f"exists {expression_text(access)}"
        case _:
            assert_never(clause)


def _text(expression: tc.TcExpression) -> tuple[str, int]:
    """Return an expression as text, and its level: how tightly it binds."""
    match expression:
        case tc.NumberLiteral(value=value):
            return repr(value), _ATOM
        case tc.Name(id=name):
            return name, _ATOM
        case tc.Access(name=name, arguments=arguments):
            return f"{name}({', '.join(map(expression_text, arguments))})", _ATOM
        case tc.Conversion(type=type_, operand=operand):
            return f"{type_}({expression_text(operand)})", _ATOM
        case tc.Prefix(op=op, operand=operand):
            return f"{op}{_at(operand, _PREFIX)}", _PREFIX
        case tc.Infix(op=op, lhs=lhs, rhs=rhs):
            level = _LEVELS[op]
            return f"{_at(lhs, level)} {op} {_at(rhs, level + 1)}", level
        case tc.Conditional(condition=condition, if_true=if_true, if_false=if_false):
            chosen = f"{_at(condition, _CONDITIONAL + 1)} ? {_text(if_true)[0]} : {_text(if_false)[0]}"
            return chosen, _CONDITIONAL
        case _:
            assert_never(expression)


def _at(expression: tc.TcExpression, level: int) -> str:
    text, own = _text(expression)
    return text if own >= level else f"({text})"
