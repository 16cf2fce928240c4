"""The dimensions that operators share: a batch of sequences of different lengths, of rows of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ragged
from ragged.api.dims import RaggedDim
from ragged.api.tensors import RaggedTensor
from ragged.api.values import Value, ValueLike


@dataclass(frozen=True, slots=True)
class Sequences:
    """A batch of `size` sequences, of `lengths(batch)` each."""

    batch: RaggedDim
    size: Value
    length: RaggedDim
    lengths: Callable[[ValueLike], Value]

    def rows(self, name: str, features: int, dtype: str = "float32") -> RaggedTensor:
        """Declare an input (batch, length, features)."""
        return ragged.input_tensor(name, [*self.dims, (ragged.dim("features"), features)], dtype)

    @property
    def dims(self) -> list[tuple[RaggedDim, Value]]:
        """The dimensions of a tensor with a value for each place of each sequence."""
        return [(self.batch, self.size), (self.length, self.lengths(self.batch))]


def sequences(suffix: str = "", batch: RaggedDim | None = None, size: Value | None = None) -> Sequences:
    """Declare sequences; a `batch` of another declaration makes as many of other lengths."""
    own = ragged.dim("batch") if batch is None else batch
    return Sequences(
        own,
        ragged.size("batches") if size is None else size,
        ragged.dim(f"length{suffix}"),
        ragged.length_fn(f"n{suffix}", over=own),
    )
