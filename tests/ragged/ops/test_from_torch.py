"""Layers from the states of torch's modules as they are, against the modules in float64."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch

from ragged import ops
from ragged.errors import ModelError
from tests.ragged.ops.batches import normal, rows
from tests.support.agreement import error

N, M = [3, 17, 0, 1, 33], [4, 16, 0, 1, 5]


def agree(result, module, *inputs, causal=False):
    """Compare with a module in float64, each sequence by itself; those of no length torch does not take."""
    wide = deepcopy(module).double().eval()
    for b, mine in enumerate(result):
        given = [torch.tensor(np.asarray(x[b], np.float64))[None] for x in inputs]
        if not all(each.shape[1] for each in given):
            continue
        mask = torch.nn.Transformer.generate_square_subsequent_mask(given[0].shape[1], dtype=torch.float64)
        with torch.no_grad():
            match wide:
                case torch.nn.MultiheadAttention():
                    more = {"attn_mask": mask} if causal else {}
                    expected = wide(*given, **more)[0]
                case torch.nn.TransformerEncoderLayer() | torch.nn.TransformerEncoder() if causal:
                    expected = wide(*given, mask)
                case _:
                    expected = wide(*given)
        assert error(mine, expected[0].numpy()) <= 1e-5


def drawn(module):
    """Give every parameter normal numbers: biases start as zeros and norms as ones, which hide mistakes."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            fan_in = parameter.shape[-1] if parameter.ndim > 1 else 1
            parameter.copy_(torch.randn(parameter.shape) / fan_in**0.5)
    return module.eval()


def test_linear():
    module, layer, x = drawn(torch.nn.Linear(17, 48)), ops.Linear(17, 48), rows(N, 17)
    layer.load_state_dict(module.state_dict())
    agree(layer(x), module, x)


def test_layer_norm():
    module, layer, x = drawn(torch.nn.LayerNorm(17, bias=False)), ops.LayerNorm(17, bias=False), rows(N, 17)
    layer.load_state_dict(module.state_dict())
    agree(layer(x), module, x)


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"kdim": 8, "vdim": 8}, {"kdim": 8, "vdim": 5}])
def test_attention(options):
    module = drawn(torch.nn.MultiheadAttention(24, 3, batch_first=True, **options))
    layer = ops.MultiheadAttention(24, 3, **options)
    layer.load_state_dict(module.state_dict())
    x, key = rows(N, 24), rows(M, options.get("kdim", 24), seed=1)
    value = rows(M, options.get("vdim", 24), seed=2)
    agree(layer(x, key, value), module, x, key, value)
    if "kdim" not in options:
        agree(layer(x), module, x, x, x)
        agree(layer(x, key), module, x, key, key)


def test_causal_attention():
    module = drawn(torch.nn.MultiheadAttention(24, 3, batch_first=True))
    layer, x = ops.MultiheadAttention(24, 3, causal=True), rows(N, 24)
    layer.load_state_dict(module.state_dict())
    agree(layer(x), module, x, x, x, causal=True)


@pytest.mark.parametrize(
    "options",
    [
        {"activation": "relu"},
        {"activation": "gelu", "norm_first": True},
        {"activation": "relu", "bias": False, "norm_first": True},
    ],
)
def test_encoder_layer(options):
    eps, x = 1e-4, rows(N, 24)
    module = drawn(
        torch.nn.TransformerEncoderLayer(24, 3, 40, layer_norm_eps=eps, batch_first=True, **options)
    )
    layer = ops.TransformerEncoderLayer(hidden=24, heads=3, ff=40, eps=eps, **options)
    layer.load_state_dict(module.state_dict())
    agree(layer(x), module, x)


def test_encoder():
    one = torch.nn.TransformerEncoderLayer(24, 3, 40, batch_first=True)
    module = torch.nn.TransformerEncoder(one, 3, norm=torch.nn.LayerNorm(24), enable_nested_tensor=False)
    layer, x = ops.TransformerEncoder(24, 3, 40, 3, norm=True, causal=True), rows(N, 24)
    layer.load_state_dict(drawn(module).state_dict())
    agree(layer(x), module, x, causal=True)


def test_later_changes_of_the_module_do_not_matter():
    module, layer, x = drawn(torch.nn.Linear(17, 48)), ops.Linear(17, 48), rows(N, 17)
    layer.load_state_dict(module.state_dict())
    before = layer(x).values
    torch.nn.init.zeros_(module.weight)
    assert (layer(x).values == before).all()
    layer.load_state_dict({"weight": normal(0, 48, 17), "bias": normal(1, 48)})
    assert (layer(x).values != before).any()


def test_a_state_that_does_not_fit_names_all_that_is_wrong():
    layer = ops.Linear(17, 48)
    with pytest.raises(ModelError) as refused:
        layer.load_state_dict({"weight": normal(0, 17, 48), "scale": normal(0, 48)})
    assert refused.value.what == "Linear: the state does not fit"
    assert refused.value.because == (
        "'bias' (48,) is missing; 'weight' has the shape (17, 48), not (48, 17); there is no 'scale' in it"
    )
    with pytest.raises(ModelError, match="'weight' holds float64, not float32"):
        layer.load_state_dict({"weight": np.zeros((48, 17)), "bias": normal(0, 48)})
    with pytest.raises(ModelError, match="'bias' is of type list"):
        layer.load_state_dict({"weight": normal(0, 48, 17), "bias": [0.0] * 48})
    with pytest.raises(ModelError, match="Linear has no parameters yet"):
        layer(rows(N, 17))
