"""Sizes that follow from the extents of arrays: affine expressions of sizes, solved for the sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from ragged.errors import DataError


class Affine(msgspec.Struct, frozen=True, tag=True):
    """An extent that is `constant` plus each size, by name, times its coefficient, which is not zero."""

    terms: tuple[tuple[str, int], ...]
    constant: int = 0

    def at(self, sizes: Mapping[str, int]) -> int:
        """Return the extent where sizes have these values."""
        return self.constant + sum(coefficient * sizes[size] for size, coefficient in self.terms)

    def __str__(self) -> str:
        text = ""
        for size, coefficient in self.terms:
            term = size if abs(coefficient) == 1 else f"{abs(coefficient)} * {size}"
            sign = "-" if coefficient < 0 else "+"
            text = f"{text} {sign} {term}" if text else (f"-{term}" if coefficient < 0 else term)
        if not self.constant:
            return text or "0"
        return (
            f"{text} {'-' if self.constant < 0 else '+'} {abs(self.constant)}" if text else str(self.constant)
        )


Known = dict[str, tuple[int, str]]
"""Sizes by name, each with the argument that gave it first, for messages."""


@dataclass(frozen=True, slots=True)
class SizeEquation:
    """An array's extent in one dimension; `what` and `dim` name the two in messages."""

    extent: Affine
    value: int
    what: str
    dim: str


def solve_sizes(equations: Sequence[SizeEquation], known: Known) -> None:
    """Add the sizes that equations determine to `known`; sizes that none determines stay unknown.

    Raises:
        DataError: a size would be no integer from 0 up, or two equations disagree.
    """
    pending = list(equations)
    while pending:
        left = [each for each in pending if not _solved(each, known)]
        if len(left) == len(pending) and not _eliminate(left, known):
            return
        pending = left


def _solved(equation: SizeEquation, known: Known) -> bool:
    """Check an equation of known sizes, or note the size that it gives; False if it has two unknown ones."""
    rest = equation.value - equation.extent.constant
    unknown: tuple[str, int] | None = None
    for size, coefficient in equation.extent.terms:
        if size in known:
            rest -= coefficient * known[size][0]
        elif unknown is not None:
            return False
        else:
            unknown = size, coefficient
    if unknown is not None:
        size, coefficient = unknown
        if rest % coefficient or rest // coefficient < 0:
            raise _no_size(equation, size, Fraction(rest, coefficient), known)
        known[size] = rest // coefficient, equation.what
    elif rest:
        raise DataError(
            f"{equation.what} extends {equation.value} in {equation.dim}, and {equation.extent} is "
            f"{equation.value - rest}",
            because=_origins(equation, known),
        )
    return True


def _no_size(equation: SizeEquation, size: str, value: Fraction, known: Known) -> DataError:
    reasons = (f"{size} would be {value}, and a size is an integer from 0 up", _origins(equation, known))
    return DataError(
        f"{equation.what} extends {equation.value} in {equation.dim}, which is {equation.extent}",
        because="; ".join(filter(None, reasons)),
    )


def _origins(equation: SizeEquation, known: Known) -> str:
    found = (size for size, _ in equation.extent.terms if size in known)
    return ", ".join(f"{known[size][1]} has {size} = {known[size][0]}" for size in found)


def _eliminate(equations: Sequence[SizeEquation], known: Known) -> bool:
    """Note the sizes that follow from several equations together; False if none does."""
    rows: list[tuple[dict[str, Fraction], Fraction, SizeEquation]] = []
    for each in equations:
        row = {size: Fraction(c) for size, c in each.extent.terms if size not in known}
        rest = Fraction(each.value - each.extent.constant)
        rest -= sum(c * known[size][0] for size, c in each.extent.terms if size in known)
        for other, total, _ in rows:
            row, rest = _without(row, rest, other, total)
        if row:
            rows = [(*_without(other, total, row, rest), own) for other, total, own in rows]
            rows.append((row, rest, each))
    single = [(row, rest, each) for row, rest, each in rows if len(row) == 1]
    for row, rest, each in single:
        ((size, coefficient),) = row.items()
        value = rest / coefficient
        if value.denominator != 1 or value < 0:
            raise _no_size(each, size, value, known)
        known[size] = int(value), each.what
    return bool(single)


def _without(
    row: dict[str, Fraction], rest: Fraction, other: dict[str, Fraction], total: Fraction
) -> tuple[dict[str, Fraction], Fraction]:
    """Return an equation less a multiple of another one, so that it lacks the other's first size."""
    first = next(iter(other))
    factor = row.get(first, Fraction(0)) / other[first]
    if not factor:
        return row, rest
    sizes = {*row, *other}
    made = {
        size: row.get(size, Fraction(0)) - factor * other.get(size, Fraction(0)) for size in sorted(sizes)
    }
    return {size: c for size, c in made.items() if c}, rest - factor * total
