"""A point's results beside the default's: the same bits, unless an order was changed by name."""

from __future__ import annotations

from collections.abc import Iterator

from cortex.compiler.agreement import BOUND, relative_error
from cortex.compiler.options import RecursionOptions
from cortex.compiler.output import Array, Output
from ragged.errors import InternalError
from ragged.tuning.bits import bits_of


def disagreement(
    options: RecursionOptions, out: Output, base: RecursionOptions, expected: Output
) -> str | None:
    """Return why a point's results cannot stand for those of `base`, or None if they can.

    Raises:
        InternalError: bits differ though no order was changed: a fault of the compiler.
    """
    largest = 0.0
    for name, mine, own in _pairs(out, expected):
        if bits_of(mine) == bits_of(own):
            continue
        if options.refactor == base.refactor:
            raise InternalError(
                f"tune: {options!r} changes the bits of '{name}'", because="no option but refactor may"
            )
        largest = max(largest, relative_error(mine, own))
    return None if largest <= BOUND else f"its results differ from the default's by {largest:.1e}"


def _pairs(out: Output, expected: Output) -> Iterator[tuple[str, Array, Array]]:
    for name in expected:
        if name in (*expected.heads, *expected.structures):
            yield name, out[name], expected[name]
            continue
        for mine, own in zip(out.nodes(name), expected.nodes(name), strict=True):
            yield name, mine, own
