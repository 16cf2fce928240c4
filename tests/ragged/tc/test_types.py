"""Every type: stored in its width, computed in int64, float32 or float64, and wrapped or rounded when stored."""

import math
import re

import ml_dtypes
import numpy as np
import pytest

from ragged import tc
from ragged.errors import DataError

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2}
TEXT = """def f({0}(N,M) a, {0} s) -> (copy, total, product, top, low, chosen, third) {{
  copy(i,j) = a(i,j)
  total(i) +=! a(i,j)
  product(i) *=! a(i,j)
  top(i) max=! a(i,j)
  low(i) min=! a(i,j)
  chosen(i,j) = a(i,j) < s ? a(i,j) : s
  third(i,j) = a(i,j) / s
}}"""


@pytest.mark.parametrize("name", INTEGERS + FLOATS)
def test_a_type(name):
    dtype = np.dtype(name)
    rng = np.random.default_rng(0)
    a = rng.integers(0 if name[0] == "u" else -100, 100, (3, 4)).astype(dtype)
    a = a / dtype.type(40) if name in FLOATS else a
    s = dtype.type(7)
    found = tc.define(TEXT.format(name)).f.compile(schedule=None)(a, s)
    wanted = {
        "copy": a,
        "total": a.sum(1, dtype=dtype),
        "product": a.prod(1, dtype=dtype),
        "top": a.max(1),
        "low": a.min(1),
        "chosen": np.minimum(a, s),
        "third": a // s if name in INTEGERS else a / s,
    }
    for key, value in wanted.items():
        assert found[key].dtype == dtype
        if name in INTEGERS:
            np.testing.assert_array_equal(found[key], value, err_msg=key)
        else:
            ours, theirs = (each.astype(np.float64) for each in (found[key], value))
            np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE.get(name, 1e-5), err_msg=key)


def test_truth_values_and_casts():
    text = """def f(bool(N) p, float(N) x) -> (q, n, w) {
      q(i) = !p(i) || x(i) > 0
      n +=! int32(p(i) ? 1 : 0)
      w(i) = uint8(int32(300 * x(i)))
    }"""
    p, x = np.array([True, False, True, False]), np.array([-1, -0.5, 2, 0.25], np.float32)
    found = tc.define(text).f.compile(schedule=None)(p, x)
    assert found["q"].dtype == bool and found["q"].tolist() == [False, True, True, True]
    assert found["n"] == 2 and found["n"].dtype == np.int32
    assert found["w"].tolist() == np.array([-300, -150, 600, 75]).astype(np.uint8).tolist()


FUNCTIONS = {
    "exp(x)": lambda x, y: np.exp(x),
    "exp2(x)": lambda x, y: np.exp2(x),
    "expm1(x)": lambda x, y: np.expm1(x),
    "log(y)": lambda x, y: np.log(y),
    "log2(y)": lambda x, y: np.log2(y),
    "log10(y)": lambda x, y: np.log10(y),
    "log1p(y)": lambda x, y: np.log1p(y),
    "sqrt(y)": lambda x, y: np.sqrt(y),
    "rsqrt(y)": lambda x, y: 1 / np.sqrt(y),
    "sin(x)": lambda x, y: np.sin(x),
    "cos(x)": lambda x, y: np.cos(x),
    "tan(x)": lambda x, y: np.tan(x),
    "sinh(x)": lambda x, y: np.sinh(x),
    "cosh(x)": lambda x, y: np.cosh(x),
    "tanh(x)": lambda x, y: np.tanh(x),
    "sigmoid(x)": lambda x, y: 1 / (1 + np.exp(-x)),
    "fabs(x)": lambda x, y: np.abs(x),
    "floor(x)": lambda x, y: np.floor(x),
    "ceil(x)": lambda x, y: np.ceil(x),
    "trunc(x)": lambda x, y: np.trunc(x),
    "round(x)": lambda x, y: np.sign(x) * np.floor(np.abs(x) + 0.5),
    "relu(x)": lambda x, y: np.maximum(x, 0),
    "fmaxf(x, 1)": lambda x, y: np.maximum(x, 1),
    "fmin(x, 1)": lambda x, y: np.minimum(x, 1),
    "fdim(x, 1)": lambda x, y: np.maximum(x - 1, 0),
    "fma(x, y, 2)": lambda x, y: x * y + 2,
    "pow(x, 3)": lambda x, y: x**3,
    "pow(x, -2)": lambda x, y: x**-2.0,
    "pow(y, x)": lambda x, y: y**x,
    "exp10(x)": lambda x, y: 10.0**x,
    "hypot(x, y)": lambda x, y: np.hypot(x, y),
    "fmod(x, y)": lambda x, y: np.fmod(x, y),
}


