"""The accesses of a statement, dimension by dimension, with the conditions around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragged.analysis.obligations import guarded_parts
from ragged.ir.build import within
from ragged.ir.expr import Binary, Expr, Load, Ref, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.walk import reads_memory, variables
from ragged.polyhedral.largest_range import BoundedIndex
from ragged.tc.checked import CheckedFunction, CheckedStatement, IndexRange, TensorVersion
from ragged.tc.size_text import size_text


@dataclass(frozen=True, slots=True)
class DimensionAccess:
    """An index of a read: it lies in the domain of dimension `position` of `version` where `condition` holds."""

    load: Load
    version: TensorVersion
    position: int
    condition: Expr | None

    @property
    def index(self) -> Expr:
        """The index."""
        return self.load.indices[self.position]

    @property
    def domain(self) -> IndexRange | None:
        """The range of the dimension at the indices before it, None while it is not known."""
        domain = self.version.domain
        return None if domain is None else domain[self.position].at(self.load.indices)

    @property
    def reads_data(self) -> bool:
        """Whether the index is read from a tensor."""
        return reads_memory(self.index)

    @property
    def variables(self) -> frozenset[Var]:
        """The variables of the index, and of the condition unless that reads a tensor."""
        return variables(self.index, *([] if self.affine_condition is None else [self.affine_condition]))

    @property
    def affine_condition(self) -> Expr | None:
        """The condition, None if it reads a tensor: ranges do not depend on data."""
        return None if self.condition is None or reads_memory(self.condition) else self.condition

    @property
    def is_kept_inside(self) -> bool:
        """Whether the condition may be there to keep the index in bounds: it is about an index computed of its own."""
        condition = self.affine_condition
        computed = not isinstance(self.index, Ref)
        return condition is not None and computed and bool(variables(condition) & variables(self.index))

    def bounded(self, *, conditional: bool = True) -> BoundedIndex:
        """Return the obligation for `largest_range`, under the condition or everywhere."""
        domain = self.domain
        assert domain is not None, "the domain is known"
        condition = self.affine_condition if conditional else None
        return BoundedIndex(self.index, domain.lower, domain.upper, condition)

    @property
    def goal(self) -> Expr:
        """The obligation as one expression."""
        domain = self.domain
        assert domain is not None, "the domain is known"
        inside = within(self.index, domain.lower, domain.upper)
        if self.condition is None:
            return inside
        return Binary(BinaryOp.OR, Unary(UnaryOp.NOT, self.condition), inside)

    @property
    def text(self) -> str:
        """The read as it stands in the text."""
        return size_text(self.load) if self.load.indices else self.version.name


def accesses_of(function: CheckedFunction, statement: CheckedStatement) -> Iterator[DimensionAccess]:
    """Yield the accesses of a statement: its reads, those of `where exists`, and of what a reduction starts from."""
    for root in (statement.value, *statement.witnesses):
        for part, condition in guarded_parts(root):
            for load in (part,) if isinstance(part, Load) else function.length_reads(part):
                version = function.versions[load.buffer]
                for position in range(version.rank):
                    yield DimensionAccess(load, version, position, condition)
    if statement.previous is not None:
        own = Load(statement.previous.buffer, tuple(map(Ref, statement.indices)), statement.at)
        for position in range(statement.previous.rank):
            yield DimensionAccess(own, statement.previous, position, None)
