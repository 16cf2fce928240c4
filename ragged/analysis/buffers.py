"""A program's buffers: where local ones are allocated, which names are taken, and filling tables when binding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ragged.errors import ScheduleError
from ragged.ir.buffer_size import constant_shape
from ragged.ir.expr import Buffer, Call, Const, Expr, Load, Ref, Role
from ragged.ir.index import contents, index_of
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.rewrite import Rewriter
from ragged.ir.sites import Site, inner_sites
from ragged.ir.stmt import Alloc, Block, For, If, Let, Stmt, block
from ragged.ir.walk import subexpressions

READ_ONLY = (Role.PARAMETER, Role.BOUND, Role.PAYLOAD)
"""Roles of buffers that no kernel writes."""
TEMPORARY = (Role.WORKSPACE, Role.LOCAL)
"""Roles of buffers that no caller sees: they live no longer than the kernel."""


def all_buffers(program: Program) -> list[Buffer]:
    """Return the declared buffers and then the local ones, in the order of the text."""
    return [*program.buffers, *index_of(program).buffers]


def allocation(program: Program, buffer: Buffer, primitive: str) -> Site:
    """Return where the local `buffer` is allocated.

    Raises:
        ScheduleError: it is not local, or no buffer of this program; `primitive` names the caller.
    """
    check_known(program, buffer, primitive)
    inside = [Site(stage, stage.body) for stage in program.stages]
    while inside := [each for each in inside if buffer in contents(each.stmt).buffers]:
        if isinstance(inside[0].stmt, Alloc) and inside[0].stmt.buffer is buffer:
            return inside[0]
        inside = inner_sites(inside[0])
    raise ScheduleError(
        f"{primitive}: '{buffer.name}' is no local buffer",
        because=f"it is declared, with the role '{buffer.role.value}', and lives longer than a statement",
        fix="name a buffer that the kernel allocates",
    )


def check_known(program: Program, buffer: Buffer, primitive: str) -> None:
    """Refuse a buffer that is not one of this program's."""
    if buffer not in all_buffers(program):
        raise ScheduleError(
            f"{primitive}: the program has no buffer '{buffer.name}'",
            because="it was never there, or an earlier step put another in its place",
            fix="name a buffer of this program: `s.buffer(name)`",
        )


def sharing(program: Program, buffer: Buffer) -> Buffer | None:
    """Return another buffer that shares the memory of a buffer, None if there is none."""
    others = (each for each in all_buffers(program) if each.aliases is buffer or buffer.aliases is each)
    return next(others, None)


def check_alone(program: Program, buffer: Buffer, primitive: str) -> None:
    """Refuse a buffer that shares its memory with another one."""
    if (other := sharing(program, buffer)) is not None:
        raise ScheduleError(
            f"{primitive}: '{buffer.name}' shares its memory with '{other.name}'",
            because="a read or write of one accesses the other",
            fix="give each its own memory",
        )


def check_temporary(what: str, buffer: Buffer) -> None:
    """Refuse a buffer that lives longer than the kernel; `what` is the refusal."""
    if buffer.role not in TEMPORARY:
        raise ScheduleError(
            what,
            because=f"its role is '{buffer.role.value}': it lives on, and others may read it",
            fix="name a workspace or a local buffer",
        )


def check_free(program: Program, name: str, primitive: str) -> None:
    """Refuse a name for a new table that something else is declared by."""
    taken = [function.name for function in program.functions] + [buffer.name for buffer in program.buffers]
    if name in taken:
        raise ScheduleError(
            f"{primitive}: '{name}' is the name of something else here", fix="choose another name"
        )


def table_shape(buffer: Buffer, primitive: str) -> tuple[int, ...]:
    """Return the shape of what a table is made from; `ScheduleError` unless it is of parameters and of numbers."""
    if buffer.role not in (Role.PARAMETER, Role.BOUND):
        raise ScheduleError(
            f"{primitive}: '{buffer.name}' is no parameter",
            because=f"its role is '{buffer.role.value}': what it holds is not known when parameters are bound",
            fix="name a parameter, or a table made of parameters",
        )
    shape = constant_shape(buffer)
    if shape is None:
        raise ScheduleError(
            f"{primitive}: the shape of '{buffer.name}' is not known when parameters are bound",
            because="a table needs extents that are numbers",
        )
    return shape


def appended(program: Program, kind: StageKind, stmt: Stmt) -> Program:
    """Return the program with `stmt` at the end of a stage, which is made if there is none."""
    bodies = {stage.kind: stage.body for stage in program.stages}
    bodies[kind] = block(bodies[kind], stmt) if kind in bodies else stmt
    return replace(program, stages=tuple(Stage(kind, bodies[kind]) for kind in StageKind if kind in bodies))


def prepended(program: Program, stmt: Stmt) -> Program:
    """Return the program with `stmt` at the beginning of its first stage."""
    first, *rest = program.stages
    return replace(program, stages=(Stage(first.kind, block(stmt, first.body)), *rest))


def is_empty(stmt: Stmt) -> bool:
    """Return whether a statement is a block of none."""
    return isinstance(stmt, Block) and not stmt.body


def is_matrix(buffer: Buffer) -> bool:
    """Return whether several dimensions of a buffer extend more than 1."""
    return sum(extent != Const(1) for extent in buffer.shape) > 1


def is_size_expr(extent: Expr) -> bool:
    """Return whether an extent is made of numbers and sizes of the call alone."""
    parts = list(subexpressions(extent))
    return not any(isinstance(part, Ref | Load) for part in parts) and all(
        part.function.is_size for part in parts if isinstance(part, Call)
    )


@dataclass
class Pruner(Rewriter):
    """A rewriter that takes out the loops, lets, allocations and conditions in which nothing is left."""

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement; one that has lost its body goes."""
        new = super().stmt(stmt)
        match new:
            case For(body=body) | Let(body=body) | Alloc(body=body) if new is not stmt and is_empty(body):
                return Block()
            case If(then=then, orelse=orelse) if is_empty(then) and (orelse is None or is_empty(orelse)):
                return Block()
            case _:
                return new


@dataclass
class Exchange(Rewriter):
    """Puts buffers in place of others."""

    buffers: Mapping[Buffer, Buffer] = field(default_factory=dict)

    def buffer(self, buffer: Buffer) -> Buffer:
        """Return the buffer that stands for `buffer` now."""
        return self.buffers.get(buffer, buffer)
