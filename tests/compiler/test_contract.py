"""The contract, as its texts stand: what users write, and what they get."""

import threading
from functools import partial

import networkx
import numpy as np
import pytest
import torch
from nltk.tree import Tree

import cortex
from cortex import models, ra
from cortex.data import sample_treebank
from ragged.codegen.elf import undefined_symbols
from tests.support.python_work import calls


@pytest.fixture(scope="module")
def vocab():
    tokens = sample_treebank().read_text(encoding="utf-8").split()
    words = sorted({token.rstrip(")") for token in tokens if token.endswith(")")})
    return cortex.Vocab(["<unk>", *words], unk="<unk>")


@pytest.fixture(scope="module")
def trees(vocab):
    return cortex.read_ptb(sample_treebank(), vocab=vocab)


@pytest.fixture(scope="module")
def tree_lstm(vocab):
    model = models.tree_lstm(hidden=8, embed=6, vocab=len(vocab))
    params = model.init_params(seed=0)
    return model, params, cortex.compile(model, params, target="cpu", vocab=vocab)


def error(got, want):
    return np.abs(got - want).max() / max(1, np.abs(want).max())


def test_first_text(trees, tree_lstm):
    model, params, fn = tree_lstm
    out = fn(trees)
    assert out["h"].shape == (len(trees), 8) and out["h"].dtype == np.float32
    for index in (0, 7, 150):
        want = ra.evaluate(model, params, trees[index])
        assert error(out.nodes("h")[index], want["h"]) < 1e-5
        assert error(out.nodes("c")[index], want["c"]) < 1e-5
        np.testing.assert_array_equal(out["h"][index], out.nodes("h")[index][-1])
        assert out.keys(index)[-1] is trees[index]


# fmt: off
def test_the_recursive_api_text():
    N, H, V = ra.N, 256, 10_000
    table = np.random.default_rng(0).standard_normal((V, H)).astype(np.float32)
    emb    = ra.input_tensor("emb", (V, H))
    word   = ra.node_input("word", dtype="int32")
    rnn_ph = ra.placeholder((N, H))
    leaf   = ra.compute((N, H), lambda n, i: emb[word[n], i])
    lh     = ra.compute((N, H), lambda n, i: rnn_ph[n.left, i])
    rh     = ra.compute((N, H), lambda n, i: rnn_ph[n.right, i])
    rec    = ra.compute((N, H), lambda n, i: ra.tanh(lh[n, i] + rh[n, i]))
    body   = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec))
    rnn    = ra.recursion_op(rnn_ph, body, structure=ra.Tree(max_children=2))
    s = ra.Schedule(rnn)
    s.dynamic_batch(); s.specialize_if_else(body)  # noqa: E702
    assert "for n in parallel(batch_length(b), N):" in str(s.lower())
    fn = cortex.compile(s, {"emb": table})
    tree = ((1, 2), (3, 4))
    want = np.tanh(np.tanh(table[1] + table[2]) + np.tanh(table[3] + table[4]))
    assert error(fn(tree)["h"][0], want) < 1e-5


def test_the_child_sum_text():
    N, H = ra.N, 5
    U, U_f = ra.input_tensor("U", (H, H)), ra.input_tensor("U_f", (H, H))
    x    = ra.node_input("x", (H,))
    h_ph, c_ph = ra.placeholder((N, H)), ra.placeholder((N, H))
    hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
    u  = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + ra.sum(H, lambda j: U[i, j] * hs[n, j])))
    f  = ra.compute((N, ra.K, H), lambda n, k, i: ra.sigmoid(ra.sum(H, lambda j: U_f[i, j] * h_ph[k, j])))
    c  = ra.compute((N, H), lambda n, i: u[n, i] + ra.sum_children(n, lambda k: f[n, k, i] * c_ph[k, i]))
    h  = ra.compute((N, H), lambda n, i: ra.tanh(c[n, i]))
    model = ra.recursion_op({"h": (h_ph, h), "c": (c_ph, c)}, structure=ra.Tree())
    params = model.init_params(seed=1)
    random = np.random.default_rng(2)

    def node(*children):
        return cortex.Node(children, x=random.standard_normal(H).astype(np.float32))

    tree = node(node(), node(node(), node(), node()), node(node()))
    out = cortex.compile(model, params)([tree, tree.children[1]])
    for name in ("h", "c"):
        want = ra.evaluate(model, params, tree)[name]
        assert error(out.nodes(name)[0], want) < 1e-5
        assert error(out.nodes(name)[1], ra.evaluate(model, params, tree.children[1])[name]) < 1e-5


