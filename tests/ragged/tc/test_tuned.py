"""Tuning functions of texts: what names their results, where they are kept and how they are shared."""

import numpy as np
import pytest

from ragged import tc
from ragged.errors import UserError
from ragged.tc.tuned import record_key
from ragged.tuning import contest, read_records
from ragged.tuning.subject import RaggedSubject

TMM = "def tmm(float(M,K) A, float(N,K) B) -> (C) { C(m,n) +=! A(m,k) * B(n,k) }"
SPACE = {"tile": [(2, 1), (4, 1)]}
RNG = np.random.default_rng(0)
A, B = (RNG.standard_normal(shape, np.float32) for shape in ((9, 5), (7, 5)))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    for name in ("RAGGED_CACHE_DIR", "CORTEX_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))


@pytest.fixture
def pretended(monkeypatch):
    """Tiles of two rows take half the time."""
    compiled = RaggedSubject.compile

    def pretend(subject, options):
        kernel = compiled(subject, options)
        time = 500.0 if options.tile is not None and options.tile[0] == 2 else 1000.0
        return contest.TunedKernel(options, kernel.loops, kernel.answers, lambda: [time])

    monkeypatch.setattr(RaggedSubject, "compile", pretend)


def key(text, fixed=None, bound=(), sizes=(1, 2, 3), threads=2, split=None):
    (function,) = tc.define(text)._functions.values()
    return record_key(function._function, fixed or {}, bound, split or {}, str(sizes), threads, {})


def test_texts_that_differ_in_names_have_one_key():
    same = "def f(float(R,Q) in1, float32(S,Q) e5) -> (out) { out(i,j) +=! in1(i,q)*e5(j,q) }  # a comment"
    assert key(TMM) == key(same)
    for other in (
        TMM.replace("float(M,K)", "double(M,K)").replace("float(N,K)", "double(N,K)"),
        TMM.replace("B(n,k)", "B(n,K - 1 - k)"),
        TMM.replace("+=!", "max=!"),
        TMM.replace("A(m,k) *", "1e-5 * A(m,k) *"),
        TMM.replace("float(N,K)", "float(M,K)"),
        TMM.replace("(C)", "(double C)"),
    ):
        assert key(other) != key(TMM)


def test_a_called_function_is_part_of_the_key():
    def calling(factor):
        inner = f"def inner(float(N) x) -> (y) {{ y(i) = {factor} * x(i) }}"
        lib = tc.define(f"{inner} def f(float(N) x) -> (z) {{ y = inner(x) z(i) = y(i) + x(i) }}")
        return record_key(lib.f._function, {}, (), {}, "", 1, {})

    assert calling(2) == calling(2) != calling(3)


def test_fixed_sizes_bound_arguments_shapes_and_threads_are_part_of_the_key():
    keys = [key(TMM), key(TMM, {"K": 5}), key(TMM, {"M": 5}), key(TMM, bound=("B",)), key(TMM, threads=1)]
    keys.append(key(TMM, sizes=(1, 2, 4)))
    assert len(set(keys)) == len(keys)
    assert len({key(TMM, split=each) for each in ({}, {"C": 8}, {"C": 16})}) == 3


def test_tiles_of_products_of_two_inputs_are_searched_and_known_results_shared(pretended, tmp_path):
    found = tc.define(TMM).tmm.tune(A, B, seconds=60, strategy="grid", space=SPACE)
    assert found.best.tile == (2, 1) and found.gain == pytest.approx(2.0)
    exported = tmp_path / "shared.jsonl"
    count = tc.export_tuned(exported)
    assert count == len(read_records(exported)) == len(read_records(tmp_path / "cache" / "tuned.jsonl"))
    # With other names and an empty cache, a search begins with the best: nothing else is timed.
    (tmp_path / "cache" / "tuned.jsonl").unlink()
    assert tc.import_tuned(exported) == count and tc.import_tuned(exported) == 0
    other = tc.define(TMM.replace("A(", "x(").replace(" A,", " x,").replace("tmm", "f")).f
    again = other.tune(A, B, seconds=0, space=SPACE)
    assert again.best == found.best and len(again.timed) == 2
    np.testing.assert_allclose(other(A, B), A @ B.T, rtol=1e-5, atol=1e-5)
    with pytest.raises(FileNotFoundError):
        tc.import_tuned(tmp_path / "nothing.jsonl")


def test_without_a_cache_nothing_is_shared(monkeypatch, tmp_path):
    for name in ("RAGGED_CACHE_DIR", "CORTEX_CACHE_DIR"):
        monkeypatch.setenv(name, "")
    for share in (tc.export_tuned, tc.import_tuned):
        with pytest.raises(UserError, match="there is no cache"):
            share(tmp_path / "x.jsonl")


def test_a_function_is_tuned_with_its_other_options(pretended):
    f = tc.define(TMM).tmm.compile(parameters={"B": B}, precision="bf16")
    best = f.tune(A, seconds=20, space=SPACE, strategy="grid").best
    assert best.tile == (2, 1) and f._options.compile == {"precision": "bf16", "options": best}
    plain = tc.define(TMM).tmm.compile(parameters={"B": B})
    assert not np.array_equal(f(A), plain(A))
    options = ({}, {"precision": "bf16"})
    keys = {record_key(f._function, {}, ("B",), {}, "9", 2, more) for more in options}
    assert len(keys) == 2


@pytest.mark.parametrize("options", [{"schedule": None}, {"target": "llvm -mcpu=haswell"}])
def test_what_has_no_options_for_this_machine_is_not_tuned(options):
    f = tc.define(TMM).tmm.compile(**options)
    with pytest.raises(
        UserError, match="tmm is compiled for another target, or without the default schedule"
    ):
        f.tune(A, B, seconds=1)
    assert f._options.compile == options


def test_ragged_functions_are_tuned_for_the_lengths_of_a_call(pretended, tmp_path):
    text = "def total(int32(B) n, float(B,T,C) x) -> (y) { y(k,c) +=! x(k,i,c) where i in 0:n(k) }"
    f, x = tc.define(text).total, RNG.standard_normal((2, 4, 3), np.float32)
    lengths = np.array([3, 1], np.int32)
    expected = f(lengths, x)
    np.testing.assert_allclose(expected, [x[0, :3].sum(0), x[1, :1].sum(0)], rtol=1e-6)
    space = {"row_vectors": [4]}
    for given, points in ((lengths, 2), ([3, 1], 2), ([1, 3], 4)):  # equal lengths have equal records
        assert f.tune(given, x, seconds=0, space=space, strategy="grid").best
        f.tune(given, x, seconds=60, space=space, strategy="grid")
        assert len(read_records(tmp_path / "cache" / "tuned.jsonl")) == points
    np.testing.assert_array_equal(f(lengths, x), expected)
    with pytest.raises(tc.TcError, match="total is not given 'x'"):
        f.tune(lengths, seconds=0)
