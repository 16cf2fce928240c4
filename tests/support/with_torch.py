"""PyTorch in tests that have other examples too: on some versions of Python it is not installed."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

torch: Any
try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")


def tensor(make: Callable[[ModuleType], object]) -> list[object]:
    """Return the tensor that `make` makes with torch, if that is installed."""
    return [] if torch is None else [make(torch)]
