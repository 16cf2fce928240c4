"""Models of the library by name, in sizes given on the command line."""

from __future__ import annotations

import inspect
import os
import pkgutil
import sys
from collections.abc import Callable, Mapping
from typing import Any

import click
import numpy.typing as npt

from cortex import models, ra
from cortex.ilir.plan import Presence
from cortex.linearize import Vocab
from ragged.errors import ModelError

# A constructor is what has a hidden size to give.
_CONSTRUCTORS: dict[str, Callable[..., ra.Model]] = {
    name: value
    for name, value in vars(models).items()
    if name in models.__all__ and "hidden" in inspect.signature(value).parameters
}


class ModelName(click.Choice[str]):
    """A library model's name, or "module:function" of one's own: the function returns an `ra.Model`."""

    name = "model"

    def __init__(self) -> None:
        super().__init__(sorted(_CONSTRUCTORS))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, checked; the module is imported, from the current folder too."""
        if ":" not in value:
            return super().convert(value, param, ctx)
        sys.path.insert(0, os.getcwd())
        try:
            made = pkgutil.resolve_name(value)
        except ValueError:
            self.fail(
                f"{value!r} is no module:function, as own:make is, of make() in own.py here", param, ctx
            )
        except (AttributeError, ModuleNotFoundError) as error:
            self.fail(f"{value!r}: {error}", param, ctx)
        finally:
            sys.path.remove(os.getcwd())
        if not callable(made):
            self.fail(f"{value!r} is no function", param, ctx)
        _CONSTRUCTORS[value] = made
        return str(value)


MODEL = ModelName()
SIZE = click.IntRange(min=1)

_CALL = "the function of module:function is called with those of hidden=, embed=, vocab= that it takes"

# Extents that stand for the sizes while a model's shapes are looked at: no small multiple of one is another.
_MARKS = {"hidden": 1_000_003, "embed": 2_000_029, "vocab": 4_000_037}


def width_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options --hidden and --embed, the widths of a model's states and words."""
    embed = click.option(
        "--embed", type=SIZE, help="Width of a word's embedding, where it has one of its own.  [hidden's]"
    )
    hidden = click.option(
        "--hidden", type=SIZE, default=64, show_default=True, help="Width of a node's state."
    )
    return hidden(embed(command))


def build(name: str, options: Mapping[str, Any]) -> ra.Model:
    """Return the model of that name, made with those of `options` that its constructor has; its input is words.

    Raises `ModelError` if a user's function needs other arguments, or returns anything else.
    """
    known = _parameters(name)
    given = {"input": "word", **options}
    arguments = {key: value for key, value in given.items() if key in known}
    try:
        inspect.signature(_CONSTRUCTORS[name]).bind(**arguments)
    except TypeError as error:
        raise ModelError(f"{name}: {error}", because=_CALL, fix="give the argument a default") from None
    made = _CONSTRUCTORS[name](**arguments)
    if not isinstance(made, ra.Model):
        raise ModelError(
            f"{name} returns {type(made).__name__}, not a model",
            because=_CALL,
            fix="return ra.recursion_op(...)",
        )
    return made


def with_defaults(name: str, options: Mapping[str, Any], *, hidden: int, vocab: int) -> dict[str, Any]:
    """Return those of `options` that are not None, and sizes where they give none.

    An embedding is as wide as the hidden state; a vocabulary is for words. Raises `ModelError` for an option that the
    model does not have.
    """
    given = {key: value for key, value in options.items() if value is not None}
    known = _parameters(name)
    for key in given:
        if key not in known:
            raise ModelError(f"{name} has no --{key}", because=f"it takes {', '.join(known)}")
    hidden = given.get("hidden", hidden)
    words = {"vocab": vocab} if given.get("input", "word") == "word" else {}
    return {"hidden": hidden, "embed": hidden, **words} | given


def vocabulary_for(name: str, model: ra.Model, vocab: Vocab) -> Vocab | None:
    """Return the vocabulary for a model of trees in brackets: none if it reads no words.

    Raises `ModelError` for one that needs what such trees do not carry.
    """
    payloads = model.plan().payloads
    needed = [each.name for each in payloads if each.name != "word" and each.required is not Presence.NOWHERE]
    if needed:
        raise ModelError(
            f"{name} reads `{needed[0]}`",
            because="trees in brackets carry words alone",
            fix="compile it in Python, and call it on structures that carry what it reads",
        )
    return vocab if any(each.name == "word" for each in payloads) else None


def sizes_in(name: str, params: Mapping[str, npt.NDArray[Any]]) -> dict[str, int]:
    """Return the sizes that the shapes of a model's parameters have, as far as they say."""
    sizes: dict[str, int] = {}
    marks: dict[object, str] = {mark: key for key, mark in _MARKS.items()}
    for key, tensor in build(name, _MARKS).inputs.items():
        array = params.get(key)
        if array is not None and array.ndim == len(tensor.shape):
            pairs = zip(tensor.shape, array.shape, strict=True)
            sizes |= {marks[mark]: extent for mark, extent in pairs if mark in marks}
    return sizes


def _parameters(name: str) -> list[str]:
    return list(inspect.signature(_CONSTRUCTORS[name]).parameters)
