"""What the oracle is given and cannot run."""

import numpy as np
import pytest

from cortex import models, ra
from cortex.linearize import Forest, Node, Vocab
from ragged.errors import DataError, ModelError, UserError

N, H = ra.N, 3


def closed(function, params=None):
    """The evaluation of a model h = function(n, i) + the sum of the children's h."""
    h_ph = ra.placeholder((N, H))
    h = ra.compute((N, H), lambda n, i: function(n, i) + ra.sum_children(n, lambda k: h_ph[k, i]))
    model = ra.recursion_op(h_ph, h)
    return lambda data: ra.evaluate(model, params or {}, data)


def layered():
    U, h_ph = ra.input_tensor("U", (H, H)), ra.placeholder((N, H))
    hs = ra.compute((N, H), lambda n, i: 1 + ra.sum_children(n, lambda k: h_ph[k, i]))
    h = ra.compute((N, H), lambda n, i: ra.tanh(ra.sum(H, lambda j: U[i, j] * hs[n, j])))
    return ra.recursion_op(h_ph, h)


def refusal(function, error):
    with pytest.raises(error) as caught:
        function()
    return str(caught.value)


def test_a_payload_that_is_missing():
    x = ra.node_input("x", (H,))
    run = closed(lambda n, i: x[n, i])
    assert refusal(lambda: run([Node(x=[0.0] * H), Node([Node()], x=[0.0] * H)]), DataError) == (
        "evaluate: structure 1, node root.children[0] carries no 'x'\n"
        "  because: the model reads it at this node, and gives it no default"
    )


def test_a_payload_that_no_node_carries():
    """A misspelled name gives every node the default, and a plausible result."""
    model = models.tree_lstm(hidden=H, embed=2, vocab=5)
    for structures in (Node([Node(wrod=1)]), [Node([Node(wrod=1)]), Node()]):
        text = refusal(lambda given=structures: ra.evaluate(model, model.init_params(), given), DataError)
        assert text.startswith("linearize: no node of the batch carries the payload `word`")
        assert "fix: rename `wrod` to `word`" in text
    assert ra.evaluate(model, model.init_params(), Node([Node()], word=None))["h"].shape == (2, H)


def test_an_index_outside_of_its_table():
    emb = ra.input_tensor("emb", (5, H))
    word = ra.node_input("word", dtype="int32")
    run = closed(lambda n, i: emb[word[n], i], params={"emb": np.zeros((5, H))})
    for index in (5, -1):
        assert refusal(lambda index=index: run(index), DataError) == (
            f"evaluate: 'emb[word[n], i]': index {index} is outside of 5 elements\n"
            "  because: here structures are taken as they are given; it is the linearizer that checks payloads\n"
            "  fix: give every node a payload inside of the tables that it indexes"
        )


def test_a_child_that_is_missing():
    leaf, h_ph = ra.compute((N,), lambda n: 1.0), ra.placeholder((N,))
    rec = ra.compute((N,), lambda n: h_ph[n.right])
    h = ra.if_then_else((N,), lambda n: (ra.isleaf(n), leaf, rec))
    model = ra.recursion_op(h_ph, h)
    assert refusal(lambda: ra.evaluate(model, {}, Node([Node()])), DataError) == (
        "evaluate: node root has no child 1\n  because: the model reads n.right there, and the node has 1 children"
    )


def test_parameters_that_do_not_fit():
    model = layered()
    wrong = {"V": np.zeros(3)}
    with pytest.raises(ModelError) as caught:
        ra.evaluate(model, wrong, Node())
    assert str(caught.value) == (
        f"the parameters do not fit the model\n  at {caught.value.at}\n"
        "  because: 'U' (3, 3) is missing; 'V' is no parameter of the model\n"
        "  fix: the model has U (3, 3); see model.init_params()"
    )
    for array, reason in (
        (np.zeros((3, 2)), "'U' has shape (3, 2), not (3, 3)"),
        (np.zeros((3, 3), int), "'U' is of dtype int64, not float32"),
    ):
        with pytest.raises(ModelError) as caught:
            ra.evaluate(model, {"U": array}, Node())
        assert caught.value.because == reason


def test_parameters_of_torch_are_taken():
    import torch

    model = layered()
    params = model.init_params()
    root = Node([Node()])
    tensors = {name: torch.tensor(array, requires_grad=True) for name, array in params.items()}
    np.testing.assert_array_equal(
        ra.evaluate(model, tensors, root)["h"], ra.evaluate(model, params, root)["h"]
    )


def test_what_is_no_model():
    for given in (None, [layered()], models.tree_rnn):
        assert f"evaluate: {type(given).__name__} is no model" in refusal(
            lambda given=given: ra.evaluate(given, {}, (1, 2)), UserError
        )


def test_a_vocabulary_is_checked_as_in_compiling():
    vocab = Vocab([f"w{k}" for k in range(51)])
    model = models.tree_sum(hidden=4, vocab=10)
    with pytest.raises(
        UserError, match="evaluate: the vocabulary has 52 words, and the model a table of 10 rows"
    ):
        ra.evaluate(model, model.init_params(), "(1 (2 w1) (2 w3))", vocab=vocab)
    reads_none = models.dag_rnn(hidden=4, embed=4)
    with pytest.raises(UserError, match="evaluate: vocab= is given, and the model reads no word"):
        ra.evaluate(reads_none, reads_none.init_params(), "(1 (2 w1) (2 w3))", vocab=vocab)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_forest_with_another_number_of_rows_than_nodes(rows):
    x = ra.node_input("x", (H,))
    run = closed(lambda n, i: x[n, i])
    forest = Forest([0, 1, 1], [1], x=np.zeros((rows, H), np.float32))
    shown = "1 row" if rows == 1 else "3 rows"
    assert f"payload `x` has {shown} for 2 nodes" in refusal(lambda: run(forest), DataError)
