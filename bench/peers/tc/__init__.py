"""The peers for Tensor Comprehensions: the label, module and packages of each.

A peer that is not listed is named by its module: `--peers my.module`, which has a class `Measured`.
"""

from __future__ import annotations

from bench.peers import PeerInfo, find_among

_HERE = "bench.peers.tc"
OWN, OWN_FIXED, OWN_TUNED = "tc", "tc-fixed", "tc-tuned"
TORCH, TORCH_COMPILED, OPENBLAS, HALIDE = "torch", "torch-compiled", "numpy", "halide"
TC_PEERS: dict[str, PeerInfo] = {
    OWN: PeerInfo("ours", f"{_HERE}.compiled", ("cortex-compiler", "apache-tvm")),
    OWN_FIXED: PeerInfo("ours, sizes fixed", f"{_HERE}.compiled:Fixed", ("cortex-compiler",)),
    TORCH: PeerInfo("PyTorch", f"{_HERE}.torch_eager", ("torch",)),
    TORCH_COMPILED: PeerInfo("torch.compile", f"{_HERE}.torch_eager:Compiled", ("torch",)),
    OPENBLAS: PeerInfo("NumPy (OpenBLAS)", f"{_HERE}.openblas", ("numpy",)),
    HALIDE: PeerInfo("Halide, Adams2019", f"{_HERE}.halide_adams", ("halide",)),
    "onnxruntime": PeerInfo("ONNX Runtime", f"{_HERE}.onnx_graphs", ("onnxruntime", "onnx")),
}
"""Those that run unless others are named."""
EVERY: dict[str, PeerInfo] = {
    **TC_PEERS,
    OWN_TUNED: PeerInfo("ours, tuned", f"{_HERE}.compiled:Tuned", ("cortex-compiler",)),
    "jax": PeerInfo("JAX", f"{_HERE}.jax_jit", ("jax", "jaxlib")),
}
LIBRARIES = tuple(name for name in EVERY if name not in (OWN, OWN_FIXED, OWN_TUNED))


def find(name: str) -> PeerInfo:
    """Return what is known of a peer: by its name here, or by the dotted name of its module."""
    return find_among(EVERY, name)
