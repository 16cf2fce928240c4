"""Compiled ragged functions as their callers see them: results, kept tables, threads, listings, profiles."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ragged
from ragged.api.bound_arguments import CACHED_BATCHES
from ragged.codegen.elf import undefined_symbols
from ragged.errors import DataError, ModelError, UserError
from tests.ragged.api.functions import (
    WIDE,
    attended,
    attention,
    bits,
    lengths_by_name,
    params_of,
    rows,
    scaled,
    weights,
)
from tests.support.python_work import calls, opcodes

BATCHES = [rows((3, 0, 5, 1)), rows(()), rows((0, 0)), rows((40,)), rows(tuple(range(30)), seed=4)]


@pytest.fixture(scope="module")
def simple():
    return ragged.compile(scaled(), threads=2)


@pytest.fixture(scope="module")
def several():
    return {
        threads: ragged.compile(attention(), params_of("attention"), threads=threads) for threads in (1, 3)
    }


def test_results(several):
    for x in BATCHES:
        found = several[3](A=x)
        assert list(found) == ["P", "O"] and bits(found) == bits(several[1](A=x))
        for row, p, o in zip(x.rows(), found["P"].rows(), found["O"].rows(), strict=True):
            want = attended(np.asarray(row), weights())
            np.testing.assert_allclose(p, want[0], rtol=1e-5)
            np.testing.assert_allclose(o, want[1], rtol=1e-4, atol=1e-4)


def test_code_for_gpus_is_refused():
    with pytest.raises(UserError) as error:
        ragged.compile(scaled(), target="cuda -arch=sm_90")
    assert str(error.value) == (
        "compile: cannot generate code for 'cuda -arch=sm_90' of this\n"
        "  because: code for GPUs is generated of recursive models' kernels alone\n"
        "  fix: target='cpu'"
    )


def test_results_are_the_callers(simple):
    x = rows()
    first = simple(A=x)
    kept = first.values.copy()
    simple(A=rows(seed=9))
    np.testing.assert_array_equal(first.values, kept)
    first.values[...] = 0
    np.testing.assert_array_equal(simple(A=x).values, kept)


def test_whatever_ragged_arrays_are_made_from(simple):
    x = rows()
    want = bits(simple(A=x))
    assert bits(simple(A=list(x.rows()))) == want
    assert bits(simple(A=[np.asarray(row) for row in x.rows()])) == want


def test_the_same_lengths_share_tables_and_others_do_not(simple):
    for seed in range(5):
        simple(A=rows(seed=seed))
    assert len(simple._preludes._cache) == 1
    simple(A=rows((1, 2)))
    assert len(simple._preludes._cache) == 2
    for k in range(2 * CACHED_BATCHES):
        simple(A=rows((k,)))
    assert len(simple._preludes._cache) == CACHED_BATCHES


def test_lengths_that_come_again_and_again_keep_their_tables(simple):
    simple(A=rows((5, 1)))
    (*_, tables) = simple._preludes._cache.values()
    for k in range(2 * CACHED_BATCHES):
        simple(A=rows((k,)))
        simple(A=rows((5, 1)))
    assert list(simple._preludes._cache.values())[-1] is tables


def test_what_is_refused_once_is_refused_again(simple):
    """What is kept for the same lengths is kept for the same dtypes, paddings and shapes alone."""
    x = rows()
    simple(A=x)
    wrong = {
        r"'A' holds float64, not float32": x.astype(np.float64),
        r"'A' is stored with padding \(1, 4, 1\)": x.with_padding((1, 4, 1)),
        r"'A' has 2 dimensions, not 3": ragged.array([[1.0], [2.0, 3.0]]),
        r"'A' extends 2 in dimension 'wide', not 16": ragged.array([np.zeros((3, 2), np.float32)]),
    }
    for _ in range(2):
        for message, value in wrong.items():
            with pytest.raises(DataError, match=message):
                simple(A=value)
        with pytest.raises(DataError, match="scaled: 'A' is not given"):
            simple()
        with pytest.raises(DataError, match="scaled takes no 'B_'"):
            simple(A=x, B_=3)
        simple(A=x)


def test_sizes_and_lengths_by_name():
    fn = ragged.compile(lengths_by_name(), threads=1)
    x = np.array([2, 3, 5], np.float32)
    want = [[0, 2], [], [0, 5, 10]]
    for m in (np.array([2, 0, 3]), np.array([2, 0, 3], np.uint8), [2, 0, 3]):
        assert fn(x=x, m=m).to_list() == want
    assert fn(x=x, m=[1, 1, 1], B=3).to_list() == [[0], [0], [0]]
    assert fn(x=x[::2], m=[1, 2]).to_list() == [[0], [0, 5]], "strided"
    for m, message in (
        ([2, 0], "squares: 'm' has 2 lengths, and 3 are needed"),
        ([2, 0, 3, 1], "squares: 'm' has 4 lengths, and 3 are needed"),
        ([2, -1, 3], "squares: 'm': the length of row 1 is -1"),
        ([2, 2**31, 3], "2,147,483,648"),
        ([0.5, 1, 1], "integers"),
        ([[1], [2, 3]], "m"),
        ("abc", "'m' is no array of lengths"),
        (None, "'m' is no array of lengths"),
    ):
        with pytest.raises(DataError, match=message):
            fn(x=x, m=m)
    with pytest.raises(DataError, match="'m' is not known"):
        fn(x=x)
    with pytest.raises(DataError, match="'B' is 4, and squares: 'x' has B = 3"):
        fn(x=x, m=[1, 1, 1], B=4)
    with pytest.raises(DataError, match="'B' is -3, and no size is negative"):
        fn(x=x, m=[1, 1, 1], B=-3)
    for size in (True, 3.0, np.array(3), "3", 2**63, -(2**63) - 1, np.uint64(2**63)):
        with pytest.raises(DataError, match="a size is an integer of 64 bits"):
            fn(x=x, m=[1, 1, 1], B=size)


def test_extents_that_are_computed_from_sizes():
    b, c = ragged.dim("b"), ragged.dim("c")
    size = ragged.size("B")
    x = ragged.input_tensor("x", [(b, size)])
    z = ragged.input_tensor("z", [(b, size), (c, size * size // 2)])
    y = ragged.compute("y", z.dims, lambda b, c: x[b] * z[b, c])
    fn = ragged.compile(y, threads=1)
    given = {"x": np.arange(3, dtype=np.float32), "z": np.ones((3, 4), np.float32)}
    np.testing.assert_array_equal(fn(**given), given["x"][:, None] * given["z"])
    with pytest.raises(DataError, match="y: 'z' in dimension 'c' extends 5, not 4"):
        fn(**given | {"z": np.ones((3, 5), np.float32)})
    with pytest.raises(DataError, match="y: 'z' extends 2 in dimension 'b', and y: 'x' has B = 3"):
        fn(**given | {"z": np.ones((2, 4), np.float32)})
    with pytest.raises(DataError, match="'z' has no dimension that varies, and a ragged array is given"):
        fn(**given | {"z": ragged.array([[1.0], [2.0, 3.0]])})


def test_other_parameters(several):
    x = rows()
    fn = several[1].with_params(params_of("attention", seed=5))
    assert fn._parts is several[1]._parts
    want = attended(np.asarray(x[0]), weights(5))[1]
    np.testing.assert_allclose(fn(A=x)["O"][0], want, rtol=1e-4, atol=1e-4)
    with pytest.raises(ModelError, match=r"'W' \(16, 16\) is missing"):
        fn.with_params({})


def test_functions_of_one_code_share_tables(several):
    """As the layers of a stack do: the tables of lengths are filled for the first of them."""
    x, first = rows((2, 9, 4)), several[1]
    second = first.with_params(params_of("attention", seed=5))
    first(A=x)
    filled = []
    second._preludes.compute, compute = filled.append, second._preludes.compute
    try:
        second(A=x)
        assert not filled
    finally:
        second._preludes.compute = compute


def test_calls_from_many_threads(several, simple):
    """Each with other lengths, more of them than are kept."""
    batches = [rows((k, 0, 3 * k), seed=k) for k in range(3 * CACHED_BATCHES)]
    want = [(bits(several[1](A=x)), bits(simple(A=x))) for x in batches]

    def work(seed: int) -> bool:
        order = np.random.default_rng(seed).permutation(len(batches))
        return all((bits(several[3](A=batches[k])), bits(simple(A=batches[k]))) == want[k] for k in order)

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(12)))


@pytest.mark.parametrize("counted", [opcodes, calls])
def test_python_does_not_do_more_for_more_rows(several, simple, counted):
    """Nor for more operators: what a call takes depends on its arguments and results alone."""
    for fn in (simple, several[3]):
        found = set()
        for x in BATCHES:
            fn(A=x)
            found.add(counted(lambda fn=fn, x=x: fn(A=x)))
        assert len(found) == 1, found
        if counted is calls:
            assert max(found) < 45


def test_a_long_call_waits_longer_for_helpers_than_a_short_one(simple):
    def spin_ns(lengths) -> int:
        simple(A=rows(lengths))
        return list(simple._preludes._cache.values())[-1].spin_ns

    assert spin_ns((3, 1)) == 0
    assert 0 < spin_ns((2000,)) < spin_ns((4000, 2000)) <= 1_000_000


@pytest.mark.parametrize("stage", ragged.RaggedFunction.stages)
def test_every_stage_shows(several, stage):
    text = several[3].show(stage)
    assert text.strip()
    expected = {
        "ragged": 'program("attention")',
        "schedule": "s.apply(",
        "tree": 'mark: "team w',
        "loops": "for w in team(workers)",
        "prelude": 'program("attention_work")',
        "tir": "def attention_kernel(",
        "asm": "attention_kernel_compute_:",
        "variants": "no variants",
    }
    assert expected[stage] in text


def test_the_users_steps_come_first():
    s = scaled()
    (b,) = s.outputs
    s.fuse_loops(b.loops[0], b.loops[1])
    shown = ragged.compile(s, threads=2).show("schedule")
    assert shown.startswith(s.log()) and len(shown) > len(s.log()) > 0


def test_unknown_stage(simple):
    with pytest.raises(UserError) as unknown:
        simple.show("ptx")
    assert str(unknown.value) == (
        "show: no stage is called 'ptx'\n  fix: one of ragged, schedule, variants, tree, loops, prelude, tir, asm"
    )


def test_profile(several):
    x = rows((7, 40, 1))
    profile = several[3].profile(repeats=3, A=x)
    squares, total = 49 + 1600 + 1, 48
    tiled = sum(-(-n // 32) * 32 * n for n in (7, 40, 1))
    products = 2 * tiled * WIDE + 2 * total * WIDE * WIDE + 2 * squares * WIDE
    assert profile.flops == products + 2 * squares, "a product with 0.1, and exp"
    stored = [x.values, weights(), *several[3](A=x).values()]
    assert profile.bytes == sum(
        each.nbytes if isinstance(each, np.ndarray) else each.values.nbytes for each in stored
    )
    assert profile.table_bytes >= 4 * 4
    for part in (profile.prelude_us, profile.kernel_us, profile.total_us):
        assert 0 < part.low <= part.median <= part.high
    assert profile.kernel_us.low < profile.total_us.high
    assert [line.split()[0] for line in str(profile).splitlines()] == ["prelude", "kernel", "total"]
    with pytest.raises(DataError):
        several[3].profile(A=x.astype(np.float64))


def test_what_it_says_of_itself(several):
    fn = several[1]
    assert [tensor.name for tensor in fn.signature.inputs] == ["A"]
    assert str(fn.signature) == (
        "(A: float32[batch, len, 16], W: float32[16, 16]) -> P: float32[batch, len, u], O: float32[batch, len, 16]"
    )
    assert repr(fn).startswith("<RaggedFunction attention(A: ") and "for llvm" in repr(fn)
    with pytest.raises(UserError, match="a compiled function cannot be pickled or copied"):
        pickle.dumps(fn)


def test_the_code_is_ours(several):
    symbols = undefined_symbols(several[3]._parts.kernel.code)
    mathematics = {"memset", "memcpy", "usleep"}
    runtime = {
        name for name in symbols if name.startswith(("TVMFFI", "__TVM", "TVMBackend", "_GLOBAL_OFFSET"))
    }
    assert symbols <= mathematics | runtime, symbols - mathematics - runtime


@pytest.mark.parametrize("threads", [0, -2, 2**31, True, 1.5, "two"])
def test_threads_that_are_no_number(threads):
    with pytest.raises(UserError, match="is not a number of workers"):
        ragged.compile(scaled(), threads=threads)


def test_importing_ragged_imports_no_compiler():
    script = "import sys, ragged; print(sorted({'tvm', 'z3', 'torch', 'ragged.api'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "[]\n"


def test_lengths_over_two_dimensions_are_given_by_their_name():
    b, t, u = ragged.dim("b"), ragged.dim("t"), ragged.dim("u")
    n, k = ragged.length_fn("n", over=b), ragged.length_fn("k", over=(b, t))
    X = ragged.input_tensor("X", [(b, ragged.size("B")), (t, n(b))])
    fn = ragged.compile(ragged.compute("Y", [*X.dims, (u, k(b, t))], lambda b, t, u: X[b, t] + u))
    x = ragged.array([[1.0, 2.0], [3.0]])
    assert fn(X=x, k=np.array([2, 0, 1], np.int32)).to_list() == [[[1.0, 2.0], []], [[3.0]]]
    with pytest.raises(DataError, match=r"Y: 'k' is not known(.|\n)*fix: give it by name: Y\(..., k=...\)"):
        fn(X=x)


def test_relu_of_nan_is_nan():
    n = ragged.size("n")
    i = ragged.dim("i")
    X = ragged.input_tensor("X", [(i, n)])
    fn = ragged.compile(ragged.compute("Y", X.dims, lambda i: ragged.relu(X[i])))
    x = np.resize(np.array([np.nan, -1.0, 2.0, np.inf, -np.inf], np.float32), 37)
    np.testing.assert_array_equal(fn(X=x), np.where(x < 0, np.float32(0), x))


@pytest.mark.parametrize("place", ["reduction", "dimension"])
def test_an_extent_that_reads_a_tensor_is_refused(place):
    batch, inner = ragged.dim("batch"), ragged.dim("inner")
    A = ragged.input_tensor("A", [(batch, ragged.size("B")), (ragged.dim("len"), 8)])
    L = ragged.input_tensor("L", A.dims[:1], "int32")
    with pytest.raises(ModelError) as caught:
        if place == "reduction":
            ragged.compute("Y", A.dims[:1], lambda b: ragged.sum(L[b], lambda k: A[b, k]))
        else:
            ragged.compute("Y", [A.dims[0], (inner, L[batch])], lambda b, k: A[b, k])
    said = {"reduction": "ragged.sum", "dimension": "compute 'Y'"}[place]
    what, at, *rest = str(caught.value).splitlines()
    assert what == f"{said}: an extent reads the tensor 'L'" and "test_function.py" in at
    assert rest == [
        "  because: storage and loops are sized before tensors are read",
        "  fix: use a length_fn: the call takes its values as an argument of that name",
    ]


@pytest.mark.parametrize("repeats", [0, -1, 1.5])
def test_a_profile_is_of_one_run_at_least(simple, repeats):
    with pytest.raises(UserError, match="is no number of times"):
        simple.profile(repeats=repeats, A=BATCHES[0])


def test_what_calls_know_by_name_has_a_name_of_its_own():
    r, q = ragged.dim("r"), ragged.dim("q")

    def tensors(declare):
        return declare("A", [(r, ragged.size("T"))]), declare("A", [(q, ragged.size("S"))])

    for declare, what in ((ragged.input_tensor, "inputs"), (ragged.parameter, "parameters")):
        a, other = tensors(declare)
        y = ragged.compute("Y", [*a.dims, *other.dims], lambda i, j, a=a, other=other: a[i] + other[j])
        with pytest.raises(ModelError, match=f"two {what} are called 'A'"):
            ragged.compile(y)
    a, _ = tensors(ragged.input_tensor)
    one, two = (ragged.compute("Y", a.dims, lambda i, k=k: a[i] * k) for k in (2.0, 3.0))
    for outputs in ((one, two), (one, one)):
        with pytest.raises(ModelError, match="two results are called 'Y'"):
            ragged.Schedule(*outputs)
    total = ragged.compute("Y", a.dims, lambda i: one[i] + two[i])  # what is between may have any names
    assert ragged.compile(total)(A=np.ones(2, np.float32)).tolist() == [5.0, 5.0]


def test_indices_are_checked_once_and_not_for_each_column():
    """The loops of a sum over looked-up rows then have columns in vectors, and products of these have tiles."""
    b, t, d, v, o = (ragged.dim(name) for name in "btdvo")
    many, few, width = (ragged.size(name) for name in "BTD")
    table = ragged.input_tensor("table", [(v, ragged.size("V")), (d, width)])
    ids = ragged.input_tensor("ids", [(b, many), (t, few)], "int32")
    first = ragged.input_tensor("first", [(b, many)], "int32")
    w = ragged.input_tensor("w", [(o, width), (d, width)])
    bag = ragged.compute(
        "bag", [(b, many), (d, width)], lambda i, j: ragged.sum(t, lambda k: table[ids[i, k], j])
    )
    linear = ragged.compute(
        "linear", [(b, many), (o, width)], lambda i, j: ragged.sum(d, lambda k: table[first[i], k] * w[j, k])
    )
    random = np.random.default_rng(0)
    rows, weights = (random.standard_normal(shape, np.float32) for shape in ((9, 40), (40, 40)))
    indices = random.integers(0, 9, (6, 3)).astype(np.int32)
    for program, wanted, has in (
        (bag, rows[indices].sum(1), "vectorized"),
        (linear, rows[indices[:, 0]] @ weights.T, "scope=register"),
    ):
        function = ragged.compile(program)
        prelude, kernel = function.show("loops").split("with kernel:")
        assert "check(" in prelude and "check(" not in kernel and has in kernel
        given = {"table": rows, "ids": indices, "first": indices[:, 0].copy(), "w": weights}
        given = {
            name: given[name] for name in (("table", "ids") if program is bag else ("table", "first", "w"))
        }
        np.testing.assert_allclose(function(**given), wanted, rtol=1e-5, atol=1e-5)
        wrong = {
            name: np.where(each == each.max(), 9, each).astype(each.dtype) for name, each in given.items()
        }
        given |= {name: each for name, each in wrong.items() if each.dtype == np.int32}
        with pytest.raises(DataError, match="'table' is outside"):
            function(**given)
