"""Calls with shapes that were checked before: they go straight to the kernel."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ragged.data.like import to_tensor
from ragged.data.read import IN_PLACE, bfloat16_memory
from ragged.ir.expr import Var
from ragged.tc.compiled import CompiledTc
from ragged.tc.kernel import TcKernel
from ragged.tc.lower import stored

Domains: TypeAlias = dict[str, tuple[tuple[int, int], ...]]
"""For each output the lower bound and the extent of each dimension."""

Array: TypeAlias = npt.NDArray[Any]
Shape: TypeAlias = tuple[int, ...]
_MOST_SHAPES = 1024
"""Number of combinations of shapes that are remembered."""
_NUMBERS = (int, float)
"""The types of numbers that are arguments; a bool is another type."""


@dataclass(frozen=True, slots=True)
class OutputPlaces:
    """The shape and the dtype of an output of a call, and the shape that it has in the kernel."""

    shape: Shape
    dtype: np.dtype[Any]
    kernel: Shape

    @property
    def is_kernel_shape(self) -> bool:
        """Whether the kernel has the output in the shape that the caller gets."""
        return self.kernel == self.shape

    def holds(self, array: Array) -> bool:
        """Return whether the kernel can write the output into an array."""
        fits = array.shape == self.shape and array.dtype == self.dtype
        return fits and array.flags.num & IN_PLACE == IN_PLACE and array.flags.writeable


@dataclass(frozen=True, slots=True)
class KnownCall:
    """A call with shapes that were checked: arguments by place, sizes by name, and the outputs with their own names.

    With each argument is the shape that it has in the kernel; None if it is that of the caller.
    `numbers` are the arguments that are no arrays, with the dtype that they have in the kernel.
    """

    function: TcKernel
    places: tuple[tuple[str, int, Shape | None], ...]
    numbers: tuple[tuple[str, int, np.dtype[Any]], ...]
    named: Mapping[str, int]
    outputs: tuple[tuple[str, str, OutputPlaces], ...]

    def run(self, args: Sequence[Any], out: object = None) -> Any:
        """Run the kernel; return its output, or several by name in order.

        The arrays of `out` are written in place. None is returned, and nothing run, if the kernel cannot do so.
        """
        given = _arrays(args)
        arrays = {
            own: given[place] if shape is None else given[place].reshape(shape)
            for own, place, shape in self.places
        }
        for own, place, dtype in self.numbers:
            arrays[own] = np.array(given[place], dtype)
        owned: Mapping[str, Any] = {}
        if out is None:
            results = self.function(**arrays, **self.named)
        else:
            owned = out if isinstance(out, Mapping) else {self.outputs[0][0]: out}
            places = self._places_of(owned, [*arrays.values(), *self.function.arrays.values()])
            taken = "out" in (*arrays, *self.named, *self.function.signature.sizes)  # by another argument
            if places is None or taken or (owned is not out and len(self.outputs) > 1):
                return None
            results = self.function(**arrays, **self.named, out=places)
        if not isinstance(results, dict):
            results = {self.outputs[0][1]: results}
        made = {
            name: results[own] if places.is_kernel_shape else results[own].reshape(places.shape)
            for name, own, places in self.outputs
        }
        if given is not args:
            torch = sys.modules["torch"]
            made = {name: to_tensor(torch, array) for name, array in made.items()}
        made |= owned
        return made if len(made) > 1 else made[self.outputs[0][0]]

    def _places_of(self, owned: Mapping[str, Any], read: Iterable[Array]) -> dict[str, Array] | None:
        """Return the arrays that outputs are written into, as the kernel has them; None if one does not fit there.

        It is of another shape or dtype, its elements are not in order, or it shares memory with another array.
        """
        found, others = dict[str, Array](), list(read)
        for name, own, places in self.outputs:
            if name in owned:
                (array,) = _arrays((owned[name],))
                if not isinstance(array, np.ndarray) or not places.holds(array):
                    return None
                if any(np.may_share_memory(array, other) for other in others):
                    return None
                found[own] = array.reshape(places.kernel)
                others.append(array)
        return found if len(found) == len(owned) else None


class KnownCalls:
    """The calls that were accepted, by the shapes and dtypes of their arguments, and the values of integers.

    Arrays are such that kernels read them in place.
    """

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
        own, places, numbers, results = dict(compiled.inputs), [], [], []
        declared = compiled.merged.analysed.function.parameters
        for place, name in enumerate(parameters):
            if name in own and isinstance(args[place], int | float):
                numbers.append((own[name], place, stored(declared[name].type).numpy))
            elif name in own:
                shape = compiled.merged.shape(name, args[place].shape)
                places.append((own[name], place, None if shape == tuple(args[place].shape) else shape))
        for (name, domain), tensor in zip(domains.items(), compiled.lowered.outputs, strict=True):
            shape = tuple(extent for _, extent in domain)
            places_of = OutputPlaces(shape, tensor.dtype.numpy, compiled.merged.shape(name, shape))
            results.append((name, tensor.name, places_of))
        self._calls[key] = KnownCall(
            compiled.function, tuple(places), tuple(numbers), compiled.named(sizes), tuple(results)
        )


def _arrays(args: Sequence[Any]) -> Sequence[Any]:
    """Return tensors of PyTorch as arrays that share their memory, and numbers; without a tensor the arguments.

    That takes a microsecond for each tensor, where DLPack takes ten.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return args
    found, tensors = [], 0
    try:
        for each in args:
            if type(each) is torch.Tensor and each.is_cpu and not each.requires_grad:
                found.append(bfloat16_memory(each) if each.dtype == torch.bfloat16 else each.numpy())
                tensors += 1
            elif type(each) in _NUMBERS:
                found.append(each)
            else:
                return args
    except (RuntimeError, TypeError):  # conjugated and sparse ones
        return args
    return found if tensors else args


def _key(args: Sequence[Any]) -> object:
    """Return what tells arguments from others; None if one is neither a number nor an array that a kernel can read.

    An array without dimensions may be an integer scalar, on which sizes depend.
    """
    given = _arrays(args)
    key: list[object] = [given is args]
    for each in given:
        if type(each) is np.ndarray and (each.ndim or each.dtype.kind not in "iu"):
            if each.flags.num & IN_PLACE != IN_PLACE:
                return None
            key.append((each.shape, each.dtype))
        elif type(each) in _NUMBERS:
            key.append((type(each), each if type(each) is int else None))
        else:
            return None
    return tuple(key)
