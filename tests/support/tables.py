"""What a call has to give because primitives have declared it: orders of loops, and tables that a prelude fills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ragged.ir.expr import Call, Expr, Function, Source
from ragged.ir.facts import Injective, Shares
from ragged.ir.interpret import interpret
from ragged.ir.interpret.evaluate import Evaluator
from ragged.ir.interpret.memory import Frame
from ragged.ir.program import Program
from ragged.ir.walk import subexpressions
from ragged.layout.derived import derived_tables
from ragged.layout.prelude import prelude_programs

Arrays = dict[str, Any]


def is_order(program: Program, function: Function) -> bool:
    """Return whether a function is what `declare_order` declares."""
    return function.source is Source.PAYLOAD and Injective(function) in program.facts


def with_declared(
    program: Program, sizes: Mapping[str, int], arrays: Mapping[str, Any], workers: int, seed: int
) -> tuple[dict[str, int], Arrays]:
    """Return sizes and arrays with a random order for each that is declared, and random shares of balanced loops."""
    random = np.random.default_rng(seed)
    found = dict(arrays)
    declared = [f for f in program.facts if isinstance(f, Shares) and f.begin.name not in arrays]
    counts = {fact.count.name: workers for fact in declared if fact.count.name not in sizes}
    known = {f: {**counts, **sizes}.get(f.name, workers) for f in program.sizes()}

    def value(expr: Expr) -> int:
        read = {part.function for part in subexpressions(expr) if isinstance(part, Call)}
        if any(function.source is Source.PRELUDE and function.name not in found for function in read):
            found.update(filled_tables(program, {**counts, **sizes}, found))
        tables = {function: found[function.name] for function in program.arrays() if function.name in found}
        return max(int(Evaluator(known, tables).compile(expr)(Frame({}, {}, place="a table"))), 0)

    for function in program.arrays():
        if function.name not in found and is_order(program, function):
            order = random.permutation(value(function.params[0].extent))
            found[function.name] = order.astype(np.int32)
    for fact in declared:
        total = value(fact.total)
        inner = sorted(random.integers(0, total + 1, known[fact.count] - 1))
        found[fact.begin.name] = np.array([0, *inner, total], np.int32)
    return {**sizes, **counts}, found


def filled_tables(program: Program, sizes: Mapping[str, int], arrays: Mapping[str, Any]) -> Arrays:
    """Return the tables that are not among `arrays`, by name, as the prelude fills them that the facts say."""
    wanted = [f for f in program.functions if f.source is Source.PRELUDE and f.name not in arrays]
    tables: Arrays = {}
    for prelude in prelude_programs("tables", program.functions, derived_tables(program, ()), wanted):
        names = {function.name for function in prelude.functions}
        filled = interpret(
            prelude,
            {name: size for name, size in sizes.items() if name in names},
            {name: array for name, array in {**arrays, **tables}.items() if name in names},
        )
        tables |= {name.removesuffix("_table"): table for name, table in filled.items()}
    return tables
