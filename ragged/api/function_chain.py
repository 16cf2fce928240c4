"""Functions that are called one after another, and their file: a stack of layers, loaded without the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import msgspec
import numpy.typing as npt
import safetensors.numpy

from ragged.api.function import RaggedFunction
from ragged.compiled.artifact import Origin, Target, read_bytes, reading, write_to
from ragged.compiled.saved_parameters import PARAMETERS, load_parameters
from ragged.data import RaggedArray
from ragged.errors import DataError, UserError
from ragged.runtime.bundle import FileFormat, read_bundle, write_bundle

_KERNELS = "kernels.msgpack"
"""A list of the files of the functions with different code."""
_FORM = FileFormat("chain of ragged functions", 1, list[int], frozenset((_KERNELS, PARAMETERS)))
"""Its content is the number of each function's file; parameters are those of the functions that share a file."""


class FunctionChain:
    """Functions of one ragged array each, called one after another, each on the result of the one before.

    `functions` is not empty. Any number of threads may call it at once.
    """

    def __init__(self, functions: Sequence[RaggedFunction]) -> None:
        self.functions = tuple(functions)
        if not self.functions:
            raise UserError("FunctionChain: there is no function", fix="functions=(encoder_function, ...)")
        self._calls = tuple((function, function.signature.inputs[0].name) for function in self.functions)

    def __call__(self, x: object) -> RaggedArray:
        """Return the last function's result, in memory of the caller's.

        Raises:
            DataError: `x` is not what the first function takes.
        """
        result: Any = x
        for function, argument in self._calls:
            result = function(**{argument: result})
        found: RaggedArray = result
        return found

    def save(self, path: Target, *, alternatives: Sequence[FunctionChain] = ()) -> None:
        """Write the functions to one file that `load` reads, code that several share once.

        `path` is replaced as a whole, or left as it is if writing fails; it may be a stream in binary mode.
        `alternatives` are chains of the same functions compiled for other targets. Raises what `RaggedFunction.save`
        raises.
        """
        for number, chain in enumerate(alternatives):
            if len(chain.functions) != len(self.functions):
                raise UserError(
                    f"save: alternatives[{number}] is no chain of {len(self.functions)} functions",
                    fix="the same functions, compiled for another target",
                )
        files: dict[int, tuple[int, bytes]] = {}
        numbers: list[int] = []
        params: dict[str, npt.NDArray[Any]] = {}
        for place, function in enumerate(self.functions):
            shared, others = id(function._parts.kernel), [chain.functions[place] for chain in alternatives]
            if shared in files:
                for number, other in enumerate(others):
                    function.check_alternative(number, other)
                params |= {f"{place}.{name}": array for name, array in function._params.items()}
            else:
                stream = BytesIO()
                function.save(stream, alternatives=others)
                files[shared] = len(files), stream.getvalue()
            numbers.append(files[shared][0])
        members = {
            _KERNELS: msgspec.msgpack.encode([data for _, data in files.values()]),
            PARAMETERS: safetensors.numpy.save(params),
        }
        write_to(path, write_bundle(_FORM, numbers, members))

    @classmethod
    def load(cls, path: Origin, *, threads: int | None = None) -> FunctionChain:
        """Return the functions that `save` wrote; it needs no compiler. `threads` is as `ragged.load` takes it.

        Raises:
            DataError: the file is no such chain, of another version, or damaged.
            UserError: the functions were compiled for another processor.
            OSError: the file cannot be read.

        Example::

            encoder.save("encoder.ragged")
            encoder = FunctionChain.load("encoder.ragged")
        """
        data = read_bytes(path)
        with reading(path):
            numbers, members = read_bundle(_FORM, data)
            try:
                files = msgspec.msgpack.decode(members[_KERNELS], type=list[bytes])
            except msgspec.DecodeError as error:
                raise DataError(f"{_KERNELS} cannot be read", because=str(error)) from None
            params = load_parameters(members[PARAMETERS])
            if not numbers or not set(numbers) <= set(range(len(files))):
                raise DataError("its manifest names functions that it does not hold")
            kernels = [RaggedFunction.load(file, threads=threads) for file in files]
            functions = []
            for place, number in enumerate(numbers):
                start, function = f"{place}.", kernels[number]
                own = {n.removeprefix(start): array for n, array in params.items() if n.startswith(start)}
                functions.append(function.with_params(own) if own else function)
        return cls(functions)