def test_functions_of_numbers():
    x = np.array([-2.6, -1.5, -0.25, -1e-4, 0.125, 0.5, 1.75, 3.0], np.float32)
    y = np.array([0.1, 0.5, 1.0, 2.0, 3.5, 4.0, 7.0, 10.0], np.float32)
    outputs = [f"r{k}" for k in range(len(FUNCTIONS))]
    statements = [
        f"{out}(i) = {text} where x = a(i), y = b(i)" for out, text in zip(outputs, FUNCTIONS, strict=True)
    ]
    text = f"def f(float(N) a, float(N) b) -> ({', '.join(outputs)}) {{ {' '.join(statements)} }}"
    found = tc.define(text).f.compile(schedule=None)(x, y)
    for out, (text, function) in zip(outputs, FUNCTIONS.items(), strict=True):
        wanted = function(x.astype(np.float64), y.astype(np.float64))
        np.testing.assert_allclose(found[out], wanted, rtol=2e-5, atol=1e-6, err_msg=text)


def test_what_overflows_on_the_way_is_no_infinity():
    x = np.array([0, 3e30, 2e-30, 5, -np.inf, np.inf, np.nan, 0], np.float32)
    y = np.array([0, -4e30, 1e-30, -12, np.inf, 1, 0, np.nan], np.float32)
    f = tc.define("def f(float(N) x, float(N) y) -> (z) { z(i) = hypot(x(i), y(i)) }").f
    np.testing.assert_allclose(f(x, y), np.hypot(x, y), rtol=1e-6)
    x = np.array([89, -89, 88.75, 90, -100, np.inf, np.nan, 1e-20, -0.0], np.float32)
    text = "def f(float(N) x) -> (s, c) { s(i) = sinh(x(i))  c(i) = cosh(x(i)) }"
    found = tc.define(text).f(x)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(found["s"], np.sinh(x.astype(np.float64)).astype(np.float32), rtol=2e-6)
        np.testing.assert_allclose(found["c"], np.cosh(x.astype(np.float64)).astype(np.float32), rtol=2e-6)


@pytest.mark.parametrize("name", ["float", "double"])
def test_the_complement_of_the_error_function_has_digits_far_out(name):
    x = np.linspace(-3, 9, 201, dtype=np.float32 if name == "float" else np.float64)
    found = tc.define(f"def f({name}(N) x) -> (y) {{ y(i) = erfc(x(i)) }}").f(x)
    np.testing.assert_allclose(
        found, [math.erfc(each) for each in x], rtol=1e-6 if name == "float" else 1e-14
    )


def test_gradients_of_functions_made_of_others():
    x, y = (np.random.default_rng(seed).uniform(-3, 3, 50).astype(np.float32) for seed in (0, 1))
    y[:3] = x[:3]
    f = tc.define("def f(float(N) x, float(N) y) -> (z) { z(i) = hypot(x(i), y(i)) * sinh(x(i)) }").f
    found = f.gradient()(x, y, np.ones(50, np.float32))
    h, s = np.hypot(x, y), np.sinh(x)
    np.testing.assert_allclose(found["d_x"], x / h * s + h * np.cosh(x), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found["d_y"], y / h * s, rtol=1e-5, atol=1e-5)


