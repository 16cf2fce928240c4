from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Frame: TypeAlias = object

class Failed(Exception):
    args: tuple[int, bytes]

def frame(
    numbers: list[int],
    kinds: bytes,
    words: int,
    sizes: list[int],
    given: list[tuple[int, str]],
    outputs: list[tuple[int, Any, int]],
    workspaces: list[int],
    stages: list[tuple[int, int]],
    unusual: Callable[[int, object], int],
    keep: object,
) -> Frame: ...
def call(
    frame: Frame,
    values: Sequence[Any],
    shapes: tuple[Any, ...],
    sizes: tuple[int, ...],
    spin_ns: int,
    times: list[tuple[int, int]] | None,
) -> tuple[Any, ...]: ...
def blocks(frame: Frame) -> tuple[int, int]: ...
def helpers() -> int: ...
def disband() -> bool: ...
