"""Kernels of functions of a text: operators of the Ragged API that know what they were compiled from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import msgspec

from ragged.api.function import RaggedFunction
from ragged.api.signature import RaggedSignature
from ragged.compiled.artifact import Artifact, artifact_bytes, artifact_form
from ragged.compiled.parts import CompiledParts
from ragged.errors import DataError

_ORIGIN = "tensor_comprehension.json"
"""The member of a file that has the `TcOrigin`."""


@dataclass(frozen=True, slots=True)
class TcText:
    """A text of definitions, and its name in messages."""

    text: str
    name: str


@dataclass(frozen=True, slots=True)
class TcOrigin:
    """What a kernel was compiled from: a function of a text.

    `sizes` are fixed, `split` are the iterations of partial results by tensor, `shapes` those of arrays that are bound.
    """

    text: TcText
    function: str
    sizes: dict[str, int]
    split: dict[str, int]
    shapes: dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class TcParts(CompiledParts[RaggedSignature]):
    """The parts of a kernel."""

    origin: TcOrigin


class TcKernel(RaggedFunction):
    """A compiled function of a text, called with arrays by its own names and of its own shapes; see `CompiledTc`."""

    parts: ClassVar[type[CompiledParts[Any]]] = TcParts
    form = artifact_form("tensor comprehension", 3, Artifact[RaggedSignature], _ORIGIN)
    loader = "ragged.tc.load"
    _parts: TcParts

    @property
    def origin(self) -> TcOrigin:
        """What it was compiled from."""
        return self._parts.origin

    @classmethod
    def from_entry(
        cls, data: bytes, arrays: Mapping[str, Any], threads: int | None, *, anywhere: bool
    ) -> Self:
        """Return the kernel of an entry of the cache, with arrays bound.

        With `anywhere` it may be for another processor.

        Raises:
            DataError: it is no entry, or damaged.
        """
        return cls(cls._read_parts(data, threads, anywhere=anywhere)[0], arrays)

    def entry(self) -> bytes | None:
        """Return what the cache keeps of it, without the arrays; None if its code cannot be stored."""
        if self._parts.kernel.code is None:
            return None
        return artifact_bytes(self.form, self._parts, (), {}, self._members(), software="")

    @property
    def arrays(self) -> Mapping[str, Any]:
        """The arrays that are bound, by its own names."""
        return self._params

    @classmethod
    def _read_options(cls, signature: RaggedSignature, members: Mapping[str, bytes]) -> dict[str, Any]:
        try:
            return {"origin": msgspec.json.decode(members.get(_ORIGIN, b""), type=TcOrigin)}
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise DataError(f"{_ORIGIN} cannot be read", because=str(error)) from None

    def _members(self) -> dict[str, bytes]:
        return {_ORIGIN: msgspec.json.encode(self.origin)}
