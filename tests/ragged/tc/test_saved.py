"""Saved functions of texts, and their kernels in the cache: the same bits and messages, and no compilation."""

import copy
import io
import pickle
import subprocess
import sys
from dataclasses import replace

import msgspec
import numpy as np
import pytest

import ragged
from ragged import tc
from ragged.errors import DataError, UserError
from ragged.runtime.bundle import read_bundle, write_bundle
from ragged.tc import compiled
from ragged.tc.kernel import TcKernel

TEXT = """
def dense(float(B,M) I, float(O,M) W, float(O) b) -> (R, D) {
  R(i,j) +=! I(i,k) * W(j,k)
  R(i,j) = max(R(i,j) + b(j), 0)
  D(i,j) = 2 * R(i,j)
}
def image(float(B,H,W) x) -> (y) { y(b,h,w) = 3 * x(b,h,w) }
def shifted(float(N) x, int32 d) -> (y) { y(i) = x(i + d) where i in 0:N - d }
def gather(float(N) x, int32(M) at) -> (y) { y(m) = x(at(m)) }
def rows(int32(B) L, float(B,L(B)) x) -> (y) { y(b,t) = x(b,t) * x(b,t) where t in 0:L(b) }
def total(float(N) x) -> (s) { s +=! x(i) }
"""
LIB = tc.define(TEXT, name="mine")
RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


ROWS = ragged.array([normal(2), normal(5)])
CALLS = {
    "dense": (normal(5, 7), normal(9, 7), normal(9)),
    "image": (normal(2, 3, 4),),
    "shifted": (normal(9), 4),
    "gather": (normal(5), np.array([4, 0], np.int32)),
    "rows": (np.array([2, 5], np.int32), ROWS),
    "total": (normal(100),),
}


def reloaded(function, **options):
    stream = io.BytesIO()
    function.save(stream)
    return tc.load(stream.getvalue(), **options)


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, ragged.RaggedArray):
        return one.to_list() == other.to_list()
    return np.array_equal(one, other)


def forbid_compiling(monkeypatch):
    monkeypatch.setattr(compiled, "compiled_parts", lambda *_, **__: pytest.fail("it is compiled again"))


@pytest.mark.parametrize("name", CALLS)
def test_a_loaded_function_does_the_same(name, tmp_path, monkeypatch):
    function, args = LIB[name].compile(), CALLS[name]
    function.save(tmp_path / "f.tc")
    expected = function(*args)
    forbid_compiling(monkeypatch)
    loaded = tc.load(tmp_path / "f.tc")
    assert same(loaded(*args), expected) and same(loaded(*args), expected)
    for stage in ("tc", "ranges", "checks", "loops", "schedule"):
        assert loaded.show(stage) == function.show(stage)
    assert loaded.explain() == function.explain()


def test_sizes_and_arrays_travel():
    inputs, weights, bias = CALLS["dense"]
    whole = LIB.dense(inputs, weights, bias)
    loaded = reloaded(LIB.dense.compile(parameters={"W": weights, "b": bias}, sizes={"B": 5}), threads=1)
    assert same(loaded(inputs), whole)
    with pytest.raises(tc.TcError, match="compiled for B = 5, and is called with 4"):
        loaded(inputs[:4])
    gradient = loaded.gradient(["I"])(inputs, d_R=normal(5, 9), d_D=normal(5, 9))
    assert gradient.shape == inputs.shape
    image = normal(2, 3, 4)  # one that is bound has other dimensions in the kernel, where they are merged
    assert same(reloaded(LIB.image.compile(parameters={"x": image}))(), LIB.image(image))
    unread = tc.define("def f(float(N) x, float(N) z) -> (y) { y(i) = x(i) }").f
    loaded = reloaded(unread.compile(parameters={"z": normal(3)}))
    with pytest.raises(tc.TcError, match="'x' has N = 4"):
        loaded(normal(4))


def test_parts_of_a_reduction_travel():
    function = LIB.total.compile(split_reductions={"s": 16})
    loaded = reloaded(function)
    assert same(loaded(*CALLS["total"]), function(*CALLS["total"]))
    assert loaded.show("loops") == function.show("loops") != LIB.total.show("loops")


def test_messages_name_the_place():
    wrong = np.array([5], np.int32)
    for function in (LIB.gather, reloaded(LIB.gather)):
        with pytest.raises(DataError, match=r"index 5 of dimension 0 of 'x'[^$]*mine:9:46"):
            function(CALLS["gather"][0], wrong)


def test_alternatives():
    other = LIB.image.compile(target="llvm -mcpu=haswell")
    stream = io.BytesIO()
    LIB.image.compile().save(stream, alternatives=[other])
    assert same(tc.load(stream.getvalue())(*CALLS["image"]), LIB.image(*CALLS["image"]))
    with pytest.raises(UserError, match="alternative 0 is not this function"):
        LIB.image.save(io.BytesIO(), alternatives=[LIB.total])


