"""Weights that were trained elsewhere: `cortex.from_torch`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cortex import ra
from cortex.models.layouts import DGL, FUSED, GATES, LAYOUTS, SEPARATE, Layout, Part, part_of
from cortex.ra.params import as_numpy
from cortex.ra.tensor import dense
from ragged.errors import Location, ModelError

Array = NDArray[np.float32]


def from_torch(state_dict: Mapping[str, Any], model: ra.Model, layout: str = "auto") -> dict[str, Array]:
    """Return a child-sum TreeLSTM's parameters from a PyTorch module's state.

    Args:
        state_dict: what `module.state_dict()` returned, or arrays by such names; prefixes of modules do not
            matter ("childsumtreelstm.ioux.weight").
        model: a model with the parameters of `models.tree_lstm`.
        layout: "fused" (`ioux`, `iouh`, `fx`, `fh`), "separate" (`W_i`, `U_i`, `b_i`, or `ix`, `ih`, ...),
            "dgl" (`W_iou`, `U_iou`, `b_iou`, `U_f`), or "auto", which finds out. A gate's biases add up; where
            DGL's layout has no `W_f`, it is zero.

    Returns:
        The parameters of MODELS.md, float32, C-contiguous, owned by the caller. `emb` is among them if the
        state has an embedding.

    Raises:
        ModelError: entries are missing, of no use, there twice, or of a wrong shape; all of them are listed.

    Example:
        >>> params = from_torch(module.state_dict(), tree_lstm(hidden=168, embed=300, vocab=20_000))
    """
    _check_model(model)
    chosen = _layout(state_dict, layout)
    faults: list[str] = []
    given: dict[str, list[tuple[str, Array]]] = {}
    for key, value in state_dict.items():
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
            fix="pass the entries of the TreeLSTM alone, or name the layout",
        )
    names = [name for name in model.inputs if name in given or name in chosen.zero]
    return {name: _assembled(model, name, given.get(name)) for name in names}


class _Fault(Exception):
    """One entry that cannot be taken."""


def _check_model(model: ra.Model) -> None:
    names = {f"{part}_{gate}" for part in "Ub" for gate in GATES}
    others = set(model.inputs) - names - {f"W_{gate}" for gate in GATES} - {"emb"}
    if others or not names <= set(model.inputs):
        raise ModelError(
            "from_torch: the model has not the parameters of a child-sum TreeLSTM",
            at=Location.capture(),
            because=f"they are {', '.join(model.inputs)}",
            fix="a model of cortex.models.tree_lstm; for another, name each parameter yourself",
        )


def _layout(state_dict: Mapping[str, Any], name: str) -> Layout:
    """Return the layout of that name, or for "auto" the one whose mark is among the entries."""
    if name != "auto":
        if name not in LAYOUTS:
            raise ModelError(
                f"from_torch: layout={name!r} is unknown",
                at=Location.capture(),
                fix=", ".join(f'"{known}"' for known in ("auto", *LAYOUTS)),
            )
        return LAYOUTS[name]
    marked = [one for one in (FUSED, DGL) if any(f".{key}".endswith(f".{one.mark}") for key in state_dict)]
    if len(marked) > 1:
        raise ModelError(
            "from_torch: the state is of two layouts",
            at=Location.capture(),
            because=f"it has both '{FUSED.mark}' and '{DGL.mark}'",
            fix="pass the entries of one module alone",
        )
    return marked[0] if marked else SEPARATE


def _blocks(key: str, value: Any, layout: Layout, model: ra.Model) -> Iterator[tuple[str, Array]]:
    """Yield what an entry gives each parameter; raise `_Fault` if it gives none, or has a wrong shape."""
    part = part_of(layout, key)
    names = _names(part)
    if not names or not set(names) <= set(model.inputs):
        raise _Fault(f"'{key}' is of no use to the model")
    array = as_numpy(value.float() if hasattr(value, "float") else value).astype(np.float32)
    rows, *rest = dense(model.inputs[names[0]])
    wanted = (rows * len(names), *rest)
    if array.shape != wanted and array.shape != (1, *wanted):
        raise _Fault(f"'{key}' has shape {array.shape}, not {wanted}")
    for number, name in enumerate(names):
        yield name, array.reshape(wanted)[number * rows : (number + 1) * rows]


def _names(part: Part | None) -> list[str]:
    """Return the parameters that a part gives, in the order of its rows."""
    if part is None or part[0] == "emb":
        return [] if part is None else ["emb"]
    return [f"{part[0]}_{gate}" for gate in part[1]]


def _twice(name: str, found: list[tuple[str, Array]]) -> bool:
    """Whether a parameter is given by several entries that do not add up, as biases do."""
    return len(found) > 1 and not name.startswith("b_")


def _missing(model: ra.Model, given: Mapping[str, object], layout: Layout) -> list[str]:
    may_lack = {"emb", *layout.zero}
    return [name for name in model.inputs if name not in given and name not in may_lack]


def _assembled(model: ra.Model, name: str, found: list[tuple[str, Array]] | None) -> Array:
    """Return the sum of what is given for a parameter, or zeros."""
    if found is None:
        return np.zeros(dense(model.inputs[name]), np.float32)
    return np.ascontiguousarray(np.sum([block for _, block in found], axis=0, dtype=np.float32))


def _quoted(found: list[tuple[str, Array]]) -> str:
    return " and ".join(f"'{key}'" for key, _ in found)
