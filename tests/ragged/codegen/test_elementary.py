"""Elementary functions are accurate over all floats, and arithmetic is rounded as the program says."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.codegen.target import Target
from ragged.codegen.target_features import has_scale, host_target
from ragged.ir.dtype import DType
from ragged.ir.elementwise import FUNCTIONS
from ragged.ir.expr import Const, Expr, Fma
from ragged.ir.program import StageKind
from ragged.ir.recipes import CIRCULAR_BOUND
from tests.ragged.codegen.hand import F32, F64, call, check_both, elementwise, op, run

WITHOUT_AVX512 = Target("llvm", tuple({**dict(host_target().settings), "mattr": ("-avx512f",)}.items()))
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754944e-38, 3.4e38, -3.4e38]
EDGES = [
    88.72,
    88.73,
    89.0,
    -87.3,
    -87.4,
    -103.9,
    -104.0,
    -105.0,
    4e-4,
    3.9e-4,
    7.99,
    8.0,
    9.02,
    10.0,
    1.0,
    -1.0,
]

EXACT = {name: row.numpy for name, row in FUNCTIONS.items()} | {"abs": np.abs, "-": np.negative}


def all_floats(stride: int = 65_521) -> np.ndarray:
    """Every `stride`-th float32, and where functions change their ways."""
    bits = np.arange(0, 2**32, stride, dtype=np.uint64).astype(np.uint32)
    return np.concatenate([bits.view(np.float32), np.array(SPECIAL + EDGES, np.float32)])


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("width", [None, 16])
def test_functions_of_float32_are_accurate_everywhere(name, width):
    x = all_floats()
    if name in ("sin", "cos"):
        x = x[~(np.abs(x) > CIRCULAR_BOUND)]
    got = run(elementwise(lambda a, b: call(name, a), width=width), n=len(x), x=x, y=x)["out"]
    with np.errstate(all="ignore"):
        exact = EXACT[name](x.astype(np.float64))
        nearest = exact.astype(np.float32)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    infinite = np.isinf(nearest)
    np.testing.assert_array_equal(got[infinite], nearest[infinite])
    np.testing.assert_array_equal(np.signbit(got[exact == 0]), np.signbit(exact[exact == 0]))
    finite = np.isfinite(exact) & ~infinite
    bound = FUNCTIONS[name].error if name in FUNCTIONS else 0.0
    error = np.abs(got[finite].astype(np.float64) - exact[finite])
    assert (error <= bound * np.abs(exact[finite]) + np.finfo(np.float32).tiny).all()


@pytest.mark.parametrize("name", ["exp", "exp2", "exp10"])
@pytest.mark.parametrize("width", [None, 16])
def test_no_exponential_is_subnormal_as_processors_take_many_times_as_long(name, width):
    ends = np.array([-87.33654, -87.336548, -126, -37.929779, -37.92978], np.float32)
    x = np.concatenate([all_floats(), np.arange(-152, -36, 2.0**-8, np.float32), ends])
    got = run(elementwise(lambda a, b: call(name, a), width=width), n=len(x), x=x, y=x)["out"]
    assert not ((got > 0) & (got < np.finfo(np.float32).tiny)).any()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_value_has_the_same_bits_by_itself_and_in_vectors_of_any_processor(name):
    x = all_floats()
    vectors = elementwise(lambda a, b: call(name, a), width=16)
    by_itself = elementwise(lambda a, b: call(name, a))
    got = [
        run(compile_program(program, target), n=len(x), x=x, y=x)["out"]
        for program, target in ((vectors, "cpu"), (by_itself, "cpu"), (vectors, WITHOUT_AVX512))
    ]
    for other in got[1:]:
        np.testing.assert_array_equal(got[0], other)  # zeros of both signs are one, and all NaN
        np.testing.assert_array_equal(np.signbit(got[0]), np.signbit(other))


@pytest.mark.parametrize("name", ["exp", "sigmoid"])
def test_vectors_are_scaled_by_one_instruction_where_there_is_one(name):
    program = elementwise(lambda a, b: call(name, a), width=16)
    has = has_scale(host_target())
    assert ("vscalefps" in compile_program(program).module.inspect_source("asm")) == has
    assert "vscalefps" not in compile_program(program, WITHOUT_AVX512).module.inspect_source("asm")


WIDE = {
    "exp": (np.exp, (-745, 712)),
    "exp2": (np.exp2, (-1080, 1030)),
    "exp10": (lambda x: np.power(np.longdouble(10), x), (-330, 312)),
    "log": (np.log, (0, 1e308)),
    "log1p": (np.log1p, (-1, 1e10)),
    "tanh": (np.tanh, (-22, 22)),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (-720, 720)),
}
"""Functions of more digits than float64 has, and where they change from one bound to the other."""


@pytest.mark.parametrize("name", WIDE)
def test_functions_of_float64_are_accurate_everywhere(name):
    random = np.random.default_rng(0)
    exact, bounds = WIDE[name]
    anything = random.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    ends = [
        5e-324,
        -5e-324,
        1e-310,
        2.3e-308,
        np.finfo(np.float64).max,
        -708.3964185322641,
        -307.6526555685887,
    ]
    x = np.concatenate(
        [anything, random.uniform(*bounds, 20_000), random.uniform(-1, 2, 20_000), SPECIAL, ends]
    )
    got, by_itself = (
        run(elementwise(lambda a, b: call(name, a), dtype=F64, width=width), n=len(x), x=x, y=x)["out"]
        for width in (16, None)
    )
    np.testing.assert_array_equal(got, by_itself)
    with np.errstate(all="ignore"):
        want = exact(x.astype(np.longdouble))
        nearest = want.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(nearest))
    infinite, zero = np.isinf(nearest), nearest == 0
    np.testing.assert_array_equal(got[infinite], nearest[infinite])
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(nearest[zero]))
    normal = np.isfinite(nearest) & (np.abs(nearest) > np.finfo(np.float64).tiny)
    error = np.abs(got[normal] - want[normal]) / np.spacing(np.abs(nearest[normal]))
    assert error.max() < 4


@pytest.mark.parametrize("name", EXACT)
def test_functions_of_float64_are_the_c_library_s(name):
    x = np.concatenate([np.linspace(-20, 20, 1001), SPECIAL])
    got = run(elementwise(lambda a, b: call(name, a), dtype=F64), n=len(x), x=x, y=x)["out"]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(got, EXACT[name](x), rtol=1e-14, atol=1e-300)


def busy(a: Expr, b: Expr) -> Expr:
    """An expression that a compiler would love to contract, reassociate or replace."""
    product = op("+", op("*", a, b), op("*", b, call("tanh", a)))
    return op("-", op("/", product, call("exp", b)), call("sigmoid", op("*", a, op("-", a, b))))


@pytest.mark.parametrize("dtype", [F32, F64])
def test_a_value_has_the_same_bits_wherever_it_stands(dtype):
    rng = np.random.default_rng(0)
    pool = rng.standard_normal((2, 7)).astype(dtype.numpy)
    programs = [compile_program(elementwise(busy, dtype=dtype, width=w)) for w in (None, 2, 4, 16, 64)]
    reference = run(programs[0], n=7, x=pool[0], y=pool[1])["out"]
    for compiled in programs:
        for count in (1, 2, 3, 15, 16, 17, 31, 64, 67, 100):
            place = rng.integers(0, 7, count)
            out = run(compiled, n=count, x=pool[0][place].copy(), y=pool[1][place].copy())["out"]
            np.testing.assert_array_equal(out.view(np.uint8), reference[place].view(np.uint8))


@pytest.mark.parametrize("width", [None, 16])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_nothing_is_contracted_that_the_program_does_not_fuse(width, dtype):
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal(133).astype(dtype.numpy) for _ in range(2))
    check_both(elementwise(lambda a, b: op("+", op("*", a, a), b), dtype=dtype, width=width), n=133, x=x, y=y)
    check_both(elementwise(lambda a, b: op("-", b, op("*", a, b)), dtype=dtype, width=width), n=133, x=x, y=y)
    check_both(elementwise(lambda a, b: Fma(a, b, op("*", b, b)), dtype=dtype, width=width), n=133, x=x, y=y)


@pytest.mark.parametrize("width", [None, 16])
def test_a_fused_multiply_add_is_an_instruction(width):
    compiled = compile_program(elementwise(lambda a, b: Fma(a, b, a), width=width), "llvm -mcpu=znver4")
    assert "vfmadd" in compiled.asm(StageKind.KERNEL)
    assert not {"fma", "fmaf"} & compiled.undefined_symbols()


def test_the_bits_do_not_depend_on_the_processor():
    x, y = np.random.default_rng(2).standard_normal((2, 50)).astype(np.float32)
    native, oldest = (
        run(compile_program(elementwise(busy), t), n=50, x=x, y=y) for t in ("cpu", "llvm -mcpu=x86-64")
    )
    np.testing.assert_array_equal(native["out"], oldest["out"])


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("width", [None, 4])
def test_comparisons_with_nan(operator, width):
    values = np.array([np.nan, 1.0, 0.0, -0.0, np.inf], np.float32)
    x, y = (array.ravel().astype(np.float32) for array in np.meshgrid(values, values))
    check_both(elementwise(lambda a, b: op(operator, a, b), result=DType.BOOL, width=width), n=25, x=x, y=y)


@pytest.mark.parametrize("operator", ["min", "max"])
@pytest.mark.parametrize("width", [None, 16])
def test_the_larger_and_the_smaller_of_special_values(operator, width):
    values = np.array([np.nan, 1.0, 0.0, -0.0, np.inf, -np.inf], np.float32)
    x, y = (array.ravel().astype(np.float32) for array in np.meshgrid(values, values))
    out = check_both(elementwise(lambda a, b: op(operator, a, b), width=width), n=36, x=x, y=y)["out"]
    np.testing.assert_array_equal(out, {"max": np.maximum, "min": np.minimum}[operator](x, y))
    choose = (x < y) if operator == "min" else (x > y)
    numbers = ~np.isnan(out)
    np.testing.assert_array_equal(np.signbit(out[numbers]), np.signbit(np.where(choose, x, y)[numbers]))


@pytest.mark.parametrize("dtype", [DType.INT32, DType.INT64])
@pytest.mark.parametrize("operator", ["//", "%"])
@pytest.mark.parametrize("divisor", [None, 0, 1, 3, 8, -1, -3, -8])
@pytest.mark.parametrize("width", [None, 8])
def test_division_of_integers_rounds_down_and_by_zero_gives_zero(dtype, operator, divisor, width):
    x, y = np.meshgrid(np.arange(-9, 10), [-8, -3, -1, 0, 1, 2, 3, 8])
    x, y = x.ravel().astype(dtype.numpy), y.ravel().astype(dtype.numpy)
    what = elementwise(
        lambda a, b: op(operator, a, b if divisor is None else Const(divisor, dtype)),
        dtype=dtype,
        width=width,
    )
    check_both(what, n=len(x), x=x, y=y)


@pytest.mark.parametrize("dtype", [DType.INT32, DType.INT64])
@pytest.mark.parametrize("width", [None, 8])
def test_the_one_quotient_that_is_no_integer_wraps_and_ends_no_process(dtype, width):
    least = np.iinfo(dtype.numpy).min
    x, y = np.full(19, least, dtype.numpy), np.full(19, -1, dtype.numpy)
    for operator, result in (("//", least), ("%", 0)):
        what = elementwise(partial(op, operator), dtype=dtype, width=width)
        assert set(run(compile_program(what), n=19, x=x, y=y)["out"].tolist()) == {result}


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_the_sine_of_an_angle_beyond_the_bound_is_nan(name):
    x = np.array([2.0**41, -1e30, 3e38], np.float32)
    assert np.isnan(run(elementwise(lambda a, b: call(name, a)), n=3, x=x, y=x)["out"]).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vectors_of_float32_call_no_library(name):
    program = compile_program(elementwise(lambda a, b: call(name, a), width=16))
    assert not program.undefined_symbols() & {row + suffix for row in FUNCTIONS for suffix in ("", "f")}
