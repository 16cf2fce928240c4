"""From text to its syntax tree. The grammar is the file `grammar.lark`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from io import BytesIO
from typing import Any

import lark
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ragged.compiled.kernel_cache import LIMIT, cache_folder
from ragged.errors import Location
from ragged.runtime.disk_cache import DiskCache
from ragged.tc import tree as tc
from ragged.tc.errors import TcError

_READABLE = {
    "NAME": "a name", "TYPE": "a type", "INTEGER": "a number", "FLOAT": "a number", "OPERATOR": "a reduction operator",
    "EQUALS": "'='", "LPAR": "'('", "RPAR": "')'", "LBRACE": "'{'", "RBRACE": "'}'", "COMMA": "','", "COLON": "':'",
    "QMARK": "'?'", "COMPARISON": "a comparison", "MINUS": "'-'", "NOT": "'!'", "DEF": "'def'", "__ANON_0": "'->'",
    "STRUCTURE": "a structure", "WHERE": "'where'", "IN": "'in'", "EXISTS": "'exists'", "MIN": "'min'", "MAX": "'max'",
    "$END": "the end",
}  # fmt: skip
_OPERATORS = frozenset(("PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "AND", "OR", "COMPARISON", "QMARK"))
_VALUES = frozenset(("NAME", "TYPE", "INTEGER", "FLOAT", "MINUS", "NOT", "LPAR", "MIN", "MAX"))


MOST_NESTED = 100
"""The most expressions that may stand one within another; a sum of n terms is n of them."""
MOST_CHARACTERS = 100_000
_MOST_DIGITS = 19


def parse(text: str, name: str = "tc") -> tuple[tc.Definition, ...]:
    """Return the definitions of a text; `name` is what messages call the text.

    Raises:
        TcError: the text is not of the grammar, too long, or nested too deeply.
    """
    if len(text) > MOST_CHARACTERS:
        raise TcError(
            "parse",
            f"the text has {len(text):,} characters, and {MOST_CHARACTERS:,} at most are read",
            at=Location(name, 1, 1),
            fix="several texts, each with its own define()",
        )
    try:
        parsed = _parser().parse(text)
    except UnexpectedInput as error:
        raise _refusal(error, text, name) from None
    return tuple(_NodeBuilder(name).definition(each) for each in parsed.children)


@cache
def _parser() -> Lark:
    """Return the parser, made once in a process: from this user's cache, if there is one, where it is kept."""
    grammar = files("ragged.tc").joinpath("grammar.lark").read_text(encoding="utf-8")
    folder = cache_folder()
    kept = None if folder is None else DiskCache(folder, LIMIT)
    key = sha256(f"{grammar}{lark.__version__}{sys.version}".encode()).hexdigest()
    data = None if kept is None else kept.get(key)
    if data is not None:
        return Lark.load(BytesIO(data))
    made = Lark(grammar, parser="lalr", start="text", propagate_positions=True, maybe_placeholders=True)
    if kept is not None:
        tables = BytesIO()
        made.save(tables)
        kept.put(key, tables.getvalue())
    return made


def _refusal(error: UnexpectedInput, text: str, name: str) -> TcError:
    at = Location(name, error.line, error.column)
    match error:
        case UnexpectedCharacters():
            character = text.split("\n")[error.line - 1][error.column - 1]
            return TcError("parse", f"{character!r} is no part of the language", at=at)
        case UnexpectedToken(token=Token(type="$END")):
            lines = text.split("\n")
            found, at = "the text ends", Location(name, len(lines), len(lines[-1]) + 1)
        case UnexpectedToken(token=token):
            found = f"'{token}' stands"
        case _:
            raise error
    return TcError("parse", f"{found} where {_needed(error.accepts or error.expected)} is needed", at=at)


def _needed(expected: Iterable[str]) -> str:
    """Return what may stand in a place: an expression and an operator are named as such."""
    names = set(expected)
    found = []
    for kind, text in ((_VALUES, "an expression"), (_OPERATORS, "an operator")):
        if len(names & kind) >= 5:
            names -= kind
            found.append(text)
    found += sorted({_READABLE.get(each, each) for each in names})
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} or {found[-1]}"


