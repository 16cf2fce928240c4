"""cache_read: what is read is copied first."""

import pytest

from ragged.ir.parser import parse
from ragged.transform.loops.split import Tail, split
from ragged.transform.storage.cache_read import cache_read
from tests.ragged.transform.data_programs import PRODUCT, data
from tests.ragged.transform.data_support import declared, same, same_compiled, valid
from tests.ragged.transform.programs import TREE
from tests.ragged.transform.support import TREE_DATA, body, loop, refused

WINDOW = """\
program("window")

count: input()
{role}
y: output(float32[count, 8])

with kernel:
    {start}
    for n in serial(count):
        m = count - 1 - n
        for i in serial(8):
            y[n, i] = {value}
"""


def window(value, role="x: payload(float32[count + 2, 12])", start="pass"):
    return parse(WINDOW.format(value=value, role=role, start=start))


WINDOW_DATA = [
    (sizes, {"x": arrays["x"]})
    for sizes, arrays in data(
        """\
program("x")

count: input()
x: payload(float32[count, 12])

with kernel:
    pass
""",
        (0, 1, 2, 5),
    )
]


def padded(cases):
    import numpy as np

    return [(sizes, {"x": np.concatenate([a["x"], np.ones((2, 12), np.float32)])}) for sizes, a in cases]


def test_text(golden):
    program = parse(PRODUCT)
    result = valid(cache_read, program, declared(program, "v"), loop(program, "n"))
    assert [var.name for var in result.forwarding.loops[loop(program, "j")]] == ["j", "j_r"]
    golden("cache_read.txt", body(program) + "\ncache_read(v, n)\n\n" + body(result.program))
    same(program, result.program, data(PRODUCT))
    same_compiled(program, result.program, data(PRODUCT))


def test_rows_of_a_tree():
    program = parse(TREE)
    for _ in range(2):
        program = valid(split, program, loop(program, "i", 1), 2).program
    first, second = (loop(program, "i_o", nth) for nth in (0, 1))
    new = valid(cache_read, program, declared(program, "h"), first).program
    new = valid(cache_read, new, declared(new, "h"), second).program
    assert "h_cache[i_i_r] = h[left(node), i_o * 2 + i_i_r]" in body(new)
    assert "rh[node, i_o * 2 + i_i] = h_cache[i_i]" in body(new)
    same(program, new, TREE_DATA)


def test_a_tile_of_rows():
    program = parse(PRODUCT)
    program = valid(split, program, loop(program, "n"), 4, Tail.PEEL).program
    new = valid(cache_read, program, declared(program, "v"), loop(program, "n_o")).program
    assert "v_cache[n_i_r, j_r] = v[n_o * 4 + n_i_r, j_r]" in body(new)
    same(program, new, data(PRODUCT, (0, 3, 4, 9)))


def test_neighbours_are_one_region():
    program = window("x[m, i] + x[m + 2, i + 4]")
    new = valid(cache_read, program, declared(program, "x"), loop(program, "n")).program
    assert "x_cache = local(float32[3, 12])" in body(new)
    assert "x_cache[x_0, x_1] = x[m + x_0, x_1]" in body(new)
    assert "x_cache[0, i] + x_cache[2, i + 4]" in body(new)
    same(program, new, padded(WINDOW_DATA))


def test_a_parameter_may_be_read_under_a_condition():
    program = window("x[m, i] if i < 5 else 0.0")
    new = valid(cache_read, program, declared(program, "x"), loop(program, "n")).program
    same(program, new, padded(WINDOW_DATA))


def test_a_condition_that_keeps_it_inside():
    program = window("x[n + 4, i] if n + 6 < count else 0.0")
    assert refused(cache_read, program, declared(program, "x"), loop(program, "n")) == (
        "cache_read: cannot copy 'x' in loop 'n'\n"
        "  because: the copy may reach outside the buffer, where the loop is kept from it by a condition\n"
        "  example: n = 0, count = 1\n"
        "  fix: name a loop inside the condition"
    )


