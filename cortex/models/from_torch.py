"""Parameters from trained PyTorch modules: `cortex.from_torch`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cortex import ra
from cortex.models.layouts import (
    FAMILIES,
    RECURRENT,
    Family,
    StateDictEntry,
    StateDictLayout,
    endings_of,
    part_of,
)
from cortex.ra.given import require_model
from cortex.ra.tensor import dense
from ragged.data.parameters import read_parameter
from ragged.data.read import BFLOAT16
from ragged.errors import Location, ModelError

Array = NDArray[np.float32]
HEADS = frozenset(
    (
        "classifier",
        "cls",
        "decoder",
        "fc",
        "head",
        "linear",
        "out",
        "output",
        "proj",
        "projection",
        "similarity",
    )
)
"""Names of modules on top of a cell."""
_LOG = logging.getLogger("cortex.weights")


def from_torch(state_dict: Mapping[str, Any], model: ra.Model, layout: str = "auto") -> dict[str, Array]:
    """Return a model's parameters from a PyTorch module's state.

    Args:
        state_dict: the result of `module.state_dict()`, or arrays by such names; module prefixes are ignored
            ("childsumtreelstm.ioux.weight").
        model: a model with the parameters of `models.tree_lstm` (as `lstm` has), `nary_tree_lstm`, `tree_gru`,
            `gru_reset_after` or `tree_rnn`.
        layout: "separate" (`W_i`, `U_i`, `b_i`, or `ix`, `ih`, ...); for the first also "fused" (`ioux`, `iouh`, `fx`,
            `fh`), "dgl" (`W_iou`, `U_iou`, `b_iou`, `U_f`) and "lstm" (torch.nn.LSTM, LSTMCell); for the last also
            "rnn" (torch.nn.RNN, RNNCell), and for `gru_reset_after` "gru" (torch.nn.GRU, GRUCell); "auto" detects it.
            A state does not say which function an RNN has: those of `nonlinearity="relu"` are another model.
            `nary_tree_lstm` takes "dgl", with `forget_biases=True`: there `U_iou` is (3 hidden, arity * hidden), `U_f`
            (arity * hidden, arity * hidden). DGL's cell does not see the inputs of inner nodes.
            Biases of one gate are added. A missing `W_f` (DGL) and missing biases of torch's layers are zero.
            Entries of a classifier on top (`classifier`, `head`, `fc`, `linear`, `out`, ...) are left out, which the
            logger `cortex.weights` says. Floats of other types are rounded to float32.

    Returns:
        The model's parameters, float32, C-contiguous, owned by the caller; with `emb` if the state has an embedding.

    Raises:
        ModelError: an entry cannot be read as an array; or entries are missing, unused, duplicate, of a wrong shape or
            kind of numbers, and all of them are listed.

    Example:
        >>> params = from_torch(module.state_dict(), tree_lstm(hidden=168, embed=300, vocab=20_000))
    """
    if not isinstance(state_dict, Mapping):
        raise ModelError(
            f"from_torch: the state is of type {type(state_dict).__name__}, not a mapping",
            at=Location.capture(),
            fix="module.state_dict()",
        )
    for key in state_dict:
        if not isinstance(key, str):
            raise ModelError(
                f"from_torch: the state has an entry {key!r}, which is no name",
                at=Location.capture(),
                fix="module.state_dict()",
            )
    family = _family(require_model("from_torch", model))
    chosen = _layout(state_dict, family, layout)
    faults: list[str] = []
    given: dict[str, list[tuple[str, Array]]] = {}
    cells = {_module(key) for key in state_dict if part_of(chosen, key) is not None}
    heads = [key for key in state_dict if HEADS.intersection(key.split(".")) and _module(key) not in cells]
    if heads:
        _LOG.warning("from_torch: left out, as of a classifier: %s", ", ".join(heads))
    for key, value in state_dict.items():
        if key in heads:
            continue
        try:
            for name, block in _blocks(key, value, chosen, model):
                given.setdefault(name, []).append((key, block))
        except _Fault as fault:
            faults.append(str(fault))
    faults += [f"{_quoted(found)} each give '{name}'" for name, found in given.items() if _twice(name, found)]
    faults += [
        f"nothing gives '{name}' {model.inputs[name].shape}" for name in _missing(model, given, chosen)
    ]
    if faults:
        raise ModelError(
            f"from_torch: the state does not fit the model (layout '{chosen.name}')",
            at=Location.capture(),
            because="; ".join(faults),
            fix="pass the entries of the cell alone, or name the layout",
        )
    names = [name for name in model.inputs if name in given or name in chosen.zero]
    return {name: _assembled(model, name, given.get(name)) for name in names}


def _module(key: str) -> str:
    """Return the name of the module that has an entry."""
    return key.rpartition(".")[0]


class _Fault(Exception):
    """An entry of the state that does not fit."""


def _family(model: ra.Model) -> Family:
    """Return the family of models with these parameters."""
    given = set(model.inputs)
    for family in FAMILIES:
        shapes = [len(model.inputs[name].shape) for name in given if name.startswith("U")]
        fits = all((axes > 2) == family.positions for axes in shapes)
        if family.recurrent <= given <= family.all and fits:
            return family
    raise ModelError(
        "from_torch: the model has not the parameters of a known cell",
        at=Location.capture(),
        because=f"they are {', '.join(model.inputs)}",
        fix="models.tree_lstm, nary_tree_lstm, lstm, tree_gru, gru, gru_reset_after, tree_rnn, dag_rnn; else name each "
        "parameter",
    )


def _layout(state_dict: Mapping[str, Any], family: Family, name: object) -> StateDictLayout:
    """Return the layout of that name, or for "auto" the one with a mark among the entries."""
    if name != "auto":
        return _named(family, name)
    endings = [set(endings_of(key)) for key in state_dict]
    marked = [
        (mark, layout)
        for layout in family.layouts
        for mark in layout.marks
        if any(mark in e for e in endings)
    ]
    if len({layout.name for _, layout in marked}) > 1:
        raise ModelError(
            "from_torch: the state is of two layouts",
            at=Location.capture(),
            because=f"it has both '{marked[0][0]}' and '{marked[1][0]}'",
            fix="pass the entries of one module alone",
        )
    if family.gates == "rzg" and not family.more and any(mark in e for e in endings for mark in RECURRENT):
        raise ModelError(
            "from_torch: torch.nn.GRU is another cell than this model's",
            at=Location.capture(),
            because="it has tanh(W x + r (U h + b)), where the reset gate meets the product; here it meets the state, "
            "tanh(W x + U (r h) + b)",
            fix="models.gru_reset_after, which is torch's cell",
        )
    return marked[0][1] if marked else family.layouts[-1]


def _named(family: Family, name: object) -> StateDictLayout:
    known = {layout.name: layout for layout in family.layouts}
    if not isinstance(name, str) or name not in known:
        raise ModelError(
            f"from_torch: layout={name!r} is unknown",
            at=Location.capture(),
            fix=", ".join(f'"{name}"' for name in ("auto", *known)),
        )
    return known[name]


def _blocks(key: str, value: Any, layout: StateDictLayout, model: ra.Model) -> Iterator[tuple[str, Array]]:
    """Yield each parameter in an entry and its values; raise `_Fault` if there is none, or for a wrong shape."""
    part = part_of(layout, key)
    names = _names(part)
    if not names or not set(names) <= set(model.inputs):
        raise _Fault(f"'{key}' is of no use to the model")
    array = read_parameter(key, value)
    if array.dtype.kind not in "fiu" and array.dtype != BFLOAT16:
        raise _Fault(f"'{key}' is of dtype {array.dtype}, not of real numbers")
    array = array.astype(np.float32)
    axes = _axes(names[0], dense(model.inputs[names[0]]))
    rows, *rest = (prod(axis) for axis in axes)
    wanted = (rows * len(names), *rest)
    if array.shape != wanted and array.shape != (1, *wanted):
        each = "; models.nary_tree_lstm(forget_biases=True) has one for each child" * (names == ["b_f"])
        raise _Fault(f"'{key}' has shape {array.shape}, not {wanted}{each}")
    for number, name in enumerate(names):
        block = array.reshape(wanted)[number * rows : (number + 1) * rows]
        block = block.reshape([extent for axis in axes for extent in axis])
        yield name, np.moveaxis(block, -2, len(axes[0]) - 1) if len(axes) == 2 else block


def _axes(name: str, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the extents of a parameter that are along each axis of its entry.

    Positions of children come first in a parameter: (arity, hidden, hidden) is (hidden, arity * hidden) in an entry,
    and (arity, arity, hidden, hidden) is (arity * hidden, arity * hidden).
    """
    if name.startswith("b") or len(shape) == 1:
        return (shape,)
    *positions, rows, columns = shape
    return (*positions[:-1], rows), (*positions[-1:], columns)


def _names(part: StateDictEntry | None) -> list[str]:
    """Return the parameters in an entry, in the order of its rows."""
    if part is None:
        return []
    kinds = part[0].split()
    each = kinds if len(kinds) > 1 else kinds * len(part[1])
    return [f"{kind}_{gate}" for kind, gate in zip(each, part[1], strict=True)] or [part[0]]


def _twice(name: str, found: list[tuple[str, Array]]) -> bool:
    """Return whether several entries give one parameter and are not biases, which are added."""
    return len(found) > 1 and name.split("_")[0] != "b"


def _missing(model: ra.Model, given: Mapping[str, object], layout: StateDictLayout) -> list[str]:
    may_lack = {"emb", *layout.zero}
    return [name for name in model.inputs if name not in given and name not in may_lack]


def _assembled(model: ra.Model, name: str, found: list[tuple[str, Array]] | None) -> Array:
    """Return the sum of a parameter's entries, or zeros."""
    if found is None:
        return np.zeros(dense(model.inputs[name]), np.float32)
    return np.ascontiguousarray(np.sum([block for _, block in found], axis=0, dtype=np.float32))


def _quoted(found: list[tuple[str, Array]]) -> str:
    return " and ".join(f"'{key}'" for key, _ in found)
