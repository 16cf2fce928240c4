"""The peers: what each is called and stands in, and what has to be installed for it.

A peer that is not listed is named by its module: `--peers my.module`, which has a class `Measured`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PeerInfo:
    """`label` is for people; `module` has the class `Measured`; `packages` are the distributions to report.

    An answer may be off by `largest_error`, see `bench.answers`: in float32 by what the project allows itself.
    `note` is what a reader of its times has to know.
    """

    label: str
    module: str
    packages: tuple[str, ...]
    largest_error: float = 1e-5
    note: str = ""


PEERS: dict[str, PeerInfo] = {
    "cortex": PeerInfo("Cortex", "bench.peers.cortex_compiled", ("cortex-compiler", "apache-tvm")),
    "cortex-bf16": PeerInfo(
        "Cortex in bfloat16", "bench.peers.cortex_rounded", ("cortex-compiler",), largest_error=1e-2
    ),
    "dynet": PeerInfo(
        "DyNet, autobatching",
        "bench.peers.dynet_autobatch",
        ("dyNET38",),
        note="its wheel has neither a BLAS nor threads, so it computes with one.",
    ),
    "torch-nodes": PeerInfo("PyTorch by node", "bench.peers.torch_nodes", ("torch",)),
    "torch-levels": PeerInfo("PyTorch by level", "bench.peers.torch_levels", ("torch",)),
    "torch-onednn": PeerInfo("PyTorch by level, oneDNN", "bench.peers.torch_levels_onednn", ("torch",)),
    "torch-compiled": PeerInfo("PyTorch by level, compiled", "bench.peers.torch_levels_compiled", ("torch",)),
    "jax": PeerInfo("JAX by level, jitted", "bench.peers.jax_levels", ("jax", "jaxlib")),
    "torch-rnn": PeerInfo("PyTorch nn.LSTM, nn.GRU", "bench.peers.torch_rnn", ("torch",)),
    "numpy": PeerInfo("NumPy by level", "bench.peers.numpy_levels", ("numpy",)),
    "onednn": PeerInfo("C++ by level, oneDNN", "bench.peers.onednn_by_hand", ("onednn-cpu-gomp",)),
    "onednn-bf16": PeerInfo(
        "C++ by level, oneDNN, in bfloat16",
        "bench.peers.onednn_rounded",
        ("onednn-cpu-gomp",),
        largest_error=1e-2,
    ),
}
OWN, BY_HAND = "cortex", "onednn"
"""This project, and the peer that it is compared with from flat arrays."""
ROUNDED, BY_HAND_ROUNDED = "cortex-bf16", "onednn-bf16"
"""The same with products in bfloat16."""


def find(name: str) -> PeerInfo:
    """Return what is known of a peer: by its name here, or by the dotted name of its module."""
    return find_among(PEERS, name)


def find_among(peers: Mapping[str, PeerInfo], name: str) -> PeerInfo:
    """Return the peer of this name, or what little is known of a module; `ValueError` if it is neither."""
    known = peers.get(name)
    if known is not None:
        return known
    if "." not in name:
        raise ValueError(f"no peer is called {name!r}: {', '.join(peers)}, or a dotted module")
    return PeerInfo(name, name, ())
