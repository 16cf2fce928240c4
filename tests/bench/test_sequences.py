"""Peers over sequences, against the recursion: any lengths in a batch where a peer takes them."""

from dataclasses import replace

import numpy as np
import pytest

from bench.models import MODELS
from bench.peers import numpy_levels, onednn_by_hand, torch_levels, torch_rnn
from bench.peers.job import SEQUENTIAL, Cell, Job
from bench.trees import flatten, sequences, unflatten
from cortex import ra

H, VOCAB = 12, 9
EQUAL, UNEQUAL = (5, 5, 5), (4, 1, 7)


def case(cell, lengths, hidden=H):
    """Return a job, sequences of these lengths, and what they have at their ends."""
    model, random = MODELS[cell].build(hidden, VOCAB), np.random.default_rng(2)
    params = {name: np.float32(array) for name, array in model.init_params(seed=1).items()}
    payloads = {"x": random.standard_normal((VOCAB, hidden), np.float32)}
    drawn = [sequences(1, length, VOCAB, seed)[0] for seed, length in enumerate(lengths)]
    batch = [unflatten(flatten(each), payloads) for each in drawn]
    wanted = [result["h"][-1] for result in ra.evaluate(model, params, batch)]
    return Job(cell, hidden, params, 1, payloads), batch, np.stack(wanted)


@pytest.mark.parametrize("peer", [numpy_levels, torch_levels], ids=["numpy", "torch"])
@pytest.mark.parametrize("lengths", [EQUAL, UNEQUAL, (1,)])
@pytest.mark.parametrize("cell", SEQUENTIAL)
def test_by_level(peer, lengths, cell):
    job, batch, wanted = case(cell, lengths)
    np.testing.assert_allclose(peer.Measured(job).end_to_end(batch)["h"], wanted, atol=2e-6)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("lengths", [EQUAL, UNEQUAL, (1,)])
@pytest.mark.parametrize("cell", SEQUENTIAL)
def test_by_hand(lengths, cell, threads):
    job, batch, wanted = case(cell, lengths, hidden=40)
    peer = onednn_by_hand.Measured(replace(job, threads=threads))
    for _ in range(2):  # once in memory that has grown, and in what another batch has left
        np.testing.assert_allclose(peer.end_to_end(batch)["h"], wanted, atol=2e-6)
        np.testing.assert_allclose(peer.end_to_end(batch[:1])["h"], wanted[:1], atol=2e-6)


@pytest.mark.parametrize("lengths", [EQUAL, (1, 1), (3,)])
@pytest.mark.parametrize("cell", [Cell.LSTM, Cell.GRU_RESET_AFTER])
def test_layers_of_torch(lengths, cell):
    job, batch, wanted = case(cell, lengths)
    peer = torch_rnn.Measured(job)
    np.testing.assert_allclose(peer.end_to_end(batch)["h"], wanted, atol=2e-6)
    np.testing.assert_allclose(peer.kernel(batch)()["h"], wanted, atol=2e-6)


def test_layers_of_torch_take_sequences_of_one_length():
    job, batch, _ = case(Cell.LSTM, UNEQUAL)
    with pytest.raises(ValueError, match="shorter"):
        torch_rnn.Measured(job).end_to_end(batch)


def test_layers_of_torch_compute_all_sequences_but_another_gru():
    assert set(torch_rnn.Measured.lacks) == set(Cell) - {Cell.LSTM, Cell.GRU_RESET_AFTER}
