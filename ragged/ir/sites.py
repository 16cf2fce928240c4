"""Where statements stand, and what they touch there: for bounds, dependences and verification.

A `Site` is a statement with everything around it. What it reads and writes, `regions(site)`, is told over the
variables of the loops around it alone: lets are substituted, so that equal places look equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from ragged.ir.expr import Binary, Buffer, Expr, Load, Select, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.program import Program, Stage
from ragged.ir.rewrite import substitute
from ragged.ir.stmt import Alloc, For, If, Let, Reduce, Stmt, Store
from ragged.ir.walk import children, held, operands, variables


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch of a condition: `taken` is True inside `then`, False inside `orelse`."""

    branch: If
    taken: bool

    @property
    def condition(self) -> Expr:
        """What holds in this branch."""
        return self.branch.condition if self.taken else negated(self.branch.condition)


Enclosing: TypeAlias = For | Let | Alloc | Branch


@dataclass(frozen=True, slots=True)
class Site:
    """A statement and what is around it, outermost first."""

    stage: Stage
    stmt: Stmt
    around: tuple[Enclosing, ...] = ()

    @property
    def loops(self) -> tuple[For, ...]:
        """The loops around the statement."""
        return tuple(outer for outer in self.around if isinstance(outer, For))

    @property
    def conditions(self) -> tuple[Expr, ...]:
        """What holds because of the branches that the statement stands in."""
        return tuple(outer.condition for outer in self.around if isinstance(outer, Branch))

    @property
    def lets(self) -> dict[Var, Expr]:
        """The values of the lets around the statement, as they are written."""
        return {outer.var: outer.value for outer in self.around if isinstance(outer, Let)}

    def expand(self, expr: Expr) -> Expr:
        """Return `expr` with the lets around the statement substituted: only loops' variables are left."""
        return path_to(self).expand(expr)


