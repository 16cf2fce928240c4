"""Whether linear equations and inequalities over integers have no solution: a sound test, which may miss that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd
from typing import TypeAlias

Form: TypeAlias = dict[int, int]
"""A sum: the coefficient of each unknown, which is numbered from 1; at 0, if it is not 0, the constant."""

_MOST = 120
"""Elimination gives up at so many inequalities."""


def plus(a: Form, b: Form, scale: int = 1) -> Form:
    """Return `a + scale * b`."""
    total = dict(a)
    for unknown, coefficient in b.items():
        value = total.get(unknown, 0) + scale * coefficient
        if value:
            total[unknown] = value
        else:
            total.pop(unknown, None)
    return total


def refuted(equal: Iterable[Form], positive: Iterable[Form]) -> bool:
    """Return True if it is known that no integers make all of `equal` zero and none of `positive` negative."""
    pending, inequalities = list(equal), list(positive)
    while pending:
        form, divisor = _primitive(pending.pop())
        constant = form.get(0, 0)
        if divisor == 0:
            if constant:
                return True
            continue
        if constant % divisor:
            return True
        form = {unknown: coefficient // divisor for unknown, coefficient in form.items()}
        parts = _split(form, inequalities)
        if parts is not None:
            pending += parts
            continue
        unit = next((unknown for unknown, c in form.items() if unknown and abs(c) == 1), None)
        if unit is None:
            inequalities += [form, {unknown: -c for unknown, c in form.items()}]
            continue
        pending = [_without(unit, form, each) for each in pending]
        inequalities = [_without(unit, form, each) for each in inequalities]
    return _eliminated(inequalities)


def _primitive(form: Form) -> tuple[Form, int]:
    return form, gcd(*(coefficient for unknown, coefficient in form.items() if unknown))


def _without(unit: int, equation: Form, form: Form) -> Form:
    """Return a form with an unknown of coefficient 1 or -1 in an equation replaced by what that says it is."""
    here = form.get(unit, 0)
    return plus(form, equation, -here * equation[unit]) if here else form


def _split(form: Form, inequalities: Sequence[Form]) -> tuple[Form, Form] | None:
    """Return two forms that are zero where `form` is: multiples of a number, and a rest that is less than it.

    So `32 * a + b - 32 * c - d` is, of b and d below 32: the places of elements, each by its row and its column.
    """
    for number in sorted({abs(c) for unknown, c in form.items() if unknown and abs(c) > 1}, reverse=True):
        rest = {unknown: c for unknown, c in form.items() if c % number}
        if len(rest) == len(form):
            continue
        bounds = _interval(rest, inequalities)
        if bounds is not None and -number < bounds[0] and bounds[1] < number:
            return {unknown: c // number for unknown, c in form.items() if unknown not in rest}, rest
    return None


def _interval(form: Form, inequalities: Sequence[Form]) -> tuple[int, int] | None:
    """Return bounds of a form by the inequalities about single unknowns; None if it has none."""
    low = high = form.get(0, 0)
    for unknown, coefficient in form.items():
        if not unknown:
            continue
        own = [each for each in inequalities if unknown in each and len(each) <= 1 + (0 in each)]
        least = [-(each.get(0, 0) // each[unknown]) for each in own if each[unknown] > 0]
        most = [each.get(0, 0) // -each[unknown] for each in own if each[unknown] < 0]
        if not least or not most:
            return None
        ends = sorted((coefficient * max(least), coefficient * min(most)))
        low, high = low + ends[0], high + ends[1]
    return low, high


def _eliminated(inequalities: Iterable[Form]) -> bool:
    """Return True if eliminating one unknown after another leaves a negative constant (Fourier and Motzkin)."""
    known: dict[tuple[tuple[int, int], ...], int] = {}
    if _added(known, inequalities):
        return True
    while known:
        above: dict[int, int] = {}
        below: dict[int, int] = {}
        for key in known:
            for unknown, coefficient in key:
                counts = above if coefficient > 0 else below
                counts[unknown] = counts.get(unknown, 0) + 1
        unknown = min(above | below, key=lambda each: above.get(each, 0) * below.get(each, 0))
        if len(known) + above.get(unknown, 0) * below.get(unknown, 0) > _MOST:
            return False
        lower: list[Form] = []
        upper: list[Form] = []
        for key in [key for key in known if any(each == unknown for each, _ in key)]:
            form = dict(key) | {0: known.pop(key)}
            (lower if form[unknown] > 0 else upper).append(form)
        joined = (
            plus({each: -b[unknown] * c for each, c in a.items()}, b, a[unknown])
            for a in lower
            for b in upper
        )
        if _added(known, joined):
            return True
    return False


def _added(known: dict[tuple[tuple[int, int], ...], int], inequalities: Iterable[Form]) -> bool:
    """Add inequalities, of equal sums the strictest one; return True if one of them is of a negative constant."""
    for form in inequalities:
        _, divisor = _primitive(form)
        constant = form.get(0, 0)
        if divisor == 0:
            if constant < 0:
                return True
            continue
        constant //= divisor  # rounded down: the sum is an integer
        key = tuple(sorted((unknown, c // divisor) for unknown, c in form.items() if unknown))
        known[key] = min(known.get(key, constant), constant)
    return False
