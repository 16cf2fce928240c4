"""Calls with shapes that were checked before: they go straight to the kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ragged.api.function import RaggedFunction
from ragged.ir.expr import Var
from ragged.tc.compiled import CompiledTc

Domains: TypeAlias = dict[str, tuple[tuple[int, int], ...]]
"""For each output the lower bound and the extent of each dimension."""

_MOST_SHAPES = 1024
"""Number of combinations of shapes that are remembered."""
_READABLE = 0x0101
"""NumPy's flags of arrays that are C-contiguous and aligned."""


@dataclass(frozen=True, slots=True)
class KnownCall:
    """A call with shapes that were checked: arguments by place, sizes by name, and the outputs with their own names."""

    function: RaggedFunction
    places: tuple[tuple[str, int], ...]
    named: Mapping[str, int]
    outputs: tuple[tuple[str, str], ...]

    def run(self, args: Sequence[Any]) -> Any:
        """Run the kernel; return its output, or several by name in order."""
        results = self.function(**{own: args[place] for own, place in self.places}, **self.named)
        if not isinstance(results, dict):
            return results
        return {name: results[own] for name, own in self.outputs}


class KnownCalls:
    """The calls that were accepted, by the shapes and dtypes of their arguments: arrays that kernels read in place."""

    def __init__(self) -> None:
        self._calls: dict[object, KnownCall] = {}

    def find(self, args: Sequence[Any]) -> KnownCall | None:
        """Return the call with the shapes of these arguments, or None."""
        key = _key(args)
        return None if key is None else self._calls.get(key)

    def add(
        self,
        args: Sequence[Any],
        compiled: CompiledTc,
        parameters: Sequence[str],
        sizes: Mapping[Var, int],
        domains: Domains,
    ) -> None:
        """Note a call, unless a result was empty or begins elsewhere than at 0."""
        key = _key(args)
        if key is None or any(low or not extent for domain in domains.values() for low, extent in domain):
            return
        if len(self._calls) >= _MOST_SHAPES:
            self._calls.clear()
        own = dict(compiled.inputs)
        places = tuple((own[name], place) for place, name in enumerate(parameters) if name in own)
        named = {name: sizes[var] for name, var in compiled.named_sizes}
        results = zip(domains, (tensor.name for tensor in compiled.lowered.outputs), strict=True)
        self._calls[key] = KnownCall(compiled.function, places, named, tuple(results))


def _key(args: Sequence[Any]) -> object:
    """Return the shapes and dtypes of arguments; None if one is no array that a kernel can read as it is."""
    for each in args:
        if type(each) is not np.ndarray or each.flags.num & _READABLE != _READABLE:
            return None
    return tuple([(each.shape, each.dtype) for each in args])
