"""Both schemes find every element: their arrays against offsets counted one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.operators.problems import Sizes
from bench.operators.schemes import (
    Tensor,
    fusion_arrays,
    graph_arrays,
    layer_needs,
    sparse_arrays,
    storage_arrays,
    total_bytes,
)

lengths_of = st.lists(st.integers(0, 5), min_size=1, max_size=5).map(lambda found: np.array(found, np.int32))


def scores(lengths, heads=2):
    """Return the order of the elements of a tensor (sequences, length, heads, length)."""
    return [
        (b, t, h, u)
        for b, n in enumerate(lengths.tolist())
        for t, h, u in itertools.product(range(n), range(heads), range(n))
    ]


@given(lengths_of)
def test_elements_of_scores(lengths):
    tensor = Tensor("scores", (len(lengths), None, 2, None))
    rows, columns = sparse_arrays(tensor, lengths)
    (begins,) = graph_arrays(tensor, lengths)
    assert (len(rows), len(columns)) == (len(lengths) + 1, 2 * lengths.sum() + 1)
    for place, (b, t, h, u) in enumerate(scores(lengths)):
        assert columns[(rows[b] + t) * 2 + h] + u == place
        assert 2 * begins[b] + (t * 2 + h) * lengths[b] + u == place
    assert columns[-1] == 2 * begins[-1] == len(scores(lengths))


@given(lengths_of)
def test_elements_of_queries_keys_and_values(lengths):
    tensor = Tensor("heads", (3, len(lengths), None, 4), 1)
    (rows,) = sparse_arrays(tensor, lengths)
    (begins,) = graph_arrays(tensor, lengths)
    place = 0
    for part, (b, n) in itertools.product(range(3), enumerate(lengths.tolist())):
        for t in range(n):
            assert rows[part * len(lengths) + b] + t == place == part * begins[-1] + begins[b] + t
            place += 1


@given(lengths_of)
def test_fused_loops(lengths):
    outer, inner, first = fusion_arrays(lengths)
    wanted = [(b, t) for b, n in enumerate(lengths.tolist()) for t in range(n)]
    assert list(zip(outer.tolist(), inner.tolist(), strict=True)) == wanted
    assert len(first) == len(lengths)
    for place, (b, t) in enumerate(wanted):
        assert first[b] + t == place


@pytest.mark.parametrize("shared", [False, True])
def test_the_graph_needs_less(shared):
    lengths = np.array([5, 9, 2, 7], np.int32)
    needs = layer_needs(Sizes(), len(lengths), shared=shared)
    sparse, graph = (storage_arrays(needs, lengths, scheme) for scheme in (sparse_arrays, graph_arrays))
    assert total_bytes(graph) == 8 * 5 * len(needs.tensors) < total_bytes(sparse)
    assert needs.fused == (1 if shared else 9)
