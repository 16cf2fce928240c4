"""Running schedules of ragged operators, interpreted or as machine code, on data that are given element by element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ragged.api.dims import LengthFn
from ragged.api.schedule import RaggedSchedule
from ragged.api.signature import Policy, RaggedSignature
from ragged.api.tensors import Kind, RaggedTensor
from ragged.codegen.build import compile_program
from ragged.ir.expr import Const, Expr, Function, Role
from ragged.ir.interpret import interpret
from ragged.ir.interpret.evaluate import Evaluator
from ragged.ir.interpret.memory import Frame
from ragged.ir.program import Program, StageKind
from ragged.runtime.call import Caller, bind
from ragged.runtime.orders import dealt, longest_first, share_begins
from tests.ragged.api.oracle import Index, Oracle

WORKERS = 2
"""The most workers of a call."""


@dataclass
class Data:
    """The sizes, the lengths in row-major order, and the elements of inputs of one call."""

    sizes: dict[str, int]
    lengths: dict[LengthFn, dict[Index, int]] = field(default_factory=dict)
    inputs: dict[RaggedTensor, dict[Index, float]] = field(default_factory=dict)

    @property
    def oracle(self) -> Oracle:
        return Oracle(self.sizes, {n.function: values for n, values in self.lengths.items()}, self.inputs)


def run(
    schedule: RaggedSchedule, data: Data, *, compiled: bool = False, seed: int = 0
) -> dict[str, np.ndarray]:
    """Return each output's elements, in row-major order of its indices."""
    call = _Call(schedule, data, compiled, seed)
    stored = call.outputs()
    return {tensor.name: call.elements(tensor, stored[tensor.name]) for tensor in schedule.outputs}


def expected(schedule: RaggedSchedule, data: Data) -> dict[str, np.ndarray]:
    """Return what the outputs mean, in float64."""
    oracle = data.oracle
    return {
        t.name: np.array([oracle.at(t, i) for i in oracle.space(t)], np.float64) for t in schedule.outputs
    }


@dataclass
class _Call:
    schedule: RaggedSchedule
    data: Data
    compiled: bool
    seed: int
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def outputs(self) -> dict[str, np.ndarray]:
        lowered = self.schedule.lowered
        for length, table in lowered.functions.lengths.items():
            values = np.array(list(self.data.lengths[length].values()), np.int32)
            shape = [self.value(p.extent) for p in table.params] if len(table.params) > 1 else [-1]
            self.arrays[table.name] = values.reshape(shape)
        for prelude in self.schedule.preludes():
            for name, values in self.execute(prelude).items():
                self.arrays[name.removesuffix("_table")] = values
            for order in self.signature.orders:  # later preludes may read them
                work = self.arrays.get(order.table.removesuffix("_table"))
                if work is not None:
                    made = dealt(work, WORKERS) if order.policy is Policy.DEALT else longest_first(work)
                    self.arrays[order.name] = made
            for shares in self.signature.shares:
                work = self.arrays.get(shares.table.removesuffix("_table"))
                if work is not None:
                    self.arrays[shares.name] = share_begins(work, WORKERS)
        oracle = self.data.oracle
        for tensor, buffer in lowered.buffers.items():
            if tensor.kind is not Kind.COMPUTED:
                elements = [self.data.inputs[tensor][index] for index in oracle.space(tensor)]
                shape = [self.value(extent) for extent in buffer.shape]
                self.arrays[buffer.name] = np.array(elements, buffer.dtype.numpy).reshape(shape)
        return self.execute(self.schedule.lower())

    def execute(self, program: Program) -> dict[str, np.ndarray]:
        """Run a program and return its outputs by name."""
        outputs = {buffer.name for buffer in program.buffers if buffer.role is Role.OUTPUT}
        functions = {f.name for f in program.functions} | {b.name for b in program.buffers}
        arrays = {name: array for name, array in self.arrays.items() if name in functions}
        counts = {shares.count: WORKERS for shares in self.signature.shares}
        sizes = {name: size for name, size in {**self.data.sizes, **counts}.items() if name in functions}
        if not self.compiled:
            found = interpret(program, sizes, arrays, seed=self.seed)
            return {name: found[name] for name in outputs}
        entries = compile_program(program).entries
        parameters = {b.name for b in program.buffers if b.role is Role.PARAMETER}
        bound = bind(entries, {name: arrays[name] for name in parameters})
        stages = [entries[kind] for kind in (StageKind.PRELUDE, StageKind.KERNEL) if kind in entries]
        rest = {name: array for name, array in arrays.items() if name not in parameters}
        made = Caller(stages, bound)({**sizes, **rest})
        names = {argument.name: argument.symbol.name for argument in stages[0].arguments}
        return {names[name]: array for name, array in made.items()}

    def elements(self, tensor: RaggedTensor, array: np.ndarray) -> np.ndarray:
        """Return what is stored of a tensor at each of its indices."""
        if tensor in self.schedule.decisions.groups:
            layout = self.schedule.lowered.layouts[tensor]
            places = (
                [self.value(e) for e in layout.at([Const(i) for i in index])] for index in self.space(tensor)
            )
            return np.array([array[tuple(place)] for place in places], array.dtype)
        flat, oracle = array.reshape(-1), self.data.oracle
        found, place = [], 0
        for inside in self.walk(tensor, oracle, (), {}, True):
            if inside:
                found.append(flat[place])
            place += 1
        bulk = self.schedule.decisions.bulk.get(tensor)
        assert place == flat.size or bulk is not None
        return np.array(found, array.dtype)

    def space(self, tensor: RaggedTensor) -> Iterator[Index]:
        yield from self.data.oracle.space(tensor)

    def walk(
        self, tensor: RaggedTensor, oracle: Oracle, index: Index, scope: dict, inside: bool
    ) -> Iterator[bool]:
        """Yield, for each stored element in order, whether it is one of the tensor's."""
        if len(index) == len(tensor.dims):
            yield inside
            return
        each = tensor.dims[len(index)]
        extent = oracle.expr(each.extent.expr, {}, scope)
        multiple = self.schedule.decisions.storage.get((tensor, len(index)), 1)
        for place in range(-(-extent // multiple) * multiple):
            here = {**scope, each.dim.var: place}
            yield from self.walk(tensor, oracle, (*index, place), here, inside and place < extent)

    def value(self, expr: Expr) -> int:
        return int(self.evaluator.compile(expr)(Frame({}, {}, place="a shape")))

    @property
    def evaluator(self) -> Evaluator:
        """An evaluator of what is known by now."""
        evaluator = Evaluator()
        for function in self.functions:
            if function.is_size and function.name in self.data.sizes:
                evaluator.sizes[function] = self.data.sizes[function.name]
            if function.is_array and function.name in self.arrays:
                evaluator.tables[function] = self.arrays[function.name]
        return evaluator

    @cached_property
    def signature(self) -> RaggedSignature:
        """The signature, which prints the program each time that a schedule is asked for it."""
        return self.schedule.signature

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """The functions of the program, and those that only a caller that looks at results needs."""
        return self.schedule.lower().functions + tuple(self.schedule.lowered.functions.tables.functions)