def test_round_is_exact():
    x = np.array([0.49999997, -0.49999997, 0.5, -2.5, 8388607.5, 8388609, -16777215], np.float32)
    f = tc.define("def f(float(N) x) -> (y) { y(i) = round(x(i)) }").f
    assert f(x).tolist() == [0, 0, 1, -3, 8388608, 8388609, -16777215]


@pytest.mark.parametrize("name", ["float", "double"])
def test_remainders_are_exact(name):
    dtype = np.float32 if name == "float" else np.float64
    x = np.array([1, -1, 2.4, 1e8, 1e10, 3, -7.5, -7.5, 0, -0.0, np.inf, np.nan, 1, 2], dtype)
    y = np.array([0.1, 0.1, 0.8, 3.3, 7.7, np.inf, 2.5, -0.3, 3, 3, 2, 1, 0, np.nan], dtype)
    drawn = np.random.default_rng(0).uniform(-100, 100, (2, 1000)).astype(dtype)
    f = tc.define(f"def f({name}(N) x, {name}(N) y) -> (z) {{ z(i) = fmod(x(i), y(i)) }}").f
    for left, right in ((x, y), drawn, (drawn[0], drawn[1] / 64)):
        with np.errstate(invalid="ignore"):
            want = np.fmod(left, right)
        found = f(left, right)
        np.testing.assert_array_equal(found, want)
        np.testing.assert_array_equal(np.signbit(found[want == 0]), np.signbit(want[want == 0]))


@pytest.mark.parametrize(
    ("type_", "value"), [("uint8", 300), ("uint8", -3), ("int", 2**31), ("int16", -(2**15) - 1)]
)
def test_a_scalar_that_its_type_cannot_hold(type_, value):
    f = tc.define(f"def f({type_} k, float(N) x) -> (y) {{ y(i) = x(i) * k }}").f
    for call in (lambda: f(value, np.ones(1, np.float32)), lambda: f.compile(sizes={"k": value})):
        with pytest.raises(tc.TcError, match=f"is given 'k' = {value}, and it is of type"):
            call()


def test_a_power_of_a_negative_number():
    f = tc.define("def f(float(N) x, float(N) y) -> (z) { z(i) = pow(x(i), y(i)) }").f.compile(schedule=None)
    x, y = np.array([-2, -2, -2, 0, 0], np.float32), np.array([2, 3, 0.5, 0, 2], np.float32)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(f(x, y), x**y, rtol=1e-6)


@pytest.mark.parametrize("name", INTEGERS[:-1])
def test_the_least_and_the_largest_of_nothing(name):
    low, high = np.iinfo(name).min, np.iinfo(name).max
    f = tc.define(f"def f({name}(N,K) x) -> (top, low) {{ top(n) max=! x(n,k) low min=! x(n,k) }}").f
    found = f(np.ones((2, 0), name))
    assert (found["top"].tolist(), found["low"]) == ([low, low], high)


@pytest.mark.parametrize(
    ("number", "dtype", "value"),
    [
        ("2147483647", "int32", 2**31 - 1),
        ("2147483648", "int64", 2**31),
        ("-9223372036854775807", "int64", 1 - 2**63),
        ("int32(int8(300))", "int32", 44),
        ("float(float16(0.1))", "float32", np.float32(np.float16(0.1))),
        ("3.4028235e38", "float32", np.finfo("float32").max),
        ("-1e39", "float32", -np.inf),
        ("double(1e39)", "float64", 1e39),
    ],
)
def test_numbers_in_the_text(number, dtype, value):
    found = tc.define(f"def f(float(N) x) -> (y) {{ y(i) = {number} where i in 0:N }}").f(
        np.ones(1, np.float32)
    )
    assert (found.dtype, found[0]) == (dtype, value)


@pytest.mark.parametrize("number", ["1e39", "-1e999", "9223372036854775807.0"])
def test_numbers_that_no_integer_is(number):
    with pytest.raises(tc.TcError, match=f"{float(number)} is no int32".replace("+", "[+]")):
        tc.define(f"def f() -> (y) {{ y = int32({number}) }}")


