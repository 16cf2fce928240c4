"""Faults in what nodes carry: missing, of a wrong dtype or shape, outside its table."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from difflib import get_close_matches
from typing import Any

import numpy.typing as npt

from cortex.ilir.plan import Payload, Plan, Presence
from cortex.linearize.faults.place import Place, count, noun, short
from ragged.data.faults.given import readable
from ragged.errors import MASK_IGNORED, WITHOUT_MASK, DataError

_NODES = {Presence.ALL: "each node", Presence.LEAVES: "each leaf", Presence.INNER: "each inner node"}


def _shape(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def missing(place: Place, payload: Payload, value: object) -> DataError:
    """A node without a payload that it must carry."""
    nodes = _NODES.get(payload.required, "no node")
    return DataError(
        f"linearize: {place}: the node carries no payload `{payload.name}`",
        because=f"the model reads `{payload.name}` of {nodes}",
        example=short(value),
        fix=f"give the node `{payload.name}`, {_wanted(payload)}",
    )


def carried_nowhere(payload: Payload, first: object, name: str) -> DataError:
    """A payload that each node may lack, and that no node of a batch has; `first` is one of the nodes, or None.

    Objects, dicts and graphs have it under `name`, which `payloads=` may say.
    """
    names = list(first) if isinstance(first, dict) else _public_names(first)
    has = [other for other in names if other != "children"]
    renamed = "" if name == payload.name else f", which payloads= calls `{name}`"
    name = name if has else payload.name
    similar = get_close_matches(name, has, 1)
    return DataError(
        f"linearize: no node of the batch carries the payload `{payload.name}`{renamed}",
        because=f"a node may do without `{payload.name}`, but where all do its name may be wrong",
        example=short(first) if has else None,
        fix=f"rename `{similar[0]}` to `{name}`"
        if similar
        else f"give nodes `{name}`, {_wanted(payload)}; or None as `{name}` to one, if the batch has none",
    )


def with_given_names(error: DataError, renamed: Mapping[str, str] | None) -> DataError:
    """Return a fault that says what nodes call the payloads that it names; `renamed` has those names by payload."""
    parts = (error.what, error.because, error.fix)
    text = " ".join(part for part in parts if part is not None)
    said = [
        f"nodes have `{own}` as `{given}`, by payloads="
        for own, given in (renamed or {}).items()
        if f"`{own}`" in text and f"`{given}`" not in text
    ]
    if not said:
        return error
    because = "; ".join(filter(None, (error.because, *said)))
    return DataError(error.what, at=error.at, because=because, example=error.example, fix=error.fix)


def _public_names(node: object) -> list[str]:
    slots = (name for each in type(node).__mro__ for name in getattr(each, "__slots__", ()))
    return sorted(name for name in {*getattr(node, "__dict__", {}), *slots} if not name.startswith("_"))


def _wanted(payload: Payload) -> str:
    numbers = "" if payload.range is None else f"of {payload.range[0]} to {payload.range[1] - 1}"
    if payload.shape:
        article = "an" if payload.dtype.is_int else "a"
        array = f"{article} {payload.dtype.value} array of shape {_shape(payload.shape)}"
        return f"{array}, {numbers}" if numbers else array
    if numbers:
        return f"an integer {numbers}"
    return "an integer" if payload.dtype.is_int else "a number"


def no_integer(place: Place, payload: Payload, value: object) -> DataError:
    """A bool, a float or something else where an integer belongs."""
    return DataError(
        f"linearize: {place}: payload `{payload.name}` is {noun(value)}, not an integer",
        because=f"`{payload.name}` holds {payload.dtype.value}, and nothing is rounded or read as a number here",
        example=f"{payload.name} = {short(value)}",
        fix="give an int or a NumPy integer",
    )


def no_number(place: Place, payload: Payload, value: object) -> DataError:
    """A bool, a string or something else where a number belongs."""
    return DataError(
        f"linearize: {place}: payload `{payload.name}` is {noun(value)}, not a number",
        because=f"`{payload.name}` holds {payload.dtype.value}",
        example=f"{payload.name} = {short(value)}",
        fix="give a float",
    )


def overflow(place: Place, payload: Payload, value: object) -> DataError:
    """A number that its dtype cannot hold."""
    return DataError(
        f"linearize: {place}: payload `{payload.name}` is {short(value)}, which {payload.dtype.value} cannot hold",
        because=f"the kernel reads `{payload.name}` as {payload.dtype.value}",
        fix=f"give {_wanted(payload)}",
    )


def out_of_range(place: Place, payload: Payload, value: object) -> DataError:
    """An integer outside the table that it indexes."""
    low, high = payload.range or (0, 0)
    verb = "holds" if payload.shape else "is"
    undeclared = payload.required is not Presence.NOWHERE and isinstance(value, int) and value < 0
    or_default = (
        f"; or, if a guard excludes it, declare the payload with default={value}" if undeclared else ""
    )
    return DataError(
        f"linearize: {place}: payload `{payload.name}` {verb} {short(value)}, outside {low} <= {payload.name} < {high}",
        because=f"the model looks `{payload.name}` up in a table of {high - low} rows",
        fix=f"give {_wanted(payload)}{or_default}",
    )


def no_row(place: Place, payload: Payload, word: str, number: int) -> DataError:
    """A word of the vocabulary with a number outside the table that it indexes."""
    rows = (payload.range or (0, 0))[1]
    return DataError(
        f"linearize: {place}: the word {short(word)} has the number {number} in the vocabulary, and the model's table "
        f"has {count(rows, 'row')}",
        because="a word's number is its row",
        fix="make the model with vocab=len(vocab)",
    )


def no_array(place: Place, payload: Payload, value: object) -> DataError:
    """Something that is no array where one belongs."""
    return DataError(
        f"linearize: {place}: payload `{payload.name}` is {noun(value)}, not an array",
        because=f"`{payload.name}` holds {_wanted(payload)}",
        example=f"{payload.name} = {short(value)}",
        fix=f"give {_wanted(payload)}",
    )


def no_conversion(place: Place, payload: Payload, value: object, error: BaseException) -> DataError:
    """An array-like object that NumPy could not read."""
    return DataError(
        f"linearize: {place}: payload `{payload.name}` cannot be read as an array",
        because=short(str(error)).strip("'\""),
        example=f"{payload.name} is {noun(value)}",
        fix=readable(value),
    )


def masked(place: Place, name: str | None) -> DataError:
    """A masked array of NumPy as a payload; without a `name`, as a sequence."""
    what = "the sequence" if name is None else f"payload `{name}`"
    return DataError(
        f"linearize: {place}: {what} is a masked array of NumPy",
        because=MASK_IGNORED,
        fix=WITHOUT_MASK,
    )


def wrong_dtype(place: Place, payload: Payload, array: npt.NDArray[Any]) -> DataError:
    """An array of another dtype: nothing is converted behind the caller's back."""
    return DataError(
        f"linearize: {place}: payload `{payload.name}` is of dtype {array.dtype}, not {payload.dtype.value}",
        because="arrays are not converted silently: it would cost time in each call, or digits",
        example=f"{payload.name} = {short(array)}",
        fix=f".astype(numpy.{payload.dtype.value}); of a torch tensor .to(torch.{payload.dtype.value})",
    )


