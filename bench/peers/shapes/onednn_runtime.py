"""oneDNN with one primitive for all numbers of rows (`DNNL_RUNTIME_DIM_VAL`), its weights packed once."""

from __future__ import annotations

from bench.peers.shapes import onednn
from bench.shapes.problems import Dense


class Measured(onednn.Measured):
    """Products of rows with weights: its convolution has no run-time sizes."""

    kinds = frozenset({Dense})
    run_time = True
