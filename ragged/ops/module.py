"""Layers with parameters: a state by PyTorch's names, and the functions that are compiled for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import ragged
from ragged.api.schedule import RaggedSchedule
from ragged.auto.options import ScheduleOptions
from ragged.errors import Location, ModelError
from ragged.ops.compiled import Options, compiled
from ragged.ops.state import Array, Shapes, read_state


@dataclass(frozen=True, slots=True)
class Loaded:
    """The state that a layer has been given, and its functions with it, each from the time it was first asked for."""

    state: Mapping[str, Array]
    functions: dict[str, ragged.RaggedFunction] = field(default_factory=dict)


class Module(ABC):
    """A layer: `load_state_dict` gives it its parameters, a call runs it; any number of threads may call.

    A configuration is compiled once in a process, on the first call or when a function is asked for; layers that differ
    in their parameters alone share the code.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._loaded: Loaded | None = None

    @property
    @abstractmethod
    def shapes(self) -> Shapes:
        """The names and shapes of the parameters, as in the PyTorch module's state."""

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take the parameters from what a PyTorch module's `state_dict()` returned, or arrays by such names.

        They are copied. A call that is under way in another thread goes on with those that it began with.

        Raises:
            ModelError: an array is missing, unknown, of another shape or not float32; the layer is as it was.
        """
        self._loaded = Loaded(read_state(type(self).__name__, state_dict, self.shapes))

    def state_dict(self) -> dict[str, Array]:
        """Return copies of the parameters, by the names that they came by."""
        return {name: array.copy() for name, array in self._state().state.items()}

    def with_options(self, options: ScheduleOptions) -> Self:
        """Return this layer compiled with other options of the default schedule, with the parameters it has now.

        Example::

            layer = layer.with_options(ragged.ops.tune(layer, x).best)
        """
        other = copy(self)
        other._options = replace(self._options, options=options)
        other._loaded = None if self._loaded is None else Loaded(self._loaded.state)
        return other

    def _state(self) -> Loaded:
        loaded = self._loaded
        if loaded is None:
            name = type(self).__name__
            raise ModelError(
                f"{name} has no parameters yet",
                at=Location.capture(),
                fix="layer.load_state_dict(module.state_dict())",
            )
        return loaded

    def _function(
        self,
        mode: str,
        key: Hashable,
        build: Callable[[], RaggedSchedule],
        params: Callable[[Mapping[str, Array]], Mapping[str, Array]],
    ) -> ragged.RaggedFunction:
        """Return the function of a way to call the layer, with the parameters that it has now."""
        loaded = self._state()
        function = loaded.functions.get(mode)
        if function is None:  # two threads may both come here; they get functions that do the same
            function = compiled((type(self).__name__, mode, key), build, self._options, params(loaded.state))
            function = loaded.functions.setdefault(mode, function)
        return function