def test_what_may_not_have_been_written():
    program = window(
        "t[i] if i < 5 else 0.0", "t: workspace(float32[8])", "for k in serial(5):\n        t[k] = 1.0"
    )
    assert refused(cache_read, program, declared(program, "t"), loop(program, "n")) == (
        "cache_read: cannot copy 't' in loop 'n'\n"
        "  because: no one of its reads surely reads all of the region: the rest may not have been written\n"
        "  fix: name a loop inside the conditions, or fission it so that each part reads one region"
    )


def test_a_check_before_the_read():
    line = "                lh[node, i] ="
    text = TREE.replace(line, f'                check(left(node) < num_nodes, "no")\n{line}')
    program = parse(text)
    new = valid(cache_read, program, declared(program, "h"), loop(program, "i", 1)).program
    same(program, new, TREE_DATA)
    program = parse(text.replace("n + 1 <= left(n) < num_nodes", "n + 1 <= left(n) < num_nodes + 1"))
    message = refused(cache_read, program, declared(program, "h"), loop(program, "i", 1))
    assert "because: the copy may reach outside the buffer" in message


def test_two_regions():
    program = window("x[m, i] + x[n, i]")
    new = valid(cache_read, program, declared(program, "x"), loop(program, "n")).program
    assert "x_cache = local(float32[2, 8])" in body(new)
    assert "x_cache[x_way, i_r] = x[m if x_way == 0 else n, i_r]" in body(new)
    assert "y[n, i] = x_cache[0, i] + x_cache[1, i]" in body(new)
    same(program, new, padded(WINDOW_DATA))
    same_compiled(program, new, padded(WINDOW_DATA))


def test_regions_that_differ_in_two_dimensions():
    program = window("x[m, i] + x[n, i + 1] + x[m + 1, i] * x[n + 1, i + 1]")
    new = valid(cache_read, program, declared(program, "x"), loop(program, "n")).program
    assert "x_cache = local(float32[2, 2, 8])" in body(new)
    same(program, new, padded(WINDOW_DATA))


def test_regions_of_two_sizes():
    program = window("x[m, i] + x[n, i] + x[n + 1, i]")
    assert refused(cache_read, program, declared(program, "x"), loop(program, "n")) == (
        "cache_read: cannot copy 'x' in loop 'n'\n"
        "  because: x[m, i] and x[n, i] are not a known distance from each other, and of regions of different sizes, "
        "1 x 8 and 2 x 8: one copy does not hold both\n"
        "  fix: fission the loop, so that each of its parts reads one region"
    )


def test_both_children_of_a_node(golden):
    """CORTEX, appendix A.3: one copy; its first index says through which function it is read."""
    program = parse(TREE)
    new = valid(cache_read, program, declared(program, "h"), loop(program, "n", 1)).program
    golden("cache_read_children.txt", body(program) + "\ncache_read(h, n)\n\n" + body(new))
    same(program, new, TREE_DATA)
    program = parse(TREE.replace("tanh(", "abs("))  # which has the same bits interpreted and compiled
    new = valid(cache_read, program, declared(program, "h"), loop(program, "n", 1)).program
    same_compiled(program, new, TREE_DATA)


FUSED = """\
                h[node, i] = abs(h[left(node), i] + h[right(node), i])
"""


def fused(text=TREE):
    """Return the tree's program with one statement that reads the children and writes the node."""
    head, _, _ = text.partition("            for i in serial(4):\n                lh[node, i]")
    return head + "            for i in serial(4):\n" + FUSED


def test_what_is_written_in_between_is_proven_to_be_another_row():
    program = parse(fused())
    new = valid(cache_read, program, declared(program, "h"), loop(program, "n", 1)).program
    assert "h[node, i] = abs(h_cache[0, i] + h_cache[1, i])" in body(new)
    same(program, new, TREE_DATA)
    same_compiled(program, new, TREE_DATA)


