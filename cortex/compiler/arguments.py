"""From a linearized batch to the arguments of a call."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from cortex.ilir.index_arrays import IndexKind, index_arrays
from cortex.ilir.plan import Plan
from cortex.linearize import Linearized
from cortex.linearize.values import Value
from ragged.codegen.entry import Argument
from ragged.ir.expr import Buffer, Source


class Arguments:
    """Reads the arguments that a kernel wants, in its order, from batches of one plan."""

    __slots__ = ("_names", "_payloads", "in_place")

    def __init__(self, plan: Plan, wanted: Iterable[Argument]) -> None:
        symbols = [argument.symbol for argument in wanted]
        from_payload = [isinstance(s, Buffer) or s.source is Source.PAYLOAD for s in symbols]
        begins = {a.name: a.payload for a in index_arrays(plan) if a.kind is IndexKind.PAYLOAD_BEGIN}
        #: The payloads that the kernel reads in the caller's memory.
        self.in_place = tuple(payload for s in symbols if (payload := begins.get(s.name)) is not None)
        # A payload's argument is read as the number of nodes first: itemgetter reads all arrays in one call.
        names = [
            _STAND_IN if payload else symbol.name
            for payload, symbol in zip(from_payload, symbols, strict=True)
        ]
        self._names = itemgetter(*names, _STAND_IN, _STAND_IN)
        self._payloads = tuple((n, s.name) for n, s in enumerate(symbols) if from_payload[n])

    def __call__(self, linearized: Linearized) -> list[Value]:
        """Return the arguments."""
        values: list[Any] = list(self._names(linearized.arrays))[:-2]
        for place, name in self._payloads:
            values[place] = linearized.payloads[name]
        return values


_STAND_IN = IndexKind.NUM_NODES.value
