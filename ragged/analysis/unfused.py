"""The two loops that `fuse` made one of."""

from __future__ import annotations

from dataclasses import replace

from ragged.arith.affine import AffineForm, affine
from ragged.ir.expr import Binary, Const, Expr, Ref
from ragged.ir.ops import BinaryOp
from ragged.ir.stmt import For, Let
from ragged.ir.walk import all_expressions, mentions


def unfused(loop: For) -> For | None:
    """Return the nest of two loops that runs the iterations of a loop that `fuse` made, or None if it made none.

    `for e in kind(m * n): i = e // n; j = e % n; body` gives `for i in kind(m): for j in kind(n): body`, also where the
    product is folded: of `n * 9` iterations with `i = e // (n * 3)` there are 3 for `i`.
    """
    match loop:
        case For(
            extent=extent,
            body=Let(
                var=outer,
                value=Binary(op=BinaryOp.FLOORDIV, lhs=Ref(var=dividend), rhs=divisor),
                body=Let(
                    var=inner, value=Binary(op=BinaryOp.MOD, lhs=Ref(var=other), rhs=modulus), body=body
                ),
            ),
        ) if (
            dividend is other is loop.var
            and divisor == modulus
            and (count := _quotient(extent, divisor)) is not None
            and not any(mentions(expr, (loop.var,)) for expr in all_expressions(body))
        ):
            return replace(
                loop, var=outer, extent=count, body=replace(loop, var=inner, extent=divisor, body=body)
            )
        case _:
            return None


def unfused_loops(loop: For) -> tuple[For, ...]:
    """Return the loops inside each other that `fuse` made a loop of, outermost first; the loop itself if none."""
    nest = unfused(loop)
    if nest is None:
        return (loop,)
    assert isinstance(nest.body, For), "a nest of two loops"
    inner = unfused_loops(nest.body)
    return (replace(nest, body=inner[0]), *inner)


def _quotient(product: Expr, factor: Expr) -> Expr | None:
    """Return what a factor is multiplied by in a product, or None if it is none of it."""
    if isinstance(product, Binary) and product.op is BinaryOp.MUL and factor in (product.lhs, product.rhs):
        return product.lhs if factor == product.rhs else product.rhs
    whole, part = affine(product), affine(factor)
    term, by = next(iter(part.terms.items()), (None, part.constant))
    number = whole.constant if term is None else whole.terms.get(term, 0)
    count = number // by if by else 0
    return Const(count) if count > 0 and AffineForm().plus(part, count) == whole else None
