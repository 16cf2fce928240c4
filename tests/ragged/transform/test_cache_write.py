"""cache_write: sums are held in registers."""

import pytest

from ragged.ir.parser import parse
from ragged.transform.loops.fission import fission
from ragged.transform.loops.split import Tail, split
from ragged.transform.storage.cache_write import cache_write
from tests.ragged.transform.data_programs import GATES, PRODUCT, data
from tests.ragged.transform.data_support import same, same_compiled, valid
from tests.ragged.transform.support import body, label, loop, refused


def tiled(factor=16, text=PRODUCT):
    program = parse(text)
    program = valid(split, program, loop(program, "i"), factor, Tail.PEEL).program
    return valid(fission, program, loop(program, "i_i"), label(program, "t.init")).program


def test_text(golden):
    program = tiled()
    result = valid(cache_write, program, label(program, "t"), loop(program, "i_o"))
    golden("cache_write.txt", body(program) + "\ncache_write(t, i_o)\n\n" + body(result.program))
    same(program, result.program, data(PRODUCT))
    same_compiled(program, result.program, data(PRODUCT))


def test_what_stands_for_what():
    program = tiled()
    result = valid(cache_write, program, label(program, "t"), loop(program, "i_o"))
    (inner,) = (new for old, new in result.forwarding.loops.items() if len(new) == 2)
    assert [var.name for var in inner] == ["i_i_rest", "i_i_rest_w"]
    assert [new.name for new in result.forwarding.labels[label(program, "t")]] == ["t", "t.w"]


@pytest.mark.parametrize("factor", [1, 4, 7, 20])
def test_any_tile(factor):
    program = tiled(factor)
    new = valid(cache_write, program, label(program, "t"), loop(program, "i_o")).program
    same(program, new, data(PRODUCT))


def test_a_whole_row_and_who_reads_it():
    program = parse(PRODUCT)
    new = valid(cache_write, program, label(program, "t"), loop(program, "n")).program
    assert "y[n, i] = abs(t_acc[i] + b[i])" in body(new)
    same(program, new, data(PRODUCT))


def test_one_element():
    program = parse(PRODUCT)
    new = valid(cache_write, program, label(program, "t"), loop(program, "i")).program
    assert "t_acc = local(float32[()], scope=register)" in body(new)
    same(program, new, data(PRODUCT))
    same_compiled(program, new, data(PRODUCT))


LETS = """\
program("lets")

count: input()
x: payload(float32[count, 8])
y: output(float32[count, 8])

with kernel:
    for b in serial(count // 2):
        first = b * 2
        for m in serial(2):
            n = first + m
            for i in serial(8):
                y[n, i]: y.init = 1.0
        for i in serial(4):
            for m in serial(2):
                n = first + m
                for j in serial(2):
                    k = i * 2 + j
                    for r in serial(8):
                        y[n, k] += x[n, r]
"""


def test_places_that_lets_name():
    program = parse(LETS)
    new = valid(cache_write, program, label(program, "y"), loop(program, "b")).program
    assert "y_acc[m, i * 2 + j]: y = reduce" in body(new)
    assert "y[first + m_w, i_w * 2 + j_w]: y.w = y_acc[m_w, i_w * 2 + j_w]" in body(new)
    same(program, new, data(LETS))


def test_a_store_is_held_too():
    program = parse(GATES)
    new = valid(cache_write, program, label(program, "s"), loop(program, "n")).program
    same(program, new, data(GATES))


def test_a_statement_that_is_not_in_the_loop():
    program = tiled()
    assert refused(cache_write, program, label(program, "y"), loop(program, "i_o")) == (
        "cache_write: 'y' is not in loop 'i_o'\n"
        "  because: what it writes is held while that loop's body runs\n"
        "  fix: name a loop around it"
    )
    assert refused(cache_write, program, label(parse(PRODUCT), "t"), loop(program, "i_o")) == (
        "cache_write: 't' is no statement of the program\n"
        "  because: it was never there, or an earlier step put others in its place\n"
        "  fix: name a statement of this program: `s.statement(name)`"
    )


