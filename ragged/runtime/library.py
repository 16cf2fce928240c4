"""Loading compiled shared libraries, through tvm_ffi's C interface.

Only tvm_ffi's library is loaded, which generated code needs: its Python package would import PyTorch, which takes
longer than the rest of a program's start.
"""

from __future__ import annotations

import _ctypes
import ctypes
import tempfile
import weakref
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragged.errors import DataError, InternalError

_INTEGER, _POINTER = 1, 4
"""Type indices of tvm_ffi's values, `TVMFFIAny`."""


class _Value(ctypes.Structure):
    """`TVMFFIAny`, as far as numbers and addresses need it."""

    _fields_ = (("type", ctypes.c_int32), ("zero", ctypes.c_uint32), ("payload", ctypes.c_int64))


class Library:
    """A shared library in this process, from its bytes. It is unloaded with the last of its functions."""

    def __init__(self, code: bytes) -> None:
        """Load it; raises `DataError` if the system does not."""
        runtime()
        with tempfile.TemporaryDirectory(prefix="ragged-") as folder:  # readable by this user alone
            path = Path(folder) / "code.so"
            path.write_bytes(code)
            try:
                self._library = ctypes.CDLL(str(path))
            except OSError as error:
                raise DataError(
                    "compiled code cannot be loaded",
                    because=str(error).replace(str(path), "code.so"),
                    fix="if the folder for temporary files may not hold programs, set TMPDIR to one that may",
                ) from None
        weakref.finalize(self, _ctypes.dlclose, self._library._handle).atexit = False

    def function(self, name: str) -> LibraryFunction:
        """Return the function of that name; `DataError` if there is none."""
        try:
            address = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        except AttributeError:
            raise DataError(f"compiled code has no function '{name}'") from None
        assert address is not None
        return LibraryFunction(self, address)


class LibraryFunction:
    """A function in tvm_ffi's calling convention, called with numbers and addresses; it keeps its library loaded."""

    def __init__(self, library: Library, address: int) -> None:
        self._library = library
        self._handle = ctypes.c_void_p()
        if runtime().TVMFFIFunctionCreate(None, address, None, ctypes.byref(self._handle)):
            raise InternalError("tvm_ffi made no function of compiled code")
        weakref.finalize(self, runtime().TVMFFIObjectDecRef, self._handle).atexit = False

    def __ctypes_handle__(self) -> ctypes.c_void_p:
        """Return the address of the function as tvm_ffi's object."""
        return self._handle

    def __call__(self, *arguments: int | ctypes.c_void_p | None) -> None:
        """Call it with what its signature has, which is not checked."""
        values = (_Value * len(arguments))(*map(_value, arguments))
        result = _Value()
        runtime().TVMFFIFunctionCall(self._handle, values, len(arguments), ctypes.byref(result))


def _value(argument: int | ctypes.c_void_p | None) -> _Value:
    if isinstance(argument, int):
        return _Value(_INTEGER, 0, argument)
    address = None if argument is None else argument.value
    return _Value(0, 0, 0) if address is None else _Value(_POINTER, 0, address)


@cache
def runtime() -> Any:
    """Return tvm_ffi's library, loaded so that compiled code finds it."""
    package = find_spec("tvm_ffi")
    folders: Sequence[str] = (package.submodule_search_locations or ()) if package else ()
    for folder in folders:
        path = Path(folder) / "lib" / "libtvm_ffi.so"
        if path.is_file():
            library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
            library.TVMFFIFunctionCreate.argtypes = (ctypes.c_void_p,) * 4
            library.TVMFFIFunctionCall.argtypes = (
                ctypes.c_void_p,
                ctypes.c_void_p,
                ctypes.c_int32,
                ctypes.c_void_p,
            )
            library.TVMFFIObjectDecRef.argtypes = (ctypes.c_void_p,)
            return library
    raise ImportError("tvm_ffi's library is not installed: pip install apache-tvm-ffi")
