"""The element types that programs compute with and store."""

from __future__ import annotations

from enum import Enum

import ml_dtypes
import numpy as np


class DType(Enum):
    """An element type; its value is the name that programs print.

    Programs compute in INT64, FLOAT32 and FLOAT64; other integers, FLOAT16 and BFLOAT16 are what arrays hold. An UINT64
    from 2 ** 63 up is computed with as the negative number of the same bits: sums and products wrap to the right ones.

    BFLOAT16 is the upper half of a float32; expressions load, convert and store it and compute nothing in it.
    BFLOAT16X2 is two floats of sixteen bits side by side, each the upper half of a float32: what processors multiply in
    pairs. `BinaryOp.PAIR` makes it, `BinaryOp.DOT` and `Fma` take it.
    """

    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    BFLOAT16X2 = "bfloat16x2"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"

    __hash__ = object.__hash__  # members are equal to themselves alone; Enum's hashes a name

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy dtype of the same name, BFLOAT16's by `ml_dtypes`; of BFLOAT16X2 that of its bits."""
        return _NUMPY[self]

    @property
    def is_float(self) -> bool:
        """True for floating-point types."""
        return self in _FLOATS

    @property
    def is_int(self) -> bool:
        """True for integer types; BOOL is none."""
        return self in _INTEGERS

    @property
    def is_unsigned(self) -> bool:
        """True for integers from 0 up."""
        return self in (DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64)

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest number of a type of integers, as programs compute with them."""
        info = np.iinfo((INDEX if self is DType.UINT64 else self).value)
        return int(info.min), int(info.max)

    @property
    def computed(self) -> DType:
        """The type that its elements are computed in: INT64 for integers, FLOAT32 for 16-bit floats, else itself."""
        if self.is_int:
            return DType.INT64
        return DType.FLOAT32 if self in (DType.FLOAT16, DType.BFLOAT16) else self

    def nearest(self, value: float) -> float:
        """Return the nearest number of a type of floats; infinity where the value is too large for all others."""
        with np.errstate(over="ignore"):
            return float(self.numpy.type(value))

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory."""
        return self.numpy.itemsize


_NUMPY: dict[DType, np.dtype[np.generic]] = {
    **{d: np.dtype(d.value) for d in DType if d not in (DType.BFLOAT16, DType.BFLOAT16X2)},
    DType.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
    DType.BFLOAT16X2: np.dtype("uint32"),
}
_FLOATS = frozenset((DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64))
_INTEGERS = frozenset(
    (DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64)
)
INDEX = DType.INT64
"""What indices are computed in; the arrays that hold them may be narrower (`Function.storage`)."""
