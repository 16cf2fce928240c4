"""Targets of code generation, parsed from the user's string or dict without the compiler.

TVM 0.27 takes a dict and refuses the strings of earlier versions, which are parsed here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ragged.errors import ScheduleError, UserError
from ragged.machine import Grid, grid_of

Setting: TypeAlias = str | int | bool | tuple[str, ...]
TargetLike: TypeAlias = "str | Mapping[str, Any] | Target"

_EXAMPLES = "'cpu', 'x86-64-v3', 'llvm -mcpu=znver4 -mattr=+aes', or TVM's dict {'kind': 'llvm', ...}"
_ARCHITECTURE = "sm_90"
"""What "cuda" alone means."""
_LIST_OPTIONS = frozenset(("mattr", "cl-opt", "keys"))
_COMMON = ("keys", "tag", "host")
_LLVM = ("mcpu", "mattr", "mtriple", "mfloat-abi", "mabi", "num-cores", "opt-level", "cl-opt", "vector-width")
_CACHES = ("l1_cache_size_bytes", "l2_cache_size_bytes", "l3_cache_size_bytes")
"""Options of a processor that TVM does not have: it has the second for GPUs alone."""
_NUMBER = re.compile("[0-9]{1,18}")
_LEVEL = re.compile("x86-64(-v[234])?")
"""The names of x86-64's levels of features, which are targets as they stand."""
_NUMBERS = ("num-cores", "vector-width", *_CACHES)
"""Options that describe a processor, for schedules."""
_CUDA = (
    "arch",
    "max_num_threads",
    "max_threads_per_block",
    "max_shared_memory_per_block",
    "multiprocessors",
    "thread_warp_size",
)
_OPTIONS = {"llvm": frozenset((*_LLVM, *_CACHES, *_COMMON)), "cuda": frozenset((*_CUDA, *_COMMON))}


@dataclass(frozen=True, slots=True)
class Target:
    """A processor to generate code for: its `kind` ("llvm" or "cuda") and its settings, which are TVM's.

    Besides these "llvm" has `l1_cache_size_bytes`, `l2_cache_size_bytes` and `l3_cache_size_bytes`, the data caches
    that schedules are made for, as `num-cores` and `vector-width` (bits) are. Settings are sorted by name, so that
    equal targets are equal and hash alike.
    """

    kind: str
    settings: tuple[tuple[str, Setting], ...] = ()

    @property
    def tvm(self) -> dict[str, Any]:
        """The dict that `tvm.target.Target` takes."""
        return {"kind": self.kind} | {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.settings
            if name not in _CACHES
        }

    def __str__(self) -> str:
        words = (f"-{name}={','.join(v) if isinstance(v, tuple) else v}" for name, v in self.settings)
        return " ".join((self.kind, *words))


def read_target(target: TargetLike) -> Target | None:
    """Return the target that is meant by `target`, without a question whether LLVM knows its processor.

    None is this machine's processor, which LLVM names. Raises `UserError` for a kind or an option that is not known.
    """
    match target:
        case Target():
            return target
        case "cpu":
            return None
        case str():
            level = _LEVEL.fullmatch(target)
            return _checked(*_split(f"llvm -mcpu={target}" if level else target))
        case Mapping():
            settings = dict(target)
            return _checked(str(settings.pop("kind", "")), settings, str(dict(target)))
        case _:
            raise UserError(
                f"target: {target!r} is not a target",
                because="it is neither a string nor a dict",
                fix=f"one of {_EXAMPLES}",
            )


def numbers_of(target: TargetLike) -> dict[str, int]:
    """Return what a target says of its processor in numbers: cores, bits of vectors, bytes of caches, by option.

    Raises `UserError` as `read_target`.
    """
    read = read_target(target)
    settings = {} if read is None or read.kind != "llvm" else dict(read.settings)
    return {name: value for name in _NUMBERS if isinstance(value := settings.get(name), int)}


def workers_for(target: TargetLike, threads: int | None, here: int) -> int:
    """Return the workers that a schedule is made for: `threads`, the cores that the target says, or those `here`.

    Raises `UserError` as `read_target`.
    """
    return numbers_of(target).get("num-cores", here) if threads is None else threads


def cuda_architecture(target: TargetLike) -> str | None:
    """Return what nvcc calls the GPUs that a target means, "sm_90"; None if it means a CPU.

    Raises `UserError` as `read_target`.
    """
    read = read_target(target)
    if read is None or read.kind != "cuda":
        return None
    return str(dict(read.settings).get("arch", _ARCHITECTURE))


def grid_for(target: TargetLike) -> Grid | None:
    """Return the grid of blocks that a target's kernels are for; None if it means a CPU.

    Its architecture says it, and the target's `multiprocessors` (blocks), `max_threads_per_block` and
    `max_shared_memory_per_block` (bytes) where they are given. Raises `UserError` as `read_target`, and for a number
    that is none.
    """
    architecture = cuda_architecture(target)
    if architecture is None:
        return None
    read = read_target(target)
    assert read is not None, "None is a CPU"
    settings = dict(read.settings)
    names = ("multiprocessors", "max_threads_per_block", "max_shared_memory_per_block")
    return grid_of(architecture, *(_positive(name, settings.get(name), read) for name in names))


def _positive(name: str, value: Setting | None, target: Target) -> int | None:
    if value is None:
        return None
    if type(value) is not int or value < 1:
        raise UserError(f"target: -{name}={value} in '{target}' is no number from 1 up")
    return value


def require_cpu(target: Target) -> None:
    """Raise `ScheduleError` unless TVM is to generate code for `target`."""
    if target.kind != "llvm":
        raise ScheduleError(
            f"compile: cannot generate code for '{target}' of this",
            because="code for GPUs is generated of recursive models' kernels alone",
            fix="target='cpu'",
        )


def _split(text: str) -> tuple[str, dict[str, Any], str]:
    kind, *words = text.split() or [""]
    settings: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not equals or not value:
            raise UserError(
                f"target: cannot read '{word}' in '{text}'",
                because="an option is written -name=value",
                fix=f"for example {_EXAMPLES}",
            )
        settings[name] = (
            value.split(",") if name in _LIST_OPTIONS else int(value) if _NUMBER.fullmatch(value) else value
        )
    return kind, settings, text


def _checked(kind: str, settings: Mapping[str, Any], text: str) -> Target:
    known = _OPTIONS.get(kind)
    if known is None:
        raise UserError(
            f"target: no target '{kind}' in '{text}'",
            because=f"the kinds are {', '.join(_OPTIONS)}",
            fix=f"one of {_EXAMPLES}",
        )
    for name in settings:
        if name not in known:
            raise UserError(
                f"target: '{kind}' has no option '{name}' in '{text}'",
                because=f"its options are {', '.join(sorted(known))}",
                fix=f"for example {_EXAMPLES}",
            )
        value = settings[name]
        if kind == "llvm" and name in _NUMBERS and (type(value) is not int or value < 1):
            raise UserError(f"target: -{name}={value} in '{text}' is no number from 1 up")
    return Target(kind, tuple(sorted((name, _frozen(name, value)) for name, value in settings.items())))


def _frozen(name: str, value: Any) -> Setting:
    if name in _LIST_OPTIONS and isinstance(value, str):
        value = value.split(",")
    return tuple(str(word) for word in value) if isinstance(value, list | tuple) else value
