"""The dimensions N, K and S, and the base class of a model's tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from ragged.errors import Location
from ragged.ir.dtype import DType


@dataclass(frozen=True, slots=True, eq=False)
class StructureDim:
    """A dimension with an extent that the batch gives: nodes `ra.N`, children of a node `ra.K`, structures `ra.S`."""

    name: str

    def __repr__(self) -> str:
        return f"ra.{self.name}"


N = StructureDim("N")
K = StructureDim("K")
S = StructureDim("S")

Shape: TypeAlias = tuple[StructureDim | int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ModelTensor:
    """What an expression reads (subclasses: `cortex.ra.tensor`). Compared by identity.

    `name` is the user's, or guessed from the assignment, or empty: `Model.names` makes it unique in a model. `calls`
    says whether a value depends on the result of a recursive call.
    """

    name: str
    shape: Shape
    dtype: DType
    at: Location | None = field(kw_only=True, default=None, repr=False)
    calls: bool = field(kw_only=True, default=False, repr=False)


Names: TypeAlias = Callable[[ModelTensor], str]
"""The name that a listing prints for each tensor."""


def own_name(tensor: ModelTensor) -> str:
    """Return the tensor's name outside of a model."""
    return tensor.name or type(tensor).__name__.lower()
