"""Offsets of elements in flat storage, as affine forms: what all copies of a statement share, and what differs."""

from __future__ import annotations

from dataclasses import dataclass, field

from ragged.analysis.strides import flat_offset
from ragged.arith.affine import AffineForm
from ragged.ir.expr import Buffer, Expr, Ref


@dataclass(slots=True)
class Offset:
    """The offset of the element at `indices`; it keeps them, and so their identity."""

    indices: tuple[Expr, ...]
    form: AffineForm
    _parts: dict[tuple[Expr, ...], tuple[Expr, Expr]] = field(default_factory=dict)

    @classmethod
    def of(cls, buffer: Buffer, indices: tuple[Expr, ...]) -> Offset:
        """Return the offset of an element of `buffer`."""
        return cls(indices, flat_offset(buffer, indices))

    def parts(self, moving: tuple[Expr, ...]) -> tuple[Expr, Expr]:
        """Return the sum of the terms that are not in `moving`, and of those that are and are no variables.

        They are the same expressions each time.
        """
        if moving not in self._parts:
            others = self.form.only(term for term in moving if not isinstance(term, Ref))
            self._parts[moving] = self.form.only(self.form.terms.keys() - set(moving)).expr, others.expr
        return self._parts[moving]
