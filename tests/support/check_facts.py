"""Whether data is as a fact says: its formulas, evaluated element by element."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ragged.ir.expr import Call, Expr, Function, Var
from ragged.ir.fact import Fact, formulas_of
from ragged.ir.formula import Forall
from ragged.ir.interpret.evaluate import Evaluate, Evaluator
from ragged.ir.interpret.faults import Fault
from ragged.ir.interpret.memory import Frame
from ragged.ir.walk import subexpressions


def violation(fact: Fact, sizes: Mapping[str, int], arrays: Mapping[str, np.ndarray[Any, Any]]) -> str | None:
    """Return None if `fact` holds for the data, else the first counterexample.

    `sizes` and `arrays` give the functions of the fact by name, as `interpret` takes them. A fact does not hold if its
    formulas call a function outside its domain. Raises `DataError` for a missing function.

    Example: `left(3) = 2 is not in [4, 9)`.
    """
    data = _Data(sizes, arrays)
    try:
        return next((text for formula in formulas_of(fact) for text in _violations(formula, data, {})), None)
    except Fault as fault:
        return fault.what


def _violations(formula: Forall, data: _Data, scope: dict[Var, int]) -> Iterator[str]:
    """Yield the text of every claim that fails where the first variables have the values in `scope`."""
    if len(scope) < len(formula.variables):
        each = formula.variables[len(scope)]
        low = max(data.value(low, scope) for low, _ in each.ranges)
        high = min(data.value(high, scope) for _, high in each.ranges)
        for value in range(low, high):
            yield from _violations(formula, data, {**scope, each.var: value})
    elif formula.given is None or data.value(formula.given, scope):
        for claim in formula.claims:
            if not data.value(claim.condition, scope):
                yield claim.message.format(*(data.value(part, scope) for part in claim.witness))


@dataclass(slots=True)
class _Data:
    """The values of functions."""

    sizes: Mapping[str, int]
    arrays: Mapping[str, np.ndarray[Any, Any]]
    evaluator: Evaluator = field(default_factory=Evaluator)
    compiled: dict[Expr, Evaluate] = field(default_factory=dict)

    def value(self, expr: Expr, scope: Mapping[Var, int] | None = None) -> int:
        """Evaluate an index expression over the variables in `scope`."""
        if expr not in self.compiled:
            for function in _functions(expr):
                self._add(function)
            self.compiled[expr] = self.evaluator.compile(expr)
        return int(self.compiled[expr](Frame(dict(scope or {}), {}, place="a fact")))

    def _add(self, function: Function) -> None:
        if function.is_size and function.name in self.sizes:
            self.evaluator.sizes[function] = int(self.sizes[function.name])
        if function.is_array and function.name in self.arrays:
            self.evaluator.tables[function] = self.arrays[function.name]


def _functions(expr: Expr) -> Iterator[Function]:
    """Yield every function that evaluating `expr` can call."""
    for inner in subexpressions(expr):
        if isinstance(inner, Call):
            yield inner.function
            for param in inner.function.params:
                yield from _functions(param.extent)
            if inner.function.body is not None:
                yield from _functions(inner.function.body)
