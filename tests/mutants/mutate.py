"""Small changes of a Python file, one at a time: operators swapped, elements and checks dropped, conditions negated."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

NAMES = {"any": "all", "all": "any", "min": "max", "max": "min"}
MEMBERS = {
    "ADD": "SUB", "SUB": "ADD", "MUL": "ADD", "LT": "LE", "LE": "LT", "GT": "GE", "GE": "GT",
    "EQ": "NE", "NE": "EQ", "AND": "OR", "OR": "AND", "MIN": "MAX", "MAX": "MIN", "FLOORDIV": "MUL", "MOD": "FLOORDIV",
}  # fmt: skip
"""Members of BinaryOp, and of which each is replaced by."""
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.BitOr: ast.BitAnd,
}  # fmt: skip


GENERIC = ("Callable", "dict", "frozenset", "list", "set", "tuple")
"""Types that have arguments: an alias of one is no annotation, and is left as it is too."""
OPTIONS = ("kw_only", "init", "strict", "what", "because", "example", "fix")
"""Keywords with values that decide no result."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed file: its text, and the line with what stood there before and after.

    `statement` are the lines of the innermost statement that the change is in, without those of the statements in it.
    """

    text: str
    line: int
    statement: range
    before: str
    after: str


def mutants(source: str) -> Iterator[Mutant]:
    """Yield the mutants of a file, in the order of the text."""
    tree = ast.parse(source)
    left = {id(part) for node in ast.walk(tree) for kept in _left(node) for part in ast.walk(kept)}
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    around = {part: statement for statement in statements for part in ast.walk(statement)}
    for node in ast.walk(tree):
        if isinstance(node, ast.match_case) and node.guard is not None:
            yield _replaced(source, node.guard, "True", around[node])
        if id(node) not in left and hasattr(node, "lineno"):
            for changed in _changes(node):
                yield _replaced(source, node, ast.unparse(changed), around[node])


def _left(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is left as it is: annotations, decorators, texts, and options that change no result."""
    for name in ("annotation", "returns"):
        annotation = getattr(node, name, None)
        if annotation is not None:
            yield annotation
    yield from getattr(node, "decorator_list", ())
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in GENERIC:
        yield node.slice
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.keyword) and node.arg in OPTIONS):
        yield node


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Attribute(value=ast.Name(id="BinaryOp"), attr=attr) if attr in MEMBERS:
            yield ast.Attribute(node.value, MEMBERS[attr])
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            yield ast.Call(ast.Name(NAMES[name]), node.args, node.keywords)
        case ast.Compare(ops=[op]) if type(op) in OPERATORS:
            yield ast.Compare(node.left, [OPERATORS[type(op)]()], node.comparators)  # type: ignore[list-item]
        case ast.BoolOp(op=op) if type(op) in OPERATORS:
            yield ast.BoolOp(OPERATORS[type(op)](), node.values)  # type: ignore[arg-type]
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            yield ast.BinOp(node.left, OPERATORS[type(op)](), node.right)  # type: ignore[arg-type]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.IfExp(test=test):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), node.body, node.orelse)
        case ast.List(elts=elts, ctx=ast.Load()) | ast.Tuple(elts=elts, ctx=ast.Load()) if len(elts) > 1:
            for k in range(len(elts)):
                yield type(node)([*elts[:k], *elts[k + 1 :]], ast.Load())
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            yield ast.Constant(value + 1)
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()  # a check that is not made
        case _:
            pass


def _replaced(source: str, node: ast.AST, text: str, around: ast.stmt) -> Mutant:
    """Return the source with other text in the place of an expression or a statement, in the statement `around`."""
    lines = source.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset  # type: ignore[attr-defined]
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset  # type: ignore[attr-defined]
    old = source.encode()
    new = text if isinstance(node, ast.stmt) else f"({text})"
    changed = (old[:start] + new.encode() + old[end:]).decode()
    inside = [part.lineno for part in ast.walk(around) if isinstance(part, ast.stmt) and part is not around]
    statement = range(around.lineno, min(inside, default=(around.end_lineno or around.lineno) + 1))
    return Mutant(changed, node.lineno, statement, old[start:end].decode(), text)  # type: ignore[attr-defined]
