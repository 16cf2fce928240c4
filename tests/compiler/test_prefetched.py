"""What a tile's rows read besides its sums is prefetched by default: which buffers, where, and that no bit changes."""

import re

import numpy as np
import pytest

import cortex
from cortex import Node, RecursionOptions, models
from ragged.ir.expr import Binary, Const
from ragged.ir.parser import parse
from ragged.ir.stmt import Alloc, Block, For, Intrinsic
from ragged.ir.walk import statements

H, E = 32, 16
RNG = np.random.default_rng(1)
MODEL = models.tree_lstm(H, E, input="vector")
PARAMS = MODEL.init_params(seed=3)


def trees(count):
    def leaf():
        return Node(x=RNG.standard_normal(E, np.float32))

    return [
        Node([Node([leaf(), leaf()]), leaf()], x=RNG.standard_normal(E, np.float32)) for _ in range(count)
    ]


@pytest.mark.parametrize(("threads", "precision"), [(1, "bf16"), (2, "float32")])
def test_no_bit_depends_on_it(threads, precision):
    fn, plain = (
        cortex.compile(MODEL, PARAMS, threads=threads, precision=precision, options=options)
        for options in (
            RecursionOptions(tensorize=False),  # a matrix unit takes whole tiles, which prefetch nothing
            RecursionOptions(tensorize=False, prefetch=False),
        )
    )
    assert "prefetch(" in fn.show("loops") and "prefetch(" not in plain.show("loops")
    assert "# prefetch=False is set; True by default" in plain.show("schedule")
    batch = trees(30)
    np.testing.assert_array_equal(fn(batch)["h"], plain(batch)["h"])


def test_inputs_before_the_sums_of_a_tile():
    fn = cortex.compile(MODEL, PARAMS, threads=2)
    steps = re.findall(r"s\.apply\(prefetch, s\.loop\(.*\), s\.buffer\('(\w+)'\)\)", fn.show("schedule"))
    assert set(steps) == {"Wx_o_Wx_i_Wx_u_Wx_f"}
    kernel = parse(fn.show("loops")).kernel
    homes = [
        stmt.body
        for stmt in statements(kernel)
        if isinstance(stmt, Alloc) and isinstance(stmt.body, Block) and _fetches(stmt.body.body[0])
    ]
    extents = {
        type(loop.extent) for home in homes for loop in home.body if isinstance(loop, For) and _fetches(loop)
    }
    assert extents == {Const, Binary}, "whole tiles, and what they leave over: batch_length(b) % 6"
    everywhere = sum(isinstance(stmt, Intrinsic) for stmt in statements(kernel))
    before_sums = sum(
        isinstance(s, Intrinsic) for home in homes for each in home.body for s in statements(each)
    )
    assert everywhere == before_sums


def _fetches(stmt):
    return isinstance(stmt, For) and any(isinstance(inner, Intrinsic) for inner in statements(stmt))
