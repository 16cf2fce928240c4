"""Whether data is as the facts say: each kind's check, element by element.

This is what a fact means. The generated native checks (`ragged.passes.check_facts`) and the prover's axioms
(`ragged.prove.axioms`) are compared with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

import numpy as np

from ragged.ir.expr import Binary, Call, Expr, Function, Ref, Var
from ragged.ir.facts import (
    Descends,
    Fact,
    Follows,
    Injective,
    Layered,
    Monotone,
    Owner,
    PrefixSum,
    Range,
    Tiling,
    Uniform,
)
from ragged.ir.interpret.evaluate import Evaluate, Evaluator
from ragged.ir.interpret.faults import Fault
from ragged.ir.interpret.memory import Frame
from ragged.ir.walk import subexpressions


def violation(fact: Fact, sizes: Mapping[str, int], arrays: Mapping[str, np.ndarray[Any, Any]]) -> str | None:
    """Return None if `fact` holds for the data, else the first counterexample.

    `sizes` and `arrays` give the functions that the fact speaks of, by name, as `interpret` takes them. A
    fact whose bounds call a function outside its domain does not hold. Raises `DataError` for what is
    missing.

    Example: `left(3) = 2 is not in [4, 9)`.
    """
    data = _Data(sizes, arrays)
    try:
        return next(_violations(fact, data), None)
    except Fault as fault:
        return fault.what


def _violations(fact: Fact, data: _Data) -> Iterator[str]:
    match fact:
        case Range():
            return _range(fact, data)
        case Monotone():
            return _monotone(fact, data)
        case Injective():
            return _injective(fact, data)
        case PrefixSum():
            return _prefix_sum(fact, data)
        case Owner():
            return _owner(fact, data)
        case Tiling():
            return _tiling(fact, data)
        case Follows():
            return _follows(fact, data)
        case Uniform():
            return _uniform(fact, data)
        case Layered():
            return _layered(fact, data)
        case Descends():
            return _descends(fact, data)
        case _:
            assert_never(fact)


def _range(fact: Range, data: _Data) -> Iterator[str]:
    for args in data.domain(fact.function):
        scope = dict(zip((param.var for param in fact.function.params), args, strict=True))
        value = data.call(fact.function, *args)
        lower, upper = data.value(fact.lower, scope), data.value(fact.upper, scope)
        if not lower <= value < upper:
            yield f"{_term(fact.function, *args)} = {value} is not in [{lower}, {upper})"


def _monotone(fact: Monotone, data: _Data) -> Iterator[str]:
    f, sign = fact.function, "<" if fact.strict else "<="
    for i in range(data.count(f) - 1):
        here, after = data.call(f, i), data.call(f, i + 1)
        if here > after or (fact.strict and here == after):
            yield f"{_term(f, i)} = {here} is not {sign} {_term(f, i + 1)} = {after}"


def _injective(fact: Injective, data: _Data) -> Iterator[str]:
    first: dict[int, int] = {}
    for i in range(data.count(fact.function)):
        value = data.call(fact.function, i)
        if first.setdefault(value, i) != i:
            yield f"{_term(fact.function, first[value])} = {_term(fact.function, i)} = {value}"


def _prefix_sum(fact: PrefixSum, data: _Data) -> Iterator[str]:
    offset, length = fact.offset, fact.length
    count = data.count(length)
    if data.count(offset) != count + 1:
        yield f"{offset.name} has {data.count(offset)} values, and {length.name} has {count}"
        return
    if data.call(offset, 0) != 0:
        yield f"{_term(offset, 0)} = {data.call(offset, 0)} is not 0"
    for i in range(count):
        begin, step, end = data.call(offset, i), data.call(length, i), data.call(offset, i + 1)
        if step < 0:
            yield f"{_term(length, i)} = {step} is negative"
        if end != begin + step:
            total = f"{_term(offset, i)} + {_term(length, i)} = {begin + step}"
            yield f"{_term(offset, i + 1)} = {end} is not {total}"


def _owner(fact: Owner, data: _Data) -> Iterator[str]:
    owner, offset = fact.owner, fact.offset
    rows = data.count(offset) - 1
    for f in range(data.count(owner)):
        row = data.call(owner, f)
        if not 0 <= row < rows:
            yield f"{_term(owner, f)} = {row} is not in [0, {rows})"
            continue
        begin, end = data.call(offset, row), data.call(offset, row + 1)
        if not begin <= f < end:
            yield f"{_term(owner, f)} = {row}, whose places are in [{begin}, {end})"


def _tiling(fact: Tiling, data: _Data) -> Iterator[str]:
    begin, length = fact.begin, fact.length
    count, first, end = data.count(begin), data.value(fact.first), data.value(fact.total)
    if count == 0 or data.count(length) != count:
        yield f"{begin.name} has {count} values, and {length.name} has {data.count(length)}"
        return
    if data.call(begin, 0) != first:
        yield f"{_term(begin, 0)} = {data.call(begin, 0)} is not {first}"
    for b in range(count):
        low, extent = data.call(begin, b), data.call(length, b)
        if extent < 0:
            yield f"{_term(length, b)} = {extent} is negative"
        if low + extent != end:
            yield f"{_term(begin, b)} + {_term(length, b)} = {low + extent} is not {end}"
        end = low
    if end != 0:
        yield f"{_term(begin, count - 1)} = {end} is not 0"


def _follows(fact: Follows, data: _Data) -> Iterator[str]:
    pointer, begin, length, via = fact.pointer, fact.begin, fact.length, fact.via
    pointers = data.count(pointer)
    nodes = pointers if via is None else data.count(via) - 1
    for b in range(min(data.count(begin), data.count(length))):
        low = data.call(begin, b)
        end = low + data.call(length, b)
        for n in range(max(low, 0), min(end, nodes)):
            edges = (n, n + 1) if via is None else (data.call(via, n), data.call(via, n + 1))
            for e in range(max(edges[0], 0), min(edges[1], pointers)):
                target = data.call(pointer, e)
                if target < end and not (fact.optional and target < 0):
                    bound = f"{_term(begin, b)} + {_term(length, b)} = {end}"
                    yield f"{_term(pointer, e)} = {target} is below {bound}"


def _uniform(fact: Uniform, data: _Data) -> Iterator[str]:
    function, begin, length = fact.function, fact.begin, fact.length
    variable, places = function.params[0].var, data.count(function)
    holds = Binary(fact.op, Call(function, (Ref(variable),)), fact.value)
    for p in range(min(data.count(begin), data.count(length))):
        low = data.call(begin, p)
        end = low + data.call(length, p)
        for n in range(max(low, 0), min(end, places)):
            if not data.value(holds, {variable: n}):
                value = data.value(fact.value, {variable: n})
                found = f"{_term(function, n)} = {data.call(function, n)}"
                yield f"{found} is not {fact.op.value} {value}, and {n} is in [{low}, {end})"


def _layered(fact: Layered, data: _Data) -> Iterator[str]:
    top, begin, layers = fact.top, fact.begin, fact.layers
    nodes = min(data.count(fact.group), data.count(fact.height))
    for s in range(data.count(begin) - 1):
        start, stop = data.call(begin, s), data.call(begin, s + 1)
        for t in range(max(start, 0), min(stop, data.count(top))):
            n = data.call(top, t)
            if not 0 <= n < nodes:
                yield f"{_term(top, t)} = {n} is no node"
                continue
            if data.call(fact.group, n) != t:
                yield f"{_term(fact.group, n)} = {data.call(fact.group, n)} is not {t}, whose top it is"
            if not s * layers < data.call(fact.height, n) <= (s + 1) * layers:
                yield f"{_term(fact.height, n)} = {data.call(fact.height, n)} is not in step {s}"


def _descends(fact: Descends, data: _Data) -> Iterator[str]:
    pointer, via, group, height = fact.pointer, fact.via, fact.group, fact.height
    nodes = min(data.count(group), data.count(height))
    pointers = data.count(pointer)
    for n in range(nodes if via is None else min(nodes, data.count(via) - 1)):
        edges = (n, n + 1) if via is None else (data.call(via, n), data.call(via, n + 1))
        for e in range(max(edges[0], 0), min(edges[1], pointers)):
            m = data.call(pointer, e)
            if m < 0 and fact.optional:
                continue
            if not 0 <= m < nodes:
                yield f"{_term(pointer, e)} = {m} is no node"
                continue
            above, below = data.call(height, n), data.call(height, m)
            if below >= above:
                yield f"{_term(pointer, e)} = {m} has height {below}, and {n} has {above}"
            own = data.call(group, m) == data.call(group, n)
            if not own and below > (above - 1) // fact.layers * fact.layers:
                yield f"{_term(pointer, e)} = {m} is in the step of {n}, and not of its group"


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

    def call(self, function: Function, *args: int) -> int:
        """Return `function(*args)`."""
        variables = [param.var for param in function.params]
        scope = dict(zip(variables, args, strict=True))
        return self.value(Call(function, tuple(Ref(var) for var in variables)), scope)

    def count(self, function: Function) -> int:
        """Return how many arguments a function of one parameter has."""
        (param,) = function.params
        return self.value(param.extent)

    def domain(self, function: Function, *args: int) -> Iterator[tuple[int, ...]]:
        """Yield the arguments of `function` that begin with `args`, in order."""
        if len(args) == len(function.params):
            yield args
            return
        scope = {param.var: arg for param, arg in zip(function.params, args, strict=False)}
        for arg in range(self.value(function.params[len(args)].extent, scope)):
            yield from self.domain(function, *args, arg)


def _functions(expr: Expr) -> Iterator[Function]:
    """Yield every function that evaluating `expr` can call."""
    for inner in subexpressions(expr):
        if isinstance(inner, Call):
            yield inner.function
            for param in inner.function.params:
                yield from _functions(param.extent)
            if inner.function.body is not None:
                yield from _functions(inner.function.body)


def _term(function: Function, *args: int) -> str:
    return f"{function.name}({', '.join(str(arg) for arg in args)})"
