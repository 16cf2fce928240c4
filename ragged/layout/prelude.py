"""The prelude: programs that fill the tables which a kernel reads, from lengths (CoRa, section 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import assert_never

from ragged.analysis.obligations import reads_of_lengths
from ragged.arith.affine import affine
from ragged.arith.fold import ONE, ZERO, plus
from ragged.errors import InternalError, Location
from ragged.ir.dtype import INDEX, DType
from ragged.ir.expr import Binary, Buffer, Call, Cast, Const, Expr, Function, Load, Ref, Role, Source, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.rewrite import Rewriter, Substitution, substitute
from ragged.ir.stmt import Alloc, Check, For, Label, Let, Stmt, Store, block
from ragged.ir.walk import all_expressions
from ragged.layout.tables import Extents, Largest, Offsets, Owners, Table, ValueTable
from ragged.passes.drop_unused import called
from ragged.passes.insert_checks import check_of

_MOST_INT32 = 2**31 - 1
_MOST_ELEMENTS = 2**62
"""What lengths may sum to: the sum of two of them is an int64."""


def prelude_programs(
    name: str,
    functions: Sequence[Function],
    tables: Sequence[Table],
    wanted: Collection[Function],
    made_between: Mapping[Function, Function] = MappingProxyType({}),
) -> tuple[Program, ...]:
    """Return the programs that fill the `wanted` tables, in the order in which they run.

    The outputs of each are tables, named after their functions with `_table`; its inputs are lengths and earlier
    tables. `functions` are all functions that tables use, in order of declaration. `made_between` maps functions that
    the caller computes between two programs to the table that they are computed from.

    A negative length, or a sum that int64 does not hold, is a `DataError` of the run.
    """
    needed = _needed(tables, wanted)
    done: set[Function] = set()
    programs: list[Program] = []
    while needed:
        now: list[Table] = []
        for table in needed:  # its shape, and that of lengths, must be known before its program runs
            before = _shape_of(table) | {made_between[each] for each in _read(table) if each in made_between}
            if before <= done and _made_of(table) <= done | {each.function for each in now}:
                now.append(table)
        if not now:
            names = ", ".join(f"'{table.function.name}'" for table in needed)
            raise InternalError(f"the tables {names} are made of each other")
        suffix = "prelude" if not programs else f"prelude_{len(programs) + 1}"
        programs.append(_program(f"{name}_{suffix}", functions, now))
        done |= {table.function for table in now}
        needed = [table for table in needed if table not in now]
    return tuple(programs)


def table_name(function: Function) -> str:
    """Return the name of the prelude's output that holds a function's values."""
    return f"{function.name}_table"


def _needed(tables: Sequence[Table], wanted: Collection[Function]) -> list[Table]:
    """Return the wanted tables and those that they depend on, in the order of their requests."""
    names = set(wanted)
    for table in reversed(tables):
        if table.function in names:
            names |= _made_of(table) | _shape_of(table)
    return [table for table in tables if table.function in names]


def _made_of(table: Table) -> set[Function]:
    """Return the tables that a table is computed from."""
    return _filled(_read(table))


def _read(table: Table) -> set[Function]:
    """Return the functions that a table is computed from."""
    match table:
        case (
            Offsets(domain=domain, volume=value)
            | Largest(domain=domain, value=value)
            | ValueTable(domain=domain, value=value)
        ):
            return set(called((*(extent for _, extent in domain), value)))
        case Owners(offsets=offsets):
            return _read(offsets) | {offsets.function}
        case _:
            assert_never(table)


def _shape_of(table: Table) -> set[Function]:
    """Return the tables that say how many elements a table has, and how many lengths there are of those it reads."""
    lengths = _read(table) - _filled(_read(table))
    sized = [table.function, *lengths]
    return _filled(called(param.extent for function in sized for param in function.params))


def _filled(functions: Iterable[Function]) -> set[Function]:
    return {function for function in functions if function.source is Source.PRELUDE}


def _program(name: str, functions: Sequence[Function], now: Sequence[Table]) -> Program:
    filled = {
        table.function: Buffer(
            table_name(table.function),
            table.function.storage,
            tuple(param.extent for param in table.function.params),
            Role.OUTPUT,
        )
        for table in now
    }
    fills = (stmt for table in now for stmt in (*_within(table), _fill(table, filled[table.function])))
    body = _Filled(filled=filled).stmt(block(*fills))
    shapes = (extent for buffer in filled.values() for extent in buffer.shape)
    used = called((*shapes, *all_expressions(body)))
    kept = tuple(function for function in functions if function in used)
    return Program(name, kept, tuple(filled.values()), (), (Stage(StageKind.KERNEL, body),))


@dataclass
class _Filled(Rewriter):
    """Rewrites reads of tables of this program to reads of their buffers."""

    filled: Mapping[Function, Buffer] = field(kw_only=True)

    def expr(self, expr: Expr) -> Expr:
        if not isinstance(expr, Call):
            return super().expr(expr)
        function, args = expr.function, self.exprs(expr.args)
        if function in self.filled:
            return _wide(Load(self.filled[function], args))
        if function.body is not None and called((function.body,)) & set(self.filled):
            values = dict(zip((param.var for param in function.params), args, strict=True))
            return self.expr(substitute(function.body, values))
        return Call(function, args, expr.at)


def _fill(table: Table, buffer: Buffer) -> Stmt:
    match table:
        case Offsets(domain=domain, volume=volume):
            return _running_sum(domain, volume, buffer)
        case Largest(domain=domain, value=value):
            here = _wide(Load(buffer, (ZERO,)))
            more = _store(buffer, ZERO, Binary(BinaryOp.MAX, here, value))
            return block(_store(buffer, ZERO, ZERO), nest(domain, more))
        case ValueTable(domain=domain, value=value):
            return _counted(domain, lambda place: _value(value, buffer, place))
        case Owners(offsets=offsets):
            return _owners(offsets, buffer)
        case _:
            assert_never(table)


def _within(table: Table) -> Iterator[Stmt]:
    """Yield the checks, in loops, that a table is computed from lengths inside of their arrays."""
    if not isinstance(table, Owners):
        value = table.volume if isinstance(table, Offsets) else table.value
        yield from length_checks(table.domain, value)


def length_checks(domain: Extents, *values: Expr, at: Location | None = None) -> Iterator[Stmt]:
    """Yield the checks, in loops, that a domain's extents, and values in it, read lengths inside of their arrays."""
    for depth, expr in enumerate((*(extent for _, extent in domain), *values)):
        checks = {each.condition: check_of(each, at) for each in reads_of_lengths(expr, domain[:depth])}
        if checks:
            yield nest(domain[:depth], block(*checks.values()))


