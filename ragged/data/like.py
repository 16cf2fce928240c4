"""Arrays in the kind that a caller's are: results of tensors of torch are such tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.data.read import BFLOAT16, bfloat16_memory, is_bfloat16

Array = npt.NDArray[Any]


def converter(example: object) -> Callable[[Array], Any] | None:
    """Return what makes arrays of the library of `example` that share a NumPy array's memory; None if there is none.

    That is torch's tensors, plain ones for subclasses too, and arrays of libraries that follow the array API standard,
    through DLPack.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(example, torch.Tensor):
        return partial(to_tensor, torch)
    namespace = getattr(example, "__array_namespace__", None)
    if namespace is None or isinstance(example, np.ndarray):
        return None
    library = namespace()
    return partial(_from_numpy, library) if hasattr(library, "from_dlpack") else None


def writable_view(value: Any) -> Array:
    """Return a NumPy array that shares the memory of an array, writable if the array is.

    Raises what its library does if it has no view, as of memory on a GPU, and a `BufferError` if it lends no memory.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise BufferError("it is a masked array of NumPy, of which the mask would be lost")
    if isinstance(value, np.ndarray):
        return value
    if getattr(value, "requires_grad", False):
        raise BufferError(
            "it requires a gradient, which writing into it would make wrong; give its .detach()"
        )
    if is_bfloat16(value):
        return bfloat16_memory(value)
    if hasattr(value, "detach"):  # a tensor of torch
        return np.asarray(value)
    if not hasattr(value, "__dlpack__"):
        raise BufferError(f"a {type(value).__name__} gives copies of its elements alone")
    return np.from_dlpack(value)


def _from_numpy(namespace: Any, array: Array) -> Any:
    """Return an array of a library that follows the standard; of bfloat16, which DLPack refuses of NumPy, a copy."""
    return namespace.asarray(array) if array.dtype == BFLOAT16 else namespace.from_dlpack(array)


def to_tensor(torch: Any, array: Array) -> Any:
    """Return a tensor that shares an array's memory."""
    if array.dtype == BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
