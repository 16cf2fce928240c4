"""Decoder layers against torch's in float64, whole and step by step."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch

import ragged
from ragged import ops
from ragged.errors import DataError
from tests.ragged.ops.batches import rows, weights
from tests.ragged.ops.test_from_torch import drawn
from tests.support.agreement import error

N, M = [3, 33, 0, 1, 2], [4, 16, 0, 1, 33]


def layer_and_module(**options):
    module = drawn(torch.nn.TransformerDecoderLayer(8, 2, 12, batch_first=True, **options))
    layer = ops.TransformerDecoderLayer(hidden=8, heads=2, ff=12, **options)
    layer.load_state_dict(module.state_dict())
    return layer, module


def agree(result, module, x, memory):
    """Compare with a module in float64, each sequence by itself; those of no length torch does not take."""
    wide = deepcopy(module).double()
    assert result.lengths.tolist() == x.lengths.tolist()
    for mine, own, seen in zip(result, x, memory, strict=True):
        if len(own):
            given = (torch.tensor(np.asarray(each, np.float64))[None] for each in (own, seen))
            mask = torch.nn.Transformer.generate_square_subsequent_mask(len(own), dtype=torch.float64)
            with torch.no_grad():
                expected = wide(*given, tgt_mask=mask)[0].numpy()
            assert error(mine, expected) <= 1e-5


def next_places(x, seen, count):
    """Return the next `count` places of each sequence, those that there are, and how many are seen then."""
    upto = [min(done + count, len(row)) for done, row in zip(seen, x, strict=True)]
    parts = [np.asarray(row)[done:end] for row, done, end in zip(x, seen, upto, strict=True)]
    lengths = np.array([len(part) for part in parts], np.int32)
    return ragged.array(np.concatenate(parts), lengths=lengths), upto


def test_norms_first_agree_with_torch():
    layer, module = layer_and_module(activation="gelu", norm_first=True, bias=False)
    x, memory = rows(N, 8), rows(M, 8, seed=1)
    agree(layer(x, memory), module, x, memory)


def test_steps_have_the_bits_of_the_whole():
    layer, module = layer_and_module()
    x, memory = rows(N, 8), rows(M, 8, seed=1)
    whole = layer(x, memory)
    agree(whole, module, x, memory)

    cache, seen, found = layer.start(memory), [0] * len(N), [[] for _ in N]
    caches = [cache]
    for count in (1, 1, 0, 2, 28, 1, 1):  # tiles of keys end at 32
        part, seen = next_places(x, seen, count)
        y, cache = layer.step(part, cache)
        caches.append(cache)
        for rows_of, new in zip(found, y, strict=True):
            rows_of.append(np.asarray(new))
    for rows_of, expected in zip(found, whole, strict=True):
        assert np.array_equal(np.concatenate(rows_of), expected)
    assert cache.seen.lengths.tolist() == N and cache.seen.extents[2] == 16
    assert caches[2].seen.lengths.tolist() == [2, 2, 0, 1, 2], "a step changes no cache"

    part, _ = next_places(x, [1] * len(N), 2)  # from an older cache, again
    again, _ = layer.step(part, caches[1])
    assert np.array_equal(again[1], np.asarray(whole[1])[1:3])


def test_another_batch_than_the_cache_has():
    layer = ops.TransformerDecoderLayer(8, 2, 12)
    layer.load_state_dict(weights(layer.shapes))
    cache = layer.start(rows(M, 8))
    with pytest.raises(DataError, match="'x' has 2 sequences, and the cache 5"):
        layer.step(rows([1, 1], 8), cache)