@pytest.mark.parametrize("schedule", [None, "default"])
def test_a_tensor_of_which_a_part_is_written_again_keeps_its_type(schedule):
    x = np.array([1.5, 2.5, -3.7], np.float32)

    def call(text, *args):
        return tc.define(text).f.compile(schedule=schedule)(*args)

    for value, first in (("0", 0.0), ("x(i) > 0", 1.0), ("2 * i + 7", 7.0)):
        found = call(f"def f(float(N) x) -> (y) {{ y(i) = x(i) y(i) = {value} where i in 0:1 }}", x)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, [first, *x[1:]])
    text = "def f(int64(N) x, int8(N) z) -> (y) { y(i) = x(i) y(i) = z(i) where i in 1:2 }"
    found = call(text, np.array([2**40, 5, 1000]), np.array([1, 2, 3], np.int8))
    assert found.tolist() == [2**40, 2, 1000]
    text = "def f(float(N) x) -> (y) { t(i) = x(i) t(i) = 1 where i in 0:1 y(i) = 2 * t(i) }"
    np.testing.assert_array_equal(call(text, x), [2, *(2 * x[1:])])


LARGE = [2**63 - 1, 2**62, -(2**63), 2**31, -(2**31) - 1]
BEYOND = r"is -?\d.*, and indices are below 2 \*\* 62|is outside \[0, "


@pytest.mark.parametrize(
    "index", ["z(i) * 2", "z(i) + 1", "2 - z(i)", "z(i) * z(i)", "min(z(i), N) + 4", "-z(i)"]
)
def test_no_index_exceeds_64_bits(index):
    """Arithmetic on data may: proofs compute with integers of any size, and LLVM takes it that none overflows."""
    function = tc.define(f"def f(int8(N) x, int64(M) z) -> (y) {{ y(i) = x({index}) }}").f
    x, some = np.arange(9, dtype=np.int8), np.array([0] if index == "-z(i)" else [1, 2])
    for large in LARGE:
        with pytest.raises(DataError, match=BEYOND):
            function(x, np.array([0, large]))
    narrow = tc.define(f"def f(int8(N) x, int32(M) z) -> (y) {{ y(i) = x({index}) }}").f
    assert function(x, some).tolist() == narrow(x, some.astype(np.int32)).tolist()


@pytest.mark.parametrize(
    ("index", "inputs"),
    [
        ("a(i) * a(i) * a(i) * a(i)", {"a": np.full(2, 2**16, np.int32)}),
        ("a(i) * a(i)", {"a": np.full(2, 2**32 - 1, np.uint32)}),
        ("a(i) * 4611686018427387904", {"a": np.full(2, 4, np.int32)}),
        ("a(i) * b(i) * c(i) * d(i) * 65536", {name: np.full(2, 2**12, np.int16) for name in "abcd"}),
    ],
)
def test_products_of_narrow_numbers_wrap_to_no_index(index, inputs):
    """Each is a multiple of 2 ** 64, or close to one."""
    types = ", ".join(f"{array.dtype.name}(M) {name}" for name, array in inputs.items())
    function = tc.define(f"def f(int8(N) x, {types}) -> (y) {{ y(i) = x({index}) }}").f
    with pytest.raises(DataError, match=BEYOND):
        function(np.arange(9, dtype=np.int8), *inputs.values())


@pytest.mark.parametrize(
    "index", ["z(i) % N", "z(i) / (N * 1000000)", "(key(i) == 5 ? z(i) : 0) % 9 + 0", "z(i) % 8 + 1"]
)
def test_large_numbers_that_are_made_small_are_indices(index):
    function = tc.define(f"def f(int8(N) x, int64(M) z, int64(M) key) -> (y) {{ y(i) = x({index}) }}").f
    x, z, key = np.arange(9, dtype=np.int8), np.array([7_000_000, 2**40, 3]), np.array([2**50, 5, 5])
    z = np.minimum(z, 8_000_000) if "/" in index else z
    where = {
        "z(i) % N": z % 9,
        "z(i) / (N * 1000000)": z // 9_000_000,
        "(key(i) == 5 ? z(i) : 0) % 9 + 0": np.where(key == 5, z, 0) % 9,
        "z(i) % 8 + 1": z % 8 + 1,
    }[index]
    assert function(x, z, key).tolist() == where.tolist()


