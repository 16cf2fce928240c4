"""The peer in C++: any number of threads, sizes that no vector divides, batches one after another."""

import numpy as np
import pytest

from bench.models import MODELS
from bench.peers import onednn_by_hand
from bench.peers.job import SEQUENTIAL, Cell, Job
from bench.peers.native import build
from bench.peers.numpy_levels import Measured as NumPy
from bench.peers.onednn_by_hand import Measured, can_round_products
from bench.peers.onednn_rounded import Measured as Rounded
from bench.trees import Tree, flatten, grids, perfect_trees, sequences, ternary_trees, unflatten

H, VOCAB = 40, 11
LEAF, CHAIN = Tree(word=3), Tree([Tree([Tree(word=1), Tree([Tree(word=2), Tree(word=0)])]), Tree(word=5)])


def job(cell, threads):
    kind = MODELS[cell]
    params = kind.build(H, VOCAB).init_params(seed=1)
    random = np.random.default_rng(3)
    payloads = {name: random.standard_normal((VOCAB, H), np.float32) for name in kind.payloads}
    return Job(cell, H, {name: np.float32(array) for name, array in params.items()}, threads, payloads)


def batches_of(cell, payloads):
    match cell:
        case Cell.DAG_RNN | Cell.GATED_DAG:
            made = [*grids(2, 4, VOCAB, seed=2), *grids(1, 1, VOCAB, seed=2), *grids(1, 7, VOCAB, seed=3)]
            made = [unflatten(flatten(grid), payloads) for grid in made]
            return [made[:1], made[2:3], made, made[:2]]
        case _ if cell in SEQUENTIAL:
            made = [
                unflatten(flatten(sequences(1, steps, VOCAB, steps)[0]), payloads) for steps in (1, 7, 4, 7)
            ]
            return [made[1:2], made[:1], made, [made[1], made[3]]]
        case Cell.TERNARY_LSTM:
            made = ternary_trees(5, VOCAB, seed=2)
            return [made[:1], [LEAF], [*made, LEAF], made[1:]]
        case _:
            return [[CHAIN], [LEAF], [*perfect_trees(5, 3, VOCAB, seed=2), CHAIN, LEAF], [CHAIN, CHAIN]]


@pytest.mark.parametrize("cell", Cell)
def test_workers_share_the_columns_of_states(cell):
    other = NumPy(job(cell, 1))
    batches = batches_of(cell, job(cell, 1).payloads)
    for threads in (1, 2, 5):
        peer = Measured(job(cell, threads))
        for batch in batches:
            answers, wanted = peer.end_to_end(batch), other.end_to_end(batch)
            assert set(answers) == set(wanted)
            for name, array in wanted.items():
                np.testing.assert_allclose(answers[name], array, atol=2e-6)


@pytest.mark.skipif(not can_round_products(), reason="oneDNN multiplies no bfloat16 on this processor")
@pytest.mark.parametrize("cell", Cell)
def test_factors_of_products_are_rounded(cell):
    """Small trees of small states: answers differ from those in float32, by what eight bits are."""
    batch = batches_of(cell, job(cell, 1).payloads)[2]
    wanted = Measured(job(cell, 1)).end_to_end(batch)
    for threads in (1, 2):
        answers = Rounded(job(cell, threads)).end_to_end(batch)
        for name, array in wanted.items():
            np.testing.assert_allclose(answers[name], array, atol=5e-2)
            assert np.abs(answers[name] - array).max() > 1e-5


def test_a_processor_that_multiplies_no_bfloat16_is_an_error(monkeypatch):
    monkeypatch.setattr(onednn_by_hand, "can_round_products", lambda: False)
    Measured(job(Cell.TREE_FC, 1))
    with pytest.raises(RuntimeError, match="oneDNN multiplies no bfloat16 on this processor"):
        Rounded(job(Cell.TREE_FC, 1))


def test_answers_are_not_changed_by_later_calls():
    peer = Measured(job(Cell.TREE_FC, 2))
    call = peer.kernel([CHAIN])
    first = call()["h"]
    before = first.copy()
    peer.end_to_end([LEAF])
    np.testing.assert_array_equal(first, before)
    np.testing.assert_array_equal(call()["h"], before)


def test_a_library_without_onednn_is_an_import_error(monkeypatch):
    monkeypatch.setattr(build, "_PACKAGE", "no-such-package")
    with pytest.raises(ImportError, match="no-such-package is not installed"):
        build.library()


def test_a_compiled_library_is_found_again(monkeypatch):
    build.library()
    monkeypatch.setenv("PATH", "")
    assert build.library() is not None
