"""Calls with shapes that were checked before: they go straight to the kernel."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ragged.api.function import RaggedFunction
from ragged.data.like import to_tensor
from ragged.data.read import bfloat16_memory
from ragged.ir.expr import Var
from ragged.tc.compiled import CompiledTc

Domains: TypeAlias = dict[str, tuple[tuple[int, int], ...]]
"""For each output the lower bound and the extent of each dimension."""

Shape: TypeAlias = tuple[int, ...]
_MOST_SHAPES = 1024
"""Number of combinations of shapes that are remembered."""
_READABLE = 0x0101
"""NumPy's flags of arrays that are C-contiguous and aligned."""


@dataclass(frozen=True, slots=True)
class KnownCall:
    """A call with shapes that were checked: arguments by place, sizes by name, and the outputs with their own names.

    With each argument and each output is the shape that it has in the kernel or for the caller; None if it has it.
    """

    function: RaggedFunction
    places: tuple[tuple[str, int, Shape | None], ...]
    named: Mapping[str, int]
    outputs: tuple[tuple[str, str, Shape | None], ...]

    def run(self, args: Sequence[Any]) -> Any:
        """Run the kernel; return its output, or several by name in order."""
        given = _arrays(args)
        arrays = {
            own: given[place] if shape is None else given[place].reshape(shape)
            for own, place, shape in self.places
        }
        results = self.function(**arrays, **self.named)
        if not isinstance(results, dict):
            results = {self.outputs[0][1]: results}
        made = {
            name: results[own] if shape is None else results[own].reshape(shape)
            for name, own, shape in self.outputs
        }
        if given is not args:
            torch = sys.modules["torch"]
            made = {name: to_tensor(torch, array) for name, array in made.items()}
        return made if len(made) > 1 else made[self.outputs[0][0]]


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
        own, places, results = dict(compiled.inputs), [], []
        for place, name in enumerate(parameters):
            if name in own:
                shape = compiled.merged.shape(name, args[place].shape)
                places.append((own[name], place, None if shape == tuple(args[place].shape) else shape))
        for (name, domain), tensor in zip(domains.items(), compiled.lowered.outputs, strict=True):
            whole = tuple(extent for _, extent in domain)
            results.append((name, tensor.name, None if len(tensor.dims) == len(whole) else whole))
        self._calls[key] = KnownCall(compiled.function, tuple(places), compiled.named(sizes), tuple(results))


def _arrays(args: Sequence[Any]) -> Sequence[Any]:
    """Return tensors of PyTorch as arrays that share their memory; the arguments as they are if one is something else.

    That takes a microsecond for each, where DLPack takes ten.
    """
    torch = sys.modules.get("torch")
    if torch is None or not all(
        type(each) is torch.Tensor and each.is_cpu and not each.requires_grad for each in args
    ):
        return args
    try:
        return [bfloat16_memory(each) if each.dtype == torch.bfloat16 else each.numpy() for each in args]
    except (RuntimeError, TypeError):  # conjugated and sparse ones
        return args


def _key(args: Sequence[Any]) -> object:
    """Return the shapes and dtypes of arguments; None if one is no array that a kernel can read as it is."""
    given = _arrays(args)
    for each in given:
        if type(each) is not np.ndarray or each.flags.num & _READABLE != _READABLE:
            return None
    return given is args, *[(each.shape, each.dtype) for each in given]
