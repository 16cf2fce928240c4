"""Ragged functions as files: `fn.save`, and what `ragged.load` reads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import assert_never

from ragged.api.described import Described, DescribedTensor, Fixed, Sized, Varying
from ragged.api.made import Made
from ragged.compiled.artifact import (
    CODE,
    PARAMETERS,
    Array,
    check_names,
    members_of,
    names_of,
    read_parameters,
    replace_file,
    software,
    without_folders,
)
from ragged.compiled.kernel import Kernel, load_kernel
from ragged.errors import DataError
from ragged.ir.expr import Role
from ragged.runtime.bundle import Form, read_bundle, write_bundle
from ragged.runtime.team import check_workers


@dataclass(frozen=True, slots=True)
class Saved:
    """What the manifest of an artifact says: `software` is the version of this software that made it, for people."""

    software: str
    name: str
    kernel: Kernel
    described: Described
    texts: dict[str, str]
    threads: int | None


FORM = Form("ragged function", 2, Saved, frozenset((CODE, PARAMETERS)))


def save(made: Made, params: Mapping[str, Array], path: str | os.PathLike[str]) -> None:
    """Write a function to a file: see `RaggedFunction.save`."""
    members = members_of(made.kernel, params)
    kernel = without_folders(made.kernel.kernel)
    saved = Saved(software(), made.name, kernel, made.described, dict(made.texts), made.threads)
    replace_file(Path(path), write_bundle(FORM, saved, members))


def read_artifact(data: bytes, threads: int | None) -> tuple[Made, dict[str, Array]]:
    """Return what `save` wrote, its code loaded after everything has been checked, and the parameters."""
    saved, members = read_bundle(FORM, data)
    threads = saved.threads if threads is None else threads
    workers = check_workers(threads)
    params = read_parameters(members)
    wrong = next(_faults(saved), None)
    if wrong is not None:
        raise DataError("the file does not say what a ragged function is", because=wrong)
    kernel = load_kernel(saved.kernel, members[CODE])
    return Made(saved.name, saved.described, kernel, saved.texts, threads, workers), params


def _faults(saved: Saved) -> Iterator[str]:
    """Yield what does not fit together. Raises `DataError` where the code is of something else."""
    described, executable = saved.described, saved.kernel.executable
    parameters, outputs = ({each.name for each in part} for part in (described.parameters, described.outputs))
    check_names(executable.interface, "function", parameters, outputs)
    missing = names_of(executable.interface, Role.PAYLOAD) - {each.name for each in described.inputs}
    if missing:
        yield f"the code reads '{min(missing)}', which is no argument"
    if not executable.preludes:
        yield "it has no prelude"
    tables = {name for each in executable.preludes for name in names_of(each, Role.OUTPUT)}
    for tensor in chain(described.inputs, described.parameters, described.outputs):
        if len({len(part) for part in (tensor.dims, tensor.extents, tensor.padding)}) > 1:
            yield f"'{tensor.name}' has as many dimensions as extents and paddings, or it should"
        if not all(1 <= multiple < 2**31 for multiple in tensor.padding):
            yield f"'{tensor.name}' is padded to multiples of {tensor.padding}"
        yield from _unknown(tensor, described, tables)
    for stage in ("ragged", "schedule"):
        if stage not in saved.texts:
            yield f"it has no text '{stage}'"
    if "steps" not in saved.kernel.listings or not saved.kernel.programs:
        yield "it does not say what its code was made of"


def _unknown(tensor: DescribedTensor, described: Described, tables: set[str]) -> Iterator[str]:
    """Yield which extents of a tensor nothing says."""
    for position, rule in enumerate(tensor.extents):
        match rule:
            case Fixed(extent=extent):
                if extent < 0:
                    yield f"'{tensor.name}' extends {extent}"
            case Sized(size=size):
                if size not in described.sizes:
                    yield f"'{tensor.name}' extends '{size}', which is no size"
            case Varying(over=over, array=array, given=given):
                if array not in (described.lengths if given else tables):
                    yield f"'{tensor.name}' has lengths '{array}', which nothing gives"
                if over != tuple(sorted(set(over) & set(range(position)))):
                    yield f"'{tensor.name}' varies over dimensions {over}"
            case _:
                assert_never(rule)
