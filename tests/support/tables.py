"""What a call has to give because primitives have declared it: orders of loops, and tables that a prelude fills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ragged.ir.expr import Function, Source
from ragged.ir.facts import Injective
from ragged.ir.interpret import interpret
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.layout.derived import derived_tables
from ragged.layout.prelude import prelude_programs

Arrays = dict[str, Any]


def is_order(program: Program, function: Function) -> bool:
    """Return whether a function is what `declare_order` declares."""
    return function.source is Source.PAYLOAD and Injective(function) in program.facts


def random_orders(program: Program, sizes: Mapping[str, int], workers: int, seed: int) -> Arrays:
    """Return a random order for each that is declared, by name."""
    called = {function.name: workers for function in program.sizes() if function.source is Source.CALL}
    orders: Arrays = {}
    for function in program.arrays():
        if is_order(program, function):
            count = eval(expr_text(function.params[0].extent), called | dict(sizes))
            orders[function.name] = np.random.default_rng(seed).permutation(max(count, 0)).astype(np.int32)
    return orders


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
