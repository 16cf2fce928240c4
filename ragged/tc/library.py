"""Libraries: the functions that a text in the language of Tensor Comprehensions defines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from ragged.errors import UserError
from ragged.tc.analyse import AnalysedFunction, analyse
from ragged.tc.errors import TcError
from ragged.tc.function import TcFunction
from ragged.tc.kept_analyses import find_analyses, keep_analyses
from ragged.tc.kernel import TcText
from ragged.tc.parse import parse
from ragged.tc.tree import Definition

F = TypeVar("F")


class FunctionLibrary(Generic[F]):
    """The functions of a text, each an attribute by its name."""

    def __init__(self, functions: dict[str, F]) -> None:
        self._functions = functions

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the functions, in the order of the text."""
        return tuple(self._functions)

    def __getattr__(self, name: str) -> F:
        found: F | None = self.__dict__.get("_functions", {}).get(name)
        if found is None:
            raise AttributeError(
                f"no function '{name}': the text defines {', '.join(self.functions) or 'none'}"
            )
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._functions]

    def __str__(self) -> str:
        return "\n".join(map(str, self._functions.values()))


class TcLibrary(FunctionLibrary[TcFunction]):
    """The functions of a text, each an attribute by its name."""

    def __getitem__(self, name: str) -> TcFunction:
        if name not in self._functions:
            raise UserError(f"no function is called {name!r}", fix=f"one of {', '.join(self.functions)}")
        return self._functions[name]


def define(text: str, *, name: str = "tc") -> TcLibrary:
    """Return the functions of a text, with names, types and ranges checked; nothing is compiled yet.

    Args:
        text: any number of definitions; a later one may call an earlier one.
        name: the name of the text in messages, before line and column.

    Raises:
        TcError: of phase "parse", "check" or "range", with the line and the column.
        UserError: `text` is no string.

    Example::

        lib = tc.define("def tmm(float(M,K) A, float(N,K) B) -> (C) { C(m,n) +=! A(m,k) * B(n,k) }")
        C = lib.tmm(A, B)
    """
    if not isinstance(text, str):
        raise UserError(f"define: the text is of type {type(text).__name__}", fix="a string of definitions")
    source = TcText(text, name)
    return TcLibrary({each: TcFunction(own, source) for each, own in analyse_text(source).items()})


def analyse_text(source: TcText) -> dict[str, AnalysedFunction]:
    """Return the functions of a text by name, from this user's cache or analysed; raises as `define` does."""
    found = find_analyses(source.text, source.name)
    if found is None:
        found = _analysed(source.text, source.name)
        keep_analyses(source.text, source.name, found)
    return found


def _analysed(text: str, name: str) -> dict[str, AnalysedFunction]:
    library: dict[str, Definition] = {}
    functions: dict[str, AnalysedFunction] = {}
    for definition in parse(text, name):
        if definition.name in library:
            raise TcError("check", f"the function '{definition.name}' is already defined", at=definition.at)
        try:
            functions[definition.name] = analyse(definition, dict(library))
        except RecursionError:
            what = f"'{definition.name}' is nested too deeply"
            raise TcError(
                "check", what, at=definition.at, fix="a statement of its own for a part of it"
            ) from None
        library[definition.name] = definition
    return functions
