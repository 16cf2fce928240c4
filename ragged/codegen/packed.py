"""A stage's function by the calling convention of tvm_ffi, through which every stage is called."""

from __future__ import annotations

from typing import Any

from ragged.codegen.interface import SYMBOL_PREFIX
from ragged.codegen.load_tvm import PointerType, PrimType, StringImm, tirx

_PAYLOAD = 15
"""TVM's number of the field of a `TVMFFIAny` that holds a number or an address."""
_PACKED = 1
"""TVM's number of the calling convention."""


def packed(function: Any, name: str) -> Any:
    """Return a `tirx.PrimFunc` as the function `__tvm_ffi_<name>(self, arguments, count, result)`.

    Each argument is a `TVMFFIAny` with a number or an address, of the type that its place has: callers, which are
    `ragged.runtime` and `Entry`, pass nothing else. The result stays as it is, and 0 is returned.
    """
    self_handle, arguments, result = (tirx.Var(each, "handle") for each in ("self", "arguments", "result"))
    unpacked = [
        tirx.Bind(parameter, _value(parameter.ty, arguments, place))
        for place, parameter in enumerate(function.params)
    ]
    # a function of its own for LLVM, of arguments that overlap no others
    scope = tirx.AttrStmt(
        tirx.IntImm("int32", 0), "compute_scope", StringImm(f"{name}_compute_"), function.body
    )
    body = tirx.SeqStmt([*unpacked, scope, tirx.Return(tirx.IntImm("int32", 0))])
    parameters = [self_handle, arguments, tirx.Var("count", "int32"), result]
    attributes = {"global_symbol": SYMBOL_PREFIX + name, "calling_conv": _PACKED}
    return tirx.PrimFunc(parameters, body, PrimType("int32"), function.attrs).with_attr(attributes)


def _value(type: Any, arguments: Any, place: int) -> Any:
    if isinstance(type, PointerType):
        return tirx.reinterpret(type, tirx.tvm_struct_get(arguments, place, _PAYLOAD, "handle"))
    return tirx.tvm_struct_get(arguments, place, _PAYLOAD, type.dtype)
