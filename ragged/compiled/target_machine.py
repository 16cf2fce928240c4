"""The machine that schedules for a target follow: stated by its name, or this one, measured once and kept on disk."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import msgspec

from ragged.codegen.target import Target, TargetLike, numbers_of
from ragged.codegen.target_features import architecture_of, features_of, parse_target, scalable_bits
from ragged.compiled.ceilings import measure_rates
from ragged.compiled.kernel_cache import LIMIT, cache_folder
from ragged.machine import Machine, Rates, this_machine
from ragged.processors import processor
from ragged.runtime.disk_cache import DiskCache
from ragged.runtime.processor import identity

_VERSION = 3
"""Version of the measurements and their rounding."""
_LEAST_VECTOR_BYTES = 16
"""The bytes of the smallest vectors that code is generated with."""


def machine_of(target: TargetLike) -> Machine:
    """Return the machine that a target means: this one for "cpu", else what is stated of the processor it names.

    Numbers in the target (`-num-cores`, `-vector-width` in bits, `-l2_cache_size_bytes` and the others) stand in place
    of those. The cores are otherwise those of this process: a processor's name does not say them.

    Raises:
        UserError: the target is not known.
    """
    named = parse_target(target)
    if target == "cpu" or named.kind != "llvm":
        return measured_machine()
    settings = dict(named.settings)
    stated = processor(str(settings.get("mcpu", "")), architecture_of(named), features_of(named))
    numbers = numbers_of(named)
    stated = _with_width(stated, named)
    return replace(
        stated,
        cores=numbers.get("num-cores", this_machine().cores),
        l1_bytes=numbers.get("l1_cache_size_bytes", stated.l1_bytes),
        l2_bytes=numbers.get("l2_cache_size_bytes", stated.l2_bytes),
        l3_bytes=numbers.get("l3_cache_size_bytes", stated.l3_bytes),
    )


def _with_width(stated: Machine, target: Target) -> Machine:
    """Return the machine with the vectors that code for `target` has: smaller ones, or scalable ones.

    Of scalable vectors as many bytes are taken to be computed and loaded in a cycle as of the processor's others.
    """
    if scalable := scalable_bits(target) // 8:
        rates, times = stated.rates, scalable // stated.vector_bytes
        slower = replace(
            rates, multiply_adds=max(1, rates.multiply_adds // times), loads=max(1, rates.loads // times)
        )
        return replace(stated, vector_bytes=scalable, rates=slower)
    width = numbers_of(target).get("vector-width", 8 * stated.vector_bytes) // 8
    return replace(stated, vector_bytes=min(stated.vector_bytes, max(_LEAST_VECTOR_BYTES, width)))


def measured_machine() -> Machine:
    """Return this machine with the rates kept on disk, which the first call measures in under a second.

    Without a folder to keep them in they are the stated ones: a schedule is to be the same in every process.
    """
    folder = cache_folder()
    if folder is None:
        return this_machine()
    found = _read(_kept_in(folder).get(_key()))
    if found is None:
        keep_rates(folder, measure_rates(this_machine()))
        found = _read(_kept_in(folder).get(_key()))
    return this_machine() if found is None else replace(this_machine(), rates=found)


def keep_rates(folder: Path, rates: Rates) -> None:
    """Keep the rates of this machine in a folder of kernels, if possible: none are measured there any more."""
    _kept_in(folder).put(_key(), msgspec.json.encode(rates))


def _kept_in(folder: Path) -> DiskCache:
    return DiskCache(folder / "rates", LIMIT)


def _key() -> str:
    return hashlib.sha256(f"rates {_VERSION} {identity()} {this_machine()!r}".encode()).hexdigest()


def _read(data: bytes | None) -> Rates | None:
    try:
        return None if data is None else msgspec.json.decode(data, type=Rates)
    except msgspec.MsgspecError:
        return None
