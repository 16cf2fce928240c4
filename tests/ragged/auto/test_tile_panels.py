"""Dense products of any sizes are packed and tiled; a result has the bits of the sum in its order."""

import re
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragged
from cortex import models
from cortex.ra.schedule import default_schedule
from ragged import tc
from ragged.analysis.transposed_tiles import SIDES
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.tile_panels import tile_panels
from ragged.auto.tile_sizes import rows_of_remainder
from ragged.codegen.build import compile_program
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import StageKind
from ragged.machine import Machine, this_machine
from ragged.runtime.call import Caller
from ragged.schedule.loop_schedule import LoopSchedule
from tests.ragged.auto.test_row_variants import SMALL, dense

AVX512 = Machine(64, 32, 2, 48 << 10, 2 << 20)
AVX2 = Machine(32, 16, 2, 32 << 10, 1 << 20)
NEON = Machine(16, 32, 2, 64 << 10, 1 << 20)

PRODUCT = """\
program("product")

B: call()
M: call()
N: call()
K: call()
x: payload(float32[{x}])
w: payload(float32[{w}])
y: output(float32[B, M, N])

with kernel:
    for b in parallel(B):
        for i in parallel(M):
            for j in parallel(N):
                y[b, i, j] = 0.0
                for k in serial(K):
                    y[b, i, j] += x[{xi}] * w[{wi}]
"""
SHAPES = {"b": "B", "i": "M", "j": "N", "k": "K"}


def product(left, right):
    """A batch of products: `left` and `right` are the indices of the operands."""
    x, w = (", ".join(SHAPES[index] for index in side) for side in (left, right))
    return parse(PRODUCT.format(x=x, w=w, xi=", ".join(left), wi=", ".join(right)))


LAYOUTS = [("bik", "bjk"), ("bik", "bkj"), ("bki", "bjk"), ("bki", "bkj"), ("ik", "bjk"), ("bik", "jk")]


CASES = [*((layout, AVX2) for layout in LAYOUTS), (LAYOUTS[0], AVX512), (LAYOUTS[0], NEON)]


@pytest.mark.parametrize(("layout", "machine"), CASES)
def test_the_interpreter_agrees(layout, machine):
    left, right = layout
    program = product(left, right)
    done = DefaultSchedule(machine, threads=2)(program).program
    copied = "x_padded" in to_text(
        done
    )  # across its rows; then code for both reads the columns, panel by panel
    assert copied is (left == "bki") and "y_acc" in to_text(done)
    assert ("w_padded" if copied else "w_packed") in to_text(done)
    random = np.random.default_rng(0)
    for sizes in ((2, 7, 17, 3), (3, 2, 16, 0), (0, 3, 3, 3), (2, 0, 5, 1)):
        extents = dict(zip("bijk", sizes, strict=True))
        x, w = (random.standard_normal([extents[i] for i in side], np.float32) for side in (left, right))
        counts = dict(zip("BMNK", sizes, strict=True))
        want = interpret(program, counts, {"x": x, "w": w})["y"]
        got = interpret(done, {**counts, "workers": 2}, {"x": x, "w": w})["y"]
        # a sum is rounded after each product alone, or in one step with it
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


BODIES = [
    "y[b, i, j] += (x[b, i, k] - w[b, j, k]) * (x[b, i, k] - w[b, j, k])",
    "y[b, i, j] += x[b, i, k] * w[b, j, k] * x[b, 0, k]",
    "y[b, i, j] += abs(x[b, i, k] - w[b, j, k]) / 3.0 + x[b, i, 0]",
    "y[b, i, j] = reduce(max, x[b, i, k] + w[b, j, k])",
    "y[b, i, j] = reduce(min, -w[b, j, k])",
    "y[b, i, j] += w[b, j, k] * w[b, j, 0] * x[b, i, k]",  # columns are the rows of x
    "y[b, i, j] += x[b, 0, k] * tanh(x[b, i, k] + w[b, j, k])",
]
"""Operators and functions of one operand with columns, and of others."""


