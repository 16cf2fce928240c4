"""What LLVM knows of a target's processor: its name, its features, and which instructions are quick."""

from __future__ import annotations

from functools import cache
from typing import Any

from ragged.codegen.load_tvm import codegen, tvm
from ragged.codegen.matrix_unit import FEATURES, may_use_tiles
from ragged.codegen.target import Setting, Target, TargetLike, numbers_of, read_target
from ragged.errors import UserError

_ARITHMETIC = (*FEATURES, "avx", "bmi", "f16c", "fma", "lzcnt", "popcnt", "sse", "ssse")
"""What the features that generated code is made of begin with."""
_ARM = frozenset(
    (
        *("bf16", "complxnum", "dotprod", "fp16fml", "fullfp16", "i8mm"),
        *("lse", "neon", "rcpc", "rdm", "sve", "sve2"),
    )
)
"""The features that code for aarch64 is made of: vectors, and the atomics of barriers."""
_NEON_BITS = 128
_VERSIONS = "avx10"
"""What LLVM's names for sets of such features begin with: it lists all that is in a set too, and Linux that alone."""
_PAIRS = "avx512bf16"
_SLOW_PAIRS = ("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d")
"""Processors on which the bfloat16 pair instruction has a lower throughput than multiply-adds: 30 G against 88 G
products a second per core on Emerald Rapids. All have a matrix unit, which a virtual machine may not expose."""


_TRIPLES = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
"""What a processor's name means where it is none of this machine's architecture."""


def parse_target(target: TargetLike) -> Target:
    """Return the target that is meant by `target`.

    `target` is "cpu" (this machine's processor), "cuda", TVM's old form ("llvm -mcpu=znver4", "cuda -arch=sm_90"),
    TVM's dict, or a `Target`, which is returned as it is. A processor of another architecture than this machine's needs
    no `-mtriple`: "llvm -mcpu=neoverse-v1" is aarch64 on Linux.

    Raises `UserError` for a kind, an option, a processor or a feature that is not known.

    >>> str(parse_target("llvm -mcpu=znver4 -mattr=+avx512f,-avx512bf16"))
    'llvm -mattr=+avx512f,-avx512bf16 -mcpu=znver4'
    """
    read = read_target(target)
    if read is None:
        return host_target()
    return _checked_by_llvm(read) if read.kind == "llvm" and read is not target else read


@cache
def host_target() -> Target:
    """Return the target of the processor that this process runs on: its name, and how it differs from that name.

    A virtual machine may hide some of what the processor has, which the name alone would promise.
    """
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
    settings = dict(target.settings)
    changes = settings.pop("mattr", ())
    named = tvm.target.Target(Target(target.kind, tuple(settings.items())).tvm)
    features = {str(feature) for feature in codegen.llvm_get_cpu_features(named)}
    for change in changes if isinstance(changes, tuple) else ():
        (features.add if change.startswith("+") else features.discard)(change.lstrip("+-"))
    used = [*filter(_is_arithmetic, features)]
    width = numbers_of(target).get("vector-width", 0)
    return (
        tuple(sorted((*used, f"sve{width}"))) if "sve" in used and width > _NEON_BITS else tuple(sorted(used))
    )


def scalable_bits(target: Target) -> int:
    """Return the bits of the scalable vectors (SVE) that code for `target` has; 0 if it has none, but those of NEON.

    It does where the target's `vector-width` is more than NEON's 128; registers at run time may be larger.
    """
    found = (feature.removeprefix("sve") for feature in features_of(target))
    return max((int(bits) for bits in found if bits.isdigit() and int(bits) > _NEON_BITS), default=0)


def native_target(target: Target, *options: str) -> Any:
    """Return TVM's target with these options of LLVM, and the least bits of scalable vectors where code has these.

    LLVM's level is 2 where the target says none: the third takes up to twice the time, and kernels are no faster. What
    overlaps follows from arguments alone: TVM's tags are of buffers by name, which an outlined nest changes.
    """
    bits, settings = scalable_bits(target), {"opt-level": 2, **target.tvm}
    options = (*options, *((f"-aarch64-sve-vector-bits-min:uint={bits}",) if bits else ()))
    return tvm.target.Target(
        {**settings, "cl-opt": [*settings.get("cl-opt", ()), "-enable-tbaa:bool=false", *options]}
    )


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
    triple = dict(target.settings).get("mtriple") or codegen.llvm_get_system_triple()
    return str(triple).partition("-")[0]


def _is_arithmetic(feature: str) -> bool:
    return feature in _ARM or (feature.startswith(_ARITHMETIC) and not feature.startswith(_VERSIONS))


def _checked_by_llvm(target: Target) -> Target:
    """Return the target with the triple that its processor's name needs.

    Raises:
        UserError: LLVM does not know the processor or one of the features.
    """
    found = _with_known_processor(target)
    settings = dict(found.settings)
    changes = settings.pop("mattr", ())
    for change in changes if isinstance(changes, tuple) else ():
        name = change.lstrip("+-")
        probe = tvm.target.Target(Target(found.kind, (*settings.items(), ("mattr", (f"+{name}",)))).tvm)
        if change[:1] not in ("+", "-") or name not in map(str, codegen.llvm_get_cpu_features(probe)):
            raise UserError(
                f"target: no feature '{change}' in '{target}'",
                because=f"LLVM {codegen.llvm_version_major()} knows none of this name for the processor",
                fix="-mattr=+avx512f,-avx512bf16, features with + or - before them",
            )
    return found


def _with_known_processor(target: Target) -> Target:
    settings = dict(target.settings)
    triple = settings.get("mtriple", codegen.llvm_get_system_triple())
    if "mcpu" not in settings or codegen.llvm_is_valid_cpu(settings["mcpu"], triple):
        return target
    others = () if "mtriple" in settings else _TRIPLES
    found = next((each for each in others if codegen.llvm_is_valid_cpu(settings["mcpu"], each)), None)
    if found is None:
        raise UserError(
            f"target: no processor '{settings['mcpu']}' in '{target}'",
            because=f"LLVM {codegen.llvm_version_major()} does not know it for {triple}",
            fix=f"target='cpu' for this machine's, which is '{codegen.llvm_get_system_cpu()}'",
        )
    return Target(target.kind, tuple(sorted({**settings, "mtriple": found}.items())))
