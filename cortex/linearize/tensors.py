"""Tensors of other libraries as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def as_numpy(value: Any) -> npt.NDArray[Any]:
    """Return `numpy.asarray(value)`; of a tensor of torch that requires a gradient, of its values.

    It shares memory where the value has any. Raises what its library does where NumPy cannot read it.
    """
    return np.asarray(value.detach() if getattr(value, "requires_grad", False) is True else value)
