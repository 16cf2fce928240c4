"""Encoder layers and stacks against padded NumPy."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from ragged import ops
from tests.ragged.ops import reference
from tests.ragged.ops.batches import LENGTHS, SEEDS, check, rows, weights

FEW = settings(max_examples=15)


@pytest.mark.parametrize(
    ("hidden", "heads", "ff", "options"),
    [
        (48, 2, 96, {"activation": "relu"}),
        (24, 3, 17, {"activation": "gelu", "norm_first": True, "causal": True, "eps": 1e-3}),
        (17, 1, 1, {"activation": "relu", "bias": False}),
    ],
)
@FEW
@example(lengths=[], seed=0)
@example(lengths=[0, 0, 0], seed=0)
@given(lengths=LENGTHS, seed=SEEDS)
def test_encoder_layer(hidden, heads, ff, options, lengths, seed):
    layer = ops.TransformerEncoderLayer(hidden, heads, ff, **options)
    state = weights(layer.shapes)
    layer.load_state_dict(state)
    x = rows(lengths, hidden, seed=seed)
    chosen = {"norm_first": False, "eps": 1e-5, "causal": False, **options}
    chosen.pop("bias", None)
    check(layer(x), reference.encoder_layer(state, heads, reference.padded(x), **chosen), x)


def test_layers_share_code_and_have_parameters_of_their_own():
    stack = ops.TransformerEncoder(48, 2, 96, 2, norm=True)
    state = weights(stack.shapes)
    stack.load_state_dict(state)
    x = rows([5, 0, 17], 48)
    expected = reference.padded(x)
    for place in range(2):
        start = f"layers.{place}."
        own = {name.removeprefix(start): array for name, array in state.items() if name.startswith(start)}
        expected = reference.encoder_layer(
            own, 2, expected, activation="relu", norm_first=False, eps=1e-5, causal=False
        )
    expected = reference.layer_norm(expected, state["norm.weight"], state["norm.bias"])
    check(stack(x), expected, x)
    first, second = (layer.function for layer in stack.layers)
    assert first is not second and first.show("loops") == second.show("loops")
    assert stack.state_dict().keys() == state.keys()
    assert all((stack.state_dict()[name] == array).all() for name, array in state.items())
