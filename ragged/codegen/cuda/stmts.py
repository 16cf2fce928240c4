"""Statements as CUDA C++."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import assert_never

from ragged.codegen.cuda.exprs import TYPES, CudaExpressions
from ragged.codegen.cuda.names import CudaNames
from ragged.codegen.local import elements_of
from ragged.errors import InternalError, ScheduleError
from ragged.ir.expr import Buffer, Const, Expr, Load, Var
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    BarrierScope,
    Block,
    Check,
    For,
    If,
    Let,
    LoopKind,
    Prefetch,
    Reduce,
    Stmt,
    Store,
)

_MEET = {
    BarrierScope.BLOCK: "__syncthreads();",
    BarrierScope.TEAM: "ragged_grid_barrier(ragged_arrived, ragged_goal);",
}
_ALIGN = 16
"""Bytes that arrays in shared memory begin at multiples of."""


@dataclass
class CudaStatements:
    """Turns the statements of one kernel into lines of text; `shared_bytes` counts what they keep on chip."""

    expressions: CudaExpressions
    names: CudaNames
    shared_bytes: int = 0
    indent: str = field(default="  ")

    def emit(self, stmt: Stmt) -> Iterator[str]:
        """Yield the lines of a statement."""
        match stmt:
            case Store(buffer=buffer, indices=indices, value=value):
                yield self._assigned(buffer, indices, self.expressions.emit(value))
            case Reduce():
                yield self._reduced(stmt)
            case Check(label=label):
                raise ScheduleError(
                    f"check '{label.name}' stays in the kernel, where no thread of a GPU can end it",
                    at=stmt.at,
                    because="its condition is not proven, and the other blocks would wait at their next barrier",
                    fix='facts that prove it (`fn.show("checks")` says which are), or target="cpu"',
                )
            case Barrier(scope=scope):
                yield _MEET[scope]
            case Prefetch():
                yield from ()  # other threads run while one waits for memory
            case For():
                yield from self._loop(stmt)
            case Let(var=var, value=value, body=body):
                text = self.expressions.emit(value)
                yield f"const {TYPES[var.dtype]} {self._variable(var)} = {text};"
                yield from self.emit(body)
            case Alloc(buffer=buffer, body=body):
                yield self._allocated(buffer)
                yield from self.emit(body)
            case If(condition=condition, then=then, orelse=orelse):
                yield f"if ({self.expressions.emit(condition)}) {{"
                yield from self._inside(then)
                if orelse is not None:
                    yield "} else {"
                    yield from self._inside(orelse)
                yield "}"
            case Block(body=body):
                for inner in body:
                    yield from self.emit(inner)
            case _:
                assert_never(stmt)

    def bind(self, var: Var, value: str) -> str:
        """Return the line that gives a variable of the machine, the number of a block or thread, its name."""
        return f"const {TYPES[var.dtype]} {self._variable(var)} = {value};"

    def _variable(self, var: Var) -> str:
        name = self.names.unique(var.name)
        self.expressions.variables[var] = name
        return name

    def _inside(self, stmt: Stmt) -> Iterator[str]:
        return (self.indent + line for line in self.emit(stmt))

    def _assigned(self, buffer: Buffer, indices: tuple[Expr, ...], value: str) -> str:
        place = self.expressions.offset(buffer, indices)
        return f"{self.expressions.names[buffer]}[{place}] = {value};"

    def _reduced(self, stmt: Reduce) -> str:
        old = self.expressions.emit(Load(stmt.buffer, stmt.indices))
        value = self.expressions.emit(stmt.value)
        new = self.expressions.combine(stmt.combiner.op, old, value, stmt.buffer.dtype)
        return self._assigned(stmt.buffer, stmt.indices, new)

    def _loop(self, loop: For) -> Iterator[str]:
        if loop.kind in (LoopKind.TEAM, LoopKind.THREADS):
            raise InternalError(f"the {loop.kind.value} loop '{loop.var.name}' is not the kernel's own")
        extent = self.expressions.emit(loop.extent)
        var, end = self._variable(loop.var), self.names.unique(f"{loop.var.name}_end")
        if loop.kind in (LoopKind.UNROLLED, LoopKind.VECTORIZED):
            yield "#pragma unroll"
        # Iterations of a PARALLEL loop may come in any order: also one after another.
        if isinstance(loop.extent, Const):
            yield f"for (long long {var} = 0; {var} < {extent}; ++{var}) {{"
        else:
            yield f"for (long long {var} = 0, {end} = {extent}; {var} < {end}; ++{var}) {{"
        yield from self._inside(loop.body)
        yield "}"

    def _allocated(self, buffer: Buffer) -> str:
        if buffer.aliases is not None:
            name = self.expressions.names[buffer.aliases]
            self.expressions.names[buffer] = name
            return f"// {buffer.name} has the memory of {name}"
        count = max(elements_of(buffer), 1)
        name, element = self.names.unique(buffer.name), TYPES[buffer.dtype]
        self.expressions.names[buffer] = name
        if buffer.scope is not MemoryScope.SHARED:
            return f"{element} {name}[{count}];"
        begin = -(-self.shared_bytes // _ALIGN) * _ALIGN
        self.shared_bytes = begin + count * buffer.dtype.bytes
        return f"{element}* const {name} = reinterpret_cast<{element}*>(ragged_shared + {begin});  // {count} elements"
