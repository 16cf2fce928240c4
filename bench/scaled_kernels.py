"""The kernels of which the time with more threads is predicted, compiled for any number of threads on one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter_ns
from typing import Any

import cortex
import ragged
from bench.operators.cases import Extents, make_cases
from bench.operators.problems import Operator, Problem, Products, Rows, Triangle
from bench.operators.variants import WIDTH
from bench.peers.ragged.compiled import layer_of
from bench.shares import Shares, count_shares
from bench.trees import Tree
from bench.workloads import WORKLOADS, make_case
from cortex.compiler.interpret import interpreter_inputs
from ragged.api.inputs import read_lengths
from ragged.ir.parser import parse
from ragged.ops import MultiheadAttention, TransformerEncoderLayer, gemm
from ragged.ops.trmm import program as trmm_program
from ragged.ops.trmm import shares_panels

OPERATORS = (Operator.VGEMM, Operator.TRMM, Operator.ATTENTION, Operator.ENCODER_LAYER)
MODELS = ("tree_lstm", "tree_gru_recursive", "dag_rnn", "mv_rnn")
SEED = 0


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel for a number of threads, which need not be there: `shares` are counted, and `time` calls it.

    `time` returns the nanoseconds of a call, after one that is not counted.
    """

    shares: Shares
    time: Callable[[], int]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A workload and a shape, and what compiles it for a number of threads."""

    workload: str
    shape: str
    compile: Callable[[int], Compiled]


def operator_kernels(operators: Sequence[Operator], extents: Extents) -> Iterator[Kernel]:
    """Yield the cases of ragged operators, each on its first batch."""
    for operator in operators:
        for case in make_cases(operator, extents, 1):
            problem = case.problem
            yield Kernel(operator.value, case.shape, partial(_operator, problem))


def model_kernels(
    names: Sequence[str], hidden: Sequence[int] | None, treebank: Sequence[Tree], batch: int
) -> Iterator[Kernel]:
    """Yield recursive models of each hidden size on a batch; None: of each workload's own sizes."""
    for name in names:
        for size in hidden or WORKLOADS[name].hidden:
            yield Kernel(name, f"hidden {size}, batch {batch}", partial(_model, name, size, treebank, batch))


def _model(name: str, hidden: int, treebank: Sequence[Tree], batch: int, threads: int) -> Compiled:
    case = make_case(WORKLOADS[name], hidden, treebank, [batch], rounds=1, threads=threads, seed=SEED)
    function = cortex.compile(case.model, case.job.params, threads=threads, keep="roots")
    linearized = function.linearize(case.of(case.batches[0].timed[0]))
    program = parse(function.show("loops"))
    sizes, arrays = interpreter_inputs(program, linearized, case.job.params)
    shares = count_shares(program, {**sizes, **arrays}, threads)
    return Compiled(shares, lambda: function.kernel_times(linearized, 1)[0])


def _operator(problem: Problem, threads: int) -> Compiled:
    function, arguments = _function(replace(problem, threads=threads))

    def time() -> int:
        function(**arguments)
        begin = perf_counter_ns()
        function(**arguments)
        return perf_counter_ns() - begin

    values = _values(function, arguments)
    return Compiled(count_shares(parse(function.show("loops")), values, threads), time)


def _function(problem: Problem) -> tuple[ragged.RaggedFunction, dict[str, Any]]:
    """Return the function of an operator, and its arguments on the first batch."""
    threads = problem.threads
    match problem.inputs(0):
        case Products(lhs=lhs, rhs=rhs):
            arguments: dict[str, Any] = {"A": gemm.matrices("a", lhs), "B": gemm.matrices("b", rhs)}
            return ragged.compile(gemm.program(WIDTH), {}, threads=threads), arguments
        case Triangle(lower=lower, rhs=rhs):
            whole = shares_panels(rhs.shape[1], WIDTH, threads)
            schedule = trmm_program(WIDTH, whole=whole)
            return ragged.compile(schedule, {}, threads=threads), {"L": lower, "B": rhs}
        case Rows(lengths=lengths, values=values):
            layer = layer_of(problem)
            assert isinstance(layer, MultiheadAttention | TransformerEncoderLayer)
            return layer.function, {"x": ragged.array(values, lengths=lengths)}
        case _:
            raise ValueError(f"{problem.operator.value} is not among the operators that are predicted")


def _values(function: ragged.RaggedFunction, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sizes and the tables of a call with these arguments, as its preludes compute them."""
    key, found, _ = function._read(arguments)
    bound = function._preludes.find(
        key, lambda: read_lengths(function.signature, found, arguments, function._sizes)
    )
    return {
        each.symbol.name: bound.values[each.name]
        for each in function._caller.wanted
        if each.name in bound.values
    }
