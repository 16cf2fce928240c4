"""What code is generated for: a processor, named in one of the ways that users know.

TVM 0.27 takes a dict and refuses the strings that its users wrote before; those are parsed here. The processor
matters: without its name LLVM writes code for the oldest of its family, several times slower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from ragged.auto.machine import Grid, grid_of
from ragged.codegen.matrix_unit import FEATURES, may_use_tiles
from ragged.errors import ScheduleError, UserError

Setting: TypeAlias = str | int | bool | tuple[str, ...]
TargetLike: TypeAlias = "str | Mapping[str, Any] | Target"

_EXAMPLES = (
    "'cpu', 'llvm -mcpu=znver4', 'llvm -mcpu=x86-64 -mattr=+avx2', or TVM's dict {'kind': 'llvm', ...}"
)
_ARCHITECTURE = "sm_90"
"""What "cuda" alone means."""
_LIST_OPTIONS = frozenset(("mattr", "cl-opt", "keys"))
_COMMON = ("keys", "tag", "host")
_LLVM = ("mcpu", "mattr", "mtriple", "mfloat-abi", "mabi", "num-cores", "opt-level", "cl-opt", "vector-width")
_CUDA = (
    "arch",
    "max_num_threads",
    "max_threads_per_block",
    "max_shared_memory_per_block",
    "multiprocessors",
    "thread_warp_size",
)
_ARITHMETIC = (*FEATURES, "avx", "bmi", "f16c", "fma", "lzcnt", "popcnt", "sse", "ssse")
"""What the features that generated code is made of begin with."""
_VERSIONS = "avx10"
"""What LLVM's names for sets of such features begin with: it lists all that is in a set too, and Linux that alone."""
_PAIRS = "avx512bf16"
_SLOW_PAIRS = ("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d")
"""Processors whose instruction for pairs adds fewer products a second than their multiply-adds do: 30 G by a core of an
Emerald Rapids, where these add 88 G, and the others are taken to be like it. They are made to have a matrix unit, but
not all that run on them may use it."""
_OPTIONS = {"llvm": frozenset((*_LLVM, *_COMMON)), "cuda": frozenset((*_CUDA, *_COMMON))}


@dataclass(frozen=True, slots=True)
class Target:
    """A processor to generate code for: its `kind` ("llvm" or "cuda") and the settings that TVM takes with it.

    Settings are sorted by name, so that equal targets are equal and hash alike.
    """

    kind: str
    settings: tuple[tuple[str, Setting], ...] = ()

    @property
    def tvm(self) -> dict[str, Any]:
        """The dict that `tvm.target.Target` takes."""
        return {"kind": self.kind} | {
            name: list(value) if isinstance(value, tuple) else value for name, value in self.settings
        }

    def __str__(self) -> str:
        words = (f"-{name}={','.join(v) if isinstance(v, tuple) else v}" for name, v in self.settings)
        return " ".join((self.kind, *words))


def parse_target(target: TargetLike) -> Target:
    """Return the target that is meant by `target`.

    `target` is "cpu" (this machine's processor), "cuda", TVM's old form ("llvm -mcpu=znver4", "cuda -arch=sm_90"),
    TVM's dict, or a `Target`, which is returned as it is.

    Raises `UserError` for a kind, an option or a processor that is not known.

    >>> str(parse_target("llvm -mcpu=znver4 -mattr=+avx512f,-avx512bf16"))
    'llvm -mattr=+avx512f,-avx512bf16 -mcpu=znver4'
    """
    read = read_target(target)
    if read is None:
        return host_target()
    if read.kind == "llvm" and read is not target:
        _check_processor(read)
    return read


def read_target(target: TargetLike) -> Target | None:
    """Return the target that is meant by `target`, without a question whether LLVM knows its processor.

    None is this machine's, whose name only LLVM knows. Raises `UserError` for a kind or an option that is not known.
    """
    match target:
        case Target():
            return target
        case "cpu":
            return None
        case str():
            return _checked(*_split(target))
        case Mapping():
            settings = dict(target)
            return _checked(str(settings.pop("kind", "")), settings, str(dict(target)))
        case _:
            raise UserError(
                f"target: {target!r} is not a target",
                because="it is neither a string nor a dict",
                fix=f"one of {_EXAMPLES}",
            )


