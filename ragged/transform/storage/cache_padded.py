"""cache_padded: copy what a statement reads, and the constant it takes where a condition fails, to a temporary."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.buffers import check_alone, is_size_expr
from ragged.analysis.obligations import index_obligations
from ragged.arith.affine import AffineForm, affine
from ragged.arith.bindings import Bindings, bindings
from ragged.arith.fold import at_least_zero, plus, times
from ragged.arith.index_intervals import at_most
from ragged.errors import ScheduleError
from ragged.ir.build import both, zero
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Role, Select, Unary, Var
from ragged.ir.fact import Fact
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Branch, evaluated, sites
from ragged.ir.stmt import For, Label, LoopKind, Reduce, Stmt, Store, block
from ragged.ir.walk import loads, mentions, written
from ragged.passes.assume import assume
from ragged.prove import Unproven, answer
from ragged.transform.locate import loop_site

_LOGICAL = (BinaryOp.AND, BinaryOp.OR)
_FIX = "a statement with `x[...] if condition else number`, with sums of loops' variables in both"


def cache_padded(
    program: Program, statement: Label, loop: Var, buffer: Buffer | None = None, *, before: bool = False
) -> Rewritten:
    """Copy what a statement reads, also under a condition, to a temporary that holds its border too.

    before::

        for n in parallel(count):
            for h in serial(56):
                for k in serial(3):
                    y[n, h] += (x[n, h + k - 1] if h + k - 1 >= 0 and h + k - 1 < 56 else 0.0) * w[k]

    after `cache_padded(program, y, n)`::

        for n in parallel(count):
            for x_1 in serial(58):
                x_padded[n, x_1] = x[n, x_1 - 1] if x_1 - 1 >= 0 and x_1 - 1 < 56 else 0.0
            for h in serial(56):
                for k in serial(3):
                    y[n, h] += x_padded[n, h + k] * w[k]

    The condition is asked once for each element that is read, and not in each step of a reduction. The temporary is a
    workspace with a dimension for each loop up to `loop`, which `contract_storage` gives the storage of one iteration.
    It holds what is read under a condition; of a `buffer` that is named, also what is read everywhere, and of several
    reads of it the one that depends on `loop`. Where an iteration of `loop` reads fewer elements than others, as the
    last one of a split loop, the rest is zeros. With `before` it is filled before the loop, for all of its iterations.

    Raises:
        ScheduleError: the statement is not in the loop, or reads nothing in this form; it runs, or reads that, under
            another condition; the loop writes what it reads; an index is no sum of positive multiples of the variables
            of loops inside, and of what is known at the start of the loop's body; these extend neither numbers and
            sizes, nor at most a number; the condition asks for something else than for such an index; or what is copied
            is not proven to be in the buffer.
    """
    what = f"cache_padded: cannot pad what '{statement.name}' reads in loop '{loop.name}'"
    place = loop_site(program, loop, "cache_padded")
    site = next((each for each in sites(program) if getattr(each.stmt, "label", None) is statement), None)
    if site is None or place.stmt not in site.around:
        raise ScheduleError(what, because="it is not in that loop", fix="name a loop around it")
    stmt = site.stmt
    if not isinstance(stmt, Store | Reduce) or site.stage.kind is not StageKind.KERNEL:
        raise ScheduleError(what, because="it writes no buffer in the kernel", fix=_FIX)
    within = site.around[site.around.index(place.stmt) :]
    if any(isinstance(each, Branch) for each in within):
        raise ScheduleError(what, because="it runs under a condition in that loop", fix="a loop further in")
    depth = site.loops.index(place.stmt) + (not before)
    outer, inner = site.loops[:depth], site.loops[depth:]
    guarded = _guarded(stmt, loop, {each.var for each in inner}, buffer, what)
    load = guarded.if_true if isinstance(guarded, Select) else guarded
    assert isinstance(load, Load)
    check_alone(program, load.buffer, "cache_padded")
    if load.buffer in written(place.stmt):
        raise ScheduleError(what, because=f"the loop writes '{load.buffer.name}'")
    padding = _Padding(what, bindings(program), outer, {each.var: each.extent for each in inner}, load)
    table, fill = padding.table(program, guarded)
    read = Load(table, (*(Ref(each.var) for each in outer), *padding.places()))
    rewriter = _Pad(loop=loop, before=before, statement=stmt, guarded=guarded, read=read, fill=fill)
    result = rewriter.program(program, kinds=(StageKind.KERNEL,), buffers=(*program.buffers, table))
    facts = _require_elements(result.program, table, what)
    return replace(result, program=assume(result.program, facts))


def _require_elements(program: Program, table: Buffer, what: str) -> frozenset[Fact]:
    """Return the facts by which what is copied are elements, also where no iteration inside reads them."""
    site = next(
        each for each in sites(program) if table in written(each.stmt) and isinstance(each.stmt, Store)
    )
    assert isinstance(site.stmt, Store), "it fills the table"
    facts: frozenset[Fact] = frozenset()
    for each in index_obligations(site.stmt.value):
        found = answer(program, site, each.condition)
        if isinstance(found, Unproven):
            raise ScheduleError(
                what,
                because=f"the copy is not proven to read elements of '{each.what}' alone: "
                f"{expr_text(each.condition)}",
                example=found.example,
                fix=f"leave the reads as they are, or give '{each.what}' all elements that the loops index",
            )
        facts |= found.facts
    return facts


def _guarded(
    stmt: Store | Reduce, loop: Var, inner: Collection[Var], buffer: Buffer | None, what: str
) -> Select | Load:
    """Return what the statement selects between an element and a number, in a condition on inner loops.

    Of a `buffer` also an element that it reads without a condition; of several the one that depends on the `loop`.
    """
    parts = list(evaluated(stmt.value))
    selects: set[Select | Load] = {
        part
        for part, _ in parts
        if isinstance(part, Select) and isinstance(part.if_true, Load) and isinstance(part.if_false, Const)
    }
    if buffer is not None:
        selects = {part for part in selects if buffer in {each.buffer for each in loads(part)}}
    found: set[Select | Load] = {
        part for part in selects if isinstance(part, Select) and mentions(part.condition, inner)
    }
    if buffer is not None:
        found = found or selects or {part for part in loads(stmt.value) if part.buffer is buffer}
        if len(found) > 1:
            found = {part for part in found if mentions(part, (loop,))}
    if len(found) != 1:
        whats = "such conditions" if buffer is None else f"reads of '{buffer.name}'"
        raise ScheduleError(what, because=f"it has {len(found) or 'no'} {whats}", fix=_FIX)
    if all(conditions for part, conditions in parts if part in found):
        raise ScheduleError(what, because="it reads that under another condition as well", fix=_FIX)
    return found.pop()


@dataclass(frozen=True, slots=True)
class _Padding:
    """The elements that are read in the inner loops: in each dimension from a base on, as many as there are."""

    what: str
    known: Bindings
    outer: Sequence[For]
    inner: Mapping[Var, Expr]
    load: Load

    def forms(self) -> dict[int, AffineForm]:
        """Return the indices that depend on inner loops, by dimension."""
        found = {d: self.known.affine(index) for d, index in enumerate(self.load.indices)}
        return {d: form for d, form in found.items() if self._is_inner(form)}

    def _is_inner(self, form: AffineForm) -> bool:
        return any(mentions(term, self.inner) for term in form.terms)

    def moving(self, form: AffineForm) -> AffineForm:
        """Return the part of an index that depends on inner loops."""
        own = form.only(term for term in form.terms if mentions(term, self.inner))
        for term, coefficient in own.terms.items():
            if not isinstance(term, Ref) or coefficient < 0 or not self._is_known(term.var):
                raise ScheduleError(
                    self.what,
                    because="an index is no sum of positive multiples of inner loops' variables with known extents",
                    fix=_FIX,
                )
        return own

    def _is_known(self, var: Var) -> bool:
        """Return whether it is known before the loops inside how far a loop runs, and how far at most."""
        extent = self.inner[var]
        outside = not mentions(self.known.expand(extent), self.inner)
        return is_size_expr(extent) or (outside and at_most(extent, {}) is not None)

    def most(self, var: Var) -> Expr:
        """Return the most iterations of an inner loop."""
        bound = None if is_size_expr(self.inner[var]) else at_most(self.inner[var], {})
        return self.inner[var] if bound is None else Const(bound)

    def is_read(self, form: AffineForm, place: Var) -> Expr | None:
        """Return the condition on a place of the table for an element to be read; None where all are."""
        own = self._steps(form)
        extents = {var: self.known.expand(self.inner[var]) for var in own}
        short = [var for var in own if not is_size_expr(self.inner[var])]
        if not short:
            return None
        end = self._end(own, extents)
        read: Expr = Binary(BinaryOp.LT, Ref(place), end)
        for var in short if len(own) > 1 else ():  # of one loop, the end says whether it runs
            read = both(read, Binary(BinaryOp.LT, Const(0), extents[var]))
        return read

    def _steps(self, form: AffineForm) -> dict[Var, int]:
        """Return how many elements an index goes on by in a step of each inner loop that moves it."""
        return {term.var: step for term, step in self.moving(form).terms.items() if isinstance(term, Ref)}

    def _end(self, steps: Mapping[Var, int], extents: Mapping[Var, Expr]) -> Expr:
        """Return how many elements there are up to the last one, of loops that go on by so many elements a step."""
        total: Expr = Const(1 - sum(steps.values()))
        for var, step in steps.items():
            total = plus(total, times(extents[var], Const(step)))
        return affine(total).expr

    def places(self) -> tuple[Expr, ...]:
        """Return where the table has the element of an iteration."""
        return tuple(self.moving(form).expr for form in self.forms().values())

    def size(self, form: AffineForm) -> Expr:
        """Return how many elements a dimension of the table has."""
        own = self._steps(form)
        return at_least_zero(self._end(own, {var: self.most(var) for var in own}))

    def table(self, program: Program, guarded: Select | Load) -> tuple[Buffer, Stmt]:
        """Return the table, and the loops that fill it."""
        buffer, forms = self.load.buffer, self.forms()
        if not all(is_size_expr(each.extent) for each in self.outer):
            raise ScheduleError(
                self.what, because="the extents of the loops around are not known before the call"
            )
        fresh = {d: Var(f"{buffer.name}_{d}") for d in forms}
        at = {
            d: form.plus(self.moving(form), -1).plus(AffineForm({Ref(fresh[d]): 1}))
            for d, form in forms.items()
        }
        sizes = {d: self.size(form) for d, form in forms.items()}
        shape = (*(each.extent for each in self.outer), *sizes.values())
        dims = (*(each.dim for each in self.outer), *(buffer.dims[d] for d in forms))
        table = Buffer(program.free_name(f"{buffer.name}_padded"), buffer.dtype, shape, Role.WORKSPACE, dims)
        indices = tuple(
            at[d].expr if d in at else self.known.expand(index) for d, index in enumerate(self.load.indices)
        )
        condition: Expr | None = None
        other: Expr = zero(buffer.dtype)
        for d, form in forms.items():
            if (short := self.is_read(form, fresh[d])) is not None:
                condition = both(condition, short)
        if isinstance(guarded, Select):
            condition = both(condition, self._at(self.known.expand(guarded.condition), at))
            other = guarded.if_false
        value: Expr = Load(buffer, indices)
        value = value if condition is None else Select(condition, value, other)
        places = (*(Ref(each.var) for each in self.outer), *(Ref(var) for var in fresh.values()))
        nest: Stmt = Store(Label(table.name), table, places, value)
        for d in reversed([d for d in buffer.order if d in fresh]):
            nest = For(fresh[d], sizes[d], nest, LoopKind.SERIAL, buffer.dims[d])
        return table, nest

    def _at(self, condition: Expr, at: Mapping[int, AffineForm]) -> Expr:
        """Return a condition on indices as one on the table's places."""
        if not mentions(condition, self.inner):
            return condition
        match condition:
            case Binary(op=op, lhs=lhs, rhs=rhs) if op in _LOGICAL:
                return Binary(op, self._at(lhs, at), self._at(rhs, at))
            case Binary(op=op, lhs=lhs, rhs=rhs) if op.is_comparison:
                return Binary(op, self._index(lhs, at), self._index(rhs, at))
            case Unary(op=UnaryOp.NOT as op, operand=operand):
                return Unary(op, self._at(operand, at))
            case _:
                return self._index(condition, at)

    def _index(self, expr: Expr, at: Mapping[int, AffineForm]) -> Expr:
        """Return an index, or one a known distance from it, for the table's places."""
        form = affine(expr)
        if not self._is_inner(form):
            return expr
        for d, own in self.forms().items():
            rest = form.plus(own, -1)
            if not self._is_inner(rest):
                return at[d].plus(rest).expr
        raise ScheduleError(self.what, because="the condition depends on more than the indices", fix=_FIX)


@dataclass
class _Pad(Rewriter):
    loop: Var = field(kw_only=True)
    before: bool = field(kw_only=True)
    statement: Stmt = field(kw_only=True)
    guarded: Select | Load = field(kw_only=True)
    read: Load = field(kw_only=True)
    fill: Stmt = field(kw_only=True)
    _inside: bool = field(default=False, init=False)

    def expr(self, expr: Expr) -> Expr:
        return self.read if self._inside and expr == self.guarded else super().expr(expr)

    def stmt(self, stmt: Stmt) -> Stmt:
        self._inside = stmt is self.statement
        new = super().stmt(stmt)
        self._inside = False
        if isinstance(new, For) and new.var is self.loop:
            return block(self.fill, new) if self.before else replace(new, body=block(self.fill, new.body))
        return new
