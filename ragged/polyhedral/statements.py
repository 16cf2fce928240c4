"""The statements of a kernel and their iterations, as text that isl reads.

Tensor Comprehensions, section 5 and A.3. A statement is `S<number>`, its iterations are tuples of the loops around it.
What is no sum of multiples of loops' variables and sizes, such as a length of a row or an index that is read from data,
is a dimension of its own, of which nothing is known: a set may be larger than it is, and never smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ragged.ir.expr import Expr, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import Site, path_to, sites
from ragged.ir.stmt import Check, Label, Reduce, Store
from ragged.polyhedral.context import PolyhedralLimitError
from ragged.polyhedral.formula_text import FormulaText


@dataclass
class AffineText(FormulaText):
    """Writes what is not affine as an unknown: `unknowns` has its name."""

    unknowns: dict[Expr, str] = field(default_factory=dict)

    def _parameter(self, expr: Expr) -> str:
        try:
            return super()._parameter(expr)
        except PolyhedralLimitError:
            return self.unknowns.setdefault(expr, f"u{len(self.unknowns)}")

    def said(self, conditions: Sequence[Expr]) -> list[str]:
        """Return conditions as text; one that cannot be said is left out."""
        found = []
        for each in conditions:
            with suppress(PolyhedralLimitError):
                found.append(self.condition(each))
        return found

    def all_of(self, parts: Sequence[str]) -> str:
        """Return that all of `parts` hold, for some values of the unknowns."""
        unknown = f"exists {', '.join(self.unknowns.values())} : " if self.unknowns else ""
        return f"({unknown}{' and '.join(parts) or '1 = 1'})"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a kernel and its loops, outermost first."""

    name: str
    site: Site
    loops: tuple[Var, ...]

    @property
    def label(self) -> Label:
        """The statement's label."""
        assert isinstance(self.site.stmt, Store | Reduce | Check)
        return self.site.stmt.label

    def point(self) -> str:
        """Return an iteration as text."""
        return f"{self.name}[{', '.join(f'i{number}' for number in range(len(self.loops)))}]"

    def text(self, parameters: dict[str, Expr]) -> tuple[AffineText, list[str]]:
        """Return what writes expressions of its loops as text, and the bounds of the loops."""
        text = AffineText(self.loops, parameters=parameters)
        ranges = path_to(self.site).ranges
        return text, [f"0 <= {text.names[var]} < {text.integer(extent)}" for var, extent in ranges]


def statements_of(program: Program) -> tuple[Statement, ...]:
    """Return the statements of a program's kernel in the order of the text; barriers are none."""
    found = [
        site
        for site in sites(program)
        if site.stage.kind is StageKind.KERNEL and isinstance(site.stmt, Store | Reduce | Check)
    ]
    return tuple(
        Statement(f"S{number}", site, tuple(loop.var for loop in site.loops))
        for number, site in enumerate(found)
    )
