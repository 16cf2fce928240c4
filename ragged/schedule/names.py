"""Indices as text at a loop's place, under the names that the program's own text has there."""

from __future__ import annotations

import ast

from ragged.errors import ModelError, ScheduleError
from ragged.ir.expr import Expr, Var
from ragged.ir.program import Program
from ragged.ir.stmt import Alloc, For, Let
from ragged.ir.text.expr_in import read
from ragged.ir.text.expr_out import show
from ragged.ir.text.names import Names
from ragged.ir.text.scope import NameScope, Symbol
from ragged.transform.locate import loop_site


def read_index(program: Program, loop: Var, text: str) -> Expr:
    """Return the expression that `text` says over what is known where the loop stands, and the loop's own variable.

    Raises:
        ScheduleError: there is no such loop, `text` is no expression, or it names what is not known there.
    """
    names, symbols = _names(program, loop)
    scope = NameScope("<index>", {names.value(symbol): symbol for symbol in symbols})
    what = f"index: {text!r} is no index where loop '{loop.name}' stands"
    try:
        return read(scope, ast.parse(text, mode="eval").body)
    except SyntaxError as error:
        raise ScheduleError(what, because=error.msg) from None
    except ModelError as error:
        raise ScheduleError(what, because=error.what, fix=error.fix) from None


def index_text(program: Program, loop: Var, expr: Expr) -> str:
    """Return the text that `read_index` reads `expr` from."""
    return show(_names(program, loop)[0], expr)


def _names(program: Program, loop: Var) -> tuple[Names, list[Symbol]]:
    """Return what is known where the loop stands, and how it is called."""
    symbols: list[Symbol] = [*program.functions, *program.buffers]
    for outer in loop_site(program, loop, "index").around:
        match outer:
            case For(var=var) | Let(var=var):
                symbols.append(var)
            case Alloc(buffer=buffer):
                symbols.append(buffer)
            case _:
                pass
    symbols.append(loop)  # for what is of one iteration
    names = Names()
    for symbol in symbols:
        names.value(symbol)
    return names, symbols
