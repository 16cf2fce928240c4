"""Tables that are read under guards, or by the number of children: whatever a guard allows is in bounds."""

import numpy as np
import pytest

import cortex
from cortex import ra
from ragged.errors import DataError

N, H = ra.N, 3


def model_of(value, structure=None):
    """Return a model that adds `value(n, i)` to the sum over children."""
    h_ph = ra.placeholder((N, H))
    h = ra.compute((N, H), lambda n, i: ra.tanh(value(n, i) + ra.sum_children(n, lambda k: h_ph[k, i])))
    return ra.recursion_op(h_ph, h, structure=structure)


def agree(model, trees, **options):
    params = model.init_params()
    found = cortex.compile(model, params, **options)(trees)["h"]
    want = [ra.evaluate(model, params, tree)["h"][-1] for tree in trees]
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("options", [{}, {"schedule": None}], ids=["scheduled", "as written"])
def test_a_vocabulary_in_two_tables(dtype, options):
    word = ra.node_input("word", dtype=dtype)
    first, second = ra.input_tensor("first", (5, H)), ra.input_tensor("second", (6, H))
    model = model_of(lambda n, i: ra.where(word[n] < 5, first[word[n], i], second[word[n] - 5, i]))
    agree(model, [cortex.Node([cortex.Node(word=w)], word=10 - w) for w in range(11)], **options)
    for outside in (-1, 11):
        with pytest.raises(DataError, match=f"payload `word` is {outside}, outside 0 <= word < 11"):
            agree(model, [cortex.Node(word=outside)], **options)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_words_without_an_embedding(dtype):
    word, table = ra.node_input("word", dtype=dtype), ra.input_tensor("table", (5, H))
    above = model_of(lambda n, i: ra.where(word[n] < 5, table[word[n], i], 0.5))
    agree(above, [cortex.Node(word=w) for w in (0, 4, 5, 2**31 - 2)])
    below = model_of(lambda n, i: ra.where(word[n] >= 10, table[word[n] - 10, i], 0.5))
    agree(below, [cortex.Node(word=w) for w in (10, 14, 0, 9)])
    for outside in (-1, 15):
        with pytest.raises(DataError, match=f"payload `word` is {outside}, outside 0 <= word < 15"):
            agree(below, [cortex.Node(word=outside)])


def trees():
    node = cortex.Node
    return [node(), node([node()]), node([node(), node([node(), node(), node()]), node()])]


def test_a_table_by_the_number_of_children():
    table = ra.input_tensor("table", (4, H))
    agree(model_of(lambda n, i: table[ra.num_children(n), i], ra.Tree(max_children=3)), trees())
    guarded = model_of(
        lambda n, i: ra.where(ra.num_children(n) < 4, table[ra.num_children(n), i], 0.5), ra.Tree()
    )
    agree(guarded, [*trees(), cortex.Node([cortex.Node() for _ in range(6)])])
    nowhere = lambda n, i: ra.where(  # noqa: E731
        (ra.num_children(n) == 3) | (ra.num_children(n) != 3), 0.5, table[ra.num_children(n), i]
    )
    agree(model_of(nowhere), trees())
    with pytest.raises(cortex.ModelError, match="may leave dimension 0 of 'table'"):
        model_of(lambda n, i: table[ra.num_children(n), i], ra.Tree(max_children=4))
