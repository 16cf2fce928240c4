"""cache_padded: an input with its border is copied once, and read without a condition."""

import numpy as np
import pytest

from ragged.ir.parser import parse
from ragged.transform.storage.cache_padded import cache_padded
from tests.ragged.transform.data_support import same, same_compiled, valid
from tests.ragged.transform.support import body, label, loop, refused

WINDOWS = """\
program("windows")

count: call()
height: call()
x: payload(float32[count, height, 9, 2])
w: payload(float32[3, 2, 2])
y: output(float32[count, height, 5])

with kernel:
    for n in parallel(count):
        for h in parallel(height):
            for v in parallel(5):
                y[n, h, v] = 0.0
                for r in serial(3):
                    for s in serial(2):
                        for c in serial(2):
                            y[n, h, v] += (x[n, h + r - 1, 2 * v - s, c] if {condition} else {other}) * w[r, s, c]
"""
INSIDE = "h + r >= 1 and h + r - 1 < height and (2 * v - s >= 0 and not 2 * v - s >= 9)"
POSITIVE = WINDOWS.replace("2 * v - s", "2 * v + s - 1")
INSIDE_POSITIVE = "h + r >= 1 and h + r - 1 < height and (2 * v + s - 1 >= 0 and not 2 * v + s > 9)"


def windows(condition=INSIDE_POSITIVE, other="0.0", text=POSITIVE):
    return parse(text.format(condition=condition, other=other))


def data():
    random = np.random.default_rng(0)
    for count, height in ((0, 2), (1, 1), (2, 4)):
        arrays = {
            "x": random.standard_normal((count, height, 9, 2), np.float32),
            "w": random.standard_normal((3, 2, 2), np.float32),
        }
        yield {"count": count, "height": height}, arrays


def padded(program, name="n"):
    return valid(cache_padded, program, label(program, "y", 1), loop(program, name)).program


def test_text(golden):
    program = windows()
    new = padded(program)
    golden("cache_padded.txt", body(program) + "\ncache_padded(y, n)\n\n" + body(new))
    same(program, new, data())
    same_compiled(program, new, data())


@pytest.mark.parametrize("name", ["h", "v"])
def test_a_loop_further_in(name):
    program = windows(other="2.5")
    new = padded(program, name)
    assert "x_padded" in body(new)
    same(program, new, data())
    same_compiled(program, new, data())


