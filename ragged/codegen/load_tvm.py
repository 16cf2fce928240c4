"""The parts of TVM that code generation uses: the only module that imports tvm, without the packages it does not need.

`import tvm` also imports torch, where that is installed, and Relax: 2.4 of its 3 seconds. Both can be imported later.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def _import_without_extras() -> Iterator[None]:
    """Hide torch and Relax from imports, unless they are imported already."""
    hidden = {name: module for name, module in _EXTRAS.items() if name not in sys.modules}
    sys.modules.update(hidden)  # type: ignore[arg-type]  # None: the import fails, as if it were not installed
    try:
        yield
    finally:
        for name in hidden:
            sys.modules.pop(name, None)
        package = sys.modules.get("tvm")
        if "tvm.relax" in hidden and package is not None:
            vars(package).pop("relax", None)


_EXTRAS: dict[str, ModuleType | None] = {"torch": None, "tvm.relax": ModuleType("tvm.relax")}

with _import_without_extras():
    import tvm
    import tvm_ffi
    from tvm import tirx
    from tvm.ir import Call, PointerType, PrimType, StringImm, register_op_attr
    from tvm.target import codegen

__all__ = [
    "Call",
    "PointerType",
    "PrimType",
    "StringImm",
    "codegen",
    "register_op_attr",
    "tirx",
    "tvm",
    "tvm_ffi",
]
