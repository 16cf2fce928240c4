"""Calls: arrays in, the same kind out; sizes, scalars, several outputs, and what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import ragged
from ragged import tc
from ragged.errors import DataError, UserError

TEXT = """
def mlp1(float(B,M) I, float(N,M) W, float(N) b) -> (O) {
  O(i,n) +=! I(i,m) * W(n,m)
  O(i,n)  = fmax(O(i,n) + b(n), 0)
}
def shifted(float(N) x) -> (y, s) { y(i) = 2 * x(i - 1) s +=! x(i) }
def sgemm(float a, float b, float(N,M) A, float(M,K) B) -> (C) {
  C(i,j) = b * C(i,j)
  C(i,j) += a * A(i,k) * B(k,j)
}
def lookup(float(E,D) T, int32(B,L) I) -> (O) { O(i,j) +=! T(I(i,k), j) }
def later(int s, float(N) x) -> (y) { y(i) = x(i + s) where i in 0:N - s }
def twice(float(N,N) a) -> (b) { t(i,j) = 2 * a(i,j) t(i,j) = t(j,i) b(i,j) = t(i,j) - a(i,j) }
def layers(float(B,M) x, float(N,M) W, float(N) v, float(P,N) U, float(P) u) -> (h, o) {
  h = mlp1(x, W, v)
  o = mlp1(h, U, u)
}
"""
DEFINED = tc.define(TEXT)
# As written, but for one: compiling what the default schedule makes of products takes longer than all else here.
LIB = SimpleNamespace(
    **{name: DEFINED[name].compile(schedule=None) for name in DEFINED.functions if name != "later"},
    later=DEFINED.later,
)


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


X, W, b = floats(5, 7), floats(3, 7, seed=1), floats(3, seed=2)
RELU = np.maximum(X @ W.T + b, 0)


def test_the_functions_of_a_text_in_order():
    assert DEFINED.functions == ("mlp1", "shifted", "sgemm", "lookup", "later", "twice", "layers")
    assert DEFINED["mlp1"] is DEFINED.mlp1 and "mlp1" in dir(DEFINED)
    with pytest.raises(AttributeError, match="no function 'mlp2': the text defines mlp1"):
        DEFINED.mlp2  # noqa: B018


def test_infer():
    assert LIB.mlp1.infer(I=(128, 2000), W=(128, 2000), b=(128,)) == {"O": ((0, 128), (0, 128))}
    assert LIB.shifted.infer(x=(4,)) == {"y": ((1, 4),), "s": ()}
    assert LIB.later.infer(s=3, x=(10,)) == {"y": ((0, 7),)}


def test_by_position_by_name_and_into_an_array():
    out = np.empty((5, 3), np.float32)
    given = LIB.mlp1(X, W, b)
    assert type(given) is np.ndarray and given.dtype == np.float32
    np.testing.assert_allclose(given, RELU, rtol=1e-5, atol=1e-6)
    assert LIB.mlp1(X, b=b, W=W, out=out) is out
    np.testing.assert_array_equal(out, given)
    np.testing.assert_allclose(LIB.mlp1(X[:0], W, b), RELU[:0])
    np.testing.assert_allclose(LIB.mlp1(X[:, :0], W[:, :0], b), np.maximum(np.broadcast_to(b, (5, 3)), 0))


def test_a_call_that_went_well_vouches_for_its_shapes_alone():
    for rows in (5, 5, 4):
        np.testing.assert_allclose(LIB.mlp1(X[:rows], W, b), RELU[:rows], rtol=1e-5, atol=1e-6)
    with pytest.raises(tc.TcError, match="of float64, not float32"):
        LIB.mlp1(X.astype(np.float64), W, b)
    with pytest.raises(tc.TcError, match="with 4 in dimension 0"):
        LIB.mlp1(X, W, np.zeros(4, np.float32))


def test_strided_arrays_are_read_as_they_are_indexed():
    wide = floats(7, 10)
    np.testing.assert_array_equal(LIB.mlp1(wide[:, ::2].T, W, b), LIB.mlp1(wide[:, ::2].T.copy(), W, b))


def test_tensors_of_torch():
    given = LIB.mlp1(*map(torch.from_numpy, (X, W, b)))
    assert isinstance(given, torch.Tensor)
    np.testing.assert_allclose(given.numpy(), RELU, rtol=1e-5, atol=1e-6)


def test_tensors_of_which_signs_are_changed_when_they_are_read():
    negated = torch.tensor([1 + 2j, 3 + 4j]).conj().imag
    assert negated.is_neg()
    double = tc.define("def f(float(N) x) -> (y) { y(i) = 2 * x(i) }").f
    for _ in range(3):  # calls that are known, too
        np.testing.assert_array_equal(double(negated), [-4, -8])
    np.testing.assert_array_equal(ragged.array([negated])[0], [-2, -4])


def test_several_outputs_and_lower_bounds():
    found = LIB.shifted(b)
    assert list(found) == ["y", "s"] and found["y"].lower == (1,) and not hasattr(found["s"], "lower")
    np.testing.assert_allclose(found["y"], 2 * b)
    np.testing.assert_allclose(found["s"], b.sum(), rtol=1e-6)
    assert LIB.shifted(torch.from_numpy(b))["y"].lower == (1,)
    outs = {"y": np.empty(3, np.float32)}
    assert LIB.shifted(b, out=outs)["y"] is outs["y"]


def test_an_output_that_is_read_first():
    A, B, C = floats(3, 4), floats(4, 5), floats(3, 5)
    want = 0.5 * C + 2 * A @ B
    out = C.copy()
    assert LIB.sgemm(2, 0.5, A, B, out=out) is out
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)
    with pytest.raises(tc.TcError, match="'C' is read before it is written") as caught:
        LIB.sgemm(2, 0.5, A, B)
    assert caught.value.phase == "check" and caught.value.line == 8


def test_reading_goes_before_writing():
    a = floats(4, 4)
    np.testing.assert_allclose(LIB.twice(a), 2 * a.T - a, rtol=1e-6)


def test_calls_of_other_functions():
    U, u = floats(2, 3), floats(2)
    found = LIB.layers(X, W, b, U, u)
    np.testing.assert_allclose(found["h"], RELU, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["o"], np.maximum(RELU @ U.T + u, 0), rtol=1e-5, atol=1e-5)


STARTED = """
def add(float a, float(N) x) -> (y) { y(i) = y(i) * a + x(i) }
def sums(float(N) x) -> (s, n) { s += x(i) n = 1 }
def again(float(N) x) -> (y) { y(i) = x(i) y = add(2.0, x) y = add(3.0, x) }
def given(float(N) x) -> (y) { y = add(2.0, x) }
def nested(float(N) x) -> (z) { t(i) = x(i) + 1 t = given(x) z(i) = t(i) }
def both(float(N) x) -> (s, n) { s = 10.0 n = 7 s, n = sums(x) s, n = sums(x) }
"""


def test_an_output_that_a_called_function_reads_first_starts_from_the_target():
    lib, x = tc.define(STARTED), floats(6)
    np.testing.assert_array_equal(lib.again(x), (x * 2 + x) * 3 + x)
    np.testing.assert_array_equal(lib.given(x, out=np.ones(6, np.float32)), 2 + x)
    np.testing.assert_array_equal(lib.nested(x), (x + 1) * 2 + x)
    with pytest.raises(UserError, match="'y' is read before it is written"):
        lib.given(x)
    found = lib.both(x)
    np.testing.assert_allclose(found["s"], 10 + 2 * x.sum(), rtol=1e-6)
    assert found["n"] == 1  # what it writes first starts from nothing
    np.testing.assert_allclose(lib.again.gradient(["x"])(x, np.ones_like(x)), np.full(6, 10), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["double", "int32", "float16"])
def test_a_target_that_a_call_starts_from_has_the_type_of_the_output(dtype):
    text = "def step({0}(N) x) -> (y) {{ y(i) += x(i) }} def f({0}(N) x) -> (w) {{ w = step(x) }}"
    x = np.arange(5).astype({"double": np.float64}.get(dtype, dtype))
    out = np.ones_like(x)
    assert tc.define(text.format(dtype)).f(x, out=out) is out
    np.testing.assert_array_equal(out, x + 1)


def test_integer_scalars_in_ranges():
    np.testing.assert_array_equal(LIB.later(2, b), b[2:])
    np.testing.assert_array_equal(LIB.later(np.int32(1), b), b[1:])
    with pytest.raises(tc.TcError, match="is empty") as caught:
        LIB.later(3, b)
    assert caught.value.phase == "range"


def test_a_scalar_of_zero_leaves_the_ranges_empty_that_it_stands_in():
    """Others are refused, as for any other value of it."""
    text = "def f(int s, float(H) x, float(N) z) -> (y) { y(n) max=! x(m + n) * z(n) + s }"
    for s in (0, 1):
        with pytest.raises(tc.TcError, match=r"the range 0:H - N \+ 1 of the index 'm' .* is empty"):
            tc.define(text).f(s, b, np.ones(len(b) + 1, np.float32))
    lib = tc.define("def f(int s, float(N) x) -> (y) { y(n) +=! x(n) * x(i) where i in 0:s }")
    np.testing.assert_array_equal(lib.f(0, b), 0 * b)


def test_integer_scalars_may_be_negative():
    text = "def f(int s, float(N) x) -> (y, z) { y(i) = x(i) + s z(i) = x(i + s) where i in 0 - s:N - s }"
    found = tc.define(text).f.compile(schedule=None)(-2, b)
    np.testing.assert_array_equal(found["y"], b - 2)
    np.testing.assert_array_equal(found["z"], b)
    assert found["z"].lower == (2,)


def test_data_out_of_range_is_named():
    T, at = floats(6, 3), np.array([[0, 5], [2, 9]], np.int32)
    named = r"index 9 of dimension 0 of 'T' is outside \[0, 6\): 'I'\[1, 1\] is 9"
    with pytest.raises(DataError, match=named):
        LIB.lookup(T, at)
    at[1, 1] = 1
    np.testing.assert_allclose(LIB.lookup(T, at), T[at].sum(1), rtol=1e-6)


@pytest.mark.parametrize("text", ["s +=! x(i) * x(i)  y = sqrt(s)", "y +=! x(i) * x(i)  y = sqrt(y)"])
@pytest.mark.parametrize("options", [{}, {"schedule": None}], ids=["scheduled", "as written"])
def test_a_number_that_a_number_reads(text, options):
    norm = tc.define(f"def norm(float(N) x) -> (y) {{ {text} }}").norm.compile(**options)
    assert norm(np.array([3, 4], np.float32)) == 5.0
    np.testing.assert_allclose(
        norm.gradient()(np.array([3, 4], np.float32), np.float32(10)), [6, 8], rtol=1e-6
    )


def test_an_extent_that_another_array_gives():
    lib = tc.define(
        "def f(float(T,2 * D) x, float(T,D) c) -> (y) { y(t,k) = x(t,k) * c(t,k / 2) where k in 0:2 * D }"
    )
    x, c = np.arange(12, dtype=np.float32).reshape(2, 6), np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(lib.f(x, c), x * np.repeat(c, 2, axis=1))
    with pytest.raises(
        tc.TcError, match=r"'x' with 5 in dimension 1\n  because: it is declared as 2 \* D, which is 6"
    ):
        lib.f(x[:, :5], c)


def test_compile_fixes_sizes_and_binds_arguments():
    fast = LIB.mlp1.compile(sizes={"B": 5}, parameters={"W": W, "b": b}, schedule=None)
    np.testing.assert_allclose(fast(X), RELU, rtol=1e-5, atol=1e-6)
    assert fast.infer(I=(5, 7)) == {"O": ((0, 5), (0, 3))}
    with pytest.raises(tc.TcError, match="is compiled for B = 5, and is called with 4"):
        fast(X[:4])
    with pytest.raises(tc.TcError, match="has no size 'Z'"):
        LIB.mlp1.compile(sizes={"Z": 1})
    with pytest.raises(tc.TcError, match="is given 'W' with 1 dimensions, and it has 2"):
        LIB.mlp1.compile(parameters={"W": W[0]})
    for given in (5, "B", [5]):
        for what in ("sizes", "parameters", "split_reductions"):
            with pytest.raises(tc.TcError, match=f"has {what} by name, and is given"):
                LIB.mlp1.compile(**{what: given})
    for size in (2.5, "5", True):
        with pytest.raises(tc.TcError, match=f"is given B = {size!r}, and it is an integer"):
            LIB.mlp1.compile(sizes={"B": size})
    with pytest.raises(tc.TcError, match="fix: sizes for which it has values"):
        tc.define("def pool(float(T) x) -> (y) { y(t) max=! x(t + q) where q in 0:5 }").pool(
            np.ones(3, np.float32)
        )
    with pytest.raises(tc.TcError, match=r"is given B = -1, and a size is from 0 to 2\^60"):
        LIB.mlp1.compile(sizes={"B": -1})


def test_show():
    assert LIB.mlp1.show("tc") == str(LIB.mlp1) and LIB.mlp1.show("tc").startswith("def mlp1(float(B,M) I")
    assert LIB.lookup.show("checks").splitlines()[0] == (
        "4 accesses: 3 proven, 0 checked once a call, 1 checked for each element"
    )
    assert "with kernel:" in LIB.mlp1.show("loops")
    assert LIB.lookup.show("tree").startswith('domain: "[')
    with pytest.raises(UserError, match="no stage is called 'ptx'"):
        LIB.mlp1.show("ptx")


@pytest.mark.parametrize(
    ("args", "given", "what"),
    [
        ((X, W), {}, "mlp1 is not given 'b'"),
        ((X, W, b, b), {}, "mlp1 takes 3 arguments and is given 4"),
        ((X, W, b), {"b": b}, "mlp1 is given 'b' twice"),
        ((X, W), {"c": b}, "mlp1 has no parameter 'c'"),
        ((X, W, b[0]), {}, "mlp1 is given 'b' with 0 dimensions, and it has 1"),
        ((X, W[:, :6], b), {}, "mlp1 is given 'W' with 6 in dimension 1"),
        ((X, W.astype(np.float64), b), {}, "mlp1 is given 'W' of float64, not float32"),
        ((X, W, "b"), {}, "mlp1 is given 'b' of type str, and an array is needed"),
        (
            (X, W, b),
            {"out": np.empty((5, 4), np.float32)},
            "mlp1 is given out= for 'O' of float32[5, 4], and it is float32[5, 3]",
        ),
        ((X, W, b), {"out": {"P": X}}, "mlp1 has the outputs O"),
    ],
)
def test_arguments_that_do_not_fit(args, given, what):
    with pytest.raises(tc.TcError) as caught:
        LIB.mlp1(*args, **given)
    assert (caught.value.phase, caught.value.what) == ("call", what)


def test_parameters_may_be_called_self():
    double = tc.define("def double(float(N) self) -> (y) { y(i) = 2 * self(i) }").double
    assert double.infer(self=(4,)) == {"y": ((0, 4),)}
    for found in (double(b), double(b), double(self=b)):
        np.testing.assert_array_equal(found, 2 * b)


class OnlyCopies:
    def __array__(self, dtype=None, copy=None):
        return np.zeros(3, np.float32)


@pytest.mark.parametrize(
    "out",
    [
        np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (3,), (0,)),
        torch.zeros(1).expand(3),
        np.broadcast_to(np.float32(0), (3,)),
        OnlyCopies(),
        torch.empty(3, device="meta"),
        torch.zeros(3, requires_grad=True),
        torch.zeros(3, dtype=torch.bfloat16, requires_grad=True),
    ],
)
def test_results_need_memory_for_each_element(out):
    double = tc.define("def double(float(N) x) -> (y) { y(i) = 2 * x(i) }").double
    with pytest.raises(tc.TcError, match="double is given out= for 'y' that cannot be written"):
        double(b, out=out)


def test_a_number_that_no_float_is():
    scaled = tc.define("def scaled(float a, float(N) x) -> (y) { y(i) = a * x(i) }").scaled
    for _ in range(2):
        np.testing.assert_array_equal(scaled(2, b), 2 * b)
        with pytest.raises(tc.TcError, match="scaled is given 'a' = 1000"):
            scaled(10**400, b)


def test_constant_extents():
    lib = tc.define("def f(float(10) x) -> (y) { y(i) = x(i) }")
    with pytest.raises(tc.TcError, match="f is given 'x' with 9 in dimension 0, not 10") as caught:
        lib.f.infer(x=(9,))
    assert caught.value.phase == "call"


def test_two_functions_of_one_name():
    with pytest.raises(tc.TcError, match="the function 'f' is already defined"):
        tc.define("def f() -> (y) { y = 1 } def f() -> (y) { y = 2 }")


def test_tune_keeps_the_best(tmp_path, monkeypatch):
    monkeypatch.setenv("CORTEX_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RAGGED_CACHE_DIR", str(tmp_path))
    lib = tc.define("def scaled(float(N) x) -> (y) { y(i) = 2 * x(i) }")
    before = lib.scaled(b)
    found = lib.scaled.tune(b, seconds=0.1, strategy="random")
    assert found.timed and list(tmp_path.glob("tuned.jsonl"))
    np.testing.assert_array_equal(lib.scaled(b), before)


def test_tune_takes_what_outputs_start_from(tmp_path, monkeypatch):
    monkeypatch.setenv("CORTEX_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RAGGED_CACHE_DIR", str(tmp_path))
    lib, start = tc.define("def f(float(N) x) -> (y) { y(i) = y(i) * x(i) }"), b.copy()
    with pytest.raises(tc.TcError, match="'y' is read before it is written"):
        lib.f.tune(b, seconds=0)
    assert lib.f.tune(b, out=start, seconds=0).timed
    np.testing.assert_array_equal(start, b)
    np.testing.assert_array_equal(lib.f(b, out=start), b * b)


def test_an_output_that_is_a_parameter_as_well():
    text = "def add(float(N) x, float(N) y) -> (y) { y(i) += 2 * x(i) }"
    add, y = tc.define(text).add.compile(schedule=None), b.copy()
    np.testing.assert_array_equal(add(b, y), 3 * b)
    np.testing.assert_array_equal(y, b)
    assert add(b, y, out=y) is y
    np.testing.assert_array_equal(y, 3 * b)


def test_a_reduction_that_reads_the_output_that_it_starts_from():
    a, y = floats(4, 4), floats(4, seed=1)
    for value, want in (("a(i,j) * y(j)", y + a @ y), ("a(i,j) * y(i)", y + a.sum(1) * y)):
        step = tc.define(f"def step(float(N,N) a) -> (y) {{ y(i) += {value} }}").step.compile(schedule=None)
        out = y.copy()
        np.testing.assert_allclose(step(a, out=out), want, rtol=1e-5, atol=1e-6)
        with pytest.raises(tc.TcError, match="out="):
            step(a)


def test_outputs_have_memory_of_their_own():
    pair = tc.define("def pair(float(N) x) -> (a, b) { a(i) = x(i) b(i) = 2 * x(i) }").pair
    memory = floats(7)
    with pytest.raises(tc.TcError) as refused:
        pair(floats(4), out={"a": memory[:4], "b": memory[3:]})
    assert str(refused.value).splitlines() == [
        "pair is given out= for 'b' that shares memory with out 'a'",
        "  fix: an array for each output",
    ]
    assert (pair(floats(4), out={"a": memory[:4], "b": floats(4)})["a"] == floats(4)).all()


@pytest.mark.parametrize("text", [3, None, b"def", ["def"]])
def test_a_text_is_a_string(text):
    with pytest.raises(UserError) as refused:
        tc.define(text)
    assert str(refused.value).splitlines() == [
        f"define: the text is of type {type(text).__name__}",
        "  fix: a string of definitions",
    ]


def test_no_elements_to_write():
    f = tc.define(
        "def f(float(N,M) w, float(M,D) x) -> (y) { y(i,d) = y(i,d) * 2  y(i,d) += w(i,j) * x(j,d) }"
    ).f
    for n, d in ((0, 5), (3, 0)):
        out = np.zeros((n, d), np.float32)
        assert f(np.zeros((n, 2), np.float32), np.zeros((2, d), np.float32), out=out) is out


def test_sizes_that_no_memory_has_room_for():
    total = tc.define("def total(float(H,W) x) -> (s) { s +=! x(i,j) }").total
    with pytest.raises(tc.TcError, match="H = 9223372036854775808, and a size is from 0 to"):
        total.compile(sizes={"H": 2**63})
    with pytest.raises(
        tc.TcError, match="for sizes with a product of 18446744073709551616, which is no integer"
    ):
        total.compile(sizes={"H": 2**59, "W": 2**5})


@pytest.mark.parametrize("last", ["tanh(C(m,n))", "fmax(C(m,n), 0.0)", "C(m,n) * 0.5"])
def test_products_that_a_later_statement_reads_are_rounded_to_bfloat16(last):
    text = f"def lin(float(M,K) A, float(N,K) B) -> (D) {{ C(m,n) +=! A(m,k) * B(n,k)  D(m,n) = {last} }}"
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal(shape, np.float32) for shape in ((33, 64), (48, 64)))
    lin = tc.define(text).lin
    rounded = (torch.from_numpy(each).bfloat16().float().numpy() for each in (A, B))
    want = lin(*rounded)
    assert not np.allclose(lin(A, B), want, rtol=1e-5, atol=1e-5)
    for sizes in ({}, {"M": 33}):
        found = lin.compile(parameters={"B": B}, precision="bf16", sizes=sizes)(A)
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


def test_conversions_are_said_as_the_argument_s_library_spells_them():
    double = tc.define("def double(float(N) x) -> (y) { y(i) = 2 * x(i) }").double
    for x, fix in ((torch.ones(3).bfloat16(), "to(torch.float32)"), (np.ones(3), "astype('float32')")):
        with pytest.raises(tc.TcError) as caught:
            double(x)
        assert caught.value.fix == fix


def test_an_option_that_compile_does_not_have():
    with pytest.raises(
        TypeError,
        match=r"compile\(\) got an unexpected keyword argument 'foo'; beside its own it takes target",
    ):
        LIB.mlp1.compile(foo=1)
