"""What a peer for shapes that change is: products and convolutions in some library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from bench.shapes.problems import Array, Dense, ShapesProblem, Sizes

Call: TypeAlias = Callable[[], Any]


class ShapesPeer(ABC):
    """A problem in some library, made once: weights are laid out, and one function compiled if there is such a thing.

    To add one: a subclass called `Measured` in a file of its own in this folder, and a line in
    `bench.peers.shapes.SHAPES_PEERS`. It runs in a process of its own, so it may import what it likes and set up
    threads as it likes; it must not compute with more than `problem.threads` of them.
    """

    kinds: ClassVar[frozenset[type[Sizes]]] = frozenset({Dense})
    """Those that it has."""

    @abstractmethod
    def __init__(self, problem: ShapesProblem) -> None: ...

    @abstractmethod
    def call(self, sizes: Sizes, operands: Sequence[Array]) -> Call:
        """Return what is timed: a call on these arrays that returns a result in memory of its own.

        Nothing may be computed for the shape here: what is made for a new one is made in the first call. Images are
        (batch, side, side, channels); operands may be wrapped as the library's tensors, without a copy.
        """

    def array(self, result: Any) -> Array:
        """Return a call's result as an array."""
        found: Array = result
        return found

    def details(self) -> dict[str, Any]:
        """Return what else is known: `code_bytes`, `variants`, `predicted` microseconds by label."""
        return {}
