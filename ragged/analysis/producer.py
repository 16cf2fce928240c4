"""The nest that computes a temporary, and the regions of its loops that another loop reads.

Regions follow from the reads, as bounds of producers from those of their consumers (CoRa, section 5.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragged.analysis.access_range import Span, is_certain, is_covered, iteration_of, span, spans
from ragged.analysis.accesses import BufferAccess, UseKind, accesses, common_depth, inside, top
from ragged.analysis.buffers import TEMPORARY, check_alone
from ragged.arith.affine import AffineForm, affine
from ragged.arith.bindings import Bindings, bindings, is_fixed
from ragged.arith.fold import ZERO, at_least_zero
from ragged.errors import ScheduleError
from ragged.ir.build import within
from ragged.ir.expr import Binary, Buffer, Const, Expr, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import substitute
from ragged.ir.sites import Branch, Enclosing, Site
from ragged.ir.stmt import Barrier, Block, For, Let, LoopKind, Reduce, Stmt, Store
from ragged.ir.walk import held, loads, statements, variables, written
from ragged.prove import holds


@dataclass(frozen=True, slots=True)
class ProducerNest:
    """The nest `stmt` that computes `buffer` in `loops`, and the reads in the loop at `place`.

    `reached` has for each dimension the elements that it stores while it runs. `private` are temporaries of
    one element at a time, each with the innermost loop around its uses, which stores the element before it is read.
    """

    name: str
    program: Program
    buffer: Buffer
    place: Site
    stmt: Stmt
    loops: tuple[For, ...]
    reached: tuple[Span, ...]
    reads: Sequence[BufferAccess]
    private: Mapping[Buffer, Var]
    known: Bindings

    def iteration(self, indices: Sequence[Expr]) -> dict[Var, Expr]:
        """Return in which iteration of its loops the nest stores an element."""
        found: dict[Var, Expr] = {}
        for each, index in zip(self.reached, indices, strict=True):
            found.update(iteration_of(each, index, self.known))
        return found


def producer_nest(name: str, program: Program, buffer: Buffer, place: Site) -> ProducerNest:
    """Return the nest that computes a buffer and the reads of it; refused unless it may move."""
    found, known = accesses(program, buffer), bindings(program)
    reads = [use for use in found if not use.writes]
    writes = [use for use in found if use.writes]
    elsewhere = next((use for use in reads if place.stmt not in use.site.around), None)
    if elsewhere is not None or not reads:
        raise ScheduleError(
            name,
            because=f"{_text(elsewhere)} reads it outside of that loop" if elsewhere else "nothing reads it",
            fix="name a loop around all that reads it",
        )
    store = writes[0] if writes else None
    if store is None or store.kind is not UseKind.STORE or any(w.indices != store.indices for w in writes):
        raise ScheduleError(
            name,
            because="it is not written by one store, or one reduction with its first value",
            fix="compute_at what one nest computes",
        )
    depth = min(common_depth(use.site, place) for use in writes)
    stmt = top(store.site, depth)
    if stmt is place.stmt:
        raise ScheduleError(name, because="that loop computes it already", fix="fission that loop first")
    private = _private(name, program, known, stmt, written(stmt) - {buffer})
    _check_nest(name, stmt, writes)
    loops = tuple(outer for outer in store.site.around[depth:] if isinstance(outer, For))
    reached = spans(store, depth, known)
    if reached is None or not is_certain(store, depth, reached, known):
        raise ScheduleError(
            name,
            because="which elements its nest stores is not known: its indices are no sums of multiples of its loops, "
            "or it stands under a condition",
            fix="compute it in the loops around first, those over the rows that it has in common with what reads it",
        )
    parts = {part.var for each in reached for part in each.parts}
    again = next((each for each in loops if each.var not in parts), None)
    if again is not None:
        raise ScheduleError(
            name,
            because=f"loop '{again.var.name}' of its nest stores the same elements again",
            fix="reorder the loops, so that sums are innermost",
        )
    for use in reads:
        if not is_covered(program, known, store, use):
            raise ScheduleError(
                name,
                because=f"{_text(use)}: it is not sure that the nest stored what it reads, in the same loops",
            )
        if not all(is_fixed(known.expand(index)) for index in use.indices):
            raise ScheduleError(name, because=f"{_text(use)}: what its index is made of may change")
    _check_unchanged(name, stmt, depth, place)
    return ProducerNest(name, program, buffer, place, stmt, loops, reached, reads, private, known)


def _text(use: BufferAccess) -> str:
    stmt = use.site.stmt
    return f"'{stmt.label.name}'" if isinstance(stmt, Store | Reduce) else f"a {type(stmt).__name__.lower()}"


def _check_nest(name: str, stmt: Stmt, writes: Sequence[BufferAccess]) -> None:
    """Refuse a nest that does something else, and writes outside of it."""
    own = list(statements(stmt))
    if not all(any(use.site.stmt is each for each in own) for use in writes):
        raise ScheduleError(name, because="several nests write it", fix="compute_at what one nest computes")
    for each in own:
        match each:
            case For(kind=LoopKind.SERIAL | LoopKind.PARALLEL) | Let() | Block() | Store() | Reduce():
                continue
            case For(var=var, kind=kind):
                because = f"its loop '{var.name}' is {kind.value}"
            case _:
                because = "its nest holds checks, conditions, local buffers or barriers"
        raise ScheduleError(name, because=because, fix="move it before other steps, or fission its nest")


def _private(
    name: str, program: Program, known: Bindings, stmt: Stmt, buffers: Iterable[Buffer]
) -> dict[Buffer, Var]:
    """Return buffers that a nest writes and alone reads, one element at a time, and the loops in which it does."""
    found = {}
    own = {id(each) for each in statements(stmt)}
    for buffer in buffers:
        first, *others = accesses(program, buffer)
        depth = min((common_depth(first.site, use.site) for use in others), default=len(first.site.around))
        inner = next((o for o in reversed(first.site.around[:depth]) if isinstance(o, For)), None)
        alone = all(id(use.site.stmt) in own and use.indices == first.indices for use in (first, *others))
        covered = all(use.writes or is_covered(program, known, first, use) for use in others)
        stored = first.kind is UseKind.STORE and is_certain(first, depth, (), known)
        lives_on = buffer.role not in TEMPORARY
        if lives_on or inner is None or id(inner) not in own or not (alone and covered and stored):
            raise ScheduleError(
                name,
                because=f"its nest writes '{buffer.name}' too",
                fix="move it before other steps, or fission its nest",
            )
        check_alone(program, buffer, "compute_at")
        found[buffer] = inner.var
    return found


def _check_unchanged(name: str, stmt: Stmt, depth: int, place: Site) -> None:
    """Refuse unless what the nest reads is the same where the loop runs."""
    suite = _body(place.around[depth - 1]) if depth else place.stage.body
    parts = list(suite.body) if isinstance(suite, Block) else [suite]
    first = next(k for k, part in enumerate(parts) if part is stmt)
    last = next(k for k, part in enumerate(parts) if any(each is place.stmt for each in statements(part)))
    read = {part.buffer for each in statements(stmt) for expr in held(each) for part in loads(expr)}
    changed = sorted(b.name for part in parts[first + 1 : last + 1] for b in written(part) if b in read)
    if changed:
        raise ScheduleError(
            name, because=f"'{changed[0]}', which its nest reads, is written before that loop ends"
        )
    if any(isinstance(each, Barrier) for part in parts[first:last] for each in statements(part)):
        raise ScheduleError(name, because="workers meet at a barrier between its nest and that loop")


def _body(outer: Enclosing) -> Stmt:
    if not isinstance(outer, Branch):
        return outer.body
    taken = outer.branch.then if outer.taken else outer.branch.orelse
    assert taken is not None, "the loop is in it"
    return taken


@dataclass(frozen=True, slots=True)
class ProducerRegion:
    """The iterations `begin <= var < begin + count` of a loop of the nest; one of them, `lower`, if `size` is None.

    `lower` is the first one that may be read, which has the index 0 in a buffer of `size` elements.
    """

    loop: For
    lower: AffineForm
    begin: Expr
    count: Expr
    size: int | None

    @property
    def offset(self) -> Expr:
        """The index of the first iteration that is computed."""
        return affine(self.begin).plus(self.lower, -1).expr


def regions_of(nest: ProducerNest) -> list[ProducerRegion]:
    """Return the region of each loop of a nest, outermost first."""
    iterations = [nest.iteration(use.indices) for use in nest.reads]
    found: list[ProducerRegion] = []
    points: dict[Var, Expr] = {}
    for loop in nest.loops:
        values = [(use, each[loop.var]) for use, each in zip(nest.reads, iterations, strict=True)]
        region = _region(nest, loop, values, points)
        if region.size is None:
            points[loop.var] = region.begin
        found.append(region)
    return found


def _region(
    nest: ProducerNest, loop: For, values: Sequence[tuple[BufferAccess, Expr]], points: Mapping[Var, Expr]
) -> ProducerRegion:
    reached = [_span(nest, loop, use, value) for use, value in values]
    first = reached[0].base
    offsets = [each.base.plus(first, -1) for each in reached]
    if any(each.terms for each in offsets):
        raise ScheduleError(
            nest.name,
            because=f"it is read at iterations of '{loop.var.name}' that have no known distance",
            fix="name a loop in which one of them is read",
        )
    least = min(each.constant for each in offsets)
    lower = first.plus(AffineForm(constant=least))
    size = max(
        each.constant - least + _size(nest, loop, own) for each, own in zip(offsets, reached, strict=True)
    )
    extent = substitute(nest.known.extents[loop.var], points)
    if variables(extent) & {each.var for each in nest.loops}:
        raise ScheduleError(
            nest.name, because=f"the extent of '{loop.var.name}' varies in the region that is read"
        )
    site = inside(nest.place)
    begin, end = lower.expr, _end(reached)
    if size == 1 and holds(nest.program, site, within(begin, ZERO, extent)):
        return ProducerRegion(loop, lower, begin, Const(1), None)
    if not holds(nest.program, site, Binary(BinaryOp.LE, ZERO, begin)):
        begin = at_least_zero(begin)
    if not holds(nest.program, site, Binary(BinaryOp.LE, end, extent)):
        end = Binary(BinaryOp.MIN, end, extent)
    count = affine(end).plus(affine(begin), -1).expr
    if not holds(nest.program, site, Binary(BinaryOp.LE, ZERO, count)):
        count = at_least_zero(count)
    return ProducerRegion(loop, lower, begin, count, size)


def _span(nest: ProducerNest, loop: For, use: BufferAccess, value: Expr) -> Span:
    """Return the iterations of a loop of the nest that a read reaches while the body of the loop at `place` runs."""
    inner = use.site.around[len(nest.place.around) + 1 :]
    loops = [outer.var for outer in inner if isinstance(outer, For)]
    hidden = {outer.var for outer in inner if isinstance(outer, For | Let)}
    found = span(value, loops, hidden, nest.known)
    if found is None or any(variables(part.extent) & hidden for part in found.parts):
        raise ScheduleError(
            nest.name,
            because=f"{_text(use)} reads it at iterations of '{loop.var.name}' that are no sum of multiples of the "
            "variables of loops inside, with extents that are known where the region is computed",
            fix="name a loop further inside",
        )
    return found


def _size(nest: ProducerNest, loop: For, reached: Span) -> int:
    """Return the most iterations that a read reaches."""
    total = 1
    for part in reached.parts:
        below = nest.known.below.get(part.var)
        if below is None:
            raise ScheduleError(
                nest.name,
                because=f"its region along '{loop.var.name}' has no largest size: loop '{part.var.name}' may run any "
                "number of times",
                fix=f"split the loop '{part.var.name}', and name the loop over blocks",
            )
        total += part.stride * (below - 1)
    return total


def _end(reached: Sequence[Span]) -> Expr:
    """Return the iteration after the last one that is reached."""
    ends: list[AffineForm] = []
    for each in reached:
        end = each.base.plus(AffineForm(constant=1))
        for part in each.parts:
            end = end.plus(affine(part.extent).plus(AffineForm(constant=-1)), part.stride)
        ends.append(end)
    latest = ends[0]
    rest: list[AffineForm] = []
    for end in ends[1:]:
        further = end.plus(latest, -1)
        if further.terms:
            rest.append(end)
        elif further.constant > 0:
            latest = end
    found = latest.expr
    for end in rest:
        found = Binary(BinaryOp.MAX, found, end.expr)
    return found
