"""The ragged array that users hold: elements of all rows one after another, and the lengths of the rows."""

from ragged.data.array import array
from ragged.data.lengths import Lengths
from ragged.data.ragged_array import RaggedArray

__all__ = ["Lengths", "RaggedArray", "array"]
