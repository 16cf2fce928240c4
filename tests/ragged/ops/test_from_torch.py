"""Layers from the states of torch's modules as they are, against the modules in float64."""

from __future__ import annotations

import io
import re
from copy import deepcopy

import numpy as np
import pytest
import torch

import ragged
from ragged import ops
from ragged.errors import DataError, ModelError, UserError
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


BERT_NAMES = {
    "self_attn.out_proj": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}


def bert_names(state):
    """Return the state of torch.nn.TransformerEncoder by BERT's names."""
    found = {"bert.embeddings.LayerNorm.weight": torch.ones(24), "classifier.weight": torch.ones(2, 24)}
    for name, array in state.items():
        _, layer, part, kind = re.fullmatch(r"(layers)\.(\d+)\.(.+?)[._](weight|bias)", name).groups()
        start = f"bert.encoder.layer.{layer}"
        if part == "self_attn.in_proj":
            for own, piece in zip(("query", "key", "value"), array.chunk(3), strict=True):
                found[f"{start}.attention.self.{own}.{kind}"] = piece
        else:
            found[f"{start}.{BERT_NAMES[part]}.{kind}"] = array
    return found


def doubled(state):
    """Return a state with another array in the second layer: the functions share code, and the first is equal."""
    name = next(name for name in reversed(state) if ".layer.1." in name)
    return {**state, name: 2 * state[name] + 1}


def test_an_encoder_of_bert_and_its_file(caplog):
    one = torch.nn.TransformerEncoderLayer(
        24, 3, 40, activation="gelu", layer_norm_eps=1e-12, batch_first=True
    )
    module = drawn(torch.nn.TransformerEncoder(one, 2, enable_nested_tensor=False))
    state, x = bert_names(module.state_dict()), rows(N, 24)
    with caplog.at_level("INFO", "ragged.weights"):
        encoder = ops.TransformerEncoder.from_bert(state, heads=3)
    assert "left out 2 entries" in caplog.text
    result = encoder(x)
    agree(result, module, x)
    stream = io.BytesIO()
    encoder.save(stream)
    loaded = ragged.FunctionChain.load(stream.getvalue())
    assert len(loaded.functions) == 2 and loaded(x).equal(result)
    older = ops.TransformerEncoder.from_bert(state, heads=3, target="llvm -mcpu=x86-64-v3")
    for first, second in ((encoder, older), (older, encoder)):
        both = io.BytesIO()
        first.save(both, alternatives=[second])
        assert len(both.getvalue()) > len(stream.getvalue())
        assert ragged.FunctionChain.load(both.getvalue())(x).equal(result)
    with pytest.raises(UserError, match=r"alternatives\[0\] is no chain of 2 functions"):
        encoder.function.save(stream, alternatives=[ragged.FunctionChain(older.function.functions[:1])])
    with pytest.raises(UserError, match="it is another one"):
        encoder.save(
            stream, alternatives=[ops.TransformerEncoder.from_bert(state, heads=3, activation="relu")]
        )
    with pytest.raises(UserError, match="its parameters have other values"):
        encoder.save(stream, alternatives=[ops.TransformerEncoder.from_bert(doubled(state), heads=3)])
    with pytest.raises(DataError, match="this is no ragged function"):
        ragged.load(stream.getvalue())
    with pytest.raises(DataError, match="load: the bytes: "):
        ragged.FunctionChain.load(stream.getvalue()[:-9])


def test_names_and_dtypes_of_other_checkpoints():
    one = torch.nn.TransformerEncoderLayer(
        24, 3, 40, activation="gelu", layer_norm_eps=1e-12, batch_first=True
    )
    module = drawn(torch.nn.TransformerEncoder(one, 1, enable_nested_tensor=False))
    state, x = bert_names(module.state_dict()), rows(N, 24)
    whole = ops.TransformerEncoder.from_bert(state, heads=3)(x)
    first = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in state.items()
    }
    assert first.keys() != state.keys()
    assert ops.TransformerEncoder.from_bert(first, heads=3)(x).equal(whole)
    for dtype in (torch.bfloat16, torch.float16):
        narrow = {name: tensor.to(dtype) for name, tensor in state.items()}
        again = {name: tensor.float() for name, tensor in narrow.items()}
        result = ops.TransformerEncoder.from_bert(narrow, heads=3)(x)
        assert result.equal(ops.TransformerEncoder.from_bert(again, heads=3)(x))


def test_a_state_of_another_model():
    double = {name: tensor.double() for name, tensor in torch.nn.Linear(4, 3).state_dict().items()}
    with pytest.raises(ModelError, match="'weight' holds float64, not float32") as caught:
        ops.Linear(4, 3).load_state_dict(double)
    assert caught.value.fix.startswith("float32, float16 or bfloat16")

    with pytest.raises(ModelError, match="no layers of a BERT encoder"):
        ops.TransformerEncoder.from_bert({"weight": torch.ones(3)}, heads=1)
    with pytest.raises(ModelError, match="layer 0 has no array"):
        ops.TransformerEncoder.from_bert(
            {"encoder.layer.0.attention.self.query.weight": torch.ones(3, 3)}, heads=1
        )
    with pytest.raises(ModelError, match=r"the state has 2 encoders, below 'q\.', 'ctx\.'") as caught:
        ops.TransformerEncoder.from_bert(
            {f"{place}.encoder.layer.0.output.dense.weight": torch.ones(3, 3) for place in ("q", "ctx")},
            heads=1,
        )
    assert "name.startswith('ctx.')" in caught.value.fix
    for further in (
        "crossattention.self.query.weight",
        "attention.self.distance_embedding.weight",
        "scale.alpha",
        "lambda_1",
    ):
        with pytest.raises(ModelError, match=f"'encoder.layer.1.{further}' is no part of a layer of BERT's"):
            ops.TransformerEncoder.from_bert({f"encoder.layer.1.{further}": torch.ones(3, 3)}, heads=1)
