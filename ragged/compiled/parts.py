"""The parts of a compiled function that do not depend on its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from ragged.compiled.kernel import LoadedKernel
from ragged.compiled.signature import Signature

S = TypeVar("S", bound=Signature)


@dataclass(frozen=True, slots=True, eq=False)
class CompiledParts(Generic[S]):
    """A compiled function without its parameters.

    `threads` is what the user asked for, None for one for each core; `workers` the resulting most workers of a call.
    """

    kernel: LoadedKernel
    signature: S
    threads: int | None
    workers: int
