"""Results of tuning: this user's file of them, what names a function there, and files to share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragged.compiled.kernel_cache import cache_folder
from ragged.errors import UserError
from ragged.tc.checked import CheckedFunction
from ragged.tc.text import erased_text
from ragged.tuning.records import Record, RecordKey, append_record, key_of_text, merge_records, read_records


def tuned_file() -> Path | None:
    """Return the file in this user's cache that keeps results of tuning; None without a cache."""
    folder = cache_folder()
    return None if folder is None else folder / "tuned.jsonl"


def record_key(
    function: CheckedFunction,
    fixed: Mapping[str, int],
    bound: Iterable[str],
    split: Mapping[str, int],
    sizes: str,
    threads: int,
    options: Mapping[str, object],
) -> RecordKey:
    """Return what names a function's results: its text with names erased, types, sizes, the processor and threads.

    `fixed` sizes are part of the function, and so is which arguments are `bound`; without fixed ones it is "symbolic".
    `split` are the iterations of partial results by tensor.
    `sizes` is a text of those of the calls that are timed, `options` those of `ragged.compile` it is compiled with.
    """
    parameters, values = function.definition.parameters, dict(enumerate(function.values))
    body = [each.source for each in function.statements]
    targets = [each.target.name for each in function.statements]
    places = {each.name: place for place, each in enumerate(parameters)}
    known = {place: fixed[name] for place, name in values.items() if name in fixed}
    parts = [
        erased_text(parameters, tuple(function.outputs), body),
        f"outputs: {[each.type for each in function.outputs.values()]}",
        f"split: {sorted((targets.index(name), size) for name, size in split.items())}",
        f"sizes: {known or 'symbolic'}",
        f"bound: {sorted(places[name] for name in bound)}",
        *(f"{name}: {value!r}" for name, value in sorted(options.items())),
    ]
    return key_of_text("\n".join(parts), threads, sizes)


def tuning_options(function: CheckedFunction, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a compilation that a search for further ones begins with, those of `ragged.tune`.

    Raises:
        UserError: the function is compiled for another target, or without the default schedule.
    """
    if options.get("target", "cpu") != "cpu" or options.get("schedule", "default") is None:
        raise UserError(
            f"tune: {function.name} is compiled for another target, or without the default schedule",
            because="calls are timed on this machine, and options are those of the default schedule",
            fix=f"tune a function that is compiled without: lib.{function.name}.compile()",
        )
    return {name: options[name] for name in ("precision", "code_bytes", "shapes") if name in options}


def export_tuned(path: str | os.PathLike[str]) -> int:
    """Write this user's results of tuning to a file, the last one of each point; return how many there are.

    Raises:
        UserError: there is no cache.
    """
    found = merge_records(read_records(_required()))
    Path(path).unlink(missing_ok=True)
    return _append(Path(path), found)


def import_tuned(path: str | os.PathLike[str]) -> int:
    """Add the results of tuning of a file to this user's; return how many were new.

    They serve functions of the same text, whatever its names, on the same processor: `f.tune` goes on from them.

    Raises:
        DataError: it is no file of results.
        FileNotFoundError: there is no such file.
        UserError: there is no cache.
    """
    own = _required()
    os.stat(path)
    known = set(map(repr, read_records(own)))
    return _append(own, [each for each in merge_records(read_records(path)) if repr(each) not in known])


def _required() -> Path:
    own = tuned_file()
    if own is None:
        raise UserError(
            "results of tuning are not kept: there is no cache", fix="set RAGGED_CACHE_DIR to a folder"
        )
    return own


def _append(path: Path, records: Sequence[Record]) -> int:
    for each in records:
        append_record(path, each)
    return len(records)
