"""How others lay out the parameters of a child-sum TreeLSTM: which entry holds what of which gates.

A layout names entries as they end, after any prefix of modules. A matrix of several gates has them stacked along
its rows, in the order given; several biases of one gate add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Part: TypeAlias = tuple[str, str]
"""What an entry holds: "W", "U" or "b", and of which gates."""

GATES = "iouf"

_EMBEDDING = ("emb", "emb.weight", "embedding.weight", "embeddings.weight", "word_embeddings.weight")


@dataclass(frozen=True, slots=True)
class Layout:
    """`entries` by name; `mark`, an entry that no other layout has; the parameters that may be missing, `zero`."""

    name: str
    entries: dict[str, Part]
    mark: str
    zero: frozenset[str] = frozenset()


def _linear(name: str, part: str, gates: str) -> dict[str, Part]:
    return {f"{name}.weight": (part, gates), f"{name}.bias": ("b", gates)}


FUSED = Layout(
    "fused",
    {
        **_linear("ioux", "W", "iou"),
        **_linear("iouh", "U", "iou"),
        **_linear("fx", "W", "f"),
        **_linear("fh", "U", "f"),
    },
    "iouh.weight",
)
"""The PyTorch ports of the authors' code: Linear layers `ioux`, `iouh`, `fx`, `fh`, each with a bias."""

DGL = Layout(
    "dgl",
    {
        **_linear("W_iou", "W", "iou"),
        **_linear("U_iou", "U", "iou"),
        "b_iou": ("b", "iou"),
        **_linear("W_f", "W", "f"),
        **_linear("U_f", "U", "f"),
        "b_f": ("b", "f"),
    },
    "U_iou.weight",
    # DGL's forget gates do not see the input.
    zero=frozenset({"W_f"}),
)
"""DGL's example: `W_iou`, `U_iou`, `b_iou`, `U_f`."""


def _separate() -> dict[str, Part]:
    entries: dict[str, Part] = {}
    for gate in GATES:
        for part, names in (("W", (f"W_{gate}", f"{gate}x")), ("U", (f"U_{gate}", f"{gate}h"))):
            for name in names:
                entries |= _linear(name, part, gate)
        entries |= {f"W_{gate}": ("W", gate), f"U_{gate}": ("U", gate)}
        entries |= {f"b_{gate}": ("b", gate), f"bias_{gate}": ("b", gate)}
    return entries


SEPARATE = Layout("separate", _separate(), "")
"""A layer or matrix for each gate: `W_i`, `U_i`, `b_i`, or `ix`, `ih`; and MODELS.md's own names."""

LAYOUTS = {layout.name: layout for layout in (FUSED, DGL, SEPARATE)}


def part_of(layout: Layout, key: str) -> Part | None:
    """Return what the entry of this key holds, ("emb", "") for the embedding, or None if it is of no use."""
    names = key.split(".")
    endings = [".".join(names[start:]) for start in range(len(names))]
    if any(ending in _EMBEDDING for ending in endings):
        return ("emb", "")
    return next((layout.entries[ending] for ending in endings if ending in layout.entries), None)