@cache
def host_target() -> Target:
    """Return the target of the processor that this process runs on: its name, and how it differs from that name.

    A virtual machine may hide some of what the processor has, which the name alone would promise.
    """
    from ragged.codegen.load_tvm import (  # here: parsing a target must not cost the compiler's import
        codegen,
        tvm,
    )

    name = str(codegen.llvm_get_system_cpu())
    native = tvm.target.Target({"kind": "llvm", "mcpu": name})
    promised = {str(feature) for feature in codegen.llvm_get_cpu_features(native)}
    present = tvm.get_global_func("tvm.codegen.llvm.GetHostCPUFeatures")() or {}
    used = {str(feature): bool(on) for feature, on in present.items() if _is_arithmetic(str(feature))}
    used |= {feature: used[feature] and may_use_tiles() for feature in FEATURES if feature in used}
    differing = sorted(
        f"{'+' if on else '-'}{feature}" for feature, on in used.items() if on != (feature in promised)
    )
    settings: dict[str, Setting] = {"mattr": tuple(differing)} if differing else {}
    return Target("llvm", (*settings.items(), ("mcpu", name)))


def features_of(target: Target) -> tuple[str, ...]:
    """Return the features of a processor, as LLVM calls them, that code for `target` may use, sorted."""
    from ragged.codegen.load_tvm import codegen, tvm  # here: as above

    settings = dict(target.settings)
    changes = settings.pop("mattr", ())
    named = tvm.target.Target(Target(target.kind, tuple(settings.items())).tvm)
    features = {str(feature) for feature in codegen.llvm_get_cpu_features(named)}
    for change in changes if isinstance(changes, tuple) else ():
        (features.add if change.startswith("+") else features.discard)(change.lstrip("+-"))
    return tuple(sorted(filter(_is_arithmetic, features)))


def has_quick_pairs(target: Target) -> bool:
    """Return whether code for `target` is to multiply pairs by one instruction, which is quicker than multiply-adds."""
    return _PAIRS in features_of(target) and dict(target.settings).get("mcpu") not in _SLOW_PAIRS


def has_scale(target: Target) -> bool:
    """Return whether code for `target` may multiply vectors by powers of two by one instruction, of AVX-512."""
    return "avx512f" in features_of(target)


def has_matrix_unit(target: Target) -> bool:
    """Return whether code for `target` may use a matrix unit."""
    return set(FEATURES) <= set(features_of(target))


def architecture_of(target: Target) -> str:
    """Return what LLVM calls the kind of processor that code is for: "x86_64", "aarch64"."""
    from ragged.codegen.load_tvm import codegen  # here: as above

    triple = dict(target.settings).get("mtriple") or codegen.llvm_get_system_triple()
    return str(triple).partition("-")[0]


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


def _is_arithmetic(feature: str) -> bool:
    return feature.startswith(_ARITHMETIC) and not feature.startswith(_VERSIONS)


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
            value.split(",") if name in _LIST_OPTIONS else int(value) if value.isdigit() else value
        )
    return kind, settings, text


def _value(name: str, text: str) -> Any:
    if name in _LIST_OPTIONS:
        return text.split(",")
    return int(text) if text.isdigit() else text


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
    return Target(kind, tuple(sorted((name, _frozen(value)) for name, value in settings.items())))


def _frozen(value: Any) -> Setting:
    return tuple(str(word) for word in value) if isinstance(value, list | tuple) else value


def _check_processor(target: Target) -> None:
    settings = dict(target.settings)
    if "mcpu" not in settings:
        return
    from ragged.codegen.load_tvm import codegen

    triple = settings.get("mtriple", codegen.llvm_get_system_triple())
    if not codegen.llvm_is_valid_cpu(settings["mcpu"], triple):
        raise UserError(
            f"target: no processor '{settings['mcpu']}' in '{target}'",
            because=f"LLVM {codegen.llvm_version_major()} does not know it for {triple}",
            fix=f"target='cpu' for this machine's, which is '{codegen.llvm_get_system_cpu()}'",
        )
