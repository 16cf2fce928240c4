"""A program's kernel as one function of CUDA C++, which a grid of blocks runs at once.

The function's arguments are those of every stage, in the order of `ragged.codegen.entry`: sizes as `long long`, then
addresses in the device's memory; after them the address of the barrier's counter, zero when the kernel is launched.
Addresses are multiples of `DEVICE_ALIGNMENT` bytes, so that nvcc loads 16 bytes at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragged.analysis.dependence import storage
from ragged.codegen.cuda.exprs import TYPES, CudaExpressions
from ragged.codegen.cuda.names import CudaNames
from ragged.codegen.cuda.preamble import PREAMBLE
from ragged.codegen.cuda.stmts import CudaStatements
from ragged.codegen.entry import DEVICE_ALIGNMENT, Argument, ArgumentKind, signature_of
from ragged.codegen.names import identifier
from ragged.errors import ScheduleError
from ragged.ir.expr import Const
from ragged.ir.program import Program, StageKind
from ragged.ir.stmt import Alloc, Block, For, LoopKind, Stmt
from ragged.ir.walk import written


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """A kernel's source and how it is launched: `blocks` of `threads`, each with `shared_bytes` of memory on chip."""

    name: str
    source: str
    blocks: int
    threads: int
    shared_bytes: int


def cuda_kernel(program: Program) -> CudaKernel:
    """Return the kernel of a program that has been shared out to blocks and threads.

    Raises:
        ScheduleError: it has not been, or something stands beside its threads; a check stays in it; or a local buffer
            has no constant size.
    """
    stage = program.stage(StageKind.KERNEL)
    assert stage is not None, "a verified program has a kernel"
    team, held, threads = _levels(stage.body)
    names, expressions = CudaNames(), CudaExpressions()
    name = names.unique(f"{identifier(program.name)}_kernel")
    changed = {storage(buffer) for buffer in written(stage.body)}
    parameters, aligned = [], []
    for argument in signature_of(program):
        own = names.unique(argument.name)
        expressions.names[argument.symbol] = own
        given = own if argument.kind is ArgumentKind.SIZE else names.unique(f"{argument.name}_given")
        parameter = _parameter(argument, given, fixed=argument.symbol not in changed)
        parameters.append(parameter)
        if given != own:
            pointer = parameter.removesuffix(given)
            aligned.append(
                f"{pointer}{own} = static_cast<{pointer.replace('__restrict__', '').strip()}>"
                f"(__builtin_assume_aligned({given}, {DEVICE_ALIGNMENT}));"
            )
    for buffer in program.buffers:
        if buffer.aliases is not None:
            expressions.names[buffer] = expressions.names[storage(buffer)]
    statements = CudaStatements(expressions, names)
    lines = [
        *aligned,
        statements.bind(team.var, "blockIdx.x"),
        statements.bind(threads.var, "threadIdx.x"),
        "unsigned int ragged_goal = 0;",
        *(line for alloc in held for line in statements.emit(replace(alloc, body=Block()))),
        *statements.emit(threads.body),
    ]
    assert isinstance(team.extent, Const)
    assert isinstance(threads.extent, Const)
    parameters.append("unsigned int* ragged_arrived")
    head = f'extern "C" __global__ void __launch_bounds__({threads.extent.value}, 1) {name}(\n    '
    text = ",\n    ".join(parameters)
    shared = "extern __shared__ __align__(16) unsigned char ragged_shared[];\n\n"
    body = "".join(f"  {line}\n" for line in lines)
    source = f"{PREAMBLE}\n{shared}{head}{text}) {{\n{body}}}\n"
    return CudaKernel(
        name, source, int(team.extent.value), int(threads.extent.value), statements.shared_bytes
    )


def _levels(body: Stmt) -> tuple[For, tuple[Alloc, ...], For]:
    """Return the loop over blocks, what each of them keeps, and the loop over its threads."""
    what = "cuda: the kernel is not one of blocks of threads"
    fix = "distribute_over_blocks, then distribute_over_threads"
    if not isinstance(body, For) or body.kind is not LoopKind.TEAM or not isinstance(body.extent, Const):
        raise ScheduleError(what, because="it is no loop over a team of a constant number", fix=fix)
    held: list[Alloc] = []
    inner = body.body
    while isinstance(inner, Alloc):
        held.append(inner)
        inner = inner.body
    if not isinstance(inner, For) or inner.kind is not LoopKind.THREADS:
        raise ScheduleError(
            what, because="in the loop over blocks stands more than one over threads", fix=fix
        )
    return body, tuple(held), inner


def _parameter(argument: Argument, name: str, *, fixed: bool) -> str:
    """Return the declaration of a parameter; `fixed` memory is written by no block."""
    if argument.kind is ArgumentKind.SIZE:
        return f"const long long {name}"
    element = TYPES[argument.dtype]
    return f"const {element}* __restrict__ {name}" if fixed else f"{element}* {name}"