def wrong_shape(place: Place, payload: Payload, shape: tuple[int, ...], array: npt.NDArray[Any]) -> DataError:
    """An array of another shape; `shape` is that of one node's entry."""
    return DataError(
        f"linearize: {place}: payload `{payload.name}` is of shape {_shape(shape)}, not {_shape(payload.shape)}",
        because=f"the model declares `{payload.name}` with shape {_shape(payload.shape)} at each node",
        example=f"{payload.name} = {short(array)}",
        fix=f"give {_wanted(payload)}",
    )


def wrong_length(place: Place, payload: Payload, value: Sized, depth: int) -> DataError:
    """A list or tuple, `depth` levels inside the payload, with more or fewer elements than its shape says."""
    return DataError(
        f"linearize: {place}: payload `{payload.name}` has {count(len(value), 'element')} in dimension {depth}, not "
        f"{payload.shape[depth]}",
        because=f"the model declares `{payload.name}` with shape {_shape(payload.shape)} at each node",
        example=f"{payload.name} = {short(value)}",
        fix=f"give {_wanted(payload)}",
    )


def unknown_payload(name: str, plan: Plan) -> DataError:
    """A name of another payload than the model reads."""
    names = [payload.name for payload in plan.payloads]
    similar = get_close_matches(name, names, 1)
    return DataError(
        f"with_payloads: the model reads no payload `{name}`",
        because=f"it reads `{'`, `'.join(names)}`" if names else "it reads none",
        fix=f"rename it to `{similar[0]}`" if similar else "leave it out",
    )


def exchanged_rows(name: str, length: int, nodes: int) -> DataError:
    """A payload array with more or fewer rows than a batch has nodes."""
    return DataError(
        f"with_payloads: `{name}` has {count(length, 'row')} for {count(nodes, 'node')}",
        because="row r is of the node `batch.keys[r]`",
        fix=f"give `{name}` one row for each node; where a node carries none, the payload's default",
    )


def renumbered(place: Place, payload: Payload, before: int, after: int, condition: str) -> DataError:
    """A payload by which nodes are numbered, and by which the other batch would number them otherwise."""
    return DataError(
        f"with_payloads: {place}: `{payload.name}` is {after}, and was {before}",
        because=f"the order of the nodes, or a list of them, follows from `{condition}`, which changes",
        fix="linearize the structures with these payloads",
    )
