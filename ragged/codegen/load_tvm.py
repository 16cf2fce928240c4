"""The parts of TVM that code generation uses: the only module that imports tvm, without the packages it does not need.

`import tvm` also imports torch, where that is installed, and Relax: 2.4 of its 3 seconds. Of the rest, sessions of
several processes (disco) and the Python parts of backends take three quarters; most of that is the trace of an error
that TVM catches. All can be imported later: `import tvm.relax`, `tvm.backend.load("cuda")`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_EXTRAS = {
    "torch": None,  # the import fails, as if it were not installed
    "tvm.runtime.disco": None,
    "tvm.relax": ModuleType("tvm.relax"),
}
_BACKENDS = "TVM_DEVICE_BACKEND_AUTOLOAD"


@contextmanager
def _import_without_extras() -> Iterator[None]:
    """Hide what is not needed from imports, unless it is imported already, and load no Python parts of backends."""
    hidden = {name: module for name, module in _EXTRAS.items() if name not in sys.modules}
    sys.modules.update(hidden)  # type: ignore[arg-type]  # None is what hides a module
    backends = os.environ.get(_BACKENDS)
    os.environ[_BACKENDS] = "0"
    try:
        yield
    finally:
        if backends is None:
            del os.environ[_BACKENDS]
        else:
            os.environ[_BACKENDS] = backends
        for name in hidden:
            sys.modules.pop(name, None)
        package = sys.modules.get("tvm")
        if "tvm.relax" in hidden and package is not None:
            vars(package).pop("relax", None)


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
