"""The peers of the ragged operators: what each is called and stands in, and what has to be installed for it.

A peer that is not listed is named by its module: `--peers my.module`, which has a class `Measured`.
"""

from __future__ import annotations

from bench.peers import PeerInfo, find_among

_HERE = "bench.peers.ragged"

RAGGED_PEERS: dict[str, PeerInfo] = {
    "ragged": PeerInfo("ours, compiled", f"{_HERE}.compiled", ("cortex-compiler", "apache-tvm")),
    "torch-padded": PeerInfo("PyTorch, padded", f"{_HERE}.torch_padded", ("torch",)),
    "torch-micro": PeerInfo("PyTorch, padded in parts", f"{_HERE}.torch_micro", ("torch",)),
    "torch-nested": PeerInfo("PyTorch, nested fast path", f"{_HERE}.torch_nested", ("torch",)),
    "torch-jagged": PeerInfo("PyTorch, jagged", f"{_HERE}.torch_jagged", ("torch",)),
    "onednn-packed": PeerInfo("packed rows, oneDNN", f"{_HERE}.onednn_packed", ("torch",)),
    "onnxruntime": PeerInfo("ONNX Runtime, padded", f"{_HERE}.onnx_padded", ("onnxruntime", "onnx")),
    "openblas": PeerInfo("OpenBLAS, one by one", f"{_HERE}.openblas", ("numpy", "scipy")),
    "openblas-dense": PeerInfo("NumPy (OpenBLAS), dense", f"{_HERE}.openblas_dense", ("numpy",)),
    "scipy-csr": PeerInfo("SciPy, compressed rows", f"{_HERE}.scipy_csr", ("scipy",)),
    "torch-mm": PeerInfo("PyTorch, one by one", f"{_HERE}.torch_mm", ("torch",)),
    "torch-bmm": PeerInfo("PyTorch, padded batch", f"{_HERE}.torch_bmm", ("torch",)),
    "mkl": PeerInfo("MKL", f"{_HERE}.mkl", ("mkl",)),
}
OWN = "ragged"


def find(name: str) -> PeerInfo:
    """Return what is known of a peer: by its name here, or by the dotted name of its module."""
    return find_among(RAGGED_PEERS, name)