@pytest.mark.parametrize("body", BODIES)
def test_arithmetic_in_the_place_of_a_product(body):
    text = to_text(product("bik", "bjk")).replace("y[b, i, j] += x[b, i, k] * w[b, j, k]", body)
    program = parse(text)
    done = DefaultSchedule(AVX2, threads=2)(program).program
    assert "y_acc" in to_text(done)
    random = np.random.default_rng(0)
    for b, m, n, k in ((2, 7, 17, 3), (3, 13, 16, 5), (1, 2, 5, 1), (2, 3, 40, 4)):
        x, w = (random.standard_normal(shape, np.float32) for shape in ((b, m, k), (b, n, k)))
        counts = {"B": b, "M": m, "N": n, "K": k}
        want = interpret(program, counts, {"x": x, "w": w})["y"]
        got = interpret(done, {**counts, "workers": 2}, {"x": x, "w": w})["y"]
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_rows_that_fill_no_tile_are_in_tiles_of_four_two_and_one():
    text = to_text(DefaultSchedule(AVX512)(product(*LAYOUTS[0])).program)
    full = set(re.findall(r"y_acc = local\(float32\[(?:(\d+), )?4, 16\]", text))
    single = set(re.findall(r"y_acc = local\(float32\[(?:(\d+), )?16\]", text))
    assert full == {"6", "4", "2", ""} and single >= {"12", "2", ""}
    assert [rows_of_remainder(rows) for rows in (12, 8, 6, 4, 3, 2)] == [4, 4, 4, 2, 2, 1]


def test_workers_share_the_panels_of_one_product_of_a_batch():
    text = to_text(DefaultSchedule(AVX512, threads=2)(product(*LAYOUTS[0])).program)
    assert (
        "first = w_1 * (B * ((N + 63) // 64)) // workers" in text
    )  # a panel is read as soon as it is packed
    assert "w_packed: workspace(float32[workers, 1, K, 64])" in text


def test_a_panel_is_packed_right_before_it_is_read_after_other_nests_too():
    text = to_text(product(*LAYOUTS[0])).replace("y: output", "z: output(float32[B])\ny: output", 1)
    nest = "    for a in parallel(B):\n        z[a] = 1.0\n"
    text = to_text(
        DefaultSchedule(AVX512, threads=2)(
            parse(text.replace("with kernel:\n", f"with kernel:\n{nest}"))
        ).program
    )
    assert "w_packed: workspace(float32[workers, 1, K, 64])" in text
    assert text.index("z[a] = 1.0") < text.index("w_packed[") and "barrier(team)" not in text


@cache
def compiled(layout, threads=2):
    b, i, j, k = (ragged.dim(name) for name in "bijk")
    dims = dict(zip("bijk", zip((b, i, j, k), map(ragged.size, "BMNK"), strict=True), strict=True))
    x = ragged.input_tensor("x", [dims[each] for each in layout[0]])
    w = ragged.input_tensor("w", [dims[each] for each in layout[1]])

    def body(b, i, j):
        at = {"b": b, "i": i, "j": j}
        return ragged.sum(
            dims["k"][1],
            lambda k: (
                x[tuple({**at, "k": k}[each] for each in layout[0])]
                * w[tuple({**at, "k": k}[each] for each in layout[1])]
            ),
        )

    y = ragged.compute("y", [dims["b"], dims["i"], dims["j"]], body)
    return ragged.compile(y, threads=threads)


def check(layout, sizes, threads=2):
    random = np.random.default_rng(sum(sizes))
    extents = dict(zip("bijk", sizes, strict=True))
    x, w = (random.standard_normal([extents[i] for i in side], np.float32) for side in layout)
    got = np.asarray(compiled(layout, threads)(x=x, w=w))
    want = np.einsum(f"{layout[0]},{layout[1]}->bij", x.astype(np.float64), w.astype(np.float64))
    np.testing.assert_allclose(
        got.reshape(want.shape), want, atol=1e-5 * max(1.0, np.abs(want).max(initial=0))
    )
    return got.reshape(want.shape)


