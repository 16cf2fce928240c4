"""The peers for shapes that change: the label, module and packages of each.

A peer that is not listed is named by its module: `--peers my.module`, which has a class `Measured`.
"""

from __future__ import annotations

from bench.peers import PeerInfo, find_among

_HERE = "bench.peers.shapes"

SHAPES_PEERS: dict[str, PeerInfo] = {
    "ragged": PeerInfo("ours", f"{_HERE}.compiled", ("cortex-compiler", "apache-tvm")),
    "ragged-static": PeerInfo("ours, a function per shape", f"{_HERE}.compiled_static", ("cortex-compiler",)),
    "onednn": PeerInfo("oneDNN, a primitive per shape", f"{_HERE}.onednn", ("onednn-cpu-gomp",)),
    "onednn-runtime": PeerInfo("oneDNN, run-time rows", f"{_HERE}.onednn_runtime", ("onednn-cpu-gomp",)),
    "openblas": PeerInfo("NumPy (OpenBLAS)", f"{_HERE}.openblas", ("numpy",)),
    "mkl": PeerInfo("MKL", f"{_HERE}.mkl", ("mkl",)),
    "torch": PeerInfo("PyTorch", f"{_HERE}.torch_eager", ("torch",)),
    "torch-compiled": PeerInfo("torch.compile(dynamic=True)", f"{_HERE}.torch_compiled", ("torch",)),
    "onnxruntime": PeerInfo("ONNX Runtime", f"{_HERE}.onnx_dynamic", ("onnxruntime", "onnx")),
    "jax": PeerInfo("JAX, padded to powers of two", f"{_HERE}.jax_buckets", ("jax", "jaxlib")),
}
REMAINDERS: dict[str, PeerInfo] = {
    "exact": PeerInfo("exact", f"{_HERE}.compiled_tiles:Exact", ("cortex-compiler",)),
    "balanced": PeerInfo("balanced", f"{_HERE}.compiled_tiles:Balanced", ("cortex-compiler",)),
    "overlapping": PeerInfo("overlapping", f"{_HERE}.compiled_tiles:Overlapping", ("cortex-compiler",)),
    "partitioned": PeerInfo("partitioned", f"{_HERE}.compiled_tiles:Partitioned", ("cortex-compiler",)),
    "padded": PeerInfo("globally padded", f"{_HERE}.compiled_tiles:Padded", ("cortex-compiler",)),
}
"""Strategies for the remainder, the rows that fill no tile: DietCode's figures 7 and 10."""
BEST, SMALL = "best", "small"
EVERY: dict[str, PeerInfo] = {
    **SHAPES_PEERS,
    **REMAINDERS,
    SMALL: PeerInfo("ours, code_bytes=8192", f"{_HERE}.compiled_tiles:Small", ("cortex-compiler",)),
    BEST: PeerInfo("ours, the best of all tiles", f"{_HERE}.compiled_tiles:Best", ("cortex-compiler",)),
}
OWN, OWN_STATIC = "ragged", "ragged-static"
STRONGEST = ("onednn", "onednn-runtime", "openblas", "onnxruntime")
"""The peers that the goals of dense products name."""


def find(name: str) -> PeerInfo:
    """Return what is known of a peer: by its name here, or by the dotted name of its module."""
    return find_among(EVERY, name)
