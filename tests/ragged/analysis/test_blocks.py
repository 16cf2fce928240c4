"""Which buffers the iterations of a loop divide into blocks of elements, each iteration's its own."""

import pytest

from ragged.analysis.blocks import divided_into_blocks
from ragged.ir.parser import parse
from ragged.transform.legality import labelled
from ragged.transform.locate import loop_site
from tests.ragged.transform.support import loop

PROGRAM = """\
program("blocks")

N: call()
a: parameter(int64[512])
x: payload(float32[512])
y: output(float32[512])
z: output(float32[8, 512], aliases=y)

with kernel:
    for n in parallel(8):
        for i in serial({extent}):
            {statement}
"""


def blocks(statement, extent="16"):
    program = parse(PROGRAM.format(statement=statement, extent=extent))
    site = loop_site(program, loop(program, "n"), "test")
    return {buffer.name for buffer in divided_into_blocks(labelled(site), site.stmt.var)}


@pytest.mark.parametrize(
    ("statement", "extent"),
    [
        ("y[n * 16 + i] = 1.0", "16"),
        ("y[(n * 4 + i // 4) * 4 + i % 4] = 1.0", "16"),
        ("y[n * 16 + i] = 1.0", "min(N - n * 16, 16)"),
        ("y[n * 16 + i * 4] = 1.0", "(min(N - n * 16, 16) + 3) // 4"),
        ("y[n * 16 + 15 - i] = 1.0", "16"),
        ("y[n * 16 + i] += 2.0", "16"),
        ("y[n] = 2.0", "16"),
    ],
)
def test_blocks_of_one_iteration(statement, extent):
    assert "y" in blocks(statement, extent)


@pytest.mark.parametrize(
    ("statement", "extent"),
    [
        ("y[n * 16 + i] = 1.0", "17"),  # the last one is the next block's first
        ("y[n * 16 + i + 1] = 1.0", "16"),
        ("y[n * 16 + i] = 1.0", "N"),
        ("y[n * 16 + i * 4] = 1.0", "(min(N - n * 16, 16) + 7) // 4"),
        ("y[i] = 1.0", "16"),
        ("y[a[n] + i] = 1.0", "16"),
        ("y[100 - n] = 1.0", "16"),
        ("y[n * 16 + i] = y[n]", "16"),  # blocks of two sizes
        ("y[n * 16 + i] = z[n, i]", "16"),  # two names of one memory
    ],
)
def test_elements_that_others_may_touch(statement, extent):
    assert not {"y", "z"} & blocks(statement, extent)


def test_a_dimension_that_all_accesses_share():
    assert "z" in blocks("z[n, n * 16 + i] = z[n, 3]")
    assert "z" not in blocks("z[n, n * 16 + i] = z[3, n * 16 + i] + z[n, 5]")