@settings(max_examples=20)
@given(st.sampled_from(LAYOUTS[:2]), st.tuples(*(st.integers(1, high) for high in (3, 40, 130, 40))))
def test_any_sizes_agree_with_numpy(layout, sizes):
    check(layout, sizes)


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 49, 63, 64, 65, 129])
def test_columns_around_a_vector_and_a_panel(columns):
    for layout in LAYOUTS[:2]:
        check(layout, (1, 7, columns, 33))


def test_a_row_has_the_same_bits_among_any_rows_and_for_any_workers():
    random = np.random.default_rng(0)
    x = random.standard_normal((1, 61, 70), np.float32)
    w = random.standard_normal((1, 83, 70), np.float32)
    layout = LAYOUTS[0]
    whole = np.asarray(compiled(layout)(x=x, w=w)).reshape(61, 83)
    for rows in (1, 2, 5, 6, 13, 24, 60):
        for threads in (1, 2):
            part = np.asarray(compiled(layout, threads)(x=x[:, :rows], w=w)).reshape(rows, 83)
            np.testing.assert_array_equal(part, whole[:rows])
    for columns in (1, 16, 40, 66):
        part = np.asarray(compiled(layout)(x=x, w=w[:, :columns])).reshape(61, columns)
        np.testing.assert_array_equal(part, whole[:, :columns])


ACTIVATED = """\
program("activated")

M: call()
N: call()
x: payload(float32[M, 5])
w: payload(float32[N, 5])
b: payload(float32[N])
t: workspace(float32[N * M])
y: output(float32[M, N])

with kernel:
    for i in parallel(M):
        for j in parallel(N):
            t[i * N + j] = 0.0
            for k in serial(5):
                t[i * N + j] += x[i, k] * w[j, k]
            y[i, j] = tanh(t[i * N + j] + b[j]) * t[i * N + j]
"""


def test_what_follows_a_sum_is_computed_from_registers():
    program = parse(ACTIVATED)
    done = DefaultSchedule(AVX2, threads=2)(program).program
    text = to_text(done)
    assert "t_acc = local(float32[6, 2, 8]" in text and "tanh(t_acc[" in text
    assert "t: workspace" not in text, "nothing reads the sums from memory"
    random = np.random.default_rng(0)
    for rows, columns in ((1, 1), (7, 17), (13, 35)):
        values = {
            "x": random.standard_normal((rows, 5), np.float32),
            "w": random.standard_normal((columns, 5), np.float32),
            "b": random.standard_normal(columns, np.float32),
        }
        want = interpret(program, {"M": rows, "N": columns}, values)["y"]
        got = interpret(done, {"M": rows, "N": columns, "workers": 2}, values)["y"]
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_an_activation_of_a_sum_with_columns_of_any_number():
    m, n, r, c, k = ragged.size("M"), ragged.size("N"), *map(ragged.dim, "rck")
    x, w = ragged.input_tensor("x", [(r, m), (k, 33)]), ragged.input_tensor("w", [(c, n), (k, 33)])
    b = ragged.input_tensor("b", [(c, n)])
    y = ragged.compute(
        "y", [(r, m), (c, n)], lambda i, j: ragged.relu(ragged.sum(33, lambda q: x[i, q] * w[j, q]) + b[j])
    )
    f = ragged.compile(y, threads=2)
    assert f.plan(M=13, N=65).parts
    random = np.random.default_rng(0)
    for rows, columns in ((1, 1), (13, 65), (30, 47)):
        a, d, e = (
            random.standard_normal(shape, np.float32) for shape in ((rows, 33), (columns, 33), columns)
        )
        want = np.maximum(a.astype(np.float64) @ d.T + e, 0.0)
        np.testing.assert_allclose(f(x=a, w=d, b=e), want, atol=1e-5 * max(1.0, want.max()))