def test_a_process_without_the_compiler(tmp_path):
    LIB.dense.save(tmp_path / "dense.tc")
    np.savez(tmp_path / "args.npz", *CALLS["dense"])
    script = f"""
import sys
sys.modules["tvm"] = None
import numpy as np
from ragged import tc
f = tc.load({str(tmp_path / "dense.tc")!r})
args = np.load({str(tmp_path / "args.npz")!r})
np.save({str(tmp_path / "result.npy")!r}, f(*(args[each] for each in args))["D"])
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert np.array_equal(np.load(tmp_path / "result.npy"), LIB.dense(*CALLS["dense"])["D"])


def changed(origin_of):
    """Return a file of `dense` with another origin, with its hashes right."""
    stream = io.BytesIO()
    kernel = LIB.dense.compile(parameters={"b": CALLS["dense"][2]})._ready().function
    kernel.save(stream)
    manifest, members = read_bundle(TcKernel.form, stream.getvalue())
    members["tensor_comprehension.json"] = msgspec.json.encode(origin_of(kernel.origin))
    return write_bundle(TcKernel.form, manifest, members)


@pytest.mark.parametrize(
    "origin_of, what",
    [
        (lambda own: replace(own, text=replace(own.text, text="def dense(")), "the file's text is refused"),
        (lambda own: replace(own, function="sparse"), "the file's text has no function 'sparse'"),
        (lambda own: replace(own, function="image", shapes={}, sizes={}), "the code has a tensor"),
        (lambda own: replace(own, sizes={"Q": 3}), "there is no size 'Q'"),
        (lambda own: replace(own, shapes={"b": (2, 2)}), r"there is no parameter 'b' of the shape \(2, 2\)"),
        (lambda own: replace(own, shapes={"q": (2,)}), r"there is no parameter 'q'"),
        (lambda own: replace(own, shapes={"b": (10,)}), "the file's array 'b' has 9 elements, not 10"),
        (lambda own: replace(own, split={"D": 3}), "there is no reduction 'D'"),
        (lambda own: replace(own, split={"R": 0}), "there is no reduction 'R' that is split into parts of 0"),
        (lambda own: {"text": 3}, "tensor_comprehension.json cannot be read"),
    ],
)
def test_a_file_that_does_not_fit_its_text(origin_of, what):
    with pytest.raises(DataError, match=what):
        tc.load(changed(origin_of))


def test_a_file_of_something_else():
    row = ragged.dim("row")
    x = ragged.input_tensor("x", [(row, ragged.size("N"))])
    stream = io.BytesIO()
    ragged.compile(ragged.compute("y", x.dims, lambda i: 2 * x[i])).save(stream)
    with pytest.raises(DataError, match="this is no tensor comprehension"):
        tc.load(stream.getvalue())
    with pytest.raises(UserError, match=r"ragged\.tc\.load\(path\) in the other process"):
        LIB.image.compile()._ready().function.__reduce__()


def test_kernels_from_the_cache(cache_dir, monkeypatch):
    text = "def f(float(N) x, int32(M) at) -> (y) { y(m) = 2 * x(at(m)) }"
    args = normal(5), np.array([4, 0], np.int32)
    expected = tc.define(text).f(*args)
    bound = tc.define(text).f.compile(parameters={"x": args[0]})(args[1])
    forbid_compiling(monkeypatch)
    assert same(tc.define(text).f(*args), expected)
    assert same(tc.define(text).f.compile(parameters={"x": args[0]})(args[1]), bound)
    assert same(tc.define(text).f.compile(parameters={"x": -args[0]})(args[1]), -bound)
    with pytest.raises(DataError, match="tc:1:41"):
        tc.define(text).f(args[0], np.array([7], np.int32))
    others = [
        lambda: tc.define(f"\n{text}").f(*args),
        lambda: tc.define(text).f.compile(sizes={"M": 2}),
        lambda: tc.define(text).f.compile(threads=1),
        lambda: tc.define(text).f.compile(schedule=None),
        lambda: tc.define(text).f.compile(target="llvm -mcpu=haswell"),
        lambda: tc.define(text).f.compile(cache=False),
    ]
    for other in others:
        with pytest.raises(pytest.fail.Exception, match="compiled again"):
            other()


def test_an_entry_that_is_damaged_is_made_again(cache_dir, monkeypatch):
    monkeypatch.setattr("ragged.tc.kernel.TcKernel.entry", lambda self: b"nothing of the kind")
    for _ in range(2):
        assert same(tc.define(TEXT).image(*CALLS["image"]), LIB.image(*CALLS["image"]))


def test_digests_of_options_tell_parts_of_reductions():
    options = [compiled.TcOptions(split={"s": size}).digest for size in (16, 32)]
    assert len({*options, compiled.TcOptions().digest}) == 3


@pytest.mark.parametrize("how", [copy.deepcopy, pickle.dumps])
def test_a_function_is_not_pickled(how):
    with pytest.raises(UserError, match="total cannot be pickled or copied"):
        how(LIB.total)
