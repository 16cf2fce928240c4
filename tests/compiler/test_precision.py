"""precision="bf16": what is rounded, what error that makes, and that all else is as ever."""

import numpy as np
import pytest

import cortex
from cortex import models, ra
from ragged.codegen.target_features import has_matrix_unit, has_quick_pairs, host_target
from tests.support.cells import child_sum

MODELS = {
    "tree_fc": (models.tree_fc(hidden=32, vocab=50), "h"),
    "tree_lstm": (models.tree_lstm(hidden=32, embed=33, vocab=50), "h"),
    "tree_gru": (models.tree_gru(hidden=32, embed=16, vocab=50), "h"),
    "mv_rnn": (models.mv_rnn(hidden=16, vocab=50), "v"),
}


def trees(count=6, seed=0):
    rng = np.random.default_rng(seed)

    def tree(leaves):
        if leaves == 1:
            return int(rng.integers(50))
        left = int(rng.integers(1, leaves))
        return tree(left), tree(leaves - left)

    return [tree(int(leaves)) for leaves in rng.integers(2, 20, count)]


def bf16(model, params, **options):
    return cortex.compile(model, params, threads=2, precision="bf16", **options)


@pytest.mark.parametrize("name", MODELS)
def test_the_error_is_that_of_rounded_factors(name):
    model, output = MODELS[name]
    params, batch = model.init_params(seed=0), trees()
    out = bf16(model, params)(batch)
    errors = []
    for k, each in enumerate(batch):
        want = ra.evaluate(model, params, each)[output]
        errors.append(np.max(np.abs(out.nodes(output)[k] - want)) / max(1, np.max(np.abs(want))))
    assert 1e-5 < max(errors) < 1e-2  # something is rounded, to eight bits


def test_what_is_exact_in_bfloat16_is_exact():
    """Small integers have no more than eight bits, and their sums are in float32."""
    N, H = ra.N, 20
    U, emb, word = (
        ra.input_tensor("U", (H, H)),
        ra.input_tensor("emb", (50, H)),
        ra.node_input("word", dtype="int32"),
    )
    h_ph = ra.placeholder((N, H))
    total = ra.compute(
        (N, H), lambda n, i: ra.sum(H, lambda j: U[i, j] * ra.sum_children(n, lambda k: h_ph[k, j]))
    )
    h = ra.if_then_else(
        (N, H), lambda n, i: (ra.isleaf(n), ra.compute((N, H), lambda n, i: emb[word[n], i]), total)
    )
    model = ra.recursion_op(h_ph, h)
    rng = np.random.default_rng(0)
    whole = {"U": rng.integers(-1, 2, (H, H)), "emb": rng.integers(-4, 5, (50, H))}
    params = {name: value.astype(np.float32) for name, value in whole.items()}
    batch = [(1, 2), ((3, 4), 5), (6, (7, 8))]
    got = bf16(model, params)(batch)["h"]
    np.testing.assert_array_equal(got, cortex.compile(model, params)(batch)["h"])


def test_products_of_matrices_alone_are_rounded():
    model, _ = MODELS["tree_lstm"]
    fn = bf16(model, model.init_params(seed=0), options=cortex.RecursionOptions(tensorize=False))
    assert fn.show("schedule").count("pair_products") == 1
    declared = [line for line in fn.show("loops").splitlines() if ": parameter(" in line]
    assert declared and all("(float32[" in line for line in declared)
    assert "emb_pairs" not in fn.show("loops") and "b_i_pairs" not in fn.show("loops")
    has = has_quick_pairs(host_target())
    assert ("vdpbf16ps" in fn.show("asm")) == has


UNIT = {
    "tree_fc": (models.tree_fc(hidden=64, vocab=50), ("h",)),
    "tree_lstm": (models.tree_lstm(hidden=32, embed=40, vocab=50), ("h", "c")),
    "tree_gru": (models.tree_gru(hidden=96, embed=32, vocab=50), ("h",)),
    "tree_gru of 75": (models.tree_gru(hidden=75, embed=50, vocab=50), ("h",)),
    "tree_lstm of 300": (models.tree_lstm(hidden=300, embed=20, vocab=50), ("h", "c")),
    "mv_rnn": (models.mv_rnn(hidden=32, vocab=50), ("v", "M")),
}