CONVOLUTION = """\
program("convolution")

count: call()
height: call()
x: payload(float32[count, height * 2 + 3, 11, 3])
w: {role}(float32[20, 3, 2, 3])
y: output(float32[count, height, 4, 20])

with kernel:
    for n in parallel(count):
        for h in parallel(height):
            for v in parallel(4):
                for f in serial(20):
                    y[n, h, v, f] = 0.0
                    for r in serial(3):
                        for s in serial(2):
                            for c in serial(3):
                                y[n, h, v, f] += x[n, h * 2 + r, v * 2 + s, c] * w[f, r, s, c]
"""


@pytest.mark.parametrize("role", ["parameter", "payload"])
def test_a_reduction_over_several_axes(role):
    program = parse(CONVOLUTION.format(role=role))
    done = DefaultSchedule(AVX512, threads=2)(program).program
    assert "y_acc = local(float32[12, 16]" in to_text(done)
    random = np.random.default_rng(0)
    for count, height in ((1, 1), (2, 4)):
        x = random.standard_normal((count, 2 * height + 3, 11, 3), np.float32)
        w = random.standard_normal((20, 3, 2, 3), np.float32)
        sizes = {"count": count, "height": height}
        want = interpret(program, sizes, {"x": x, "w": w})["y"]
        got = interpret(done, {**sizes, "workers": 2}, {"x": x, "w": w})["y"]
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


PADDED = """\
program("padded")

N: call()
x: payload(float32[N, 4, 5, 3])
w: parameter(float32[3, 3, 3, 20])
y: output(float32[N, 4, 5, 20])

with kernel:
    for n in parallel(N):
        for h in parallel(4):
            for v in parallel(5):
                for f in serial(20):
                    y[n, h, v, f] = 0.0
                    for r in serial(3):
                        for s in serial(3):
                            for c in serial(3):
                                y[n, h, v, f] += (x[n, h + r - 1, v + s - 1, c] if h + r - 1 >= 0 and h + r - 1 < 4 \
and v + s - 1 >= 0 and v + s - 1 < 5 else 0.0) * w[r, s, c, f]
"""


def test_a_border_is_no_condition_in_the_tiles():
    program = parse(PADDED)
    done = DefaultSchedule(AVX512, threads=2)(program).program
    lines = to_text(done).splitlines()
    assert any("y_acc = local(float32[10, 16]" in line for line in lines)
    assert not any("fma" in line or "reduce(" in line for line in lines if " if " in line)
    random = np.random.default_rng(0)
    for count in (0, 1, 3):
        values = {
            "x": random.standard_normal((count, 4, 5, 3), np.float32),
            "w": random.standard_normal((3, 3, 3, 20), np.float32),
        }
        want = interpret(program, {"N": count}, values)["y"]
        got = interpret(done, {"N": count, "workers": 2}, values)["y"]
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_workers_share_the_rows_of_one_image():
    sized = PADDED.replace("N: call()", "N: call()\nH: call()\nW: call()").replace("N, 4, 5", "N, H, W")
    for number, name in (("4", "H"), ("5", "W")):
        sized = sized.replace(f"parallel({number})", f"parallel({name})").replace(f"< {number}", f"< {name}")
    program = parse(sized)
    done = DefaultSchedule(AVX512, threads=2)(program).program
    text = to_text(done)
    assert "w * N // workers" not in text and "// workers" in text and "y_acc" in text
    random = np.random.default_rng(2)
    # a block of rows of the image is padded at once
    assert "min(H - h_o * 8, 8)" in text
    for count, height, width in ((1, 3, 8), (2, 1, 1), (0, 2, 3), (1, 0, 4), (1, 11, 2), (2, 8, 3)):
        sizes = {"N": count, "H": height, "W": width}
        x = random.standard_normal((count, height, width, 3), np.float32)
        w = random.standard_normal((3, 3, 3, 20), np.float32)
        want = interpret(program, sizes, {"x": x, "w": w})["y"]
        got = interpret(done, {**sizes, "workers": 2}, {"x": x, "w": w})["y"]
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


