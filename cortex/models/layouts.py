"""Layouts of recurrent cells' parameters in PyTorch state dicts: the parameters and gates in each entry.

Entries are named without module prefixes. A matrix of several gates stacks them along its rows, in the order given;
several biases of one gate are added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

StateDictEntry: TypeAlias = tuple[str, str]
"""The content of an entry: "W", "U", "b" or "emb", and its gates; "" if it has none. "b b d" has one for each gate."""

_EMBEDDING = ("emb", "emb.weight", "embedding.weight", "embeddings.weight", "word_embeddings.weight")


@dataclass(frozen=True, slots=True)
class StateDictLayout:
    """`entries` by name; `marks`, entries of no other layout; parameters that may be missing, `zero`."""

    name: str
    entries: dict[str, StateDictEntry]
    marks: tuple[str, ...]
    zero: frozenset[str] = frozenset()


def _linear(name: str, part: str, gates: str) -> dict[str, StateDictEntry]:
    return {f"{name}.weight": (part, gates), f"{name}.bias": ("b", gates)}


FUSED = StateDictLayout(
    "fused",
    {
        **_linear("ioux", "W", "iou"),
        **_linear("iouh", "U", "iou"),
        **_linear("fx", "W", "f"),
        **_linear("fh", "U", "f"),
    },
    ("iouh.weight",),
)
"""The PyTorch ports of the authors' code: Linear layers `ioux`, `iouh`, `fx`, `fh`, each with a bias."""

DGL = StateDictLayout(
    "dgl",
    {
        **_linear("W_iou", "W", "iou"),
        **_linear("U_iou", "U", "iou"),
        "b_iou": ("b", "iou"),
        **_linear("W_f", "W", "f"),
        **_linear("U_f", "U", "f"),
        "b_f": ("b", "f"),
    },
    ("U_iou.weight",),
    # DGL's forget gates do not see the input.
    zero=frozenset({"W_f"}),
)
"""DGL's example: `W_iou`, `U_iou`, `b_iou`, `U_f`; of its N-ary cell U has the children's states side by side."""

RECURRENT = ("weight_hh_l0", "weight_hh")
"""The recurrent matrix of torch's layers, and of their cells."""


def _recurrent(name: str, gates: str, biases: frozenset[str]) -> StateDictLayout:
    entries = {"weight_ih": ("W", gates), "weight_hh": ("U", gates)} | dict.fromkeys(
        ("bias_ih", "bias_hh"), ("b", gates)
    )
    both = entries | {f"{entry}_l0": part for entry, part in entries.items()}
    # A layer may be made without biases.
    return StateDictLayout(name, both, RECURRENT, zero=biases)


LSTM = _recurrent("lstm", "ifuo", frozenset(f"b_{gate}" for gate in "ifuo"))
"""torch.nn.LSTM of one layer and direction, and LSTMCell: gates i, f, g, o, of which g is our u."""

_GRU = _recurrent("gru", "rzg", frozenset({"b_r", "b_z", "b_g", "d_g"}))
GRU = replace(_GRU, entries=_GRU.entries | dict.fromkeys(("bias_hh", "bias_hh_l0"), ("b b d", "rzg")))
"""torch.nn.GRU of one layer and direction, and GRUCell: gates r, z, n, of which n is our g; its second bias is d_g."""

RNN = _recurrent("rnn", "", frozenset({"b"}))
"""torch.nn.RNN of one layer and direction, and RNNCell."""


def _separate(gates: str) -> StateDictLayout:
    entries: dict[str, StateDictEntry] = {}
    for gate in gates:
        for part, names in (("W", (f"W_{gate}", f"{gate}x")), ("U", (f"U_{gate}", f"{gate}h"))):
            for name in names:
                entries |= _linear(name, part, gate)
        entries |= {f"W_{gate}": ("W", gate), f"U_{gate}": ("U", gate)}
        entries |= {f"b_{gate}": ("b", gate), f"bias_{gate}": ("b", gate)}
    if not gates:
        entries = {
            **_linear("W", "W", ""),
            **_linear("U", "U", ""),
            "W": ("W", ""),
            "U": ("U", ""),
            "b": ("b", ""),
        }
    return StateDictLayout("separate", entries, ())


@dataclass(frozen=True, slots=True)
class Family:
    """Models with the same parameters: those of `gates`, or one W, U and b, and `more`, in the known `layouts`.

    With `positions` each U has a matrix for each position of a child.
    """

    gates: str
    layouts: tuple[StateDictLayout, ...]
    more: frozenset[str] = frozenset()
    positions: bool = False

    @property
    def recurrent(self) -> frozenset[str]:
        """The names of the parameters that each of these models has."""
        named = frozenset(f"{part}_{gate}" for part in "Ub" for gate in self.gates) or frozenset("Ub")
        return named | self.more

    @property
    def all(self) -> frozenset[str]:
        """The names of the parameters that one of these models may have."""
        weights = frozenset(f"W_{gate}" for gate in self.gates) or frozenset("W")
        return self.recurrent | weights | {"emb"}


_SEPARATE_GRU = replace(_separate("rzg"), entries=_separate("rzg").entries | {"d_g": ("d", "g")})
FAMILIES = (
    Family("iouf", (FUSED, DGL, LSTM, _separate("iouf"))),
    Family("iouf", (DGL,), positions=True),
    Family("rzg", (_separate("rzg"),)),
    Family("rzg", (GRU, _SEPARATE_GRU), frozenset({"d_g"})),
    Family("", (RNN, _separate(""))),
)
"""The layout "separate" has an entry for each gate: `W_i`, `U_i`, `b_i`, or `ix`, `ih`."""


def part_of(layout: StateDictLayout, key: str) -> StateDictEntry | None:
    """Return the content of the entry of this key, ("emb", "") for the embedding, or None if it is unused."""
    endings = endings_of(key)
    if any(ending in _EMBEDDING for ending in endings):
        return ("emb", "")
    return next((layout.entries[ending] for ending in endings if ending in layout.entries), None)


def endings_of(key: str) -> list[str]:
    """Return a key without each of its module prefixes, the longest first."""
    names = key.split(".")
    return [".".join(names[start:]) for start in range(len(names))]