class _NodeBuilder:
    """Builds nodes of `ragged.tc.tree` from lark's."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.depth = 0

    def at(self, node: Tree[Token] | Token) -> Location:
        token: Any = node if isinstance(node, Token) else node.meta
        return Location(self.file, token.line, token.column)

    def definition(self, node: Any) -> tc.Definition:
        name, parameters, outputs, *statements = node.children
        given = _given(parameters)
        structures = [self.structure(each) for each in given if each.data == "structure"]
        if len(structures) > 1:
            raise TcError("parse", "a function runs over one structure", at=structures[1].at)
        return tc.Definition(
            self.name(name).id,
            tuple(self.declaration(each) for each in given if each.data != "structure"),
            tuple(map(self.declaration, _given(outputs))),
            tuple(
                self.call(each) if each.data == "call" else self.comprehension(each) for each in statements
            ),
            self.at(name),
            next(iter(structures), None),
        )

    def structure(self, node: Any) -> tc.StructureDeclaration:
        kind, most, name = node.children
        number = None if most is None else int(most)
        return tc.StructureDeclaration(str(kind), number, self.name(name).id, self.at(kind))

    def declaration(self, node: Any) -> tc.Declaration:
        if node.data == "name":
            return tc.Declaration(self.name(node).id, None, (), self.at(node))
        type_, dims, name = node.children
        extents = () if dims is None else tuple(map(self.expression, _given(dims)))
        return tc.Declaration(self.name(name).id, str(type_), extents, self.at(name))

    def comprehension(self, node: Any) -> tc.Comprehension:
        target, indices, operator, value, *clauses = node.children
        return tc.Comprehension(
            self.name(target),
            () if indices is None else tuple(map(self.name, _given(indices))),
            str(operator),
            self.expression(value),
            tuple(map(self.clause, clauses)),
            self.at(target),
        )

    def call(self, node: Any) -> tc.CallStatement:
        *targets, _, access = node.children
        return tc.CallStatement(tuple(map(self.name, targets)), self.access(access), self.at(node))

    def clause(self, node: Any) -> tc.Clause:
        match node.data, node.children:
            case "range", (index, lower, upper):
                return tc.RangeClause(
                    self.name(index).id, self.expression(lower), self.expression(upper), self.at(index)
                )
            case "members", (index, members):
                return tc.MembersClause(self.name(index).id, self.access(members), self.at(index))
            case "let", (name, _, value):
                return tc.LetClause(self.name(name).id, self.expression(value))
            case _, (access,):
                return tc.ExistsClause(self.access(access), self.at(node))
            case _:
                raise AssertionError(node.data)

    def expression(self, node: Any) -> tc.TcExpression:
        self.depth += 1
        if self.depth > MOST_NESTED:
            what = f"more than {MOST_NESTED} expressions stand one within another"
            raise TcError("parse", what, at=self.at(node), fix="a statement of its own for a part of it")
        found = self._expression(node)
        self.depth -= 1
        return found

    def _expression(self, node: Any) -> tc.TcExpression:
        at = self.at(node)
        match str(node.data), node.children:
            case "number", (Token(type="INTEGER") as token,):
                if len(token) > _MOST_DIGITS or int(token) >= 2**63:
                    raise TcError("parse", f"a number of {len(token)} digits has more than 63 bits", at=at)
                return tc.NumberLiteral(int(token), at)
            case "number", (token,):
                return tc.NumberLiteral(float(token), at)
            case "name", _:
                return self.name(node)
            case "access", _:
                return self.access(node)
            case "prefix", (op, operand):
                return tc.Prefix(str(op), self.expression(operand), at)
            case "conditional", (condition, if_true, if_false):
                chosen = self.expression(if_true), self.expression(if_false)
                return tc.Conditional(self.expression(condition), *chosen, at)
            case "cast", (type_, operand):
                return tc.Conversion(str(type_), self.expression(operand), at)
            case _, (lhs, op, rhs):
                return tc.Infix(str(op), self.expression(lhs), self.expression(rhs), self.at(op))
            case _:
                raise AssertionError(node.data)

    def access(self, node: Any) -> tc.Access:
        name, *arguments = node.children
        return tc.Access(str(name), tuple(map(self.expression, _given_in(arguments))), self.at(name))

    def name(self, node: Any) -> tc.Name:
        return tc.Name(str(node.children[0]), self.at(node))


def _given(node: Any) -> list[Any]:
    return _given_in(node.children)


def _given_in(children: Iterable[Any]) -> list[Any]:
    """Return the children of a rule that stand in the text: lark has None for what is left out."""
    return [child for child in children if child is not None]