@dataclass(frozen=True, slots=True)
class ElementAccess:
    """An element that is read or written where all of `conditions` hold; lets are substituted in both."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    conditions: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Regions:
    """What a statement touches, each time that it runs."""

    reads: tuple[ElementAccess, ...]
    writes: tuple[ElementAccess, ...]


def sites(program: Program) -> Iterator[Site]:
    """Yield every statement of a program with what is around it, in the order of the text."""
    stages, found = _LAST_SITES[0]
    if stages is not program.stages:
        found = tuple(site for stage in program.stages for site in sites_in(Site(stage, stage.body)))
        _LAST_SITES[0] = program.stages, found
    return iter(found)


_LAST_SITES: list[tuple[tuple[Stage, ...], tuple[Site, ...]]] = [((), ())]
"""The stages last asked about and their sites: a verification asks six times."""


def sites_in(site: Site) -> Iterator[Site]:
    """Yield `site` and every statement in it, in the order of the text."""
    pending = [site]
    while pending:
        found = pending.pop()
        yield found
        pending.extend(reversed(inner_sites(found)))


def inner_sites(site: Site) -> list[Site]:
    """Return the statements directly in the statement at `site`, in the order of the text."""
    stage, stmt, around = site.stage, site.stmt, site.around
    match stmt:
        case For() | Let() | Alloc():
            return [Site(stage, stmt.body, (*around, stmt))]
        case If(then=then, orelse=orelse):
            taken = [Site(stage, then, (*around, Branch(stmt, taken=True)))]
            if orelse is None:
                return taken
            return [*taken, Site(stage, orelse, (*around, Branch(stmt, taken=False)))]
        case _:
            return [Site(stage, child, around) for child in children(stmt)]


def regions(site: Site) -> Regions:
    """Return what the statement at `site` reads and writes, without the statements inside it.

    A reduction reads what it updates; the reads of the extents, lets and conditions around count.
    """
    return path_to(site).regions(site.stmt)


def regions_of(found: Iterable[Site]) -> Iterator[Regions]:
    """Yield the regions of each site."""
    return (path_to(site).regions(site.stmt) for site in found)


def negated(condition: Expr) -> Expr:
    """Return what holds where `condition` does not."""
    match condition:
        case Unary(op=UnaryOp.NOT, operand=operand):
            return operand
        case _:
            return Unary(UnaryOp.NOT, condition)


def same(one: Enclosing, other: Enclosing) -> bool:
    """Return whether two constructs around statements are one."""
    if isinstance(one, Branch) and isinstance(other, Branch):
        return one.branch is other.branch and one.taken is other.taken
    return one is other


@dataclass(slots=True, eq=False)
class Path:
    """The constructs around a statement: loops and their extents, lets' values, conditions, what they read.

    Lets are substituted in all. Made by `path_to` once for the same constructs; keeps what was asked of expressions.
    """

    loops: tuple[Var, ...] = ()
    extents: tuple[Expr, ...] = ()
    lets: Mapping[Var, Expr] = field(default_factory=dict)
    conditions: tuple[Expr, ...] = ()
    reads: tuple[ElementAccess, ...] = ()
    _key: tuple[object, ...] = ()
    _expanded: dict[int, tuple[Expr, Expr]] = field(default_factory=dict)
    _touched: dict[int, tuple[Stmt, Regions]] = field(default_factory=dict)

    @property
    def ranges(self) -> tuple[tuple[Var, Expr], ...]:
        """The loops, each a variable and its extent."""
        return tuple(zip(self.loops, self.extents, strict=True))

    def expand(self, expr: Expr) -> Expr:
        """Return `expr` with the lets substituted."""
        if not self.lets or variables(expr).isdisjoint(self.lets):
            return expr
        known = self._expanded.get(id(expr))
        if known is None:
            known = self._expanded[id(expr)] = (expr, substitute(expr, self.lets))
        return known[1]

    def read(self, *exprs: Expr) -> tuple[ElementAccess, ...]:
        """Return what expressions that stand here read."""
        return tuple(
            ElementAccess(part.buffer, part.indices, conditions)
            for expr in exprs
            for part, conditions in evaluated(self.expand(expr), self.conditions)
            if isinstance(part, Load)
        )

    def entered(self, outer: Enclosing) -> Path:
        """Return the path that goes on into `outer`."""
        match outer:
            case For(var=var, extent=extent):
                key: tuple[object, ...] = (self, For, var, extent)
            case Let(var=var, value=value):
                key = (self, Let, var, value)
            case Branch(branch=branch, taken=taken):
                key = (self, Branch, branch.condition, taken)
            case Alloc(buffer=buffer):
                key = (self, Alloc, buffer)
            case _:
                assert_never(outer)
        identity = tuple(map(id, key))
        known = _PATHS.get(identity)
        if known is None:
            if len(_PATHS) >= _MOST_PATHS:
                _PATHS.clear()
            known = _PATHS[identity] = self._longer(outer)
            known._key = key  # as long as it is known, these identities are theirs
        return known

    def _longer(self, outer: Enclosing) -> Path:
        loops, extents, lets, conditions = self.loops, self.extents, self.lets, self.conditions
        match outer:
            case For(var=var, extent=extent):
                loops, extents = (*loops, var), (*extents, self.expand(extent))
                reads = self.read(extent)
            case Let(var=var, value=value):
                lets = {**lets, var: self.expand(value)}
                reads = self.read(value)
            case Branch(branch=If(condition=condition)):
                conditions = (*conditions, self.expand(outer.condition))
                reads = self.read(condition)
            case Alloc(buffer=buffer):
                reads = self.read(*buffer.shape)
            case _:
                assert_never(outer)
        return Path(loops, extents, lets, conditions, (*self.reads, *reads))

    def regions(self, stmt: Stmt) -> Regions:
        """Return what `stmt`, at the end of the path, touches."""
        known = self._touched.get(id(stmt))
        if known is None:
            known = self._touched[id(stmt)] = (stmt, self._regions(stmt))
        return known[1]

    def _regions(self, stmt: Stmt) -> Regions:
        own = self.read(*held(stmt))
        match stmt:
            case Store(buffer=buffer, indices=indices) | Reduce(buffer=buffer, indices=indices):
                target = ElementAccess(buffer, tuple(map(self.expand, indices)), self.conditions)
                updated = (target,) if isinstance(stmt, Reduce) else ()
                return Regions((*self.reads, *own, *updated), (target,))
            case _:
                return Regions((*self.reads, *own), ())


_MOST_PATHS = 1 << 14
_PATHS: dict[tuple[int, ...], Path] = {}
"""By the identities in each path's `_key`, which keeps them alive.

Strong references, at most `_MOST_PATHS`, until `forget_paths` at the end of a pipeline: each question makes its sites
anew, and nothing else holds a path between two questions, so that weak ones would forget all.
"""
_START = Path()


def path_to(site: Site) -> Path:
    """Return the path to a statement."""
    path = _START
    for outer in site.around:
        path = path.entered(outer)
    return path


def forget_paths() -> None:
    """Forget all paths: no step of a schedule is about to ask for one of them."""
    _LAST_SITES[0] = (), ()
    _PATHS.clear()
    _START._touched.clear()


def evaluated(expr: Expr, conditions: tuple[Expr, ...] = ()) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
    """Yield everything in `expr`, innermost first, and what holds where it is evaluated: not all operands always are.

    `conditions` hold where `expr` is.
    """
    parts = operands(expr)
    more: tuple[tuple[Expr, ...], ...] = ((),) * len(parts)
    match expr:
        case Select(condition=condition):
            more = ((), (condition,), (negated(condition),))
        case Binary(op=BinaryOp.AND, lhs=lhs):
            more = ((), (lhs,))
        case Binary(op=BinaryOp.OR, lhs=lhs):
            more = ((), (negated(lhs),))
        case _:
            pass
    for part, where in zip(parts, more, strict=True):
        yield from evaluated(part, (*conditions, *where))
    yield expr, conditions
