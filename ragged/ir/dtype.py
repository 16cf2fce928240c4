"""The element types that programs compute with and store."""

from __future__ import annotations

from enum import Enum

import numpy as np


class DType(Enum):
    """An element type; its value is the name that programs print.

    BFLOAT16X2 is two floats of sixteen bits side by side, each the upper half of a float32: what processors multiply in
    pairs. `BinaryOp.PAIR` makes it, `BinaryOp.DOT` and `Fma` take it.
    """

    BOOL = "bool"
    INT32 = "int32"
    INT64 = "int64"
    BFLOAT16X2 = "bfloat16x2"
    FLOAT32 = "float32"
    FLOAT64 = "float64"

    __hash__ = object.__hash__  # members are equal to themselves alone; Enum's hashes a name

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy dtype of the same name; of BFLOAT16X2, which NumPy does not know, that of its bits."""
        return np.dtype("uint32" if self is DType.BFLOAT16X2 else self.value)

    @property
    def is_float(self) -> bool:
        """True for floating-point types."""
        return self in (DType.FLOAT32, DType.FLOAT64)

    @property
    def is_int(self) -> bool:
        """True for integer types; BOOL is none."""
        return self in (DType.INT32, DType.INT64)

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory."""
        return self.numpy.itemsize


INDEX = DType.INT64
"""What indices are computed in; the arrays that hold them may be narrower (`Function.storage`)."""