def test_what_is_written_in_between_may_be_what_is_read():
    text = TREE.replace(
        "n + 1 <= right(n) < num_nodes, follows(batch_begin, batch_length)", "n <= right(n) < num_nodes"
    )
    program = parse(fused(text))
    assert refused(cache_read, program, declared(program, "h"), loop(program, "n", 1)) == (
        "cache_read: cannot copy 'h' in loop 'n'\n"
        "  because: h[node, i] is stored in it, and may be what h[right(node), i] reads: "
        "the copy would be out of date\n"
        "  example: b = 0, n = 1, i = 0, num_batches = 2, batch_length(1) = 2, batch_begin(1) = 0, right(1) = 1\n"
        "  fix: name a loop that only reads it, or cache_write what it accumulates"
    )


def test_what_is_written_before_or_after():
    program = parse(PRODUCT)
    new = valid(cache_read, program, declared(program, "t"), loop(program, "n")).program
    text = body(new)
    assert text.index("t[n, i] += ") < text.index("t_cache[i_r] = t[n, i_r]") < text.index("y[n, i]")
    same(program, new, data(PRODUCT))


def test_what_is_written_in_between():
    program = parse(PRODUCT.replace("y[n, i] = abs(t[n, i] + b[i])", "t[n, i] = abs(t[n, i] + b[i])"))
    message = refused(cache_read, program, declared(program, "t"), loop(program, "n"))
    assert "because: t[n, i] is stored in it, and may be what t[n, i] reads" in message


def test_what_is_not_read():
    program = parse(PRODUCT)
    assert refused(cache_read, program, declared(program, "b"), loop(program, "j")) == (
        "cache_read: cannot copy 'b' in loop 'j'\n"
        "  because: that loop does not read it\n"
        "  fix: name a loop around what reads it, or cache_write what it accumulates"
    )


@pytest.mark.parametrize("index", ["i * i", "i % 3", "n + i * n"])
def test_what_is_no_region(index):
    program = window(f"x[m, {index}]")
    assert refused(cache_read, program, declared(program, "x"), loop(program, "n")) == (
        "cache_read: cannot copy 'x' in loop 'n'\n"
        f"  because: x[m, {index}] does not read one region: its indices are not the loop's own and multiples of loops "
        "inside of constant extents\n"
        "  fix: split the loops inside, or name one of them"
    )


def test_loops_without_a_number():
    text = """\
program("rows")

count: input()
x: payload(float32[count, 8])
y: output(float32[count, 8])

with kernel:
    for m in serial(1):
        for n in serial(count):
            for i in serial(8):
                y[n, i] = x[n, i]
"""
    program = parse(text)
    assert "because: x[n, i] does not read one region" in refused(
        cache_read, program, declared(program, "x"), loop(program, "m")
    )


def test_a_vectorized_loop():
    program = parse(
        PRODUCT.replace("for i in serial(20):\n            y", "for i in vectorized(20):\n            y")
    )
    assert refused(cache_read, program, declared(program, "b"), loop(program, "i", 1)) == (
        "cache_read: cannot copy 'b' in loop 'i'\n"
        "  because: the loop 'i' is vectorized: its iterations are lanes and hold no buffers\n"
        "  fix: name a loop around it, or vectorize afterwards"
    )


def test_barriers():
    text = PRODUCT.replace("for n in serial(count, N):", "for n in team(count):\n        barrier(team)")
    program = parse(text.replace("v: payload", "v: workspace"))
    assert refused(cache_read, program, declared(program, "v"), loop(program, "n")) == (
        "cache_read: cannot copy 'v' in loop 'n'\n"
        "  because: workers meet at a barrier in it, where each must see what the others wrote\n"
        "  fix: name a loop between two barriers"
    )
    program = parse(text)
    valid(cache_read, program, declared(program, "v"), loop(program, "n"))
