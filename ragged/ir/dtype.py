"""The element types that programs compute with and store."""

from __future__ import annotations

from enum import Enum

import numpy as np


class DType(Enum):
    """An element type; its value is the name that programs print and NumPy knows."""

    BOOL = "bool"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy dtype of the same name."""
        return np.dtype(self.value)

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
