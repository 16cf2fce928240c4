"""What `ragged.compile` is told of a program's shapes and schedule: it reaches the passes, and no bit depends on it."""

from __future__ import annotations

import numpy as np
import pytest

import ragged
from ragged.api.compile_options import CompileOptions, read_options
from ragged.api.pipeline import passes_for
from ragged.api.schedule import RaggedSchedule
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.options import DEFAULT
from ragged.auto.shapes import Shape
from ragged.errors import ModelError, UserError
from ragged.machine import this_machine


def dense(*bounds: int, columns: int = 20, inner: int = 24):
    """Return X W^T with 4 T rows."""
    size = ragged.size("T", *bounds)
    r, c, k = ragged.dim("r"), ragged.dim("c"), ragged.dim("k")
    x = ragged.input_tensor("X", [(r, 4 * size), (k, inner)])
    w = ragged.parameter("W", [(c, columns), (k, inner)])
    dims = [(r, 4 * size), (c, columns)]
    return ragged.compute("Y", dims, lambda i, j: ragged.sum(inner, lambda q: x[i, q] * w[j, q]))


def options_of(tensor, **given) -> CompileOptions:
    unset = {
        "options": DEFAULT,
        "shapes": None,
        "code_bytes": None,
        "precision": "float32",
        "default_schedule": True,
    }
    return read_options(RaggedSchedule(tensor), **{**unset, **given})


def arrays(size: int = 3):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((4 * size, 24)), rng.standard_normal((20, 24))
    return x.astype(np.float32), w.astype(np.float32)


def test_declared_ranges_are_expected_shapes():
    assert options_of(dense()).shapes == ()
    assert options_of(dense(1, 3)).shapes == tuple(Shape((("T", value),)) for value in (1, 2, 3))
    long = [dict(shape.sizes)["T"] for shape in options_of(dense(0, 10**9)).shapes]
    assert long[0] == 0 and long[-1] == 10**9 and len(long) <= 4096
    halves = [sum(low <= each < 4 * low for each in long) for low in (4**8, 4**12)]
    assert halves[0] == pytest.approx(halves[1], abs=1), "as many in each octave"


def test_given_shapes_replace_declared_ranges():
    assert options_of(dense(1, 128), shapes={"T": {5: 0.75, 24: 0.25}}).shapes == (
        Shape((("T", 5),), 0.75),
        Shape((("T", 24),), 0.25),
    )
    assert options_of(dense(1, 128), shapes=[{"T": 7}]).shapes == (Shape((("T", 7),)),)
    observed = (Shape((("T", 9),), 40.0),)
    assert options_of(dense(), shapes=observed).shapes == observed


def test_several_ranges_stay_few_shapes():
    sizes = [ragged.size(name, 1, 128) for name in "ABC"]
    dims = [(ragged.dim(f"d{place}"), each) for place, each in enumerate(sizes)]
    x = ragged.input_tensor("X", dims)
    shapes = options_of(ragged.compute("Y", dims, lambda a, b, c: x[a, b, c] + 1.0)).shapes
    assert 64 <= len(shapes) <= 4096
    assert {tuple(name for name, _ in shape.sizes) for shape in shapes} == {("A", "B", "C")}


def test_the_default_schedule_gets_them():
    chosen = options_of(dense(), shapes={"T": range(1, 4)}, code_bytes=8192)
    runs = [each.run for each in passes_for(2, this_machine(), chosen)]
    (own,) = (each for each in runs if isinstance(each, DefaultSchedule))
    assert [dict(shape.sizes)["T"] for shape in own.shapes] == [1, 2, 3] and own.code_bytes == 8192


def test_no_option_changes_a_bit():
    x, w = arrays()
    plain = ragged.compile(dense(), {"W": w}, threads=2)(X=x, T=3)
    for options in (
        {"shapes": {"T": range(1, 9)}, "code_bytes": 4096},
        {"options": ragged.ScheduleOptions(tile=(2, 1))},
        {"schedule": None},
    ):
        other = ragged.compile(dense(1, 8), {"W": w}, threads=2, **options)(X=x, T=3)
        assert other.tobytes() == plain.tobytes(), options