CHANNELS_FIRST = """\
program("channels_first")

N: call()
H: call()
W: call()
F: call()
x: payload(float32[N, 3, H + 2, W + 2])
w: payload(float32[F, 3, 3, 3])
y: output(float32[N, F, H, W])

with kernel:
    for n in parallel(N):
        for f in parallel(F):
            for h in parallel(H):
                for v in parallel(W):
                    y[n, f, h, v] = 0.0
                    for c in serial(3):
                        for r in serial(3):
                            for s in serial(3):
                                y[n, f, h, v] += x[n, c, h + r, v + s] * w[f, c, r, s]
"""


def test_columns_that_are_not_the_last_dimension_of_the_result():
    program = parse(CHANNELS_FIRST)
    done = DefaultSchedule(AVX512)(program).program
    text = to_text(done)
    assert "y_acc = local(float32[6, 4, 16]" in text
    # rows of a tile are transposed in registers: six columns side by side are stored at once
    assert re.search(r"in vectorized\(6\):\n +y\[n, [^\n]* = y_acc\[", text)
    random = np.random.default_rng(0)
    entry = compile_program(done).entry(StageKind.KERNEL)
    for n, h, v, f in ((1, 1, 1, 1), (2, 2, 7, 17), (1, 3, 13, 65)):
        x = random.standard_normal((n, 3, h + 2, v + 2), np.float32)
        w = random.standard_normal((f, 3, 3, 3), np.float32)
        windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), (2, 3))
        want = np.einsum("nchvrs,fcrs->nfhv", windows, w)
        got = Caller([entry], {})({"N": n, "H": h, "W": v, "F": f, "x": x, "w": w})["y"]
        np.testing.assert_allclose(got, want, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "x[b, i, k] * w[b, j, k]",
            "x[b, i, k] * w[b, j, k] if x[b, i, k] < w[b, j, k] else 0.0",
        ),  # a choice
        ("for j in parallel(N)", "for j in parallel(N - b)"),  # columns of different numbers
        ("w[b, j, k]", "w[b, j + 0 * k, k] * 2.0"),  # no product of two elements
    ],
)
def test_what_is_left_as_it_is(old, new):
    text = to_text(product("bik", "bjk"))
    if "reduce" in new:
        text = text.replace(
            f"{old} x[b, i, k] * w[b, j, k]", f"{new}x[b, i, k] * w[b, j, k], init=y[b, i, j])"
        )
    text = text.replace(old, new)
    done = DefaultSchedule(AVX512)(parse(text)).program
    assert "w_packed" not in to_text(done)


def test_rows_of_different_numbers():
    program = parse(to_text(product("bik", "bjk")).replace("i in parallel(M)", "i in parallel(M - b)"))
    done = DefaultSchedule(AVX512, threads=2)(program).program
    assert "y_acc" in to_text(done) and "w_packed" in to_text(done)
    random = np.random.default_rng(0)
    for sizes in ((2, 7, 70, 3), (3, 2, 16, 0), (0, 3, 3, 3), (2, 1, 1, 4)):
        counts = dict(zip("BMNK", sizes, strict=True))
        batch, rows, columns, depth = sizes
        x = random.standard_normal((batch, rows, depth), np.float32)
        w = random.standard_normal((batch, columns, depth), np.float32)
        want = interpret(program, counts, {"x": x, "w": w})["y"]
        got = interpret(done, {**counts, "workers": 2}, {"x": x, "w": w})["y"]
        for b in range(batch):
            own = np.s_[b, : rows - b]
            np.testing.assert_allclose(got[own], want[own], rtol=1e-5, atol=1e-5)


