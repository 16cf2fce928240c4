"""From a linearized batch to the arguments of a call: each is found once, by what it stands for."""

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
    """Takes what `wanted` asks for out of linearized batches, in its order.

    Most of them are attributes of a batch, which are read together.
    """

    __slots__ = ("_attributes", "_others", "in_place")

    def __init__(self, wanted: Iterable[Argument]) -> None:
        wanted = tuple(wanted)
        names = [_attribute(argument) for argument in wanted]
        #: The payloads that are read wherever callers have them.
        self.in_place = tuple(payload for argument in wanted for payload in _in_place(argument))
        # Of one attribute attrgetter returns no tuple, and of others what stands in for them is read along.
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