@pytest.mark.parametrize("shapes", [{"T": [0]}, {"T": {0: 3, 5: 0}}, {"T": {0: 1, 5: 1}}])
def test_calls_without_rows_are_shapes_as_others(shapes):
    x, w = arrays()
    assert np.array_equal(
        ragged.compile(dense(), {"W": w}, shapes=shapes)(X=x, T=3),
        ragged.compile(dense(), {"W": w})(X=x, T=3),
    )


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), "a", None])
def test_weights_of_sizes_are_finite_numbers(weight):
    with pytest.raises(UserError, match=f"shapes: {weight!r} is no weight of a size of 'T'"):
        options_of(dense(), shapes={"T": {5: weight}})


def test_some_size_has_a_weight():
    with pytest.raises(UserError, match="shapes: all weights of 'T' are 0"):
        options_of(dense(), shapes={"T": {5: 0.0}})
    with pytest.raises(UserError, match="shapes: no size of 'T' is given"):
        options_of(dense(), shapes={"T": []})


def test_sizes_that_no_call_has():
    with pytest.raises(UserError, match="is no size of 'T'"):
        options_of(dense(), shapes={"T": [2**60]})
    with pytest.raises(
        UserError, match="more than 100000 sizes of 'T' are too many"
    ):  # not all are looked at
        options_of(dense(), shapes={"T": range(10**15)})


def test_without_the_default_schedule_loops_stay_as_written():
    f = ragged.compile(dense(), {"W": arrays()[1]}, schedule=None)
    assert f.show("schedule") == "" and "parallel" not in f.show("loops")
    assert f.rules == ()


def test_an_alternative_that_is_saved_has_the_same_precision(tmp_path):
    plain, rounded = (
        ragged.compile(dense(), {"W": arrays()[1]}, precision=each) for each in ("float32", "bf16")
    )
    with pytest.raises(UserError, match="because: it was compiled with another precision="):
        plain.save(tmp_path / "f.ragged", alternatives=[rounded])
    rounded.save(tmp_path / "f.ragged", alternatives=[rounded])


def test_bfloat16_rounds_factors():
    x, w = arrays()
    exact = x.astype(np.float64) @ w.T.astype(np.float64)
    found = ragged.compile(dense(), {"W": w}, precision="bf16")(X=x, T=3)
    error = abs(found - exact).max() / abs(exact).max()
    assert 1e-5 < error < 2e-2


@pytest.mark.parametrize("what", ["columns", "terms", "axes"])
def test_bfloat16_that_rounds_nothing_is_refused(what):
    i, o, k = (ragged.dim(name) for name in "iok")
    columns = ragged.size("N") if what == "columns" else 32
    terms = ragged.size("K") if what == "terms" else 64
    X = ragged.input_tensor("X", [(i, ragged.size("T")), (k, terms)])
    W = ragged.parameter("W", [(o, columns), (k, terms)])

    def product(row, column):
        if what == "axes":
            return ragged.sum((8, 8), lambda p, q: X[row, p * 8 + q] * W[column, p * 8 + q])
        return ragged.sum(k, lambda q: X[row, q] * W[column, q])

    Y = ragged.compute("Y", [X.dims[0], W.dims[0]], product)
    weights = {"W": np.ones((32, 64), np.float32)}
    with pytest.raises(UserError, match="precision='bf16' rounds no product of 'Y'"):
        ragged.compile(Y, weights, precision="bf16")
    plain = ragged.compute("Z", X.dims, lambda row, q: X[row, q] + 1)
    assert ragged.compile(plain, precision="bf16")(X=weights["W"]).tolist() == [[2.0] * 64] * 32


