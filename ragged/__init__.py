"""A tensor compiler for ragged tensors, useful by itself: arrays with rows of different lengths.

`ragged.array` makes them. The Ragged API (`dim`, `length_fn`, `input_tensor`, `compute`, `Schedule`, `compile`) turns
operators over them into functions for one machine and all lengths; `ragged.ops` has ready-made ones. What needs the
compiler is imported when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if "t" in sys.abiflags:
    raise ImportError(
        "ragged: this Python is a free-threaded build, and the native extensions need the global interpreter lock: "
        f"use another build of Python 3.{sys.version_info.minor}, as python3.{sys.version_info.minor} mostly is"
    )

from ragged.data import Lengths, RaggedArray, array
from ragged.ir.elementwise import COMPOSED, FUNCTIONS

if TYPE_CHECKING:
    from ragged import ops
    from ragged.api.compile import compile
    from ragged.api.declare import compute, input_tensor, parameter
    from ragged.api.dims import LengthFn, dim, length_fn, size
    from ragged.api.dims import RaggedDim as Dim
    from ragged.api.elementwise import *  # noqa: F403
    from ragged.api.function import RaggedFunction, load
    from ragged.api.function_chain import FunctionChain
    from ragged.api.functions import abs_ as abs
    from ragged.api.functions import max_ as max
    from ragged.api.functions import maximum, minimum, where
    from ragged.api.functions import min_ as min
    from ragged.api.functions import prod_ as prod
    from ragged.api.functions import sum_ as sum
    from ragged.api.schedule import RaggedSchedule as Schedule
    from ragged.api.signature import Policy
    from ragged.api.tensors import RaggedTensor as Tensor
    from ragged.api.values import cast
    from ragged.auto.options import ScheduleOptions
    from ragged.transform.loops.split import Tail
    from ragged.tuning import Tuning, tune

__all__ = [
    "Dim",
    "FunctionChain",
    "LengthFn",
    "Lengths",
    "Policy",
    "RaggedArray",
    "RaggedFunction",
    "Schedule",
    "ScheduleOptions",
    "Tail",
    "Tensor",
    "Tuning",
    "abs",
    "array",
    "cast",
    "compile",
    "compute",
    "dim",
    "input_tensor",
    "length_fn",
    "load",
    "max",
    "maximum",
    "min",
    "minimum",
    "ops",
    "parameter",
    "prod",
    "size",
    "sum",
    "tune",
    "where",
    *FUNCTIONS,
    *COMPOSED,
]

_FUNCTIONS = ("maximum", "minimum", "where")
_PLACES = {
    "compile": ("ragged.api.compile", "compile"),
    "RaggedFunction": ("ragged.api.function", "RaggedFunction"),
    "load": ("ragged.api.function", "load"),
    "FunctionChain": ("ragged.api.function_chain", "FunctionChain"),
    "Schedule": ("ragged.api.schedule", "RaggedSchedule"),
    "cast": ("ragged.api.values", "cast"),
    "Policy": ("ragged.api.signature", "Policy"),
    "ScheduleOptions": ("ragged.auto.options", "ScheduleOptions"),
    **{name: ("ragged.api.dims", name) for name in ("LengthFn", "dim", "length_fn", "size")},
    "Dim": ("ragged.api.dims", "RaggedDim"),
    **{name: ("ragged.tuning", name) for name in ("Tuning", "tune")},
    "Tail": ("ragged.transform.loops.split", "Tail"),
    "Tensor": ("ragged.api.tensors", "RaggedTensor"),
    **{name: ("ragged.api.declare", name) for name in ("compute", "input_tensor", "parameter")},
    **{name: ("ragged.api.functions", name) for name in _FUNCTIONS},
    **{name: ("ragged.api.functions", f"{name}_") for name in ("abs", "max", "min", "prod", "sum")},
}
"""Modules and own names of what is imported on first use."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "ops":
            return import_module("ragged.ops")
        if name in FUNCTIONS or name in COMPOSED:
            return getattr(import_module("ragged.api.functions"), name)
        if name not in _PLACES:
            raise AttributeError(f"module 'ragged' has no attribute '{name}'")
        module, own = _PLACES[name]
        value = globals()[name] = getattr(import_module(module), own)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
