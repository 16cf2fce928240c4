"""The features of this machine's processor, for code that was compiled elsewhere."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ragged.codegen.matrix_unit import FEATURES, may_use_tiles

_LINUX = {
    "bmi": "bmi1",
    "lzcnt": "abm",
    "sse3": "pni",
    "complxnum": "fcma",
    "dotprod": "asimddp",
    "fp16fml": "asimdfhm",
    "fullfp16": "asimdhp",
    "lse": "atomics",
    "neon": "asimd",
    "rcpc": "lrcpc",
    "rdm": "asimdrdm",
}
"""LLVM's names of features that have other names in Linux; the rest differs in punctuation alone."""
_FLAGS = ("flags", "Features")
_VECTOR_LENGTH = Path("/proc/sys/abi/sve_default_vector_length")
_POWERS = (256, 512, 1024, 2048)
"""Bits of scalable vectors that code may need, above those of all processors that have some."""
_IDENTITY = ("vendor_id", "cpu family", "model", "stepping", "model name", "CPU implementer", "CPU part")


def architecture() -> str:
    """Return the architecture: "x86_64", "aarch64"."""
    return platform.machine()


@cache
def identity() -> str:
    """Return a text that identifies this processor: its model and all its features."""
    described = _described()
    words = (f"{name}={described[name]}" for name in (*_IDENTITY, *_FLAGS) if name in described)
    return "; ".join((architecture(), *words))


def missing(features: Iterable[str]) -> list[str]:
    """Return those of `features`, as LLVM calls them, that this processor does not have."""
    present = {_plain(flag) for name in _FLAGS for flag in _described().get(name, "").split()}
    if not may_use_tiles():
        present -= set(map(_plain, FEATURES))
    if "sve" in present:
        present |= {f"sve{bits}" for bits in _POWERS if bits <= _scalable_bits()}
    return [feature for feature in features if _plain(_LINUX.get(feature, feature)) not in present]


def _scalable_bits() -> int:
    """Return the bits of a new process's scalable vectors, 0 if they are not known."""
    try:
        return 8 * int(_VECTOR_LENGTH.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


@cache
def _described() -> dict[str, str]:
    """Return the first processor's lines of /proc/cpuinfo; empty without that file."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return {}
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}


def _plain(feature: str) -> str:
    return feature.translate({ord(sign): None for sign in "._-"})