def test_a_loop_that_it_sums_over():
    program = parse(PRODUCT)
    assert refused(cache_write, program, label(program, "t"), loop(program, "j")) == (
        "cache_write: cannot hold 't' in loop 'j'\n"
        "  because: t[n, i] is updated first, which does not give every element of the region a value\n"
        "  fix: name a loop around the store that the reduction starts from"
    )


def test_a_sum_that_starts_elsewhere():
    program = tiled()
    program = valid(fission, program, loop(program, "i_o"), loop(program, "i_i")).program
    message = refused(cache_write, program, label(program, "t"), loop(program, "i_o_rest"))
    assert "is updated first, which does not give every element of the region a value" in message


def test_a_sum_that_is_not_all_started():
    text = PRODUCT.replace(
        "            t[n, i]: t.init", "            if i < 10:\n                t[n, i]: t.init"
    )
    program = parse(text)
    assert refused(cache_write, program, label(program, "t"), loop(program, "n")) == (
        "cache_write: cannot hold 't' in loop 'n'\n"
        "  because: t[n, i] is stored first, which does not give every element of the region a value\n"
        "  fix: name a loop around the store that the reduction starts from"
    )


def test_a_neighbour_is_read():
    text = PRODUCT.replace("U[i, j] * v[n, j]", "U[i, j] * t[n, 19 - i]")
    program = parse(text)
    assert refused(cache_write, program, label(program, "t"), loop(program, "i")) == (
        "cache_write: cannot hold 't' in loop 'i'\n"
        "  because: t[n, 19 - i] is read in it too, and is not surely in the region of t[n, i]\n"
        "  fix: name a loop in which one region is all that is used"
    )


def test_extents_without_a_number():
    program = parse(PRODUCT)
    program = valid(split, program, loop(program, "n"), 4).program
    text = "with kernel:\n    for m in serial(1):\n"
    inner = "".join(f"    {line}\n" for line in body(parse(PRODUCT)).splitlines())
    program = parse(PRODUCT.partition("with kernel:\n")[0] + text + inner)
    assert refused(cache_write, program, label(program, "t"), loop(program, "m")) == (
        "cache_write: cannot hold 't' in loop 'm'\n"
        "  because: t[n, i] is not one region: its indices are not the loop's own and all places of loops inside "
        "that have constant extents\n"
        "  fix: split or reorder the loops so that those inside have constant extents"
    )


def test_loops_that_run_at_once():
    program = parse(
        PRODUCT.replace("for i in serial(20):\n            t", "for i in parallel(20):\n            t")
    )
    assert refused(cache_write, program, label(program, "t"), loop(program, "n")) == (
        "cache_write: cannot hold 't' in loop 'n'\n"
        "  because: iterations of the parallel loop 'i' run at once, and would share what is held\n"
        "  fix: name the loop 'i' or one in it"
    )


def test_a_vectorized_loop():
    program = parse(
        PRODUCT.replace("for i in serial(20):\n            y", "for i in vectorized(20):\n            y")
    )
    assert refused(cache_write, program, label(program, "y"), loop(program, "i", 1)) == (
        "cache_write: cannot hold 'y' in loop 'i'\n"
        "  because: the loop 'i' is vectorized: its iterations are lanes and hold no buffers\n"
        "  fix: name a loop around it, or vectorize afterwards"
    )


def test_barriers():
    text = PRODUCT.replace("for n in serial(count, N)", "for w in team(count):\n      for n in serial(1, N)")
    line = "        for i in serial(20):\n            y"
    text = text.replace(line, f"        barrier(team)\n{line}")
    program = parse(text)
    assert refused(cache_write, program, label(program, "t"), loop(program, "n")) == (
        "cache_write: cannot hold 't' in loop 'n'\n"
        "  because: workers meet at a barrier in it, where each must see what the others wrote\n"
        "  fix: name a loop between two barriers"
    )


def test_what_is_allocated_inside():
    line = "    for n in serial(count):"
    program = parse(GATES.replace(line, f"{line}\n     for m in serial(1):"))
    assert refused(cache_write, program, label(program, "s"), loop(program, "n")) == (
        "cache_write: cannot hold 's' in loop 'n'\n"
        "  because: it is allocated inside that loop, and each time anew\n"
        "  fix: name a loop inside the allocation"
    )
