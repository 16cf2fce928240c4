"""Functions of texts from files: `ragged.tc.load` reads what `TcFunction.save` wrote."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from ragged.api.schedule import RaggedSchedule
from ragged.compiled.artifact import Origin, reading
from ragged.errors import DataError
from ragged.tc.analyse import AnalysedFunction
from ragged.tc.compiled import Array, LoweredTc, TcOptions, lower_analysed
from ragged.tc.errors import TcError
from ragged.tc.function import TcFunction
from ragged.tc.kernel import TcKernel, TcOrigin
from ragged.tc.library import analyse_text
from ragged.tc.lower import stored


def load(path: Origin, *, threads: int | None = None) -> TcFunction:
    """Return a function that `TcFunction.save` wrote, with its fixed sizes and bound arrays.

    Its text is analysed again, unless this user's cache has it; nothing is compiled. An artifact is a program: do not
    load a stranger's.

    Args:
        path: the file, or what is in it: bytes, or a stream in binary mode.
        threads: the most threads that a call may use; None is what the function was compiled for, and if that was None
            too, the cores that this process may use.

    Raises:
        DataError: the file is no saved function, of another version, or damaged.
        UserError: the function was compiled for another processor.
        OSError: the file cannot be read.
    """
    kernel = TcKernel.load(path, threads=threads)
    with reading(path):
        origin = kernel.origin
        analysed = _analysed(origin)
        _refuse(_origin_faults(origin, analysed))
        lowered = lower_analysed(analysed, origin.sizes, origin.shapes, origin.split)
        _refuse(_signature_faults(lowered, kernel))
        own = {} if threads is None else {"threads": threads}
        options = TcOptions(origin.sizes, _arrays(lowered, kernel), origin.split, own)
        return TcFunction(analysed, origin.text, options, lowered.compiled(kernel))


def _arrays(lowered: LoweredTc, kernel: TcKernel) -> dict[str, Array]:
    """Return the bound arrays by the names of the text, in its shapes; what is not read is zero."""
    found, declared = {}, lowered.merged.analysed.function.parameters
    for name, shape in kernel.origin.shapes.items():
        own = kernel.arrays.get(lowered.lowered.inputs[name])
        if own is None:
            own = np.broadcast_to(np.zeros((), stored(declared[name].type).numpy), shape)
        if own.size != prod(shape):
            raise DataError(f"the file's array '{name}' has {own.size} elements, not {prod(shape)}")
        found[name] = own.reshape(shape)
    return found


def _analysed(origin: TcOrigin) -> AnalysedFunction:
    try:
        found = analyse_text(origin.text).get(origin.function)
    except TcError as error:
        raise DataError("the file's text is refused", because=str(error)) from None
    if found is None:
        raise DataError(f"the file's text has no function '{origin.function}'")
    return found


def _refuse(faults: Iterator[str]) -> None:
    """Raise the first fault, if there is one."""
    for fault in faults:
        raise DataError("the file does not describe a tensor comprehension", because=fault)


def _origin_faults(origin: TcOrigin, analysed: AnalysedFunction) -> Iterator[str]:
    """Yield why sizes and arrays are not those of a function."""
    function = analysed.function
    for name in origin.sizes:
        if name not in function.values:
            yield f"there is no size '{name}'"
    for name, shape in origin.shapes.items():
        if name not in function.parameters or len(shape) != function.parameters[name].rank:
            yield f"there is no parameter '{name}' of the shape {shape}"
    for name, size in origin.split.items():
        if size < 1 or not any(each.target.name == name and each.reduced for each in function.statements):
            yield f"there is no reduction '{name}' that is split into parts of {size}"


def _signature_faults(lowered: LoweredTc, kernel: TcKernel) -> Iterator[str]:
    """Yield why a kernel is not of the tensors that its text has."""
    known = {each.name: each for each in RaggedSchedule(*lowered.lowered.outputs).tensors}
    signature = kernel.signature
    for spec in (*signature.inputs, *signature.outputs):
        tensor = known.get(spec.name)
        if tensor is None or (tensor.dtype, len(tensor.dims)) != (spec.dtype, len(spec.dims)):
            yield f"the code has a tensor {spec}, and the text has none like it"
