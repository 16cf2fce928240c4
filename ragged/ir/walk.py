"""Reading a program: its parts in order, without changing them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import assert_never

from ragged.ir.expr import (
    Binary,
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    Fma,
    Load,
    Ref,
    Select,
    Unary,
    Var,
)
from ragged.ir.ops import BinaryOp
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Block,
    Check,
    For,
    If,
    Leaf,
    Let,
    Prefetch,
    Reduce,
    Stmt,
    Store,
)


def operands(expr: Expr) -> tuple[Expr, ...]:
    """Return an expression's own operands, left to right."""
    match expr:
        case Const() | Ref():
            return ()
        case Load(indices=indices):
            return indices
        case Call(args=args):
            return args
        case Unary(operand=operand) | Cast(operand=operand):
            return (operand,)
        case Binary(lhs=lhs, rhs=rhs):
            return (lhs, rhs)
        case Fma(a=a, b=b, c=c):
            return (a, b, c)
        case Select(condition=condition, if_true=if_true, if_false=if_false):
            return (condition, if_true, if_false)
        case _:
            assert_never(expr)


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """Yield `expr` and everything in it, outermost first. Bodies of functions are not entered."""
    pending = [expr]
    while pending:
        found = pending.pop()
        yield found
        pending.extend(reversed(operands(found)))


def arithmetic_operands(expr: Expr) -> Iterator[Expr]:
    """Yield what operators of one or two operands, inside each other, make an expression of, from left to right."""
    match expr:
        case Binary(lhs=lhs, rhs=rhs):
            yield from arithmetic_operands(lhs)
            yield from arithmetic_operands(rhs)
        case Unary(operand=operand):
            yield from arithmetic_operands(operand)
        case _:
            yield expr


def variables(*exprs: Expr) -> frozenset[Var]:
    """Return the variables in expressions; each expression keeps its own."""
    if len(exprs) != 1:
        return frozenset[Var]().union(*map(variables, exprs))
    expr = exprs[0]
    try:
        return expr._variables
    except AttributeError:
        found = frozenset((expr.var,)) if isinstance(expr, Ref) else variables(*operands(expr))
        object.__setattr__(expr, "_variables", found)
        return found


def mentions(expr: Expr, wanted: Collection[Var]) -> bool:
    """Return whether an expression uses one of the variables that are `wanted`."""
    return not variables(expr).isdisjoint(wanted)


def loads(*exprs: Expr) -> Iterator[Load]:
    """Yield the elements of buffers that expressions read, outermost first."""
    return (part for expr in exprs for part in subexpressions(expr) if isinstance(part, Load))


def reads_memory(expr: Expr) -> bool:
    """Return whether an expression reads a buffer."""
    return any(True for _ in loads(expr))


def lookups(*exprs: Expr) -> Iterator[Load | Call]:
    """Yield what expressions look up, outermost first: elements of buffers, values of functions that are no sizes."""
    for expr in exprs:
        for part in subexpressions(expr):
            if isinstance(part, Load) or (isinstance(part, Call) and not part.function.is_size):
                yield part


def varies(expr: Expr, varying: Collection[Var]) -> bool:
    """Return whether an expression may have another value each time: it reads memory, or uses a `varying` variable."""
    return mentions(expr, varying) or reads_memory(expr)


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """Yield the conditions that a conjunction consists of, from left to right."""
    match condition:
        case Binary(op=BinaryOp.AND, lhs=lhs, rhs=rhs):
            yield from conjuncts(lhs)
            yield from conjuncts(rhs)
        case _:
            yield condition


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """Return a statement's own expressions, not those of the statements in it; a store's target is not one."""
    match stmt:
        case Store(indices=indices, value=value) | Reduce(indices=indices, value=value):
            return (*indices, value)
        case Check(condition=condition, witness=witness):
            return (condition, *witness)
        case For(extent=extent):
            return (extent,)
        case Let(value=value) | Prefetch(value=value):
            return (value,)
        case If(condition=condition):
            return (condition,)
        case Alloc(buffer=buffer):
            return buffer.shape
        case Barrier() | Block():
            return ()
        case _:
            assert_never(stmt)


def held(stmt: Stmt) -> tuple[Expr, ...]:
    """Return all of a statement's own expressions, what a reduction starts from too."""
    return (*expressions(stmt), stmt.init) if isinstance(stmt, Reduce) else expressions(stmt)


def children(stmt: Stmt) -> tuple[Stmt, ...]:
    """Return the statements directly in a statement, in order."""
    match stmt:
        case Store() | Reduce() | Check() | Barrier() | Prefetch():
            return ()
        case For(body=body) | Let(body=body) | Alloc(body=body):
            return (body,)
        case If(then=then, orelse=orelse):
            return (then,) if orelse is None else (then, orelse)
        case Block(body=statements):
            return statements
        case _:
            assert_never(stmt)


def flat(stmt: Stmt) -> tuple[Stmt, ...]:
    """Return `stmt` as statements one after another, none of them a block."""
    return tuple(part for inner in stmt.body for part in flat(inner)) if isinstance(stmt, Block) else (stmt,)


def statements(stmt: Stmt) -> Iterator[Stmt]:
    """Yield `stmt` and every statement in it, in the order of the text."""
    pending = [stmt]  # not by recursion: each level of generators would be passed through once a statement
    while pending:
        found = pending.pop()
        yield found
        pending.extend(reversed(children(found)))


def leaves(stmt: Stmt) -> Iterator[Leaf]:
    """Yield the statements that carry a label, in the order of the text."""
    for inner in statements(stmt):
        if isinstance(inner, Store | Reduce | Check | Barrier | Prefetch):
            yield inner


def all_expressions(stmt: Stmt) -> Iterator[Expr]:
    """Yield every expression in `stmt` and in the statements in it, with everything in them."""
    for inner in statements(stmt):
        for expr in expressions(inner):
            yield from subexpressions(expr)


def written(stmt: Stmt) -> frozenset[Buffer]:
    """Return the buffers that `stmt` writes."""
    try:
        return stmt._written
    except AttributeError:
        if isinstance(stmt, Store | Reduce):
            found = frozenset((stmt.buffer,))
        else:
            found = frozenset[Buffer]().union(*map(written, children(stmt)))
        object.__setattr__(stmt, "_written", found)
        return found


def read(stmt: Stmt) -> frozenset[Buffer]:
    """Return the buffers that `stmt` reads; a reduction reads what it updates."""
    try:
        return stmt._read
    except AttributeError:
        own = {part.buffer for part in loads(*held(stmt))}
        if isinstance(stmt, Reduce):
            own.add(stmt.buffer)
        found = frozenset(own).union(*map(read, children(stmt)))
        object.__setattr__(stmt, "_read", found)
        return found


def touches(stmt: Stmt, buffer: Buffer) -> bool:
    """Return whether `stmt`, or a statement in it, reads or writes `buffer`."""
    return buffer in written(stmt) or buffer in read(stmt)