def test_a_border_is_copied_by_squares():
    """Windows of images with a border, by channels: read along the row, stored along the channels."""
    lib = tc.define("""
def filters(float(N,F,H) d, float(N,C,H) x) -> (k) {
  k(f,c,p) +=! d(n,f,h) * (h + p - 1 >= 0 && h + p - 1 < H ? x(n,c,h + p - 1) : 0) where c in 0:C, p in 0:3, h in 0:H
}
""")
    function, plain = lib.filters.compile(threads=2), lib.filters.compile(schedule=None)
    if this_machine().lanes(4) in SIDES:
        assert re.search(r"x_padded\w*_acc", function.show("loops"))
    for channels, width in ((1, 1), (17, 40), (64, 16), (70, 33)):
        random = np.random.default_rng(width)
        given = (random.standard_normal((2, many, width), np.float32) for many in (5, channels))
        d, x = given
        assert function(d, x).tobytes() == plain(d, x).tobytes()


@pytest.mark.parametrize(("index", "once"), [("h + p", True), ("h * 2 + p", True), ("h - p + 2", False)])
def test_an_image_is_copied_once_for_all_places_of_a_filter(index, once):
    lib = tc.define(f"""
def filters(float(N,F,H) d, float(N,C,L) x) -> (k) {{
  k(f,c,p) +=! d(n,f,h) * ({index} < L ? x(n,c,{index}) : 0) where c in 0:C, p in 0:3, h in 0:H
}}
""")
    function, plain = lib.filters.compile(threads=2), lib.filters.compile(schedule=None)
    # where each place has its own copy, the table has dimensions for the loops that go through places
    found = re.search(r"x_padded: workspace\(float32\[workers, max\(N, 0\), \d+, ", function.show("loops"))
    assert bool(found) is once
    random = np.random.default_rng(len(index))
    for count, channels, width in ((1, 1, 1), (3, 17, 40), (2, 70, 33), (2, 16, 0)):
        d = random.standard_normal((count, 5, width), np.float32)
        x = random.standard_normal((count, channels, width + 2), np.float32)
        assert function(d, x).tobytes() == plain(d, x).tobytes()


def test_more_columns_than_a_panel_that_fill_no_vectors_are_padded():
    for columns, padded in ((30, True), (32, False), (7, False)):
        rules = DefaultSchedule(SMALL)(dense(columns=columns)).rules
        (record,) = [each for each in rules if each.rule == "tile_panels"]
        assert bool(record.applied) is padded


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "packed"),
    [
        (48, 256, 128, True),  # eight tiles of six rows read each panel
        (47, 256, 128, False),
        (47, 1024, 1024, True),  # 4 MiB, twice the second cache: four tiles are enough
        (23, 1024, 1024, False),
        (1000, 64, 128, False),  # 32 KiB stay in the first cache
        (1000, 256, 64, False),  # one panel, which is contiguous
        ("M", 256, 128, True),
        ("M", 64, 128, False),
    ],
)
def test_operands_whose_columns_fill_vectors_are_packed_if_many_rows_read_them(rows, depth, columns, packed):
    text = to_text(product("ik", "kj"))
    for name, number in (("M", rows), ("K", depth), ("N", columns)):
        if name != number:
            text = re.sub(rf"\b{name}\b", str(number), text.replace(f"{name}: call()\n", ""))
    text = text.replace("for b in parallel(B):", "for b in parallel(1):").replace("float32[B,", "float32[1,")
    done = to_text(DefaultSchedule(AVX512)(parse(text.replace("B: call()\n", ""))).program)
    assert ("w_packed" in done) is packed


def test_products_in_batches_are_left_to_tiles_of_batches():
    model = models.tree_rnn(
        hidden=72, embed=4, vocab=5
    )  # more columns than a panel, and no whole number of vectors
    schedule = LoopSchedule(default_schedule(model).lower())
    before = schedule.program
    assert tile_panels(schedule, AVX512) == ()
    assert schedule.program is before