def test_what_is_read_on_the_way_to_an_index_is_in_bounds_first():
    function = tc.define("def f(int8(N) x, int64(M) z, int32(K) y) -> (o) { o(i) = x(z(y(i)) + 1) }").f
    x, z = np.arange(9, dtype=np.int8), np.array([1, 7])
    assert function(x, z, np.array([1, 0, 1], np.int32)).tolist() == [8, 2, 8]
    for outside in (2, -1, 2**31 - 1):
        with pytest.raises(DataError, match=rf"index {outside} of dimension 0 of 'z' is outside \[0, 2\)"):
            function(x, z, np.array([1, outside], np.int32))


def test_no_condition_that_keeps_an_index_inside_exceeds_64_bits():
    text = "def f(int8(N) x, int64(M) z) -> (y) { y(i) = z(i) >= 0 && z(i) + 1 < N ? x(z(i) + 1) : 7 }"
    x = np.arange(9, dtype=np.int8)
    function = tc.define(text).f
    assert function(x, np.array([5, 8, -(2**63)])).tolist() == [6, 7, 7]
    with pytest.raises(DataError, match=r"'z\[i\] \+ 1' is 9.22.*, and indices are below"):
        function(x, np.array([2**63 - 1]))
    chosen = tc.define("def f(int64(M) z) -> (y) { y(i) = z(i) + 1 < z(i) ? 1 : 0 }").f
    assert chosen(np.array([3])).tolist() == [0]  # of values alone there is no limit


def test_scalars_with_which_an_index_exceeds_64_bits():
    text = "def f(int8(N) x, int64 s) -> (y) { y(i) = s >= 0 && i + s < N ? x(i + s) : 7 where i in 0:4 }"
    function, x = tc.define(text).f, np.arange(9, dtype=np.int8)
    for s, wanted in ((2, [2, 3, 4, 5]), (2**40, [7] * 4), (-(2**63), [7] * 4), (2**63 - 4, [7] * 4)):
        assert function(x, s).tolist() == wanted
    with pytest.raises(
        tc.TcError, match=r"'i \+ s' exceeds 64 bits\n.*\n  because: it is 9223372036854775808"
    ):
        function(x, 2**63 - 3)
    text = "def f(int8(N) x, int64 s, int64 t) -> (y) { y(i) = i*s*t >= 0 && i*s*t < N ? x(i*s*t) : 7 where i in 0:5 }"
    product, most = tc.define(text).f, 2**31 - 1
    assert product(x, 1, 2).tolist() == [0, 2, 4, 6, 8]
    with pytest.raises(tc.TcError, match="exceeds 64 bits"):
        product(x, most, most)
    data = tc.define("def f(int8(N) x, int32(M) z, int64 s) -> (y) { y(i) = x(z(i) * s) }").f
    assert data(x, np.array([1, 2], np.int32), 4).tolist() == [4, 8]
    with pytest.raises(tc.TcError, match="'s' exceeds 32 bits"):
        data(x, np.array([1, 2], np.int32), 2**40)


@pytest.mark.parametrize("name", ["float", "double"])
def test_an_index_that_is_converted_from_a_float(name):
    function = tc.define(f"def f(int8(N) x, {name}(M) z) -> (y) {{ y(i) = x(int64(z(i)) + 1) }}").f
    x, dtype = np.arange(9, dtype=np.int8), {"float": np.float32, "double": np.float64}[name]
    assert function(x, np.array([3.5, -1], dtype)).tolist() == [4, 0]
    for large in (9.2e18, 9.3e18, -1e30, np.nan, np.inf, 2.0**31):
        with pytest.raises(DataError, match=r"'int64\(z\[i\]\) \+ 1' is |is outside"):
            function(x, np.array([1, large], dtype))
    truth = tc.define("def f(int8(N) x, bool(M) z) -> (y) { y(i) = x((z(i) ? 1 : 0) + 1) }").f
    assert truth(x, np.array([True, False])).tolist() == [2, 1]


