"""fission: one loop as two."""

import numpy as np

from ragged.ir.parser import parse
from ragged.transform.loops.fission import fission
from tests.ragged.transform.programs import MATVEC, TREE
from tests.ragged.transform.support import (
    MATVEC_DATA,
    TREE_DATA,
    accepted,
    body,
    check_same,
    check_same_compiled,
    label,
    loop,
    refused,
)

BODY = """\
program("body")

count: input()
a: parameter(float32[16])
x: output(float32[18])
y: output(float32[18])
z: output(int64[1])

with kernel:
    for k in serial(18):
        x[k]: x.init = 0.0
    for k in serial(18):
        y[k]: y.init = 0.0
    z[0]: z.init = 3
    for n in {head}:
        {lines}
"""


def of(*lines, head="serial(8)"):
    program = parse(BODY.format(head=head, lines="\n        ".join(lines)))
    return program, loop(program, "n")


DATA = [({"count": count}, {"a": np.arange(16, dtype=np.float32)}) for count in (0, 3)]


def test_text(golden):
    program = parse(TREE)
    n, first = loop(program, "n", 1), loop(program, "i", 1)
    result = accepted(fission, program, n, first)
    assert [var.name for var in result.forwarding.loops[n]] == ["n", "n_rest"]
    assert result.forwarding.loops[first] == (first,)
    golden("fission.txt", body(program) + "\nfission(n, i)\n\n" + body(result.program))


def test_every_cut_of_the_examples_computes_the_same():
    tree = parse(TREE)
    for place in (1, 2):
        new = accepted(fission, tree, loop(tree, "n", 1), loop(tree, "i", place)).program
        check_same(tree, new, TREE_DATA)
    program = parse(MATVEC)
    new = accepted(fission, program, loop(program, "i"), label(program, "t.init")).program
    check_same(program, new, MATVEC_DATA)
    new = accepted(fission, new, loop(new, "n"), loop(new, "i_rest")).program
    new = accepted(fission, new, loop(new, "n"), loop(new, "i")).program
    check_same(program, new, MATVEC_DATA)
    assert body(new).count("for n_rest in serial(count, N):") == 2
    check_same_compiled(program, new, MATVEC_DATA, "y")


def test_nodes_of_a_batch_are_cut_where_their_children_are_not_in_it():
    program = parse(TREE.replace("parallel", "serial"))
    new = accepted(fission, program, loop(program, "n", 1), loop(program, "i", 2)).program
    check_same(program, new, TREE_DATA)
    text = TREE.replace("parallel", "serial").replace(", follows(batch_begin, batch_length)", "")
    unknown = parse(text.replace("n + 1 <= right(n)", "0 <= right(n)"))
    assert refused(fission, unknown, loop(unknown, "n", 1), loop(unknown, "i", 2)).startswith(
        "fission: cannot cut loop 'n' after 'i'\n  because: 'rh' and 'h' may touch one element of 'h'\n  example: "
    )


def test_lets_go_where_they_are_used():
    program, n = of(
        "one = n + 1",
        "two = one + 1",
        "three = n * 2",
        "x[one] = 1.0",
        "y[two] = a[n]",
        "y[n] = 2.0",
        head="serial(count)",
    )
    new = accepted(fission, program, n, label(program, "x")).program
    check_same(program, new, DATA)
    assert (
        body(new).partition("z.init = 3\n")[2]
        == """\
    for n in serial(count):
        one = n + 1
        x[one] = 1.0
    for n_rest in serial(count):
        one = n_rest + 1
        two = one + 1
        y[two] = a[n_rest]
        y[n_rest] = 2.0
"""
    )


def test_a_let_that_a_reduction_starts_from_stays_with_it():
    program, n = of(
        "start = float32(n)",
        "x[n] = 1.0",
        "for j in serial(2):",
        "    y[n] = reduce(sum, a[j], init=start)",
    )
    new = accepted(fission, program, n, label(program, "x")).program
    check_same(program, new, DATA)
    assert "start = float32(n_rest)" in body(new)


def test_a_local_buffer_goes_with_the_half_that_uses_it():
    for early in (True, False):
        local = ["with scope:", "    acc = local(float32[1])", "    acc[0] = a[n]", "    x[n] = acc[0]"]
        lines = [*local, "y[n] = 2.0"] if early else ["y[n] = 2.0", *local]
        program, n = of(*lines)
        new = accepted(fission, program, n, label(program, "x" if early else "y")).program
        check_same(program, new, DATA)


def test_a_local_buffer_that_the_cut_leaves_alone_is_left_out():
    program, n = of("acc = local(float32[1])", "y[n] = 2.0", "acc[0] = a[n]", "x[n] = acc[0]")
    new = accepted(fission, program, n, label(program, "y")).program
    check_same(program, new, DATA)
    assert body(new).count("local(") == 1


