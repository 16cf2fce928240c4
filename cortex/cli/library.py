"""Models of the library by name, in sizes given on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import click
import numpy.typing as npt

from cortex import models, ra
from ragged.errors import ModelError

MODEL = click.Choice(sorted(models.__all__))
SIZE = click.IntRange(min=1)

# Extents that stand for the sizes while a model's shapes are looked at: no sum or product of some is another.
_MARKS = {"hidden": 1_000_003, "embed": 2_000_029, "vocab": 4_000_037}


def build(name: str, options: Mapping[str, Any]) -> ra.Model:
    """Return the model of that name; an option that is None, or that its constructor does not have, is left out."""
    known = _parameters(name)
    return _constructor(name)(
        **{key: value for key, value in options.items() if key in known and value is not None}
    )


def refuse_unknown(name: str, options: Mapping[str, Any]) -> None:
    """Raise `ModelError` for an option that is given and that the model's constructor does not have."""
    known = _parameters(name)
    for key, value in options.items():
        if value is not None and key not in known:
            raise ModelError(f"{name} has no '{key}'", because=f"it takes {', '.join(known)}")


def with_defaults(options: Mapping[str, Any], *, hidden: int, vocab: int) -> dict[str, Any]:
    """Return the options with sizes where none are given: an embedding is as wide as the hidden state."""
    sizes = {key: value for key, value in options.items() if value is not None}
    sizes.setdefault("hidden", hidden)
    sizes.setdefault("embed", sizes["hidden"])
    sizes.setdefault("vocab", vocab)
    return sizes


def sizes_in(name: str, params: Mapping[str, npt.NDArray[Any]]) -> dict[str, int]:
    """Return the sizes that the shapes of a model's parameters have, as far as they say."""
    sizes: dict[str, int] = {}
    marks = {mark: key for key, mark in _MARKS.items()}
    for key, tensor in build(name, _MARKS).inputs.items():
        array = params.get(key)
        if array is not None and array.ndim == len(tensor.shape):
            pairs = zip(tensor.shape, array.shape, strict=True)
            sizes |= {
                marks[mark]: extent for mark, extent in pairs if isinstance(mark, int) and mark in marks
            }
    return sizes


def _parameters(name: str) -> list[str]:
    return list(inspect.signature(_constructor(name)).parameters)


def _constructor(name: str) -> Any:
    return getattr(models, name)
