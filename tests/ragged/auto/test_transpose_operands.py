"""Operands that are read across their rows: copied, where that pays, with the same bits."""

import numpy as np
import pytest

from ragged import tc
from ragged.auto.default_schedule import DefaultSchedule
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.machine import Machine

SMALL = Machine(16, 32, 2, 256, 1 << 10)
"""Caches so small that products which an interpreter computes exceed them: 256 floats.

A panel of sixteen columns and its lines exceed it from nine steps on, in rows that are 256 floats apart from two on."""
PRODUCT = """\
program("product")

M: call()
N: call()
K: call()
P: call()
a: {role}(float32[{a}])
b: payload(float32[{b}])
y: output(float32[{y}])

with kernel:
{loops}
"""
PLAIN = {
    "a": "K, M",
    "b": "K, N",
    "y": "M, N",
    "role": "payload",
    "loops": """\
    for m in parallel(M):
        for n in parallel(N):
            y[m, n] = 0.0
            for k in serial(K):
                y[m, n] += a[k, m] * b[k, n]
            y[m, n]: more = max(y[m, n], 0.0)
""",
}
BATCH = PLAIN | {
    "a": "P, K, M",
    "b": "P, K, N",
    "y": "P, M, N",
    "loops": """\
    for p in parallel(P):
        for m in parallel(M):
            for n in parallel(N):
                y[p, m, n] = 0.0
                for k in serial(K):
                    y[p, m, n] += a[p, k, m] * b[p, k, n]
""",
}
TWO_AXES = PLAIN | {
    "a": "K, P, M",
    "b": "K, P, N",
    "loops": """\
    for m in parallel(M):
        for n in parallel(N):
            y[m, n] = 0.0
            for k in serial(K):
                for p in serial(P):
                    y[m, n] += a[k, p, m] * b[k, p, n]
""",
}
TEMPORARY = PLAIN | {
    "role": "payload(float32[K, M])\nh: workspace",
    "loops": """\
    for k in parallel(K):
        for m in parallel(M):
            h[k, m] = a[k, m] + 1.0
"""
    + PLAIN["loops"].replace("a[", "h["),
}
PROGRAMS = {"plain": PLAIN, "batch": BATCH, "two axes": TWO_AXES, "temporary": TEMPORARY}


def text_of(case, **fixed):
    text = PRODUCT.format(**case)
    for name, value in fixed.items():
        text = text.replace(f"{name}: call()\n", "").replace(f"({name})", f"({value})")
        for old, new in (
            (f"[{name},", f"[{value},"),
            (f" {name},", f" {value},"),
            (f" {name}]", f" {value}]"),
        ):
            text = text.replace(old, new)
    return text


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_interpreter_agrees_on_both_sides_of_the_condition(name, threads):
    program = parse(text_of(PROGRAMS[name]))
    done = DefaultSchedule(SMALL, threads=threads)(program).program
    assert "_padded" in to_text(done) and "if 1 <= min(" in to_text(done)
    random = np.random.default_rng(0)
    for m, n, k, p in (
        (40, 40, 9, 1),
        (33, 35, 11, 2),
        (13, 33, 40, 1),
        (5, 16, 60, 2),
        (256, 40, 2, 1),
        (3, 0, 9, 1),
        (0, 40, 9, 2),
        (5, 40, 0, 1),
        (40, 40, 9, 0),
    ):
        sizes = {"M": m, "N": n, "K": k, "P": p}
        given = {
            each: random.standard_normal([sizes[dim] for dim in PROGRAMS[name][each].split(", ")], np.float32)
            for each in "ab"
        }
        want = interpret(program, sizes, given)["y"]
        got = interpret(done, sizes | ({"workers": threads} if threads > 1 else {}), given)["y"]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("sizes", "copied"),
    [
        ((40, 40, 9), True),
        ((40, 40, 8), False),
        ((40, 40, 7), False),
        ((40, 16, 60), False),
        ((20, 40, 12), False),
        ((256, 40, 2), True),
        ((255, 40, 2), False),
    ],
)
def test_numbers_decide_when_compiled(sizes, copied):
    done = DefaultSchedule(SMALL)(parse(text_of(PLAIN, **dict(zip("MNK", sizes, strict=True))))).program
    assert ("a_padded" in to_text(done)) is copied
    assert "if 1 <=" not in to_text(done)


def test_few_products_have_code_for_both():
    one = "".join(PLAIN["loops"].splitlines(keepends=True)[:5])
    for count, copied in ((2, True), (3, False)):
        others = [one.replace("y[m, n]", f"y{i}[m, n]") for i in range(count)]
        outputs = "\n".join(f"y{i}: output(float32[M, N])" for i in range(count))
        text = text_of(PLAIN | {"loops": "".join(others)}).replace("y: output(float32[M, N])", outputs)
        done = to_text(DefaultSchedule(SMALL)(parse(text)).program)
        assert ("if 1 <= min(" in done) is copied


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a[k, m]", "a[m, k]"),
        ("a[k, m]", "a[k, (m + 1) % 40]"),
        ("a[k, m] * b", "a[k, m] * a[k, n] * b"),
        ("a[k, m]", "a[k + m, m]"),
    ],
)
def test_what_is_not_copied(old, new):
    text = text_of(PLAIN, M=40, N=40, K=9).replace("float32[9, 40]", "float32[60, 60]").replace(old, new)
    done = DefaultSchedule(SMALL)(parse(text)).program
    assert "a_padded" not in to_text(done)


@pytest.mark.parametrize("threads", [1, 2])
def test_compiled(threads):
    lib = tc.define("""
def plain(float(K,M) a, float(K,N) b) -> (y) { y(m,n) +=! a(k,m) * b(k,n) }
def batch(float(P,K,M) a, float(P,K,N) b) -> (y) { y(p,m,n) +=! a(p,k,m) * b(p,k,n) y(p,m,n) = fmax(y(p,m,n), 0) }
""")
    plain, batch = (lib[name].compile(threads=threads) for name in ("plain", "batch"))
    random = np.random.default_rng(0)
    for m, n, k in ((256, 150, 1100), (300, 140, 3500), (256, 40, 1100), (31, 130, 3400), (5, 3, 2)):
        a, b = (random.standard_normal((2, k, size), np.float32) for size in (m, n))
        wanted = np.matmul(a.astype(float).swapaxes(1, 2), b.astype(float))
        np.testing.assert_allclose(plain(a[1], b[1]), wanted[1], rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(batch(a, b), np.maximum(wanted, 0), rtol=1e-4, atol=1e-3)
