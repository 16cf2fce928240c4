"""Stated descriptions of processors that are not at hand, by the names that LLVM gives them.

Sources: the vendors' optimization manuals, and Fog's and Abel's tables of instruction latencies and throughputs. Cache
bandwidths are what loops sustain rather than the widths of buses; clocks are those with all cores busy.
"""

from __future__ import annotations

from collections.abc import Collection

from ragged.machine import Machine, Rates

_KIB, _MIB = 2**10, 2**20

_SKYLAKE_SERVER = Machine(
    64, 32, 2, 32 * _KIB, _MIB, l3_bytes=16 * _MIB, rates=Rates(2, 4, 2, 48, 10, 5, 2700)
)
_ICE_LAKE_SERVER = Machine(
    64, 32, 2, 48 * _KIB, 1280 * _KIB, l3_bytes=32 * _MIB, rates=Rates(2, 4, 2, 48, 10, 6, 2900)
)
_SAPPHIRE_RAPIDS = Machine(
    64, 32, 2, 48 * _KIB, 2 * _MIB, l3_bytes=64 * _MIB, rates=Rates(2, 4, 2, 48, 8, 6, 3000)
)
_ZEN_2 = Machine(32, 16, 2, 32 * _KIB, 512 * _KIB, l3_bytes=16 * _MIB, rates=Rates(2, 5, 2, 24, 16, 6, 3300))
_ZEN_3 = Machine(32, 16, 2, 32 * _KIB, 512 * _KIB, l3_bytes=32 * _MIB, rates=Rates(2, 4, 2, 24, 20, 8, 3500))
_ZEN_4 = Machine(64, 32, 2, 32 * _KIB, _MIB, l3_bytes=32 * _MIB, rates=Rates(1, 4, 1, 32, 24, 8, 3700))
_ZEN_5 = Machine(64, 32, 2, 48 * _KIB, _MIB, l3_bytes=32 * _MIB, rates=Rates(2, 4, 2, 48, 24, 8, 3900))
_HASWELL = Machine(32, 16, 2, 32 * _KIB, 256 * _KIB, l3_bytes=8 * _MIB, rates=Rates(2, 5, 2, 24, 12, 6, 3000))
_SKYLAKE = Machine(32, 16, 2, 32 * _KIB, 256 * _KIB, l3_bytes=8 * _MIB, rates=Rates(2, 4, 2, 32, 16, 8, 3500))
_NEOVERSE_N1 = Machine(16, 32, 2, 64 * _KIB, _MIB, l3_bytes=32 * _MIB, rates=Rates(2, 4, 2, 24, 12, 6, 2600))
_NEOVERSE_V = Machine(16, 32, 2, 64 * _KIB, _MIB, l3_bytes=32 * _MIB, rates=Rates(4, 4, 3, 32, 16, 8, 2800))

PROCESSORS: dict[str, Machine] = {
    "x86-64": Machine(16, 16, 2, 32 * _KIB, 256 * _KIB, l3_bytes=8 * _MIB, rates=Rates(1, 8, 2, 16, 8, 6)),
    "x86-64-v3": Machine(32, 16, 2, 32 * _KIB, 512 * _KIB, l3_bytes=16 * _MIB, rates=Rates(l2_bytes=24)),
    "x86-64-v4": _SKYLAKE_SERVER,
    "haswell": _HASWELL,
    "broadwell": _HASWELL,
    "skylake": _SKYLAKE,
    "skylake-avx512": _SKYLAKE_SERVER,
    "cascadelake": _SKYLAKE_SERVER,
    "icelake-server": _ICE_LAKE_SERVER,
    "sapphirerapids": _SAPPHIRE_RAPIDS,
    "emeraldrapids": _SAPPHIRE_RAPIDS,
    "graniterapids": _SAPPHIRE_RAPIDS,
    "znver2": _ZEN_2,
    "znver3": _ZEN_3,
    "znver4": _ZEN_4,
    "znver5": _ZEN_5,
    "neoverse-n1": _NEOVERSE_N1,
    "neoverse-n2": _NEOVERSE_N1,
    "neoverse-v1": _NEOVERSE_V,
    "neoverse-v2": _NEOVERSE_V,
}
"""Descriptions by LLVM's name; two cores, which is the least that a schedule for workers is about."""

_BY_FEATURE = (("avx512f", 64, "x86-64-v4"), ("avx2", 32, "x86-64-v3"))


def processor(name: str, architecture: str, features: Collection[str]) -> Machine:
    """Return the description of a processor by its name, if its vectors are those of `features`; else by these."""
    known = PROCESSORS.get(name)
    if architecture == "aarch64":
        return PROCESSORS["neoverse-n1"] if known is None else known
    found = ((size, usual) for feature, size, usual in _BY_FEATURE if feature in features)
    vector_bytes, usual = next(found, (16, "x86-64"))
    return known if known is not None and known.vector_bytes == vector_bytes else PROCESSORS[usual]