BOUND = """\
program("bound")

x: parameter(float32[9])
y: bound(float32[9])

with bind:
    for n in serial(1):
        for h in serial(9):
            y[h] = x[h - 1] if h >= 1 else 0.0

with kernel:
    pass
"""
RAGGED = """\
program("ragged")

rows: input()
n: input(b < rows) = facts(0 <= n(b) < 9)
x: payload(float32[rows, 9])
y: output(float32[rows, 9])

with kernel:
    for b in serial(rows):
        for t in serial(n(b)):
            for h in serial(9):
                y[b, h] = x[b, h + t] if h + t < 9 else 0.0
"""
REFUSED = {
    "difference": (windows(text=WINDOWS, condition=INSIDE), 1, "n"),
    "other_condition": (
        windows("h + r >= 1 and h + r - 1 < height and 2 * v + s >= 1 and 2 * v + s <= 9 and r * s < 2"),
        1,
        "n",
    ),
    "no_condition": (windows("count > 1"), 1, "n"),
    "no_number": (windows(other="w[0, 0, 0]"), 1, "n"),
    "written": (
        parse(
            POSITIVE.format(condition=INSIDE_POSITIVE, other="0.0")
            .replace("x: payload", "x: workspace")
            .replace("    y[n, h, v] = 0.0", "    x[n, h, v, 0] = 0.0\n                y[n, h, v] = 0.0")
        ),
        1,
        "n",
    ),
    "elsewhere": (windows(), 0, "r"),
    "no_kernel": (parse(BOUND), 0, "n"),
    "unknown_extent": (parse(RAGGED), 0, "t"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case, golden):
    program, place, name = REFUSED[case]
    text = refused(cache_padded, program, label(program, "y", place), loop(program, name))
    golden(f"cache_padded_{case}.txt", f"{text}\n")


def test_a_copy_before_the_loop(golden):
    program = windows()
    new = valid(cache_padded, program, label(program, "y", 1), loop(program, "n"), before=True).program
    golden("cache_padded_before.txt", body(program) + "\ncache_padded(y, n, before=True)\n\n" + body(new))
    same(program, new, data())
    same_compiled(program, new, data())


HELD = """\
program("held")

N: call()
P: call()
x: payload(float32[N * 3])
y: output(float32[P, N, 3])

with kernel:
    for p in serial(P):
        for n in serial(N):
            for k in serial(3):
                y[p, n, k] = x[k]
"""


@pytest.mark.parametrize("before", [False, True])
def test_what_no_iteration_reads_may_not_be_there(before, golden):
    program = parse(HELD)  # of none in N, x has no elements
    text = refused(
        cache_padded, program, label(program, "y"), loop(program, "p"), program.buffers[0], before=before
    )
    golden("cache_padded_held.txt", f"{text}\n")


PANELS = """\
program("panels")

N: call()
K: call()
d: call()
x: payload(float32[K, N])
w: payload(float32[4, K])
z: workspace(float32[K, N])
y: output(float32[4, N])

with kernel:
    for i in parallel(K):
        for j in parallel(N):
            z[i, j] = x[i, j] + 1.0
    for p in parallel((N + 7) // 8):
        for r in serial(4):
            for c in serial(min(N - p * 8, 8)):
                y[r, p * 8 + c] = 0.0
                for k in serial(K):
                    y[r, p * 8 + c] += {read} * w[r, k]
"""
READS = {
    "a temporary": "z[k, p * 8 + c]",
    "another place": "(x[k, p * 8 + c - d] if d >= 0 and p * 8 + c - d >= 0 else 0.0)",
}


@pytest.mark.parametrize("read", READS)
def test_the_columns_of_a_panel(read, golden):
    program = parse(PANELS.format(read=READS[read]))
    buffer = next(each for each in program.buffers if each.name == ("z" if read == "a temporary" else "x"))
    new = valid(cache_padded, program, label(program, "y", 1), loop(program, "p"), buffer).program
    golden(f"cache_padded_{read.replace(' ', '_')}.txt", body(new))
    random = np.random.default_rng(0)
    cases = [
        (
            {"N": n, "K": k, "d": d},
            {
                "x": random.standard_normal((k, n), np.float32),
                "w": random.standard_normal((4, k), np.float32),
            },
        )
        for n, k, d in ((0, 2, 1), (5, 3, 2), (16, 2, 20), (17, 0, 0), (19, 3, 0))
    ]
    same(program, new, cases)
    same_compiled(program, new, cases)


def test_a_buffer_that_is_read_twice():
    """The read that the loop moves is copied, as of the columns of a product of a matrix with itself."""
    program = parse(PANELS.format(read="(z[k, p * 8 + c] + z[k, 0])"))
    z = next(each for each in program.buffers if each.name == "z")
    new = valid(cache_padded, program, label(program, "y", 1), loop(program, "p"), z).program
    assert "(z_padded[p, k, c] + z[k, 0])" in body(new)
    program = parse(PANELS.format(read="(z[k, p * 8 + c] + z[k, p])"))
    z = next(each for each in program.buffers if each.name == "z")
    assert "it has 2 reads of 'z'" in refused(
        cache_padded, program, label(program, "y", 1), loop(program, "p"), z
    )


CONDITIONS = """\
program("conditions")

N: call()
x: payload(float32[N])
y: output(float32[N])

with kernel:
    for i in parallel(N):
        for j in serial(2):
            {statement}
"""


@pytest.mark.parametrize("name", ["i", "j"])
def test_a_condition_on_loops_around_is_asked_for_the_copy(name):
    program = parse(CONDITIONS.format(statement="y[i] = x[i - 1] if i >= 1 else 0.5"))
    x = next(each for each in program.buffers if each.name == "x")
    new = valid(cache_padded, program, label(program, "y"), loop(program, name), x).program
    assert "if i >= 1 else 0.5" in body(new)
    same(program, new, [({"N": n}, {"x": np.arange(n, dtype=np.float32)}) for n in (0, 1, 4)])


@pytest.mark.parametrize(
    "statement",
    [
        "y[i] = (x[i - 1 + j] if i + j >= 1 else 0.0) if i > 0 else 1.0",
        "y[i] = (x[i + j] + 1.0) if i + j < N else 0.0",
        "if i + j < N: y[i] = x[i + j]",
        "if i > 0: y[i] = x[i - 1 + j] if j < 1 else 0.0",
    ],
)
def test_what_is_read_under_another_condition_is_not_copied(statement):
    program = parse(CONDITIONS.format(statement=statement))
    x = next(each for each in program.buffers if each.name == "x")
    because = (
        "it runs under a condition in that loop"
        if statement.startswith("if")
        else "it reads that under another condition as well"
    )
    assert because in refused(cache_padded, program, label(program, "y"), loop(program, "i"), x)


def test_a_condition_of_alternatives():
    outside = "(h + r < 1 or h + r - 1 >= height or 2 * v + s - 1 < 0 or 2 * v + s > 9)"
    program = windows(f"not {outside}", other="1.5")
    new = padded(program)
    assert "x_padded" in body(new)
    same(program, new, data())


@pytest.mark.parametrize(
    ("read", "columns"),
    [
        ("z[k, p * 8 + c + r]", "N + 3"),
        ("z[k, p * 8 + 2 * c]", "2 * N + 3"),
        ("z[k, p * 8 + 2 * c + r]", "2 * N + 3"),
        ("z[k, 2 * c + r]", "min(N, 8) * 4"),  # none where no iteration reads
    ],
)
@pytest.mark.parametrize("panels", ["(N + 7) // 8", "3"])
def test_a_loop_of_a_short_block_moves_an_index_with_others(read, columns, panels):
    """The last block, and those without iterations, read nothing of rows that end where the last reads do."""
    text = PANELS.format(read=read).replace("parallel((N + 7) // 8)", f"parallel({panels})")
    program = parse(text.replace("[K, N]", f"[K, {columns}]").replace("parallel(N)", f"parallel({columns})"))
    z = next(each for each in program.buffers if each.name == "z")
    new = valid(cache_padded, program, label(program, "y", 1), loop(program, "p"), z).program
    assert "z_padded" in body(new)
    random = np.random.default_rng(0)
    cases = []
    for n, k in ((0, 2), (1, 2), (7, 3), (8, 1), (19, 0), (19, 2)):
        arrays = {
            "x": random.standard_normal((k, eval(columns, {"N": n, "min": min})), np.float32),
            "w": random.standard_normal((4, k), np.float32),
        }
        cases.append(({"N": n, "K": k, "d": 0}, arrays))
    same(program, new, cases)
    same_compiled(program, new, cases)


SHORT = "for c in serial(min(N - p * 8, 8))"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (SHORT, "for c in serial(min(N - p * 8, N))"),  # of no number at most
        (
            f"r in serial(4):\n            {SHORT}",
            "r in serial(4):\n            for c in serial(min(N - r, 8))",
        ),
    ],
)
def test_a_loop_that_is_as_long_as_others_say_is_refused(old, new):
    text = PANELS.format(read="z[k, p * 8 + c]")
    assert old in text
    program = parse(text.replace(old, new))
    z = next(each for each in program.buffers if each.name == "z")
    assert "with known extents" in refused(
        cache_padded, program, label(program, "y", 1), loop(program, "p"), z
    )