# fmt: on
def test_every_kind_of_structure_in_one_batch(tree_lstm, trees, vocab):
    _, _, fn = tree_lstm

    class Pair:
        def __init__(self, left, right, word=-1):
            self.left, self.right, self.word = left, right, word

    words = list(range(4))
    chain = cortex.Node(word=0)
    for word in words[1:]:
        chain = cortex.Node([chain], word=word)
    text = sample_treebank().read_text(encoding="utf-8").splitlines()[0]
    graph = networkx.DiGraph([("root", "leaf")])
    graph.nodes["leaf"]["word"] = 2
    batch = [
        trees[0],
        text,
        (1, (2, 3)),
        7,
        Pair(Pair(None, None, 1), Pair(Pair(None, None, 2), Pair(None, None, 3))),
        np.array(words),
        chain,
        fn.linearize(trees[0]) and trees[0],
        Tree.fromstring(text),
        graph,
    ]
    out = fn(batch)
    alone = [fn(item)["h"][0] for item in batch]
    np.testing.assert_array_equal(out["h"], np.stack(alone))
    np.testing.assert_array_equal(out["h"][0], out["h"][1])
    np.testing.assert_array_equal(out["h"][2], out["h"][4])
    np.testing.assert_array_equal(out["h"][5], out["h"][6])
    np.testing.assert_array_equal(out["h"][0], out["h"][8])
    assert out.keys(3) == [7] and out.keys(5) == words and out.keys(9) == ["leaf", "root"]
    assert out.keys(8)[-1] is batch[8] and out.keys(4)[-1] is batch[4] and out.keys(2)[-1] is batch[2]


def test_linearizing_is_paid_for_once(tree_lstm, trees):
    _, _, fn = tree_lstm
    batch = fn.linearize(trees[:5])
    np.testing.assert_array_equal(fn(batch)["h"], fn(trees[:5])["h"])


def test_results_are_the_callers(tree_lstm, trees):
    _, _, fn = tree_lstm
    first = fn(trees[:4])
    kept = first["h"].copy(), [rows.copy() for rows in first.nodes("c")]
    fn(trees[4:40])
    np.testing.assert_array_equal(first["h"], kept[0])
    for rows, copy in zip(first.nodes("c"), kept[1], strict=True):
        np.testing.assert_array_equal(rows, copy)
    first.nodes("h")[0][...] = 0
    np.testing.assert_array_equal(first["h"], kept[0])


def test_a_name_that_is_no_output(trees, tree_lstm):
    out = tree_lstm[2](trees[:1])
    for read in (out.__getitem__, out.nodes):
        with pytest.raises(KeyError, match="'x' is no output: there is 'h', 'c'"):
            read("x")


def test_keep_roots(vocab, trees, tree_lstm):
    model, params, fn = tree_lstm
    out = cortex.compile(model, params, keep="roots")(trees[:3])
    np.testing.assert_array_equal(out["h"], fn(trees[:3])["h"])
    with pytest.raises(KeyError, match="keep='roots'"):
        out.nodes("h")


def test_empty_batch_and_single_leaf(tree_lstm):
    _, _, fn = tree_lstm
    empty = fn([])
    assert empty["h"].shape == (0, 8) and empty.nodes("h") == [] and empty.num_structures == 0
    assert fn(3)["h"].shape == (1, 8) and fn(3).keys(0) == [3]


