"""The two loops that `fuse` made one of."""

from __future__ import annotations

from dataclasses import replace

from ragged.ir.expr import Binary, Ref
from ragged.ir.ops import BinaryOp
from ragged.ir.stmt import For, Let
from ragged.ir.walk import all_expressions, mentions


def unfused(loop: For) -> For | None:
    """Return the nest of two loops that runs the iterations of a loop that `fuse` made, or None if it made none.

    `for e in kind(m * n): i = e // n; j = e % n; body` gives `for i in kind(m): for j in kind(n): body`.
    """
    match loop:
        case For(
            extent=Binary(op=BinaryOp.MUL, lhs=count, rhs=extent),
            body=Let(
                var=outer,
                value=Binary(op=BinaryOp.FLOORDIV, lhs=Ref(var=dividend), rhs=divisor),
                body=Let(
                    var=inner, value=Binary(op=BinaryOp.MOD, lhs=Ref(var=other), rhs=modulus), body=body
                ),
            ),
        ) if (
            dividend is other is loop.var
            and divisor == modulus == extent
            and not any(mentions(expr, (loop.var,)) for expr in all_expressions(body))
        ):
            return replace(
                loop, var=outer, extent=count, body=replace(loop, var=inner, extent=extent, body=body)
            )
        case _:
            return None
