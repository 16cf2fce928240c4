"""Loops over consecutive rows of a prefix sum, and the tables that say so: CoRa's f_oif and f_fo (section 5.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ragged.analysis.accesses import inside
from ragged.arith.affine import AffineForm, affine
from ragged.arith.fold import ONE, ZERO, at_least_zero, plus
from ragged.errors import ScheduleError
from ragged.ir.dtype import INDEX
from ragged.ir.expr import Binary, Call, Expr, Function, Load, Param, Ref, Source, Var
from ragged.ir.fact import Fact
from ragged.ir.facts import Monotone, Owner, PrefixSum
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import substitute
from ragged.ir.sites import Site
from ragged.ir.walk import mentions, subexpressions
from ragged.prove import Proof, Unproven, answer
from ragged.transform.copy_stmts import Moved
from ragged.transform.index_checks import require_index
from ragged.transform.loops.loop_nests import Nest


@dataclass(frozen=True, slots=True)
class PrefixSumRows:
    """Rows `first` and on of a prefix sum; `row` is the one that an iteration of the outer loop is at."""

    offset: Function
    first: Expr
    row: Expr

    @property
    def param(self) -> Param:
        """The parameter of the offsets; there is one offset more than rows."""
        return self.offset.params[0]


def find_rows(program: Program, nest: Nest) -> PrefixSumRows | None:
    """Return the rows that the inner loop of `nest` runs over, if their lengths have a prefix sum."""
    outer = nest.loops[0].var
    for offset, row in (*_differences(program, nest.extent(1)), *_lengths(program, nest.extent(1))):
        step = affine(row).plus(AffineForm({Ref(outer): 1}), -1)
        if not mentions(step.expr, (outer,)):
            return PrefixSumRows(offset, _folded(row, {outer: ZERO}), row)
    return None


def declare_rows(program: Program, nest: Nest, what: str) -> tuple[Program, PrefixSumRows, frozenset[Fact]]:
    """Return the program with offsets of the inner loop's rows, which its prelude has to fill, and the facts used.

    Raises:
        ScheduleError: the nest runs before any prelude, or how long rows are, or how many there are, is not known in
            one, or not without the conditions around the nest; `what` is the refusal.
    """
    outer, inner = nest.loops
    if nest.site.stage.kind is StageKind.BIND:
        raise ScheduleError(
            what,
            because=f"'{outer.var.name}' runs when parameters are bound, and tables are filled later, for each call",
            fix="fuse(outer, inner) if all rows have one length",
        )
    count = nest.extent(0)
    _require_known(count, (), f"how many rows there are, {expr_text(count)},", what)
    own = nest.extent(1)
    _require_known(own, (outer.var,), f"how long a row is, {expr_text(own)},", what)
    alone = Site(nest.site.stage, outer)  # a prelude asks no condition that stands around the loops
    facts = require_index(program, alone, count, ZERO, what)
    some = answer(program, alone, Binary(BinaryOp.LE, ZERO, count))
    if isinstance(some, Unproven):
        because = f"how many rows there are, {expr_text(count)}, may be negative where no condition is asked"
        raise ScheduleError(what, because=because, example=some.example)
    facts |= some.facts | require_index(program, inside(alone), own, ZERO, what)
    found = answer(program, inside(alone), Binary(BinaryOp.LE, ZERO, own))
    if isinstance(found, Proof):
        extent, facts = own, facts | found.facts
    else:
        extent = at_least_zero(own)
    known = _declared(program, outer.var, extent, count)
    if known is not None:
        return program, PrefixSumRows(known, ZERO, Ref(outer.var)), facts
    p = Var("p")
    params = (Param(p, plus(count, ONE)),)
    offset = Function(program.free_name(f"{inner.var.name}_begin"), params, Source.PRELUDE, storage=INDEX)
    length = _lengths_function(program, outer.var, extent, count, inner.var.name)
    new = [function for function in (length, offset) if function not in program.functions]
    declared = replace(
        program,
        functions=(*program.functions, *new),
        facts=(*program.facts, PrefixSum(offset, length)),
    )
    return declared, PrefixSumRows(offset, ZERO, Ref(outer.var)), facts


def declare_owner(program: Program, rows: PrefixSumRows) -> tuple[Program, Function]:
    """Return the program with the function that says of a place in which row it is."""
    for fact in program.facts:
        if isinstance(fact, Owner) and fact.offset is rows.offset:
            return program, fact.owner
    count = affine(Binary(BinaryOp.SUB, rows.param.extent, ONE)).expr
    total = Call(rows.offset, (count,))
    owner = Function(program.free_name(f"{rows.offset.name}_row"), (Param(Var("f"), total),), Source.PRELUDE)
    facts = (*program.facts, Owner(owner, rows.offset))
    return replace(program, functions=(*program.functions, owner), facts=facts), owner


def starts_at_zero(program: Program, rows: PrefixSumRows) -> Fact | None:
    """Return the fact by which the first of the rows begins at place 0, if it does."""
    if rows.first != ZERO:
        return None
    return next((f for f in program.facts if isinstance(f, PrefixSum) and f.offset is rows.offset), None)


def _require_known(expr: Expr, variables: tuple[Var, ...], text: str, what: str) -> None:
    for part in subexpressions(expr):
        match part:
            case Ref(var=var) if var not in variables:
                because = f"{text} depends on '{var.name}', and a prelude has no such loop"
                raise ScheduleError(what, because=because, fix=f"fuse it with the loop '{var.name}' first")
            case Load(buffer=buffer):
                because = f"{text} reads '{buffer.name}', and a prelude reads lengths alone"
                raise ScheduleError(what, because=because)
            case _:
                pass


def _declared(program: Program, outer: Var, extent: Expr, count: Expr) -> Function | None:
    """Return offsets of rows of these lengths, as many as there are, that the program has already."""
    for fact in program.facts:
        if isinstance(fact, PrefixSum) and fact.length.body is not None:
            (param,) = fact.length.params
            if param.extent == count and substitute(fact.length.body, {param.var: Ref(outer)}) == extent:
                return fact.offset
    return None


def _lengths_function(program: Program, outer: Var, extent: Expr, count: Expr, name: str) -> Function:
    """Return the lengths as a function of one parameter: the one that the extent calls, or one of its own."""
    match extent:
        case Call(function=function, args=(Ref(),)) if function.params[0].extent == count:
            return function
        case _:
            pass
    p = Var("p")
    body = substitute(extent, {outer: Ref(p)})
    return Function(program.free_name(f"{name}_length"), (Param(p, count),), Source.EXPRESSION, body)


def _differences(program: Program, extent: Expr) -> Iterator[tuple[Function, Expr]]:
    """Yield offsets and the row of which an extent is the difference of them."""
    match _written_out(extent):
        case Binary(
            op=BinaryOp.SUB, lhs=Call(function=above, args=(after,)), rhs=Call(function=offset, args=(row,))
        ) if above is offset:
            rises = any(
                (isinstance(fact, PrefixSum) and fact.offset is offset)
                or (isinstance(fact, Monotone) and fact.function is offset)
                for fact in program.facts
            )
            if rises and affine(after).plus(affine(row), -1) == AffineForm({}, 1):
                yield offset, row
        case _:
            return


def _lengths(program: Program, extent: Expr) -> Iterator[tuple[Function, Expr]]:
    """Yield offsets and the row of which an extent is the length, as a prefix sum says."""
    rows = {arg for part in subexpressions(extent) if isinstance(part, Call) for arg in part.args}
    for fact in program.facts:
        if isinstance(fact, PrefixSum):
            for row in rows:
                length = Call(fact.length, (row,))
                if extent in (length, _written_out(length)):
                    yield fact.offset, row


def _folded(expr: Expr, values: dict[Var, Expr]) -> Expr:
    """Return `expr` with variables replaced and sums folded."""
    return Moved(values=values).expr(expr)


def _written_out(expr: Expr) -> Expr:
    """Return an expression with the body of its function, if it is a call of one that has a body."""
    if (
        isinstance(expr, Call)
        and expr.function.source is Source.EXPRESSION
        and expr.function.body is not None
    ):
        values = {param.var: arg for param, arg in zip(expr.function.params, expr.args, strict=True)}
        return substitute(expr.function.body, values)
    return expr