def test_what_stays_in_float32_is_in_the_log():
    i, o, k = (ragged.dim(name) for name in "iok")
    X = ragged.input_tensor("X", [(i, ragged.size("T")), (k, 64)])
    W = ragged.parameter("W", [(o, 32), (k, 64)])
    one = ragged.compute(
        "one", [X.dims[0], W.dims[0]], lambda r, c: ragged.sum(k, lambda q: X[r, q] * W[c, q])
    )
    two = ragged.compute(
        "two",
        [X.dims[0], W.dims[0]],
        lambda r, c: ragged.sum((8, 8), lambda p, q: one[r, c] * W[c, p * 8 + q]),
    )
    text = ragged.compile(two, {"W": np.ones((32, 64), np.float32)}, precision="bf16").show("schedule")
    assert "# in float32: two: it is no sum over one axis" in text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"shapes": {"S": [1]}},
            "compile: shapes name 'S', which is no size of 'Y'\n  fix: one of T",
        ),
        (
            {"code_bytes": 0},
            "compile: code_bytes=0 is no number of bytes\n  fix: a number from 1 up",
        ),
        (
            {"precision": "half"},
            "compile: precision='half' is neither 'float32' nor 'bf16'\n"
            "  because: it says what is multiplied; what is summed up, and all else, is float32\n"
            "  fix: precision='bf16' multiplies bfloat16 numbers",
        ),
        (
            {"shapes": 3},
            "compile: shapes=3 are no shapes\n"
            "  fix: shapes={'T': range(1, 129)}, or shapes=[{'T': 5}, {'T': 77}]",
        ),
        ({"schedule": "mine"}, "compile: schedule='mine' is neither 'default' nor None"),
        (
            {"options": {"tile": (2, 2)}},
            "compile: options={'tile': (2, 2)} are no ScheduleOptions\n"
            "  fix: options=ragged.ScheduleOptions(reduction_unroll=2)",
        ),
        (
            {"schedule": None, "options": ragged.ScheduleOptions(tile=(2, 2))},
            "compile: options without the default schedule\n  because: they are its own",
        ),
    ],
)
def test_what_is_no_option(given, message):
    with pytest.raises(UserError) as error:
        ragged.compile(dense(), {"W": arrays()[1]}, **given)
    assert str(error.value) == message


def test_what_is_no_program():
    with pytest.raises(UserError, match="compile: NoneType is neither a tensor nor a schedule of some"):
        ragged.compile(None)


def test_what_is_no_range():
    for bounds in ((1,), (5, 4), (-1, 4), (1, 2.5), (1, 2**60)):
        with pytest.raises(ModelError, match="is no range of sizes"):
            ragged.size("T", *bounds)
    x = ragged.input_tensor("X", [(ragged.dim("r"), ragged.size("T", 1, 8))])
    y = ragged.compute("Y", [(x.dims[0].dim, ragged.size("T", 1, 9))], lambda i: x[i] + 1.0)
    with pytest.raises(ModelError, match=r"size 'T' has the range 1 \.\. 9 and the range 1 \.\. 8"):
        ragged.compile(y)


def test_slices_of_columns_are_for_the_matrix_unit_as_whole_rows_are():
    batch, size = ragged.dim("batch"), ragged.size("batches")
    place, other, feature, term = (ragged.dim(name) for name in ("place", "other", "feature", "term"))
    n = ragged.length_fn("n", over=batch)
    x = ragged.input_tensor("x", [(batch, size), (place, n(batch)), (term, 20)])
    w = ragged.parameter("w", [(feature, 40), (term, 20)])
    y = ragged.compute(
        "y",
        [(batch, size), (place, n(batch)), (feature, 40)],
        lambda b, t, e: ragged.sum(20, lambda d: x[b, t, d] * w[e, d]),
    )
    z = ragged.compute(
        "z",
        [(batch, size), (place, n(batch)), (other, n(batch))],
        lambda b, t, u: ragged.sum(40, lambda d: y[b, t, d] * y[b, u, d]),
    )
    random = np.random.default_rng(0)
    weights = {"w": random.standard_normal((40, 20), np.float32)}
    unit = "llvm -mcpu=sapphirerapids -mattr=+amx-bf16,+amx-tile"
    for threads in (1, 2):
        there = ragged.compile(z, weights, precision="bf16", threads=threads, target=unit)
        assert "tensorized" in there.show("loops")
    rows = ragged.array([random.standard_normal((count, 20), np.float32) for count in (3, 40, 0, 33)])
    found = [
        ragged.compile(z, weights, precision="bf16", threads=threads)(x=rows).values.tobytes()
        for threads in (1, 2, 3)
    ]
    assert len(set(found)) == 1
