"""Compiled functions as files: `fn.save`, and what `cortex.load` reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cortex.compiler.described import Described
from cortex.compiler.made import Made
from cortex.compiler.parameters import Array
from cortex.linearize import Vocab
from ragged.compiled.artifact import (
    CODE,
    PARAMETERS,
    check_names,
    members_of,
    read_parameters,
    replace_file,
    software,
    without_folders,
)
from ragged.compiled.kernel import CUBIN, Kernel, load_kernel
from ragged.errors import DataError
from ragged.runtime.bundle import Form, read_bundle, write_bundle
from ragged.runtime.team import check_workers

_VOCABULARY = "vocabulary.json"


@dataclass(frozen=True, slots=True)
class Saved:
    """What the manifest of an artifact says: `software` is the version of Cortex that made it, for people."""

    software: str
    kernel: Kernel
    model: Described
    threads: int | None
    keep_nodes: bool
    children: str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words in the order of their rows, and which of them stands for unknown ones."""

    words: list[str]
    unknown: str | None


FORM = Form("compiled function", 4, Saved, frozenset((CODE, PARAMETERS)), frozenset((_VOCABULARY, CUBIN)))


def save(made: Made, params: Mapping[str, Array], path: str | os.PathLike[str]) -> None:
    """Write a function to a file: see `RecursiveFunction.save`."""
    members = members_of(made.kernel, params)
    if made.vocab is not None:
        words = list(made.vocab)
        unknown = None if made.vocab.unknown is None else words[made.vocab.unknown]
        members[_VOCABULARY] = msgspec.json.encode(Vocabulary(words, unknown))
    kernel = without_folders(made.kernel.kernel)
    saved = Saved(
        software(), kernel, made.model, made.threads, keep_nodes=made.keep_nodes, children=made.children
    )
    replace_file(Path(path), write_bundle(FORM, saved, members))


def read_artifact(data: bytes, threads: int | None) -> tuple[Made, dict[str, Array]]:
    """Return what `save` wrote, its code loaded after everything has been checked, and the parameters."""
    saved, members = read_bundle(FORM, data)
    threads = saved.threads if threads is None else threads
    workers = check_workers(threads)
    params = read_parameters(members)
    vocab = _vocabulary(members.get(_VOCABULARY))
    model = saved.model
    check_names(saved.kernel.executable.interface, "model", model.parameters, model.outputs)
    kernel = load_kernel(saved.kernel, members[CODE], members.get(CUBIN))
    return Made(kernel, model, threads, workers, saved.keep_nodes, vocab, saved.children), params


def _vocabulary(data: bytes | None) -> Vocab | None:
    if data is None:
        return None
    try:
        read = msgspec.json.decode(data, type=Vocabulary)
    except msgspec.MsgspecError as error:
        raise DataError(f"{_VOCABULARY} cannot be read", because=str(error)) from None
    return Vocab(read.words, read.unknown)
