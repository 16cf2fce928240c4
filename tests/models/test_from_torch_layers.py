"""Weights of torch's own recurrent layers, and of gated cells that torch has not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import cortex
from cortex import models, ra
from cortex.models import from_torch
from ragged.errors import ModelError

H, E, V, STEPS = 4, 3, 7, 6


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.fixture
def x():
    return torch.randn(STEPS, E)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("asked", ["auto", "lstm"])
def test_an_lstm_layer(x, bias, asked):
    module = nn.LSTM(E, H, bias=bias)
    model = models.lstm(hidden=H, embed=E, input="vector")
    params = from_torch(module.state_dict(), model, layout=asked)
    assert list(params) == list(model.inputs)
    found = ra.evaluate(model, params, x.numpy())
    want, (_, last) = module(x)
    np.testing.assert_allclose(found["h"], want.detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(found["c"][-1], last[0].detach().numpy(), atol=1e-6)


def test_an_lstm_cell_and_an_embedding():
    module = nn.ModuleDict({"embedding": nn.Embedding(V, E), "cell": nn.LSTMCell(E, H)})
    model = models.lstm(hidden=H, embed=E, vocab=V)
    words = np.arange(STEPS) % V
    found = ra.evaluate(model, from_torch(module.state_dict(), model), words)["h"]
    state = None
    for row, word in zip(found, words, strict=True):
        state = module["cell"](module["embedding"](torch.tensor(word)), state)
        np.testing.assert_allclose(row, state[0].detach().numpy(), atol=1e-6)


def test_a_layer_without_gates(x):
    module = nn.RNN(E, H)
    model = models.tree_rnn(hidden=H, embed=E, input="vector")
    node = None
    for row in x.numpy():
        node = cortex.Node([] if node is None else [node], x=row)
    found = ra.evaluate(model, from_torch(module.state_dict(), model), node)["h"]
    np.testing.assert_allclose(found, module(x)[0].detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("bias", [True, False])
def test_a_gru_layer_and_its_cell(x, bias):
    module, cell = nn.GRU(E, H, bias=bias), nn.GRUCell(E, H, bias=bias)
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in module.state_dict().items()})
    model = models.gru_reset_after(hidden=H, embed=E, input="vector")
    want = module(x)[0].detach().numpy()
    for state in (module.state_dict(), cell.state_dict()):
        params = from_torch(state, model)
        assert list(params) == list(model.inputs)
        np.testing.assert_allclose(ra.evaluate(model, params, x.numpy())["h"], want, atol=1e-6)
    fn = cortex.compile(model, from_torch(module.state_dict(), model), threads=1)
    np.testing.assert_allclose(fn(x.numpy()).nodes("h")[0], want, atol=1e-6)


@pytest.mark.parametrize(
    "make", [models.gru, models.gru_reset_after, models.tree_gru, models.simple_tree_gru, models.tree_rnn]
)
def test_each_gate_by_itself(make):
    model = make(hidden=H, embed=E, vocab=V)
    params = model.init_params(seed=1)
    tensors = {f"cell.{name}": torch.from_numpy(array) for name, array in params.items()}
    found = from_torch(tensors, model)
    assert list(found) == list(params)
    for name, array in found.items():
        np.testing.assert_array_equal(array, params[name])


def refusal(state, model):
    with pytest.raises(ModelError) as caught:
        from_torch(state, model)
    return str(caught.value).replace(str(caught.value.at), "HERE")


@pytest.mark.parametrize("make", [models.gru, models.tree_gru])
def test_torchs_gru_is_another_cell(make):
    assert refusal(nn.GRU(E, H).state_dict(), make(hidden=H, embed=E, input="vector")) == (
        "from_torch: torch.nn.GRU is another cell than this model's\n"
        "  at HERE\n"
        "  because: it has tanh(W x + r (U h + b)), where the reset gate meets the product; here it meets the state, "
        "tanh(W x + U (r h) + b)\n"
        "  fix: models.gru_reset_after, which is torch's cell"
    )


@pytest.mark.parametrize(
    ("module", "entry"),
    [
        (nn.LSTM(E, H, num_layers=2), "weight_ih_l1"),
        (nn.LSTM(E, H, bidirectional=True), "weight_ih_l0_reverse"),
        (nn.LSTM(E, H, proj_size=2), "weight_hr_l0"),
    ],
)
def test_a_layer_that_is_more_than_one_recursion(module, entry):
    text = refusal(module.state_dict(), models.lstm(hidden=H, embed=E, input="vector"))
    assert f"'{entry}' is of no use to the model" in text
