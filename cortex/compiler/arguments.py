"""The arguments of a call from a linearized batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any

from cortex.ilir.structure import in_place_names, in_place_of
from cortex.linearize import Linearized
from cortex.linearize.values import Reader, Value, attribute_of, reader_of
from ragged.codegen.entry import Argument
from ragged.ir.expr import Buffer


class Arguments:
    """Reads the `wanted` arguments from linearized batches, in order; most are attributes of a batch, read together."""

    __slots__ = ("_attributes", "_others", "in_place")

    def __init__(self, wanted: Iterable[Argument]) -> None:
        wanted = tuple(wanted)
        names = [_attribute(argument) for argument in wanted]
        #: The payloads that the kernel reads from the caller's arrays.
        self.in_place = tuple(payload for argument in wanted for payload in _in_place(argument))
        # attrgetter returns a tuple for two names or more; a stand-in is read for arguments that are no attributes.
        self._attributes: Callable[[Linearized], tuple[Any, ...]] = attrgetter(
            *(name or _STAND_IN for name in names), _STAND_IN
        )
        self._others = tuple(
            (place, _reader(argument)) for place, argument in enumerate(wanted) if names[place] is None
        )

    def __call__(self, linearized: Linearized) -> list[Value]:
        """Return the arguments."""
        values = list(self._attributes(linearized)[:-1])
        for place, read in self._others:
            values[place] = read(linearized)
        return values


_STAND_IN = "num_nodes"


def _attribute(argument: Argument) -> str | None:
    symbol = argument.symbol
    return None if isinstance(symbol, Buffer) else attribute_of(symbol)


def _in_place(argument: Argument) -> Iterator[str]:
    symbol = argument.symbol
    placed = None if isinstance(symbol, Buffer) else in_place_of(symbol)
    if placed is not None and symbol.name == in_place_names(placed[0])[0]:
        yield placed[0]


def _reader(argument: Argument) -> Reader:
    symbol = argument.symbol
    if isinstance(symbol, Buffer):
        name = symbol.name
        return lambda linearized: linearized.payloads[name]
    return reader_of(symbol)
