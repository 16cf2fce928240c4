"""tensorize: what the matrix unit sums up is what the loops say, up to the order in which it adds."""

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.codegen.target_features import has_matrix_unit, host_target
from ragged.errors import ScheduleError
from ragged.ir.index import index_of
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import StageKind
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from ragged.transform.code.tensorize import tensorize
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.unroll import unroll
from tests.ragged.transform.support import accepted, check_same, refused

HAS_UNIT = has_matrix_unit(host_target())
GATES = """\
program("gates")

count: input()
W: payload(float32[3, {pairs}, {columns}, 2])
x: payload(float32[count, {pairs}, 2])
W_pairs: workspace(bfloat16x2[3, {pairs}, {columns}])
x_pairs: workspace(bfloat16x2[count, {pairs}])
y: output(float32[count, 3, {columns}])

with kernel:
    for g in serial(3):
        for k in serial({pairs}):
            for i in serial({columns}):
                W_pairs[g, k, i] = pair(W[g, k, i, 0], W[g, k, i, 1])
    for n in serial(count):
        for k in serial({pairs}):
            x_pairs[n, k] = pair(x[n, k, 0], x[n, k, 1])
    for n in serial(count):
        node = count - 1 - n
        for g in serial(3):
            for i in serial({columns}):
                y[node, g, i]: y.init = 0.0
                for j in serial({pairs}):
                    y[node, g, i] += dot(W_pairs[g, j, i], x_pairs[node, j])
"""


def gates(columns=32, pairs=32):
    return parse(GATES.format(columns=columns, pairs=pairs))


def data(count, columns=32, pairs=32):
    rng = np.random.default_rng(count)
    return {"count": count}, {
        "W": rng.standard_normal((3, pairs, columns, 2), np.float32),
        "x": rng.standard_normal((count, pairs, 2), np.float32),
    }


def rows_of(program):
    """Return the loop over rows of the product: the last loop of that name."""
    return [var for var in index_of(program).loops if var.name.startswith("n")][-1]


def compiled(program, target="cpu"):
    """Return machine code, after the pass that leaves sums as multiply-adds."""
    return compile_program(fuse_multiply_add(program).program, target)


def run(code, sizes, arrays):
    width = arrays["W"].shape
    values = {
        **sizes,
        **{name: array.copy() for name, array in arrays.items()},
        "W_pairs": np.zeros(width[:3], np.uint32),
        "x_pairs": np.zeros(arrays["x"].shape[:2], np.uint32),
        "y": np.full((sizes["count"], 3, width[2]), np.nan, np.float32),
    }
    code.call(StageKind.KERNEL, values)
    return values["y"]


def test_kinds_are_all_that_changes():
    old = gates()
    new = accepted(tensorize, old, rows_of(old)).program
    check_same(old, new, [data(3), data(0)])
    assert to_text(new).replace("tensorized", "serial") == to_text(old)
    assert to_text(new).count("tensorized") == 4


@pytest.mark.parametrize(("columns", "pairs", "blocks"), [(16, 128, True), (48, 16, False), (64, 48, True)])
def test_the_unit_sums_up_what_the_loops_do(columns, pairs, blocks):
    old = gates(columns, pairs)
    new = split(old, rows_of(old), 16, Tail.SHORT).program if blocks else old
    new = tensorize(new, rows_of(new)).program
    code = compiled(new if HAS_UNIT else old)
    sizes, arrays = data(5, columns, pairs)
    want = interpret(old, sizes, arrays)["y"]
    for count in (0, 1, 15, 16, 33):
        repeated = np.arange(count) % 5  # a row depends on its own row of x alone
        got = run(code, {"count": count}, {**arrays, "x": arrays["x"][repeated]})
        np.testing.assert_allclose(got, want[repeated], rtol=0, atol=4e-6 * pairs)


@pytest.mark.skipif(not HAS_UNIT, reason="the processor has no matrix unit")
def test_a_row_has_the_same_bits_among_any_others():
    program = gates()
    code = compiled(tensorize(program, rows_of(program)).program)
    sizes, arrays = data(37)
    whole = run(code, sizes, arrays)
    for first, last in ((0, 1), (5, 21), (30, 37)):
        part = {**arrays, "x": arrays["x"][first:last]}
        np.testing.assert_array_equal(run(code, {"count": last - first}, part), whole[first:last])


def test_a_processor_without_a_unit_is_refused():
    program = gates()
    with pytest.raises(ScheduleError, match=r"the processor of 'llvm .*' has no matrix unit"):
        compiled(tensorize(program, rows_of(program)).program, "llvm -mcpu=x86-64-v3")


def changed(old, new):
    before, found, after = GATES.format(pairs=32, columns=32).rpartition(old)
    assert found
    return parse(before + new + after)


REFUSED = {
    "no nest": changed("                y[node, g, i]: y.init = 0.0\n", ""),
    "no product": changed(
        "dot(W_pairs[g, j, i], x_pairs[node, j])", "dot(W_pairs[g, j, i], x_pairs[node, j]) + 1.0"
    ),
    "not from zero": changed("y.init = 0.0", "y.init = 1.0"),
    "both by rows": changed("+= dot(W_pairs[g, j, i]", "+= dot(W_pairs[min(node, 2), j, i]"),
    "columns": parse(GATES.format(pairs=32, columns=80)),
    "odd columns": parse(GATES.format(pairs=32, columns=24)),
    "odd pairs": parse(GATES.format(pairs=24, columns=32)),
    "a loop between": changed("        for g in serial(3):", "        for g in serial(n):"),
    "not side by side": changed(
        "y: output(float32[count, 3, 32]", "y: output(float32[count, 3, 32], order=(0, 2, 1)"
    ),
    "read and written": changed(
        "y: output(float32[count, 3, 32]", "y: workspace(float32[count, 3, 32], aliases=x_pairs"
    ),
    "rows looked up": changed("node = count - 1 - n", "node = min(n, count - 1 - n)"),
    "pairs looked up": changed("dot(W_pairs[g, j, i]", "dot(W_pairs[g, min(j, 31 - j), i]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, golden):
    program = REFUSED[name]
    golden(f"tensorize_{name.replace(' ', '_')}.txt", refused(tensorize, program, rows_of(program)))


def test_loops_of_another_kind(golden):
    program = gates()
    axis = [var for var in index_of(program).loops if var.name == "j"][-1]
    program = unroll(program, axis).program
    golden("tensorize_unrolled.txt", refused(tensorize, program, rows_of(program)))
