"""Rules of names: what statements bind, use and are labelled with."""

from __future__ import annotations

from ragged.ir.checks.refusal import refusal
from ragged.ir.expr import Buffer, Call, Load, Ref, Role, Var
from ragged.ir.program import Program
from ragged.ir.sites import sites
from ragged.ir.stmt import Alloc, For, Label, Let, Reduce, Store
from ragged.ir.walk import held, leaves, statements, subexpressions


def check_bound_once(program: Program) -> None:
    """Every variable is bound once, by a parameter, a loop or a let."""
    bound: set[Var] = set()
    for function in program.functions:
        for param in function.params:
            if param.var in bound:
                raise refusal(program, function, f"'{param.var.name}' is bound twice")
            bound.add(param.var)
    for stmt in (inner for stage in program.stages for inner in statements(stage.body)):
        if isinstance(stmt, For | Let):
            if stmt.var in bound:
                raise refusal(program, stmt, f"'{stmt.var.name}' is bound twice")
            bound.add(stmt.var)


def check_allocated_once(program: Program) -> None:
    """Every allocation makes a local buffer of its own."""
    allocated: set[Buffer] = set()
    for stmt in (inner for stage in program.stages for inner in statements(stage.body)):
        if isinstance(stmt, Alloc):
            if stmt.buffer.role is not Role.LOCAL:
                raise refusal(program, stmt, f"'{stmt.buffer.name}' is allocated and is not local")
            if stmt.buffer in allocated:
                raise refusal(program, stmt, f"'{stmt.buffer.name}' is allocated twice")
            allocated.add(stmt.buffer)


def check_labels(program: Program) -> None:
    """Every labelled statement has a label of its own."""
    seen: set[Label] = set()
    for leaf in (leaf for stage in program.stages for leaf in leaves(stage.body)):
        if leaf.label in seen:
            raise refusal(program, leaf, f"the label '{leaf.label.name}' is on another statement as well")
        seen.add(leaf.label)


def check_scopes(program: Program) -> None:
    """Statements use variables and local buffers in their scope, and declared buffers and functions."""
    declared, functions = set(program.buffers), set(program.functions)
    for site in sites(program):
        stmt = site.stmt
        variables = {outer.var for outer in site.around if isinstance(outer, For | Let)}
        buffers = declared | {outer.buffer for outer in site.around if isinstance(outer, Alloc)}
        if isinstance(stmt, Store | Reduce) and stmt.buffer not in buffers:
            raise refusal(program, stmt, f"'{stmt.buffer.name}' is not declared, or out of its scope")
        for part in (part for expr in held(stmt) for part in subexpressions(expr)):
            match part:
                case Ref(var=var) if var not in variables:
                    raise refusal(program, stmt, f"'{var.name}' is not bound here")
                case Load(buffer=buffer) if buffer not in buffers:
                    raise refusal(program, stmt, f"'{buffer.name}' is not declared, or out of its scope")
                case Call(function=function) if function not in functions:
                    raise refusal(program, stmt, f"'{function.name}' is not declared")
