"""C++ level by level over oneDNN, as one writes it by hand: packed weights, and one team of threads for a whole batch.

A level's products are oneDNN's, with weights packed when the model is made; gates and activations are loops that the
C++ compiler makes vectors of. Each thread computes columns of its own of every state, so that a level needs one
barrier. Levels are made in Python, as for the other peers: from flat arrays on it is C++.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from bench.peers.job import Answers, Array, Cell, Job, gated, reset_after, stacked, ternary
from bench.peers.levels import Levels, levels_of
from bench.peers.native.build import library
from bench.peers.peer import Peer
from bench.trees import Tree

_LIBRARY = library()
_P, _N = ctypes.c_void_p, ctypes.c_int64
_LEAVES_HAVE_ROWS = {Cell.TREE_LSTM, Cell.TREE_LSTM_RECURSIVE, Cell.ANOTHER_CELL, Cell.TERNARY_LSTM}
"""Cells with leaves' states that are copied from the tables to rows, so that products read them one after another."""


class _Batch(ctypes.Structure):
    """`Batch` of native/levels.hpp."""

    _fields_ = (
        *((name, _N) for name in ("depths", "arity", "num_words", "num_roots")),
        *((name, _P) for name in ("begins", "children", "words", "roots", "payload")),
    )


class _Gated(ctypes.Structure):
    """`GatedCell::Params` of native/gated.hpp."""

    _fields_ = (
        *((name, _N) for name in ("gates", "embed")),
        *((name, _P) for name in ("U", "b", "U_f", "b_f", "leaf_h", "leaf_c", "emb", "W")),
    )


class Measured(Peer):
    """A model of the library's; what it reads is kept alive here."""

    rounded: ClassVar[bool] = False
    """Whether factors of products are rounded to bfloat16."""

    def __init__(self, job: Job) -> None:
        self._model, self._kept = 0, dict(job.params)
        self._outputs: dict[str, tuple[int, ...]] = {"h": (job.hidden,)}
        self._levels = levels_of(job, rows_for_leaves=job.cell in _LEAVES_HAVE_ROWS)
        if self.rounded and not can_round_products():
            raise RuntimeError("oneDNN multiplies no bfloat16 on this processor")
        _LIBRARY.round_products(self.rounded)
        self._model = self._make(job)

    def __del__(self) -> None:
        _LIBRARY.destroy(_P(self._model))

    def end_to_end(self, trees: Sequence[Tree]) -> Answers:
        """See `Peer`."""
        return self._prepared(trees)()

    def kernel(self, trees: Sequence[Tree]) -> Callable[[], object]:
        """See `Peer`."""
        return self._prepared(trees)

    def _make(self, job: Job) -> int:
        p = self._kept
        match job.cell:
            case Cell.TREE_FC:
                return self._of(job, "tree_fc", "W", "b", "emb", table="emb")
            case Cell.MV_RNN:
                self._outputs = {"v": (job.hidden,), "M": (job.hidden, job.hidden)}
                return self._of(job, "mv_rnn", "W", "b", "W_M", "emb", "emb_M", table="emb")
            case Cell.TREE_GRU_RECURSIVE:
                p["U_rz"], p["b_rz"] = stacked(job, "U", "rz"), stacked(job, "b", "rz")
                return self._of(job, "tree_gru", "U_rz", "b_rz", "U_g", "b_g", "emb_h", table="emb_h")
            case Cell.TERNARY_LSTM:
                p["W"], p["b"] = ternary(job)
                return self._of(job, "ternary_lstm", "W", "b", "emb_h", "emb_c")
            case Cell.DAG_RNN:
                return self._of(job, "dag_rnn", "U", "b")
            case Cell.GATED_DAG:
                p["U_zu"], p["b_zu"] = stacked(job, "U", "zu"), stacked(job, "b", "zu")
                return self._of(job, "gated_dag", "U_zu", "b_zu", "U_e", "b_e")
            case Cell.LSTM:
                p |= {f"{name}_iofu": stacked(job, name, "iofu") for name in "WbU"}
                return self._of(job, "lstm", "W_iofu", "b_iofu", "U_iofu")
            case Cell.GRU:
                p |= {
                    "W": stacked(job, "W", "rzg"),
                    "b": stacked(job, "b", "rzg"),
                    "U": stacked(job, "U", "rz"),
                }
                return self._of(job, "gru", "W", "b", "U", "U_g")
            case Cell.GRU_RESET_AFTER:
                p["U"], d = reset_after(job)
                p |= {"W": stacked(job, "W", "rzg"), "b": stacked(job, "b", "rzg"), "d": d[2 * job.hidden :]}
                return self._of(job, "gru_reset_after", "W", "b", "U", "d")
            case _:
                return self._gated(job)

    def _of(self, job: Job, name: str, *arrays: str, table: str | None = None) -> int:
        """Make a model of these parameters, after the rows of a table."""
        rows = [] if table is None else [_N(len(self._kept[table]))]
        return _make(name, job, *rows, *(_at(self._kept[array]) for array in arrays))

    def _gated(self, job: Job) -> int:
        cell = gated(job)
        self._outputs = {cell.output: (job.hidden,)}
        names = ("U", "b", "U_f", "b_f", "leaf_h", "leaf_c", "emb", "W")
        given = {name: getattr(cell, name) for name in names if getattr(cell, name) is not None}
        self._kept |= given
        params = _Gated(gates=cell.gates, embed=0 if cell.emb is None else cell.emb.shape[1])
        for name, array in given.items():
            setattr(params, name, _at(array))
        return _make("gated", job, ctypes.byref(params))

    def _prepared(self, trees: Sequence[Tree]) -> Callable[[], Answers]:
        """Return a call on the flat arrays of a batch."""
        levels = self._levels(trees)
        batch, model, run = _batch(levels), _P(self._model), _LIBRARY.run
        shapes = {name: (len(trees), *shape) for name, shape in self._outputs.items()}

        def call() -> Answers:
            answers = {name: np.empty(shape, np.float32) for name, shape in shapes.items()}
            out = (_P * len(answers))(*map(_at, answers.values()))
            run(model, ctypes.byref(batch), out)
            return answers

        return call


def can_round_products() -> bool:
    """Return whether oneDNN multiplies bfloat16 on this processor."""
    return bool(_LIBRARY.can_round_products())


def _batch(levels: Levels) -> _Batch:
    """Return what the library reads of a batch; the arrays live as long as it does."""
    begins = np.array(levels.begins, np.int64)
    payload = np.empty(0, np.float32) if levels.payload is None else levels.payload
    arrays = (begins, levels.children, levels.words, levels.roots, payload)
    sizes = (len(begins) - 1, levels.children.shape[1], len(levels.words), len(levels.roots))
    batch = _Batch(*sizes, *map(_at, arrays))
    batch.arrays = arrays
    return batch


def _at(array: Array) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return _P(array.ctypes.data)


def _make(name: str, job: Job, *arguments: object) -> int:
    maker = _LIBRARY[name]
    maker.restype = _P
    made: int = maker(ctypes.c_int(job.threads), _N(job.hidden), *arguments)
    return made
