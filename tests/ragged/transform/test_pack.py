"""pack: parameters in the layout that the kernel reads them in."""

import numpy as np
import pytest

from ragged.ir.expr import Call, Const
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fission import fission
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.unroll import unroll
from ragged.transform.loops.version_loop import version_loop
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from ragged.transform.mapping.vectorize import vectorize
from ragged.transform.storage.cache_write import cache_write
from ragged.transform.storage.pack import pack
from tests.ragged.transform.data_programs import GATES, PRODUCT, data
from tests.ragged.transform.data_support import declared, same, same_compiled, valid
from tests.ragged.transform.support import body, label, loop, refused


def tiled(factor=16):
    program = parse(PRODUCT)
    return valid(split, program, loop(program, "i"), factor, Tail.PEEL).program


def test_text(golden):
    program = tiled()
    new = valid(pack, program, declared(program, "U"), "U_packed", ((0, 16),), (0, 2, 1)).program
    golden("pack.txt", f"{program}\npack(U, 'U_packed', ((0, 16),), (0, 2, 1))\n\n{new}")
    same(program, new, data(PRODUCT))
    same_compiled(program, new, data(PRODUCT))


@pytest.mark.parametrize("tail", [Tail.GUARD, Tail.PEEL, Tail.SHORT])
@pytest.mark.parametrize("factor", [1, 4, 7, 16, 20, 32])
@pytest.mark.parametrize("order", [(0, 2, 1), (0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_any_tile_in_any_order(factor, order, tail):
    program = parse(PRODUCT)
    program = valid(split, program, loop(program, "i"), factor, tail).program
    new = valid(pack, program, declared(program, "U"), "U_packed", ((0, factor),), order).program
    assert "%" not in body(new) and "//" not in body(new)
    same(program, new, data(PRODUCT, (1, 2)))


@pytest.mark.parametrize("multiple", [1, 4, 8, 16])
@pytest.mark.parametrize("factor", [5, 7, 10, 16, 20])
def test_blocks_that_are_stored_up_to_a_multiple(factor, multiple):
    program = parse(PRODUCT)
    program = valid(split, program, loop(program, "i"), factor, Tail.PEEL).program
    packed = ("U_packed", ((0, factor),), (0, 2, 1))
    new = valid(pack, program, declared(program, "U"), *packed, multiple=multiple).program
    blocks, places = -(-20 // factor), -(-factor // multiple) * multiple
    assert f"U_packed: bound(float32[{blocks}, 6, {places}])" in str(new)
    same(program, new, data(PRODUCT, (1, 2)))
    same_compiled(program, new, data(PRODUCT, (1, 2)))


def test_places_behind_a_block_are_zero():
    program = parse(PRODUCT)
    program = valid(split, program, loop(program, "i"), 5).program
    new = valid(pack, program, declared(program, "U"), "U_packed", ((0, 5),), (0, 2, 1), multiple=8).program
    matrix = np.random.default_rng(0).standard_normal((20, 6), np.float32)
    given = {"U": matrix, "v": np.ones((1, 6), np.float32), "b": np.ones(20, np.float32)}
    table = interpret(new, {"count": 1}, given)["U_packed"]
    np.testing.assert_array_equal(table[:, :, :5], matrix.reshape(4, 5, 6).transpose(0, 2, 1))
    assert not table[:, :, 5:].any()


def test_a_multiple_below_one():
    program = parse(PRODUCT)
    assert refused(pack, program, declared(program, "U"), "U_packed", ((0, 5),), (0, 2, 1), multiple=0) == (
        "pack: cannot store blocks of 'U' up to a multiple of 0\n  fix: a multiple from 1 up"
    )


def test_an_index_that_is_not_tiled_is_divided():
    program = parse(PRODUCT)
    new = valid(pack, program, declared(program, "U"), "U_packed", ((0, 16), (1, 4)), (0, 2, 3, 1)).program
    assert "U_packed[i // 16, j // 4, j % 4, i % 16] * v[n, j]" in body(new)
    same(program, new, data(PRODUCT))


def test_an_index_that_a_let_names():
    line = "for i in serial(20):\n            t"
    text = PRODUCT.replace(line, "for m in serial(20):\n            i = m * 1\n            t")
    program = parse(text)
    program = valid(split, program, loop(program, "m"), 4).program
    new = valid(pack, program, declared(program, "U"), "U_packed", ((0, 4),), (0, 2, 1)).program
    assert "U_packed[m_o, j, m_i] * v[n, j]" in body(new)
    same(program, new, data(text))


def test_a_table_is_packed_again():
    program = tiled()
    first = valid(pack, program, declared(program, "U"), "U_t", (), (1, 0)).program
    new = valid(pack, first, declared(first, "U_t"), "U_packed", ((1, 16),), (1, 0, 2)).program
    assert "U_packed[i_o, j, i_i] * v[n, j]" in body(new)
    same(program, new, data(PRODUCT))
    same_compiled(program, new, data(PRODUCT))


def test_from_naive_loops_to_registers(golden):
    """A product of a matrix and the vectors of a batch: packed, four rows by four columns, sums in registers."""
    program = parse(PRODUCT)
    s = LoopSchedule(program)
    n, i, j = s.loop("n"), s.loop("i", 0), s.loop("j")
    _, row, _ = s.apply(split, n, 4, Tail.PEEL).loops[n]
    columns, column = s.apply(split, i, 4).loops[i]
    row, _ = s.apply(fission, row, columns).loops[row]  # the activation gets a loop of its own
    s.apply(reorder, (columns, row))
    held = s.apply(cache_write, s.statement("t"), columns)
    written = [held.loops[var][-1] for var in (row, column)]
    column, last = s.apply(fission, column, s.statement("t.init")).loops[column]
    row, first = s.apply(fission, row, column).loops[row]
    s.apply(reorder, (j, first, last))
    for rows, columns in ((row, column), (first, last), written):
        s.apply(unroll, rows)
        s.apply(vectorize, columns)
    s.apply(pack, s.buffer("U"), "U_packed", ((0, 4),), (0, 2, 1))
    golden("matvec_packed.txt", f"{s.program}\n{s.log()}\n")
    same(program, s.program, data(PRODUCT, (0, 3, 4, 9)))
    same_compiled(program, s.program, data(PRODUCT, (0, 3, 4, 9)))


def test_what_is_no_parameter():
    program = parse(PRODUCT)
    assert refused(pack, program, declared(program, "y"), "y_packed", (), (1, 0)) == (
        "pack: 'y' is no parameter\n"
        "  because: its role is 'output': what it holds is not known when parameters are bound\n"
        "  fix: name a parameter, or a table made of parameters"
    )


def test_a_parameter_of_unknown_size_is_packed_when_it_is_bound():
    program = parse(PRODUCT.replace("b: parameter(float32[20])", "b: parameter(float32[count + 20])"))
    new = valid(pack, program, declared(program, "b"), "b_packed", ((0, 4),), (0, 1)).program
    assert "b_packed: bound(float32[(count + 20 + 3) // 4, 4])" in str(new)
    arrays = {"U": (20, 6), "v": (2, 6), "b": (22,)}
    random = np.random.default_rng(0)
    given = {name: random.standard_normal(shape, np.float32) for name, shape in arrays.items()}
    same(program, new, [({"count": 2}, given)])


INPUTS = """\
program("inputs")

count: call()
depth: call()
v: payload(float32[count, depth])
w: payload(float32[depth, count])
y: output(float32[count, count])

with kernel:
    for n in parallel(count):
        for i in serial(count):
            y[n, i] = 0.0
            for j in serial(depth):
                y[n, i] += v[n, j] * w[j, i]
"""


def inputs(counts):
    random = np.random.default_rng(0)
    for count, depth in counts:
        arrays = {"v": random.standard_normal((count, depth), np.float32)}
        arrays["w"] = random.standard_normal((depth, count), np.float32)
        yield {"count": count, "depth": depth}, arrays


def test_an_input_is_packed_in_the_kernel(golden):
    program = parse(INPUTS)
    program = valid(split, program, loop(program, "i"), 4, Tail.SHORT).program
    new = valid(pack, program, declared(program, "w"), "w_packed", ((1, 4),), (1, 0, 2)).program
    golden("pack_input.txt", f"{program}\npack(w, 'w_packed', ((1, 4),), (1, 0, 2))\n\n{new}")
    sizes = [(0, 2), (1, 0), (3, 5), (4, 1), (9, 2)]
    same(program, new, inputs(sizes))
    same_compiled(program, new, list(inputs(sizes)))


def test_one_statement_alone_reads_the_table():
    program = parse(INPUTS)
    count = Call(program.functions[0], ())
    program = valid(version_loop, program, loop(program, "n"), count, Const(2)).program
    program = valid(split, program, loop(program, "i"), 4, Tail.SHORT).program
    w = declared(program, "w")
    new = valid(pack, program, w, "w_packed", ((1, 4),), (1, 0, 2), only=label(program, "y", 1)).program
    same(program, new, inputs([(0, 2), (1, 0), (3, 5), (9, 2)]))
    copy, rest = body(new).split("else:")
    assert "w_packed" not in copy and rest.lstrip().startswith("for w_0 in parallel(") and "w_packed[" in rest


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1)])
def test_an_input_is_tiled_in_two_dimensions(order):
    program = parse(INPUTS)
    new = valid(pack, program, declared(program, "v"), "v_packed", ((0, 2), (1, 3)), order).program
    same(program, new, inputs([(0, 2), (1, 0), (3, 5), (4, 3)]))


def test_a_parameter_without_dimensions():
    program = parse(
        PRODUCT.replace("b: parameter(float32[20])", "b: parameter(float32[()])").replace("b[i]", "b[()]")
    )
    new = valid(pack, program, declared(program, "b"), "b_packed", (), ()).program
    assert "b_packed[()]" in body(new)
    given = {
        "U": np.ones((20, 6), np.float32),
        "v": np.ones((2, 6), np.float32),
        "b": np.array(2.0, np.float32),
    }
    same(program, new, [({"count": 2}, given)])


def test_the_prelude_reads_an_input_where_it_is():
    check = 'with prelude:\n    check(0.0 <= w[0, 0] * w[0, 0], "NaN", label=w.number)\n\nwith kernel:'
    program = parse(INPUTS.replace("with kernel:", check))
    new = valid(pack, program, declared(program, "w"), "w_packed", ((1, 4),), (1, 0, 2)).program
    assert "w[0, 0] * w[0, 0]" in str(new)
    same(program, new, inputs([(3, 5)]))


def test_an_input_that_the_kernel_cannot_pack():
    program = parse(INPUTS)
    team = valid(distribute_over_team, program).program
    assert refused(pack, team, declared(team, "w"), "w_packed", (), (1, 0)) == (
        "pack: 'w' cannot be packed in the kernel\n"
        "  because: a team runs the kernel: each worker would fill the whole table\n"
        "  fix: pack before distribute_over_team"
    )
    assert refused(pack, program, declared(program, "w"), "w_packed", (), (1, 0), first=True) == (
        "pack: the bind stage does not read 'w'\n"
        "  because: another layout would change nothing\n"
        "  fix: name what the bind stage reads"
    )


def test_an_input_of_rows_of_different_lengths():
    length = "length: payload(n < count) = facts(0 <= length(n) < 9)"
    program = parse(
        INPUTS.replace("depth: call()", f"depth: call()\n{length}").replace(
            "v: payload(float32[count, depth])", "v: payload(float32[count, length(0)])"
        )
    )
    assert refused(pack, program, declared(program, "v"), "v_packed", (), (1, 0)) == (
        "pack: 'v' cannot be packed\n"
        "  because: its extents are not all numbers and sizes of the call\n"
        "  fix: pack an input without rows of different lengths"
    )


def test_what_is_not_read():
    program = parse(PRODUCT)
    new = valid(pack, program, declared(program, "U"), "U_packed", (), (1, 0)).program
    assert refused(pack, new, declared(new, "U"), "U_again", (), (1, 0)) == (
        "pack: nothing but the bind stage reads 'U'\n"
        "  because: another layout would change nothing\n"
        "  fix: name what the kernel reads"
    )


FIRST = """\
program("first")

U: parameter(float32[6, 4])
T: bound(float32[6])
y: output(float32[6])

with bind:
    for i in serial(6):
        T[i] = U[i, 0] * U[i, 3]

with kernel:
    for i in serial(6):
        y[i] = T[i] + U[i, 1]
"""


def test_what_the_bind_stage_reads():
    """The table is filled before all else and read there; the kernel reads on from where it did."""
    program = parse(FIRST)
    new = valid(pack, program, declared(program, "U"), "U_t", (), (1, 0), first=True).program
    text = str(new)
    bind, kernel = text[text.index("with bind") :].split("with kernel")
    assert bind.index("U_t[U_0, U_1] = U[U_1, U_0]") < bind.index("T[i] = U_t[0, i] * U_t[3, i]")
    assert "y[i] = T[i] + U[i, 1]" in kernel
    arrays = {"U": np.arange(24, dtype=np.float32).reshape(6, 4)}
    same(program, new, [({}, arrays)])
    same_compiled(program, new, [({}, arrays)])


def test_what_the_bind_stage_does_not_read_or_makes():
    program = parse(FIRST.replace("T[i] = U[i, 0] * U[i, 3]", "T[i] = 1.0"))
    assert refused(pack, program, declared(program, "U"), "U_t", (), (1, 0), first=True) == (
        "pack: the bind stage does not read 'U'\n"
        "  because: another layout would change nothing\n"
        "  fix: name what the bind stage reads"
    )
    assert refused(pack, program, declared(program, "T"), "T_t", (), (0,), first=True) == (
        "pack: 'T' is no parameter\n"
        "  because: the bind stage fills it, so that nothing can be made of it before\n"
        "  fix: pack the parameters that it is made from"
    )


def test_a_name_that_is_taken():
    program = parse(PRODUCT)
    assert refused(pack, program, declared(program, "U"), "count", (), (1, 0)) == (
        "pack: 'count' is the name of something else here\n  fix: choose another name"
    )


@pytest.mark.parametrize("tiles", [((2, 4),), ((0, 0),), ((0, 4), (0, 2))])
def test_tiles_of_no_dimension(tiles):
    program = parse(PRODUCT)
    dimension, factor = tiles[-1]
    assert refused(pack, program, declared(program, "U"), "U_packed", tiles, (0, 1, 2)) == (
        f"pack: cannot tile dimension {dimension} of 'U' by {factor}\n"
        "  because: it has 2 dimensions, from 0, and each is tiled once, by 1 or more"
    )


def test_an_order_of_other_dimensions():
    program = parse(PRODUCT)
    assert refused(pack, program, declared(program, "U"), "U_packed", ((0, 4),), (1, 0)) == (
        "pack: (1, 0) is no order of the dimensions of 'U'\n"
        "  because: tiled, it has 3 of them\n"
        "  example: (0, 1, 2) leaves them as they are"
    )


def test_memory_of_two_names():
    line = "b: parameter(float32[20])"
    text = PRODUCT.replace(line, f"{line}\nc: parameter(float32[20], aliases=b)")
    program = parse(text)
    assert refused(pack, program, declared(program, "b"), "b_packed", ((0, 4),), (0, 1)) == (
        "pack: 'b' shares its memory with 'c'\n"
        "  because: a read or write of one accesses the other\n"
        "  fix: give each its own memory"
    )


def test_gates_keep_their_statements():
    program = parse(GATES)
    result = valid(pack, program, declared(program, "W"), "W_packed", (), (1, 0))
    assert result.forwarding.labels[label(program, "s")] == (label(program, "s"),)
