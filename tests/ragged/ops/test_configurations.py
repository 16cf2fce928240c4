"""What is compiled when: once for each configuration, whoever asks; and what is refused before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import ragged
from ragged import ops
from ragged.errors import DataError, ModelError, UserError
from ragged.ops import compiled as kept
from ragged.ops.tuned import _OperatorSubject
from ragged.tuning import read_records
from tests.ragged.ops.batches import matrices, normal, rows, weights


@pytest.fixture
def compilations(monkeypatch):
    """The programs that are compiled during a test, which begins with none."""
    found = []
    own = ragged.compile

    def counted(program, *args, **options):
        found.append(program.name)
        return own(program, *args, **options)

    monkeypatch.setattr(ragged, "compile", counted)
    monkeypatch.setattr(kept, "_kept", {})
    return found


def test_a_configuration_is_compiled_once_for_all_lengths(compilations):
    for lengths in ([3, 0, 17], [1], [], [16] * 5):
        ops.softmax(rows(lengths, 24))
    assert compilations == ["softmax"]
    ops.softmax(rows([3], 24), axis=1)
    ops.softmax(rows([3], 25))
    ops.softmax(rows([3], 24), threads=1)
    assert compilations == ["softmax"] * 4


def test_layers_of_one_configuration_share_code(compilations):
    layers = [ops.Linear(5, 7) for _ in range(2)]
    for seed, layer in enumerate(layers):
        layer.load_state_dict(weights(layer.shapes, seed))
    x = rows([3, 2], 5)
    first, second = (layer(x) for layer in layers)
    assert compilations == ["linear"] and not first.allclose(second)
    layers[0].load_state_dict(layers[1].state_dict())
    assert layers[0](x).equal(second) and compilations == ["linear"]


def test_threads_that_ask_at_once_get_one_function(compilations):
    x = rows([3, 5], 9)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(ops.layer_norm, [x] * 16))
    assert compilations == ["norm"] and all(each.equal(results[0]) for each in results)


def test_results_have_the_same_bits_on_any_number_of_threads():
    layer = ops.TransformerEncoderLayer(24, 3, 17)
    state = weights(layer.shapes)
    x = rows([3, 0, 17, 33, 5], 24)
    results = []
    for threads in (1, 2):
        own = ops.TransformerEncoderLayer(24, 3, 17, threads=threads)
        own.load_state_dict(state)
        results.append(own(x))
    assert results[0].equal(results[1])


def test_operators_take_a_precision_and_options(compilations):
    x, results = rows([3, 0, 17], 32), []
    for how in ({}, {"options": ragged.ScheduleOptions(tile=(2, 1))}, {"precision": "bf16"}):
        layer = ops.Linear(32, 48, **how)
        layer.load_state_dict(weights(layer.shapes))
        results.append(layer(x))
    own, tiled, rounded = results
    assert compilations == ["linear"] * 3 and tiled.equal(own)
    assert not rounded.equal(own) and rounded.allclose(own, rtol=0, atol=2**-6 * np.abs(own.values).max())
    assert ops.softmax(x, options=ragged.ScheduleOptions(reduction_unroll=2)).equal(ops.softmax(x))


def test_layers_of_layers_take_a_precision():
    x, results = rows([3, 0, 17], 24), []
    for precision in ("float32", "bf16"):
        encoder = ops.TransformerEncoder(24, 3, 17, 2, norm=True, precision=precision)
        encoder.load_state_dict(weights(encoder.shapes))
        results.append(encoder(x))
    own, rounded = results
    assert not rounded.equal(own) and rounded.allclose(own, rtol=0, atol=0.1)


def test_an_argument_that_no_operator_has():
    with pytest.raises(
        TypeError,
        match="softmax got an unexpected keyword argument 'dim'; beside its own it takes target, threads",
    ):
        ops.softmax(X, dim=1)


def test_a_sequence_has_the_same_bits_in_any_batch():
    x, layer = rows([3, 0, 17, 33, 5], 24), ops.TransformerEncoderLayer(24, 3, 17)
    layer.load_state_dict(weights(layer.shapes))
    whole = layer(x)
    for place in range(len(x)):
        assert np.array_equal(layer(x[place : place + 1])[0], whole[place])


def test_functions_can_be_reached():
    layer = ops.MultiheadAttention(8, 1)
    layer.load_state_dict(weights(layer.shapes))
    x = rows([3, 2], 8)
    assert layer.function(x=x).equal(layer(x))
    assert "with kernel:" in layer.function.show("loops")


X = rows([3, 2], 8)
REFUSED = {
    "there is no dimension 3 of 3": lambda: ops.softmax(X, 3),
    "there is no dimension 1.5 of 3": lambda: ops.softmax(X, 1.5),
    "there is no dimension True of 3": lambda: ops.softmax(X, True),
    "rope= is no pair of tables": lambda: ops.scaled_dot_product_attention(X, X, X, rope=(normal(5, 4),)),
    "it is the batch": lambda: ops.sum_pool(X, 0),
    "how far dimension 2 extends depends on it": lambda: ops.max_pool(
        ragged.array([[[1.0], [2.0, 3.0]], [[4.0]]]), 1
    ),
    "has 2 dimensions, not 3": lambda: ops.layer_norm(rows([3, 2])),
    "varies in its last dimension": lambda: ops.layer_norm(matrices([(2, 3), (1, 2)])),
    "no operand is ragged": lambda: ops.add(normal(0, 3), 2),
    "one operand has 3 dimensions and the other 2": lambda: ops.add(X, rows([3, 2])),
    "the operands differ in dimension 2": lambda: ops.add(X, rows([3, 2], 9)),
    "disagrees with": lambda: ops.add(X, rows([2, 3], 8)),
    "does not fit dimension 2": lambda: ops.add(X, normal(0, 9)),
    "and the ragged one varies there": lambda: ops.add(X, normal(0, 2, 3, 8)),
    "a dense array has 4 dimensions": lambda: ops.add(X, normal(0, 1, 2, 3, 8)),
    "holds int32, not float32": lambda: ops.softmax(X.astype(np.int32)),
    "'b' holds float32, not float64": lambda: ops.add(X.astype(np.float64), X),
    "'norm_weight' holds float32, not bfloat16": lambda: ops.layer_norm(X.astype("bfloat16"), normal(0, 8)),
    "extends 8 in dimension 'features', not 9": lambda: ops.linear(X, normal(0, 4, 9)),
    "'weight' has 1 dimensions": lambda: ops.linear(X, normal(0, 9)),
    "heads and their widths differ": lambda: ops.scaled_dot_product_attention(X, X, rows([3, 2], 9)),
    "5 dimensions, not": lambda: ops.scaled_dot_product_attention(*[rows([1], 1, 2, 3)] * 3),
    "is not square": lambda: ops.tradd(normal(0, 3, 2), normal(0, 3, 2)),
    "a matrix is needed": lambda: ops.trmul([1.0], normal(0, 1, 1)),
    "is not as long as it has to be": lambda: ops.tradd(rows([2, 1]), rows([2, 1])),
}
MODELS = {
    "activation 'tanh' is none of": lambda: ops.Linear(3, 4, activation="tanh"),
    "10 features are no 4 heads of one width": lambda: ops.TransformerEncoderLayer(10, 4, 3),
    "heads=0": lambda: ops.MultiheadAttention(8, 0),
    "hidden=8.0": lambda: ops.MultiheadAttention(8.0, 2),
    "ff=-3": lambda: ops.TransformerEncoderLayer(4, 2, -3),
    "kdim=-1": lambda: ops.MultiheadAttention(4, 2, kdim=-1),
    "inner=4.0": lambda: ops.Linear(4.0, 3),
    "outer=-1": lambda: ops.Dense(4, -1),
    "features='a'": lambda: ops.LayerNorm("a"),
    "layers=0\n(.|\n)*an integer from 1 up": lambda: ops.TransformerEncoder(4, 2, 8, 0),
    "layers=1.5": lambda: ops.TransformerEncoder(4, 2, 8, 1.5),
    "eps='a'\n(.|\n)*of which the root is taken": lambda: ops.layer_norm(X, eps="a"),
    "eps=-1.0": lambda: ops.LayerNorm(4, -1.0),
    "eps=nan": lambda: ops.TransformerEncoderLayer(4, 2, 8, eps=float("nan")),
    "they are not one array": lambda: ops.MultiheadAttention(8, 1, kdim=3)._of("self"),
    "values without keys": lambda: ops.MultiheadAttention(8, 1)(X, None, X),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    with pytest.raises(DataError, match=message):
        REFUSED[message]()


@pytest.mark.parametrize("message", MODELS)
def test_which_layers_are_refused(message):
    with pytest.raises(ModelError, match=message):
        MODELS[message]()


def test_a_chain_of_no_functions():
    with pytest.raises(UserError, match="FunctionChain: there is no function"):
        ragged.FunctionChain(())


SPACE = {"tile": [(2, 1), (99, 99)], "reduction_unroll": [2]}


@pytest.fixture
def pretended(monkeypatch, tmp_path):
    """Tiles of two rows take half the time."""
    compile_point = _OperatorSubject.compile

    def pretend(subject, options):
        kernel = compile_point(subject, options)
        time = 500.0 if options.tile == (2, 1) else 1000.0
        return replace(kernel, time=lambda: [time])

    monkeypatch.setattr(_OperatorSubject, "compile", pretend)
    monkeypatch.setenv("RAGGED_CACHE_DIR", str(tmp_path))
    return tmp_path / "records.jsonl"


def test_layers_are_tuned_and_records_are_of_arguments_lengths(pretended, compilations):
    layer, x = ops.Linear(5, 70, activation="relu", threads=1), rows([3, 2], 5)
    layer.load_state_dict(weights(layer.shapes))
    found = ops.tune(layer, x, seconds=60, strategy="grid", space=SPACE, records=pretended)
    assert found.best.tile == (2, 1) and {each.options.tile for each in found.timed} > {(2, 1)}
    assert any("tile" in each.because or "99" in str(each) for each in found.refused)
    records = len(read_records(pretended))
    ops.tune(layer, rows([3, 2], 5), seconds=0, strategy="grid", space=SPACE, records=pretended)
    points = {each.key for each in read_records(pretended)}
    assert records and len(points) == 1
    ops.tune(layer, rows([2, 3], 5), seconds=0.01, strategy="grid", space=SPACE, records=pretended)
    assert len({each.key for each in read_records(pretended)}) == 2
    assert len(kept._kept) == 1  # that of the default
    assert layer.with_options(found.best)(x).equal(layer(x))
    assert ragged.ScheduleOptions(tile=(2, 1)) in {each[1][3] for each in kept._kept}


def test_functions_and_stacks_are_tuned_as_they_are_called(pretended, compilations):
    search = {"seconds": 60, "strategy": "grid", "space": {"tile": [(2, 1)]}}
    x = rows([3, 2], 8)
    assert ops.tune(ops.linear, x, normal(0, 70, 8), threads=1, **search).best.tile == (2, 1)
    stack = ops.TransformerEncoder(8, 1, 9, 1, threads=1)
    stack.load_state_dict(weights(stack.shapes))
    found = ops.tune(stack, x, **search)
    assert found.best.tile == (2, 1) and stack.with_options(found.best)(x).equal(stack(x))


def test_what_cannot_be_tuned(pretended):
    with pytest.raises(UserError, match="what is called is no operator"):
        ops.tune(lambda x, options: x, X, seconds=0)
    with pytest.raises(UserError, match="options without the default schedule"):
        ops.tune(ops.softmax, X, schedule=None, space=SPACE)
    with pytest.raises(ModelError, match="Linear has no parameters yet"):
        ops.tune(ops.Linear(8, 1), X, seconds=0)


def test_operators_without_the_default_schedule():
    x, layer = rows([3, 0, 17], 32), ops.Linear(32, 48, schedule=None)
    plain = ops.Linear(32, 48)
    for each in (layer, plain):
        each.load_state_dict(weights(each.shapes))
    assert layer(x).allclose(plain(x), atol=1e-5) and "vector" not in layer.function.show("loops")
    assert "vector" in plain.function.show("loops")
    with pytest.raises(UserError, match="schedule='none' is neither 'default' nor None"):
        ops.softmax(x, schedule="none")
