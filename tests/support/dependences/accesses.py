"""Iteration domains, accesses and dates of the statements of a kernel, as sets and relations of isl.

Tensor Comprehensions, section 5 and A.3. The date of an iteration is a tuple of places in blocks and of iterations,
compared lexicographically. Domains and accesses may be larger than they are, and never smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ragged.ir.expr import Buffer, Expr, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import ElementAccess, Site, path_to, regions, sites
from ragged.ir.stmt import Alloc, Barrier, Check, For, LoopKind, Stmt
from ragged.ir.walk import children
from ragged.polyhedral.context import PolyhedralLimitError
from ragged.polyhedral.statements import AffineText, Statement, statements_of

_ORDER = "order[]"
"""An element that checks write and all statements read: nothing passes a check."""


@dataclass(frozen=True)
class DatedStatement(Statement):
    """A statement of a kernel with its place in the kernel and in each loop's body."""

    places: tuple[int, ...]

    def point(self, mark: str = "i") -> str:
        """Return an iteration as text; `mark` is what the names of loops start with."""
        return super().point().replace("i", mark)

    def index(self, var: Var) -> str:
        """Return a loop's name in texts."""
        return f"i{self.loops.index(var)}"

    def date(self, depth: int) -> str:
        """Return the date of an iteration, of `depth` loops: places, and iterations of the loops in between."""
        date = [str(self.places[0])]
        for var, place in zip(self.loops, self.places[1:], strict=True):
            date += [self.index(var), str(place)]
        return f"{self.point()} -> [{', '.join([*date, *(['0'] * (2 * (depth - len(self.loops))))])}]"

    def text(
        self, parameters: dict[str, Expr], unknowns: dict[Expr, str] | None = None, mark: str = "i"
    ) -> tuple[AffineText, list[str]]:
        """Return what writes expressions of its loops as text, and the bounds of the loops."""
        unknown = {} if unknowns is None else unknowns
        text = AffineText(self.loops, parameters=parameters, unknowns=unknown)
        text.names = {var: f"{mark}{number}" for number, var in enumerate(self.loops)}
        ranges = path_to(self.site).ranges
        return text, [f"0 <= {text.names[var]} < {text.integer(extent)}" for var, extent in ranges]


@dataclass(frozen=True, slots=True)
class Accesses:
    """The statements of a kernel in the order of the text, and what they touch, as texts that isl reads.

    `parameters` maps names in the texts to sizes.
    """

    statements: tuple[DatedStatement, ...]
    parameters: dict[str, Expr]
    domain: str
    reads: str
    writes: str
    dates: str

    def axis(self, loops: Mapping[DatedStatement, Var]) -> str:
        """Return the relation of iterations of statements to the value of one loop of each."""
        return f"{{ {'; '.join(f'{each.point()} -> [{each.index(var)}]' for each, var in loops.items())} }}"


def dated_statements(program: Program) -> tuple[DatedStatement, ...]:
    """Return the statements of a program's kernel in the order of the text.

    Raises:
        PolyhedralLimitError: workers or threads run it.
    """
    for site in sites(program):
        if site.stage.kind is StageKind.KERNEL:
            _require_sequential(site)
    places = dict(_places(program.kernel, (), [0]))
    return tuple(
        DatedStatement(each.name, each.site, each.loops, places[id(each.site.stmt)])
        for each in statements_of(program)
    )


def accesses_of(program: Program) -> Accesses:
    """Return the statements of a program's kernel with what they touch.

    Raises:
        PolyhedralLimitError: workers or threads run it, or memory has two names.
    """
    statements = dated_statements(program)
    checks = any(isinstance(each.site.stmt, Check) for each in statements)
    depth = max((len(each.loops) for each in statements), default=0)
    parameters: dict[str, Expr] = {}
    arrays: dict[Buffer, str] = {}
    parts = [_texts(each, depth, parameters, arrays, checks=checks) for each in statements]
    head = f"[{', '.join(parameters)}] -> "
    unions = [f"{head}{{ {'; '.join(text for part in parts for text in part[kind])} }}" for kind in range(4)]
    return Accesses(statements, parameters, *unions)


def _places(stmt: Stmt, outer: tuple[int, ...], count: list[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the places of all leaves by identity; `count` is that of the loop around."""
    if isinstance(stmt, For):
        place, count[0] = count[0], count[0] + 1
        yield from _places(stmt.body, (*outer, place), [0])
    elif children(stmt):
        for child in children(stmt):
            yield from _places(child, outer, count)
    else:
        yield id(stmt), (*outer, count[0])
        count[0] += 1


def _require_sequential(site: Site) -> None:
    if isinstance(site.stmt, Barrier):
        raise PolyhedralLimitError(f"workers meet at '{site.stmt.label.name}'")
    for loop in site.loops:
        if loop.kind in (LoopKind.TEAM, LoopKind.THREADS):
            raise PolyhedralLimitError(f"the iterations of '{loop.var.name}' are workers")


def _texts(
    statement: DatedStatement,
    depth: int,
    parameters: dict[str, Expr],
    arrays: dict[Buffer, str],
    *,
    checks: bool,
) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return a statement's domain, reads, writes and date of `depth` loops."""
    path = path_to(statement.site)

    def accessed(access: ElementAccess) -> str:
        buffer, around = access.buffer, _loops_around(statement.site, access.buffer)
        if buffer.aliases is not None:
            raise PolyhedralLimitError(f"'{buffer.name}' is another name of memory")
        text, bounds = statement.text(parameters)
        indices = [text.names[var] for var in around] + [text.integer(index) for index in access.indices]
        places = [f"a{number}" for number in range(len(indices))]
        equal = [f"{place} = {index}" for place, index in zip(places, indices, strict=True)]
        element = f"{arrays.setdefault(buffer, f'A{len(arrays)}')}[{', '.join(places)}]"
        return f"{statement.point()} -> {element} : {text.all_of([*bounds, *equal, *text.said(access.conditions)])}"

    text, bounds = statement.text(parameters)
    domain = [f"{statement.point()} : {text.all_of([*bounds, *text.said(path.conditions)])}"]
    found = regions(statement.site)
    reads, writes = ([accessed(each) for each in side] for side in (found.reads, found.writes))
    if checks:
        (writes if isinstance(statement.site.stmt, Check) else reads).append(
            f"{statement.point()} -> {_ORDER}"
        )
    return domain, reads, writes, [statement.date(depth)]


def _loops_around(site: Site, buffer: Buffer) -> tuple[Var, ...]:
    """Return the loops each iteration of which has a local buffer of its own."""
    loops: list[Var] = []
    for outer in site.around:
        if isinstance(outer, For):
            loops.append(outer.var)
        elif isinstance(outer, Alloc) and outer.buffer is buffer:
            return tuple(loops)
    return ()
