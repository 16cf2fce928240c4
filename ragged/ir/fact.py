"""The base of facts: what a kind of fact says of itself, from which all else is derived."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import Field, fields
from functools import lru_cache
from typing import Any, ClassVar

from ragged.ir.expr import Expr, Function
from ragged.ir.formula import Forall


class Fact:
    """The base of facts: frozen dataclasses of functions, index expressions, integers and flags.

    The first field is the function that the fact is about; its declaration prints the fact as
    `kind(other fields, ...)`. A subclass adds a kind of fact.
    """

    __slots__ = ()
    kinds: ClassVar[dict[str, type[Fact]]] = {}
    """The kinds by what they are called in text."""
    needed: ClassVar[tuple[str, ...] | None] = None
    """The fields with the functions that a program has to call for the fact to matter to it; None for all."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Fact.kinds[cls.kind()] = cls

    @classmethod
    def kind(cls) -> str:
        """Return what facts of this kind are called in text: `prefix_sum` of PrefixSum."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def formulas(self) -> Iterator[Forall]:
        """Yield what the fact says; a formula without variables may be relied on by those after it."""
        raise NotImplementedError

    @property
    def subject(self) -> Function:
        """The function that the fact is about."""
        function = self._values()[0]
        assert isinstance(function, Function)
        return function

    @property
    def name(self) -> str:
        """What the fact is called in lists: its kind, and the function that it is about."""
        return f"{type(self).__name__} of {self.subject.name}"

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions that the fact names, apart from what its expressions call."""
        return tuple(value for value in self._values() if isinstance(value, Function))

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """The expressions that the fact has in it."""
        return tuple(value for value in self._values() if isinstance(value, Expr))

    @property
    def required(self) -> set[Function]:
        """The functions that a program has to call for the fact to matter to it."""
        if self.needed is None:
            return set(self.functions)
        return {getattr(self, name) for name in self.needed}

    @classmethod
    def declared(cls) -> tuple[Field[Any], ...]:
        """Return the fields, the subject first."""
        return fields(cls)  # type: ignore[arg-type]  # a dataclass, as every kind of fact is

    def _values(self) -> list[object]:
        return [getattr(self, each.name) for each in self.declared()]


@lru_cache(maxsize=1024)
def formulas_of(fact: Fact) -> tuple[Forall, ...]:
    """Return the formulas of a fact, the same objects each time."""
    return tuple(fact.formulas())
