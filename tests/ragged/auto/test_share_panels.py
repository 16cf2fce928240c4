"""Workers share blocks of rows of the panels of a product: panels may be fewer than workers."""

import re

import numpy as np
import pytest

from ragged.auto.default_schedule import DefaultSchedule
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.machine import Machine

AVX512 = Machine(64, 32, 2, 48 << 10, 2 << 20)

PRODUCT = """\
program("product")

M: call()
N: call()
K: call()
x: payload(float32[M, K])
v: payload(float32[{v}])
y: output(float32[M, {N}])

with kernel:
    for i in parallel(M):
        for j in parallel({N}):
            y[i, j] = 0.0
            for k in serial(K):
                y[i, j] += x[i, k] * v[{vi}]
"""


def product(order="jk", columns="N"):
    shape = ", ".join({"j": columns, "k": "K"}[each] for each in order)
    return parse(PRODUCT.format(v=shape, vi=", ".join(order), N=columns))


def shares(program, threads=2):
    """Return the numbers of iterations that workers of the default schedule share."""
    text = to_text(DefaultSchedule(AVX512, threads=threads)(program).program)
    return re.findall(r"first = w \* (.*) // workers", text)


@pytest.mark.parametrize("order", ["jk", "kj"])
def test_blocks_of_rows_of_any_number_of_panels(order):
    program = product(order)
    done = DefaultSchedule(AVX512, threads=2)(program).program
    few = ["((N + 255) // 256)"] if order == "kj" else []  # rows, which read what is side by side where it is
    assert shares(program) == [*few, "((N + 63) // 64 * ((M + 47) // 48))"]
    random = np.random.default_rng(0)
    for m, n, k in ((50, 18, 5), (3, 70, 17), (0, 5, 5), (5, 0, 5)):
        x = random.standard_normal((m, k), np.float32)
        v = random.standard_normal((n, k) if order == "jk" else (k, n), np.float32)
        sizes = {"M": m, "N": n, "K": k}
        want = interpret(program, sizes, {"x": x, "v": v})["y"]
        for workers in (1, 3):
            got = interpret(done, {**sizes, "workers": workers}, {"x": x, "v": v})["y"]
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_panels_that_all_workers_have_as_many_of_are_shared_alone():
    assert shares(product(columns="192")) == ["((M + 47) // 48 * 3)"]
    assert shares(product(columns="250")) == ["4"]
    assert shares(product(columns="250"), threads=3) == ["((M + 47) // 48 * 4)"]
    assert shares(product(), threads=1) == []
