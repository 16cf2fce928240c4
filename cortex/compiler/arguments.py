"""From a linearized batch to the arguments of a call: each is found once, by what it stands for."""

from __future__ import annotations

from collections.abc import Iterable

from cortex.linearize import Linearized
from cortex.linearize.values import Reader, Value, reader_of
from ragged.codegen.entry import Argument
from ragged.ir.expr import Buffer


class Arguments:
    """Takes what `wanted` asks for out of linearized batches."""

    __slots__ = ("_readers",)

    def __init__(self, wanted: Iterable[Argument]) -> None:
        self._readers = tuple((argument.name, _reader(argument)) for argument in wanted)

    def __call__(self, linearized: Linearized) -> dict[str, Value]:
        """Return the arguments by name."""
        return {name: read(linearized) for name, read in self._readers}


def _reader(argument: Argument) -> Reader:
    symbol = argument.symbol
    if isinstance(symbol, Buffer):
        name = symbol.name
        return lambda linearized: linearized.payloads[name]
    return reader_of(symbol)
