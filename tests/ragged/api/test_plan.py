"""What a compiled function says of its variants, and that shapes and bytes decide them and no bit."""

import numpy as np
import pytest

import ragged
from ragged.errors import UserError

COLUMNS, DEPTH = 96, 24
W = np.random.default_rng(0).standard_normal((COLUMNS, DEPTH)).astype(np.float32)


def dense(rows):
    r, c, k = ragged.dim("r"), ragged.dim("c"), ragged.dim("k")
    x = ragged.input_tensor("X", [(r, rows), (k, DEPTH)])
    w = ragged.parameter("W", [(c, COLUMNS), (k, DEPTH)])
    return ragged.compute(
        "Y", [(r, rows), (c, COLUMNS)], lambda i, j: ragged.sum(k, lambda q: x[i, q] * w[j, q])
    )


def compiled(rows, **options):
    return ragged.compile(dense(rows), {"W": W}, threads=1, **options)


@pytest.fixture(scope="module")
def usual():
    return compiled(ragged.size("T"))


def test_a_plan_says_variant_tiles_and_time(usual):
    plan = usual.plan(T=77)
    (part,) = plan.parts
    assert (part.rows, part.product.columns, part.product.depth) == (77, COLUMNS, DEPTH)
    assert sum(rows * times for rows, times in part.tiles.items()) >= 77
    assert 0 < plan.nanoseconds < 1e6 and 0 < plan.gflops < plan.core_gflops
    assert str(plan).startswith("T=77: ") and part.variant in str(plan)
    assert usual.plan(T=0).nanoseconds == 0
    assert usual.plan(T=10**7).parts[0].rows == 10**7


def test_rows_are_solved_from_an_affine_extent():
    f = compiled(16 * ragged.size("T", 1, 8))
    assert f.plan(T=3).parts[0].rows == 48
    assert "16 * T rows by 96 x 24" in f.show("variants")


def test_a_missing_size_is_refused(usual):
    with pytest.raises(UserError, match="no size 'T'"):
        usual.plan()
    with pytest.raises(UserError, match="unknown size 'S'\n  because: the sizes are T\n"):
        usual.plan(T=3, S=1)
    for value in (-1, "3"):
        with pytest.raises(UserError, match=f"plan: T={value!r} is no size"):
            usual.plan(T=value)


@pytest.mark.parametrize(
    ("columns", "sizes", "in_order"),
    [(ragged.size("N"), {"N": 100}, True), (2303, {}, True), (100, {}, False)],
    ids=str,
)
def test_products_in_panels_are_planned(columns, sizes, in_order):
    m, n, q = ragged.dim("m"), ragged.dim("n"), ragged.dim("q")
    x = ragged.input_tensor("X", [(m, ragged.size("M")), (q, DEPTH)])
    z = ragged.input_tensor("Z", [(q, DEPTH), (n, columns)])
    f = ragged.compile(
        ragged.compute(
            "Y",
            [(m, ragged.size("M")), (n, columns)],
            lambda i, j: ragged.sum(q, lambda s: x[i, s] * z[s, j]),
        ),
        threads=1,
    )
    times = []
    for rows in (0, 1, 5, 6, 7, 64, 77, 500):
        plan = f.plan(M=rows, **sizes)
        (part,) = plan.parts
        assert (part.rows, part.product.columns, part.product.depth) == (
            rows,
            sizes.get("N", columns),
            DEPTH,
        )
        assert sum(each * count for each, count in part.tiles.items()) == rows
        if rows == 1 and in_order:
            assert part.packed_bytes == 0 and part.variant == "rows of the operand in order"
        else:
            assert part.packed_bytes >= part.product.columns * DEPTH * 4
        times.append(plan.nanoseconds)
    assert times[0] == 0 and times[1] < times[-2] < times[-1]
    assert "panels of" in str(plan) and "bytes packed" in str(plan) and f"M={rows}" in str(plan)
    assert f.show("variants").startswith("columns j: M x ")


@pytest.mark.parametrize("threads", [1, 2])
def test_the_operators_of_batches_are_planned(threads):
    b, m, n, q = (ragged.dim(name) for name in "bmnq")
    batches, rows, columns, depth = (ragged.size(name) for name in "BMNK")
    x = ragged.input_tensor("X", [(b, batches), (m, rows), (q, depth)])
    z = ragged.input_tensor("Z", [(b, batches), (q, depth), (n, columns)])
    y = ragged.compute(
        "Y",
        [(b, batches), (m, rows), (n, columns)],
        lambda i, j, c: ragged.sum(q, lambda s: x[i, j, s] * z[i, s, c]),
    )
    f = ragged.compile(y, threads=threads)
    few, many = f.plan(B=2, M=9, N=20, K=8), f.plan(B=8, M=9, N=20, K=8)
    assert [(each.parts[0].times, each.parts[0].rows) for each in (few, many)] == [(2, 9), (8, 9)]
    assert many.nanoseconds == pytest.approx(4 * few.nanoseconds, rel=0.3)


def test_a_program_without_products_has_an_empty_plan():
    r = ragged.dim("r")
    x = ragged.input_tensor("X", [(r, ragged.size("T"))])
    f = ragged.compile(ragged.compute("Y", x.dims, lambda i: 2 * x[i]), threads=1)
    assert f.show("variants") == "no variants"
    assert f.plan(T=3).parts == ()
    assert str(f.plan(T=3)).startswith("T=3: no products: ")


def test_points_of_the_trade_off_can_be_built_and_have_the_same_bits(usual):
    table = usual._table()
    (loop,) = table.loops
    first, *_, last = loop.points
    x = np.random.default_rng(1).standard_normal((23, DEPTH)).astype(np.float32)
    want = usual(X=x)
    for point in (first, loop.points[len(loop.points) // 2], last):
        f = compiled(ragged.size("T"), code_bytes=point.code_bytes)
        (built,) = f._table().loops
        assert built.cover == point
        for rows in (0, 1, 2, 5, 7, 8, 9, 15, 23):
            np.testing.assert_array_equal(f(X=x[:rows]), want[:rows])


def test_a_saved_function_keeps_its_table(usual, tmp_path):
    usual.save(tmp_path / "f.ragged")
    other = ragged.load(tmp_path / "f.ragged")
    assert other.show("variants") == usual.show("variants")
    assert other.plan(T=5) == usual.plan(T=5)


def test_rows_have_the_same_bits_in_every_call_and_for_all_threads(usual):
    x = np.random.default_rng(2).standard_normal((70, DEPTH)).astype(np.float32)
    both = ragged.compile(dense(ragged.size("T")), {"W": W}, threads=2)
    want = usual(X=x)
    for rows in range(1, 70, 3):
        np.testing.assert_array_equal(usual(X=x[:rows]), want[:rows])
        np.testing.assert_array_equal(both(X=x[:rows]), want[:rows])
