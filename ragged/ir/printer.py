"""Printing programs, and the notes of errors in them.

What prints parses back to the same program (`ragged.ir.parser`). The text is Python's syntax::

    program("row_sums")

    rows: input()
    length: input(r < rows) = facts(0 <= length(r) < 9)
    x: payload(float32[rows, 8])
    s: output(float32[rows])

    with kernel:
        for r in parallel(rows):
            s[r]: s.init = 0.0
            for k in serial(length(r)):
                s[r] += x[r, k]

The scope of a let or an allocation extends to the end of its suite; `with scope:` delimits a shorter one. A label
equal to the name of the written buffer, or to the first word of the statement, is not printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragged.errors import ModelError
from ragged.ir.expr import Buffer, Expr, Function
from ragged.ir.fact import Fact
from ragged.ir.nesting import Nesting
from ragged.ir.stage import Stage
from ragged.ir.stmt import Block, Label, Stmt
from ragged.ir.text.decl_out import buffer_text, fact_text, facts_by_function, function_text
from ragged.ir.text.expr_out import show
from ragged.ir.text.names import Names
from ragged.ir.text.stmt_out import Line, StmtPrinter, quoted
from ragged.ir.walk import flat

if TYPE_CHECKING:
    from ragged.ir.program import Program  # which prints itself with `to_text`

Culprit = Stmt | Label | Function | Buffer | Fact | Stage
"""What a note can stand under."""


def to_text(program: Program) -> str:
    """Return the text of a program, every line ended.

    Raises:
        ModelError: expressions or statements are nested too deeply to print.
    """
    return "".join(f"{line.text}\n" for line in _lines(program))


def stmt_text(stmt: Stmt) -> str:
    """Return the lines of a statement alone, without an end to the last; names are unique in it."""
    printer = StmtPrinter(Names())
    printer.suite(stmt, 0, Nesting())
    return "\n".join(line.text for line in printer.lines)


def expr_text(expr: Expr) -> str:
    """Return the text of an expression alone; names are unique in it."""
    return show(Names(), expr)


def known_text(fact: Fact) -> str:
    """Return the text of a fact alone, over the parameters of the function that it is about."""
    names, function = Names(), fact.subject
    with names.scope(*(param.var for param in function.params)):
        return fact_text(names, fact)


def annotated(program: Program, at: Culprit | None, note: str) -> str:
    """Return the text of a program with `note` under the line of `at`, or at the end if it has none."""
    lines = _lines(program)
    place = None if at is None else next((k for k, line in enumerate(lines) if _is_of(line.node, at)), None)
    texts = [line.text for line in lines]
    if place is None:
        texts.append(f"^ {note}")
    else:
        text = texts[place].lstrip()
        indent = " " * (len(texts[place]) - len(text))
        texts.insert(place + 1, f"{indent}{'^' * len(text)} {note}")
    return "".join(f"{text}\n" for text in texts)


def _is_of(node: object, at: Culprit) -> bool:
    """Return whether `at` stands on the line of `node`. Equal statements are not the same one."""
    match at:
        case Label():
            return getattr(node, "label", None) is at
        case Block():
            return any(node is part for part in (at, *flat(at)[:1]))
        case Function() | Buffer() | Stage():
            return node is at
        case _ if isinstance(at, Fact):
            return node is at.subject
        case _:
            return node is at


def _lines(program: Program) -> list[Line]:
    try:
        return _nested_lines(program)
    except RecursionError:
        what = f"'{program.name}' cannot be printed: something is nested too deeply"
        raise ModelError(what, fix="a name for a part of the expression") from None


def _nested_lines(program: Program) -> list[Line]:
    names = Names()
    declared: tuple[Function | Buffer, ...] = (*program.functions, *program.buffers)
    for symbol in declared:
        names.value(symbol)
    sections = [
        [Line(f"program({quoted(program.name)})")],
        _declarations(program, names),
        *(_stage(stage, names) for stage in program.stages),
    ]
    lines = [line for section in sections if section for line in (*section, Line(""))]
    return lines[:-1]


def _declarations(program: Program, names: Names) -> list[Line]:
    facts = facts_by_function(program.functions, program.facts)
    lines: list[Line] = []
    for function, stated in facts.items():
        text = function_text(names, function, stated)
        declared = function in program.functions  # facts of others are invalid, and print all the same
        lines.append(Line(text if declared else f"# undeclared: {text}", function))
    for buffer in program.buffers:
        lines.append(Line(f"{names.value(buffer)}: {buffer_text(names, buffer)}", buffer))
    return lines


def _stage(stage: Stage, names: Names) -> list[Line]:
    printer = StmtPrinter(names)
    printer.suite(stage.body, 1, Nesting())
    return [Line(f"with {stage.kind.value}:", stage), *printer.lines]