def test_a_parallel_loop_may_be_cut_anywhere():
    program, n = of("x[n] = a[n]", "y[n] = x[n]", head="parallel(8)")
    new = accepted(fission, program, n, label(program, "x")).program
    check_same(program, new, DATA)
    assert body(new).count("parallel") == 2


def test_a_dependence_on_an_earlier_iteration_may_be_cut():
    program, n = of("x[n + 1] = a[n]", "y[n] = x[n]")
    check_same(program, accepted(fission, program, n, label(program, "x")).program, DATA)


def test_a_dependence_on_a_later_iteration_is_refused():
    program, n = of("x[n] = a[n]", "y[n] = x[n + 1]")
    assert refused(fission, program, n, label(program, "x")) == (
        "fission: cannot cut loop 'n' after 'x'\n"
        "  because: 'x' and 'y' may touch one element of 'x'\n"
        "  example: n = 1, n' = 0"
    )


def test_a_local_buffer_across_the_cut_is_refused():
    program, n = of("acc = local(float32[1])", "acc[0] = a[n]", "x[n] = acc[0]")
    assert refused(fission, program, n, label(program, "acc")) == (
        "fission: cannot cut loop 'n' after 'acc'\n"
        "  because: the local buffer 'acc' is used before and after, and is new in each iteration\n"
        "  fix: expand_storage first, so that 'acc' has a place for every iteration"
    )


def test_the_memory_of_a_local_buffer_across_the_cut_is_refused():
    program, n = of(
        "acc = local(float32[1])",
        "acc[0] = a[n]",
        "other = local(float32[1], aliases=acc)",
        "x[n] = other[0]",
    )
    assert "the local buffer 'acc' is used before and after" in refused(
        fission, program, n, label(program, "acc")
    )


def test_a_let_of_the_second_half_that_the_first_changes_is_refused():
    program, n = of("old = z[0]", "z[0] = 5", "x[n] = float32(old)")
    assert refused(fission, program, n, label(program, "z")) == (
        "fission: cannot cut loop 'n' after 'z'\n"
        "  because: z[0] would be evaluated at another time, and 'z' is written in between"
    )


def test_each_let_of_the_second_half_counts():
    program, n = of("place = n", "old = z[0]", "z[0] = 5", "x[place] = float32(old)")
    assert "z[0] would be evaluated at another time" in refused(fission, program, n, label(program, "z"))


def test_an_extent_that_the_first_half_changes_is_refused():
    program, n = of("z[0] = 5", "x[n] = 1.0", head="serial(z[0])")
    assert refused(fission, program, n, label(program, "z")) == (
        "fission: cannot cut loop 'n' after 'z'\n"
        "  because: z[0] would be evaluated at another time, and 'z' is written in between"
    )


def test_nothing_to_cut_is_refused():
    program, n = of("x[n] = 1.0", "y[n] = 1.0")
    assert refused(fission, program, n, label(program, "y")) == (
        "fission: cannot cut loop 'n' after 'y'\n  because: nothing comes after 'y'"
    )
    assert refused(fission, program, n, label(program, "x.init")) == (
        "fission: cannot cut loop 'n' after 'x.init'\n  because: 'x.init' is not in the loop"
    )


def test_what_stands_deeper_is_refused():
    program, n = of("for j in serial(2):", "    x[n + j] = 1.0", "    y[n] = 1.0", "y[n] = 2.0")
    assert refused(fission, program, n, label(program, "x")) == (
        "fission: cannot cut loop 'n' after 'x'\n"
        "  because: 'x' stands deeper, in the loop 'j'\n"
        "  fix: fission 'j' first"
    )
    program, n = of("if n < 2:", "    x[n] = 1.0", "    y[n] = 1.0", "y[n] = 2.0")
    assert refused(fission, program, n, label(program, "x")) == (
        "fission: cannot cut loop 'n' after 'x'\n  because: 'x' stands deeper, in a condition"
    )


def test_a_check_that_statements_would_come_before_is_refused():
    program, n = of("x[n] = 1.0", 'check(n < 8, "no")')
    assert refused(fission, program, n, label(program, "x")) == (
        "fission: cannot cut loop 'n' after 'x'\n"
        "  because: 'check' may not change places with anything: what comes after may rely on it"
    )


def test_a_team_is_refused():
    program, n = of("x[n] = 1.0", "y[n] = 1.0", head="team(count)")
    assert refused(fission, program, n, label(program, "x")) == (
        "fission: cannot cut loop 'n' after 'x'\n  because: the iterations of 'n' are the workers of a team"
    )
