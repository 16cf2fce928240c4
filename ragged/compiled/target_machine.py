"""The machine that schedules for a target follow: stated by its name, or this one, measured once and kept on disk."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import msgspec

from ragged.codegen.target import TargetLike
from ragged.codegen.target_features import architecture_of, features_of, parse_target
from ragged.compiled.ceilings import measure_rates
from ragged.compiled.kernel_cache import LIMIT, cache_folder
from ragged.machine import Machine, Rates, this_machine
from ragged.processors import processor
from ragged.runtime.disk_cache import DiskCache
from ragged.runtime.processor import identity

_VERSION = 3
"""Version of the measurements and their rounding."""


def machine_of(target: TargetLike) -> Machine:
    """Return the machine that a target means: this one for "cpu", else what is stated of the processor it names.

    Cores are those of this process, where the target does not say `-num-cores`.

    Raises:
        UserError: the target is not known.
    """
    named = parse_target(target)
    if target == "cpu" or named.kind != "llvm":
        return measured_machine()
    settings = dict(named.settings)
    stated = processor(str(settings.get("mcpu", "")), architecture_of(named), features_of(named))
    cores = settings.get("num-cores")
    return replace(stated, cores=cores if isinstance(cores, int) else this_machine().cores)


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
