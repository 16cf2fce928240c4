"""The arguments of `gradient`: parameters to differentiate by, and outputs that calls give."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ragged.tc.checked import CheckedFunction
from ragged.tc.errors import refuse
from ragged.tc.types import is_float


def chosen_parameters(
    function: CheckedFunction, free: Sequence[str], wrt: Collection[str] | None, saved: Collection[str]
) -> tuple[str, ...]:
    """Return the parameters to differentiate by: `wrt`, or all of the `free` ones that are of floats.

    Raises:
        TcError: as of `gradient_of`.
    """
    floats = [name for name, version in function.parameters.items() if is_float(version.type)]
    default = [name for name in floats if name in free]
    at = function.definition.at
    if wrt is not None and not (_are_names(wrt) and wrt):
        raise refuse(f"gradient: wrt={wrt!r} names no parameters", at, fix=f"wrt={floats!r}, or None for all")
    if not _are_names(saved):
        raise refuse(f"gradient: saved={saved!r} are no names", at, fix=f"saved={list(function.outputs)!r}")
    for name in default if wrt is None else wrt:
        if name not in function.parameters and name not in function.scalars:
            raise refuse(f"gradient: '{function.name}' has no parameter '{name}'", at, fix=", ".join(floats))
        if name not in floats:
            raise refuse(f"gradient: '{name}' is of integers, which have no gradient", at)
    for name in function.initial:
        because = "a call overwrites the values that it begins with, which the gradient has to read"
        raise refuse(
            f"gradient: '{name}' is read before it is written", at, because, f"'{name}' among the parameters"
        )
    for name in saved:
        if name not in function.outputs:
            raise refuse(f"gradient: '{function.name}' has no output '{name}'", at)
    if not any(is_float(version.type) for version in function.outputs.values()):
        raise refuse(f"gradient: no output of '{function.name}' is of floats", at)
    chosen = tuple(dict.fromkeys(default if wrt is None else wrt))
    if not chosen:
        raise refuse(f"gradient: no parameter of '{function.name}' is of floats", at)
    return chosen


def _are_names(given: object) -> bool:
    return (
        isinstance(given, Collection)
        and not isinstance(given, str)
        and all(isinstance(each, str) for each in given)
    )