def _running_sum(domain: Extents, volume: Expr, buffer: Buffer) -> Stmt:
    own, total = Var("own"), Var("total")

    def step(place: Expr) -> Stmt:
        negative = Binary(BinaryOp.LE, ZERO, Ref(own))
        fits = Binary(BinaryOp.LE, Ref(total), Const(_MOST_ELEMENTS))
        inner = block(
            Check(Label("length"), negative, "a length is {0}, and no length is negative", (Ref(own),)),
            Let(
                total,
                Binary(BinaryOp.ADD, _wide(Load(buffer, (place,))), Ref(own)),
                block(
                    Check(Label("total"), fits, "lengths sum to {0}, which is too much", (Ref(total),)),
                    _store(buffer, plus(place, ONE), Ref(total)),
                ),
            ),
        )
        return Let(own, volume, inner)

    return block(_store(buffer, ZERO, ZERO), _counted(domain, step))


def _value(value: Expr, buffer: Buffer, place: Expr) -> Stmt:
    if buffer.dtype is not DType.INT32:
        return _store(buffer, place, value)
    own = Var("own")
    fits = Binary(BinaryOp.LE, Ref(own), Const(_MOST_INT32))
    check = Check(Label("extent"), fits, f"an extent is {{0}}, and {_MOST_INT32} is the most", (Ref(own),))
    return Let(own, value, block(check, _store(buffer, place, Ref(own))))


def _owners(offsets: Offsets, buffer: Buffer) -> Stmt:
    def step(place: Expr) -> Stmt:
        own = Var("t")
        at = Binary(BinaryOp.ADD, Call(offsets.function, (place,)), Ref(own))
        return For(own, offsets.volume, _store(buffer, at, place))

    (param,) = offsets.function.params
    rows = affine(Binary(BinaryOp.SUB, param.extent, ONE)).expr
    fits = Binary(BinaryOp.LE, rows, Const(_MOST_INT32))
    check = Check(Label("rows"), fits, f"there are {{0}} rows, and {_MOST_INT32} is the most", (rows,))
    return block(check, _counted(offsets.domain, step))


def _counted(domain: Extents, step: Callable[[Expr], Stmt]) -> Stmt:
    """Return the nest over a domain; `step` gets the row-major position."""
    if len(domain) == 1:
        return nest(domain, step(Ref(domain[0][0])))
    counter = Buffer("place", INDEX, (ONE,), Role.LOCAL)
    place = Var("place")
    more = Store(Label("place"), counter, (ZERO,), plus(Ref(place), ONE))
    inner = Let(place, Load(counter, (ZERO,)), block(step(Ref(place)), more))
    return Alloc(counter, block(Store(Label("place"), counter, (ZERO,), ZERO), nest(domain, inner)))


def nest(domain: Extents, body: Stmt) -> Stmt:
    """Return loops over a domain around `body`, with fresh variables."""
    fresh: dict[Var, Expr] = {}
    loops: list[tuple[Var, Expr]] = []
    for var, extent in domain:
        own = Var(var.name)
        loops.append((own, substitute(extent, fresh)))
        fresh[var] = Ref(own)
    stmt = Substitution(values=fresh).stmt(body)
    for own, extent in reversed(loops):
        stmt = For(own, extent, stmt)
    return stmt


def _store(buffer: Buffer, place: Expr, value: Expr) -> Stmt:
    return Store(
        Label(buffer.name), buffer, (place,), value if buffer.dtype is INDEX else Cast(buffer.dtype, value)
    )


def _wide(load: Load) -> Expr:
    return load if load.buffer.dtype is INDEX else Cast(INDEX, load)
