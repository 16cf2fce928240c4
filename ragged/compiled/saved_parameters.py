"""Parameters in a file: safetensors, the format of which cannot contain code."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors

from ragged.errors import DataError
from ragged.ir.dtype import DType

PARAMETERS = "parameters.safetensors"
"""The member of a saved file that holds them."""

_SHORT = {"f": "F", "i": "I", "u": "U"}
_DTYPES = {
    **{f"{_SHORT[d.numpy.kind]}{8 * d.bytes}": d.numpy for d in DType if d.numpy.kind in _SHORT},
    "BOOL": DType.BOOL.numpy,
    "BF16": DType.BFLOAT16.numpy,
}


def load_parameters(data: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a file by name, bfloat16 among them; `DataError` for other bytes."""
    try:
        return {
            name: np.frombuffer(tensor["data"], _DTYPES[tensor["dtype"]]).reshape(tensor["shape"])
            for name, tensor in safetensors.deserialize(data)  # type: ignore[no-untyped-call]
        }
    except Exception as error:  # safetensors documents no exceptions
        raise DataError(f"{PARAMETERS} cannot be read", because=str(error)) from None