def test_with_params_compiles_nothing(tree_lstm, trees):
    model, params, fn = tree_lstm
    other = model.init_params(seed=5)
    again = fn.with_params(other)
    want = ra.evaluate(model, other, trees[0])["h"][-1]
    assert error(again(trees[0])["h"][0], want) < 1e-5
    assert again._parts is fn._parts
    assert error(fn(trees[0])["h"][0], ra.evaluate(model, params, trees[0])["h"][-1]) < 1e-5


def misaligned(array):
    copy = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    assert copy.ctypes.data % 4
    return copy


def test_parameters_of_torch_and_of_any_layout(tree_lstm, trees):
    _, params, fn = tree_lstm
    wide = {name: np.repeat(array, 2, axis=-1)[..., ::2] for name, array in params.items()}
    assert not all(array.flags.c_contiguous for array in wide.values())
    raw = {name: misaligned(array) for name, array in params.items()}
    tensors = {name: torch.nn.Parameter(torch.from_numpy(array.copy())) for name, array in params.items()}
    want = fn(trees[:3])["h"]
    for given in (wide, raw, tensors):
        np.testing.assert_array_equal(fn.with_params(given)(trees[:3])["h"], want)


def test_parameters_are_copied(tree_lstm, trees):
    model, params, _ = tree_lstm
    mine = {name: array.copy() for name, array in params.items()}
    fn = cortex.compile(model, mine)
    want = fn(trees[0])["h"]
    for array in mine.values():
        array[...] = np.nan
    np.testing.assert_array_equal(fn(trees[0])["h"], want)


def test_many_threads_call_one_function(tree_lstm, trees):
    _, _, fn = tree_lstm
    want = [fn(trees[i : i + 10])["h"] for i in range(0, 40, 10)]
    wrong = []

    def work(part):
        for _ in range(20):
            if not np.array_equal(fn(trees[part * 10 : part * 10 + 10])["h"], want[part]):
                wrong.append(part)

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_work_of_python_does_not_grow(tree_lstm, trees):
    _, _, fn = tree_lstm
    batches = [trees[:1], trees[:100], trees]
    counts = []
    for batch in batches:
        fn(batch)
        counts.append(calls(partial(fn, batch)))
    assert len(set(counts)) == 1, counts


def test_the_code_is_ours(tree_lstm):
    _, _, fn = tree_lstm
    symbols = undefined_symbols(fn._parts.kernel.code)
    mathematics = {"expf", "tanhf", "logf", "sqrtf", "exp", "tanh", "log", "memset", "memcpy", "usleep"}
    runtime = {
        name for name in symbols if name.startswith(("TVMFFI", "__TVM", "TVMBackend", "_GLOBAL_OFFSET"))
    }
    assert symbols <= mathematics | runtime, symbols - mathematics - runtime


@pytest.mark.parametrize("stage", ["ra", "schedule", "ilir", "loops", "checks", "tir", "asm"])
def test_every_stage_shows(stage, tree_lstm):
    _, _, fn = tree_lstm
    assert len(fn.show(stage).splitlines()) >= 1
    if stage == "asm":
        assert "vmulss" in fn.show(stage) or "vfmadd" in fn.show(stage) or "mulss" in fn.show(stage)


def test_unknown_stage(tree_lstm):
    with pytest.raises(cortex.UserError, match="show: no stage is called 'ptx'"):
        tree_lstm[2].show("ptx")


def test_profile(tree_lstm, trees):
    profile = tree_lstm[2].profile(trees[:10], repeats=3)
    assert profile.structures == 10 and profile.nodes > 10
    assert 0 < profile.kernel_us.low <= profile.kernel_us.median <= profile.kernel_us.high
    assert profile.kernel_us.median < profile.total_us.high