@pytest.mark.parametrize("name", ["int32", "int64"])
def test_large_numbers_that_are_read_index_large_tensors(name):
    text = f"def f(int8(N) x, {name}(M) z, int8(A,B,C) t) -> (y) {{ y(i) = x(z(i) - A * B * C * 65536 + 2 * i) }}"
    function, dtype = tc.define(text).f, np.dtype(name)
    x, t = np.arange(9, dtype=np.int8), np.zeros((8, 16, 128), np.int8)
    assert function(x, np.array([2**30 + 3, 2**30 + 4], dtype), t).tolist() == [3, 6]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "int8"])
def test_operands_of_products_are_converted_once(name):
    number = "float32" if name == "int8" else ""
    text = f"c(m,n) +=! {number}(a(m,k)) * {number}(b(k,n))"
    f = tc.define(f"def f({name}(M,K) a, {name}(K,N) b) -> (c) {{ {text} }}").f
    loops = f.show("loops")
    assert "a_wide" in loops and "b_wide" in loops and "unrolled" in loops, "register tiles"
    rng, kind = np.random.default_rng(0), ml_dtypes.bfloat16 if name == "bfloat16" else name
    a, b = (rng.integers(-4, 5, shape).astype(kind) for shape in ((9, 20), (20, 33)))
    np.testing.assert_array_equal(f(a, b).astype(np.float32), a.astype(np.float32) @ b.astype(np.float32))
    for rest in (
        "y(m) +=! a(m,k) * b(m,k)",
        "y(m) +=! a(m,k) * a(0,k)",
    ):  # what is read once is not converted before
        once = tc.define(f"def f({name}(M,K) a, {name}(M,K) b) -> (y) {{ {rest} }}").f
        assert "_wide" not in once.show("loops")


@pytest.mark.parametrize("width", [1, 3, 20, 64])
def test_sums_of_other_values_run_in_vectors_over_columns_of_any_number(width):
    text = "f(i,d) +=! w(i,j) * (x(j,d) - x(i,d))  g(i,d) max=! w(i,j) > 0.0 ? x(j,d) : -1.0"
    function = tc.define(f"def h(float(N,N) w, float(N,D) x) -> (f, g) {{ {text} }}").h
    assert re.search(
        r"for j in serial\(N\):\n +for d_rest_o in .*\n +for d_rest_i in vectorized", function.show("loops")
    )
    rng = np.random.default_rng(0)
    w, x = (rng.standard_normal(shape, np.float32) for shape in ((17, 17), (17, width)))
    found = function(w, x)
    np.testing.assert_allclose(found["f"], w @ x - w.sum(1, keepdims=True) * x, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(found["g"], np.where(w[:, :, None] > 0, x, np.float32(-1)).max(1))


def test_a_constant_factor_is_no_operand_of_a_product():
    text = "y(c,h,w) +=! x(c,2*h+p,2*w+q) * 0.25 where p in 0:2, q in 0:2, h in 0:H/2, w in 0:W/2"
    f = tc.define(f"def f(float(C,H,W) x) -> (y) {{ {text} }}").f
    assert "x_packed" not in f.show("loops")
    x = np.arange(48, dtype=np.float32).reshape(2, 4, 6)
    np.testing.assert_allclose(f(x), x.reshape(2, 2, 2, 3, 2).mean((2, 4)))


def test_what_is_rounded_already_is_stored_as_it_is():
    text = "def f(bfloat16(N) x) -> (y) { y(i) = bfloat16(bfloat16(x(i) + x(i))) }"
    f = tc.define(text).f.compile(sizes={"N": 16}, threads=1)
    assert f.show("tir").count("T.uint32(32767)") == 1