@pytest.mark.parametrize("name", UNIT)
def test_a_matrix_unit_gives_the_same_bits_for_any_batch_and_threads(name):
    """Also where pairs and columns do not fill its tiles: of 40 inputs there are 20 pairs, and it takes sixteen."""
    model, outputs = UNIT[name]
    params, batch = model.init_params(seed=0), trees(count=20)
    fn = bf16(model, params)
    assert ("tensorized(" in fn.show("loops")) == has_matrix_unit(host_target())
    assert ("tdpbf16ps" in fn.show("asm")) == has_matrix_unit(host_target())
    together = fn(batch)
    alone = cortex.compile(model, params, threads=1, precision="bf16")
    for k, tree in enumerate(batch):
        one = alone(tree)
        for output in outputs:
            np.testing.assert_array_equal(one[output][0], together[output][k])
    for result, output in ((ra.evaluate(model, params, batch[0])[name], name) for name in outputs):
        np.testing.assert_allclose(together.nodes(output)[0], result, rtol=0, atol=2e-2)


def test_whoever_chooses_no_unit_has_pairs_one_after_another():
    model, _ = UNIT["tree_fc"]
    params, batch = model.init_params(seed=0), trees()
    plain = bf16(model, params, options=cortex.RecursionOptions(tensorize=False))
    assert "tensorized(" not in plain.show("loops") and "tdpbf16ps" not in plain.show("asm")
    np.testing.assert_allclose(plain(batch)["h"], bf16(model, params)(batch)["h"], rtol=0, atol=1e-4)


def test_code_for_a_processor_without_a_unit_asks_for_none():
    model, _ = UNIT["tree_fc"]
    fn = bf16(model, model.init_params(seed=0), target="llvm -mcpu=x86-64-v3")
    assert "tensorized(" not in fn.show("loops")


def test_saved_loaded_and_with_other_parameters(tmp_path):
    model, _ = MODELS["tree_fc"]
    one, other = model.init_params(seed=0), model.init_params(seed=1)
    fn, batch = bf16(model, one), trees()
    fn.save(tmp_path / "m.cortex")
    loaded = cortex.load(tmp_path / "m.cortex")
    np.testing.assert_array_equal(loaded(batch)["h"], fn(batch)["h"])
    np.testing.assert_array_equal(loaded.with_params(other)(batch)["h"], bf16(model, other)(batch)["h"])


def test_the_cache_knows_precisions_apart(cache_dir):
    model, _ = MODELS["tree_fc"]
    params, batch = model.init_params(seed=0), trees()
    plain = cortex.compile(model, params)(batch)["h"]
    rounded = cortex.compile(model, params, precision="bf16")(batch)["h"]
    assert not np.array_equal(plain, rounded)
    np.testing.assert_array_equal(cortex.compile(model, params)(batch)["h"], plain)
    np.testing.assert_array_equal(cortex.compile(model, params, precision="bf16")(batch)["h"], rounded)


def test_a_cell_of_any_arity():
    model = child_sum(hidden=20)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 20)).astype(np.float32)
    node = cortex.Node([cortex.Node([], x=x[0]), cortex.Node([], x=x[1]), cortex.Node([], x=x[2])], x=x[3])
    params = model.init_params(seed=0)
    got, want = bf16(model, params)([node]), ra.evaluate(model, params, node)
    for name in want:
        np.testing.assert_allclose(got[name][0], want[name][-1], rtol=0, atol=1e-2)


def test_no_other_precision():
    model, _ = MODELS["tree_fc"]
    with pytest.raises(
        cortex.UserError, match=r"precision='fp16' is neither 'float32' nor 'bf16'(?s:.*)fix:"
    ):
        cortex.compile(model, model.init_params(seed=0), precision="fp16")
