"""Parsing the text of programs: the inverse of `ragged.ir.printer`, where the syntax is shown."""

from __future__ import annotations

import ast

from ragged.errors import Location, ModelError
from ragged.ir.expr import Buffer, Function
from ragged.ir.fact import Fact
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.text.decl_in import read_declaration, read_facts
from ragged.ir.text.scope import NameScope, called
from ragged.ir.text.stmt_in import read_suite

_STAGES = {kind.value: kind for kind in StageKind}


def parse(text: str, *, file: str = "<program>") -> Program:
    """Return the program that `text` is of; its statements and expressions are located in `file`.

    A statement without a label is labelled like the buffer that it writes, or like its own first word. The
    program is not verified.

    Raises:
        ModelError: If the text is not Python's syntax or not a program; it names the line.
    """
    try:
        return _program(NameScope(file), _syntax(text, file))
    except (RecursionError, MemoryError):
        raise ModelError("no program: something is nested too deeply", at=Location(file, 1)) from None


def _syntax(text: str, file: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except SyntaxError as error:
        raise ModelError(f"no program: {error.msg}", at=Location(file, error.lineno or 1)) from None
    except ValueError as error:  # a NUL, or a lone surrogate
        raise ModelError(f"no program: {error}", at=Location(file, 1)) from None


def _program(scope: NameScope, nodes: list[ast.stmt]) -> Program:
    name = _name(scope, nodes)
    declarations = [node for node in nodes[1:] if isinstance(node, ast.AnnAssign)]
    functions, buffers, facts, scope = _declarations(scope, declarations)
    stages = [_stage(scope, node) for node in nodes[1:] if not isinstance(node, ast.AnnAssign)]
    return Program(name, tuple(functions), tuple(buffers), tuple(facts), tuple(stages))


def _name(scope: NameScope, nodes: list[ast.stmt]) -> str:
    match nodes[:1]:
        case [ast.Expr(value=ast.Call(args=[ast.Constant(value=str() as name)]) as head)]:
            if called(head) == "program":
                return name
        case _:
            pass
    at = Location(scope.file, nodes[0].lineno if nodes else 1)
    raise ModelError("no program: it does not begin with its name", at=at, fix='program("name")')


def _declarations(
    scope: NameScope, nodes: list[ast.AnnAssign]
) -> tuple[list[Function], list[Buffer], list[Fact], NameScope]:
    """Return what is declared, and the scope that has it: facts may be about what is declared after them."""
    functions: list[Function] = []
    buffers: list[Buffer] = []
    stated: list[tuple[Function, ast.expr]] = []
    for node in nodes:
        symbol = read_declaration(scope, node)
        scope = scope.bind(node, symbol.name, symbol)
        match symbol:
            case Function():
                functions.append(symbol)
                if node.value is not None:
                    stated.append((symbol, node.value))
            case Buffer():
                buffers.append(symbol)
                if node.value is not None:
                    raise scope.error(node, f"'{symbol.name}' is a buffer, and facts are about functions")
    facts = [fact for function, node in stated for fact in read_facts(scope, function, node)]
    return functions, buffers, facts, scope


def _stage(scope: NameScope, node: ast.stmt) -> Stage:
    match node:
        case ast.With(items=[ast.withitem(ast.Name(id=kind), None)], body=body) if kind in _STAGES:
            return Stage(_STAGES[kind], read_suite(scope, body))
        case _:
            text = ast.unparse(node).splitlines()[0]
            fix = ", ".join(f"with {kind}:" for kind in _STAGES)
            raise scope.error(node, f"'{text}' is neither a declaration nor a stage", fix=fix)
