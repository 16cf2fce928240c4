"""The state of Hugging Face's BERT by the names of torch.nn.TransformerEncoder."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ragged.data.read import is_array, read_array
from ragged.errors import Location, ModelError

_LOG = logging.getLogger("ragged.weights")
_LAYER = re.compile(r"((?:.*\.)?)encoder\.layer\.(\d+)\.(?:(.+)\.)?(\w+)")
_KINDS = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}
"""By their names; checkpoints of the first versions have others for a normalization's parameters."""
_NAMES = {
    "attention.output.dense": "self_attn.out_proj",
    "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "linear1",
    "output.dense": "linear2",
    "output.LayerNorm": "norm2",
}
_PROJECTIONS = tuple(f"attention.self.{name}" for name in ("query", "key", "value"))


def bert_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the encoder's part of a BERT model's state, by the names of torch.nn.TransformerEncoder.

    Raises:
        ModelError: it has no encoder's layers or those of several encoders, or a layer lacks a projection or has what
            no layer of BERT's has.
    """
    found: dict[str, Any] = {}
    projections: dict[tuple[str, str], dict[str, Any]] = {}
    left: list[str] = []
    places: dict[str, None] = {}
    for name, value in state.items():
        match = _LAYER.fullmatch(name)
        if match is None:
            left.append(name)
            continue
        place, layer, part, own = match.groups()
        places[place] = None
        kind = _KINDS.get(own)
        if kind is not None and part in _PROJECTIONS:
            projections.setdefault((layer, kind), {})[part] = value
        elif kind is not None and part in _NAMES:
            found[f"layers.{layer}.{_NAMES[part]}.{kind}"] = value
        else:
            raise ModelError(
                f"from_bert: '{name}' is no part of a layer of BERT's encoder",
                at=Location.capture(),
                because="a layer with it computes something else",
                fix="leave it out of the state, if the layer does not need it",
            )
    if len(places) > 1:
        one = max(places, key=len)
        raise ModelError(
            f"from_bert: the state has {len(places)} encoders, below {', '.join(map(repr, places))}",
            at=Location.capture(),
            fix=f"one of them: {{name: value for name, value in state.items() if name.startswith({one!r})}}",
        )
    for (layer, kind), parts in projections.items():
        missing = [part for part in _PROJECTIONS if part not in parts or not is_array(parts[part])]
        if missing:
            raise ModelError(
                f"from_bert: layer {layer} has no array '{missing[0]}.{kind}'", at=Location.capture()
            )
        arrays = [read_array(f"from_bert: '{part}'", parts[part]) for part in _PROJECTIONS]
        found[f"layers.{layer}.self_attn.in_proj_{kind}"] = np.concatenate(arrays)
    if "layers.0.linear1.weight" not in found:
        raise ModelError(
            "from_bert: the state has no layers of a BERT encoder",
            at=Location.capture(),
            because=f"it has {', '.join(map(repr, left[:3])) or 'no names'}",
            fix='names such as "encoder.layer.0.intermediate.dense.weight"; or TransformerEncoder(...).load_state_dict',
        )
    if left:
        _LOG.info(
            "from_bert: left out %d entries that are no part of the encoder: %s", len(left), ", ".join(left)
        )
    return found
