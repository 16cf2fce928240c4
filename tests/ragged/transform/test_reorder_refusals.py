"""What reorder refuses because of how loops stand; test_reorder.py has what it refuses because of their order."""

from ragged.ir.parser import parse
from ragged.transform.loops.reorder import reorder
from tests.ragged.transform.programs import MATVEC
from tests.ragged.transform.support import refused
from tests.ragged.transform.test_reorder import NEST, STORE, loops, nest, shift


def test_an_extent_that_depends_on_the_other_loop_is_refused():
    program = nest(STORE, extent="min(3, node + 1)")
    assert refused(reorder, program, loops(program, "inj")) == (
        "reorder: cannot bring the loops into the order i, n, j\n"
        "  because: how often 'i' runs, min(3, begin(b) + n + 1), depends on 'n'"
    )
    text = NEST.format(statement="x[node, i, j] = 1.0", extent="3", kind="serial")
    program = parse(text.replace("row = i", "rows = i + 1").replace("serial(4)", "serial(rows)"))
    assert refused(reorder, program, loops(program, "nji")) == (
        "reorder: cannot bring the loops into the order n, j, i\n"
        "  because: how often 'j' runs, i + 1, depends on 'i'"
    )


def test_an_extent_that_a_condition_guards_is_refused_outside_of_it():
    text = NEST.format(statement=STORE, extent="begin(node)", kind="serial")
    program = parse(text.replace("node = begin(b) + n\n", "node = begin(b)\n"))
    assert refused(reorder, program, loops(program, "inj")) == (
        "reorder: cannot bring the loops into the order i, n, j\n"
        "  because: how often 'i' runs, begin(begin(b)), is known where node < 8 alone"
    )


def test_an_extent_that_is_known_in_a_loop_alone_is_refused_outside_of_it():
    program = parse(
        """\
program("maybe")

count: input()
length: input(k < count) = facts(0 <= length(k) < 5)
x: output(float32[count, 5])

with kernel:
    for n in serial(count):
        for i in serial(length(0)):
            x[n, i] = 1.0
"""
    )
    assert refused(reorder, program, loops(program, "in")) == (
        "reorder: cannot bring the loops into the order i, n\n"
        "  because: how often 'i' runs, length(0), is known where count > 0 alone"
    )


def test_loops_that_are_not_nested_are_refused():
    program = nest(STORE)
    assert refused(reorder, program, loops(program, "jn")) == (
        "reorder: cannot bring the loops into the order j, n\n"
        "  because: the loop 'i' stands directly inside 'n'\n"
        "  fix: name 'i' too, or fuse it first"
    )
    assert refused(reorder, program, loops(program, "jj")) == (
        "reorder: cannot bring the loops into the order j, j\n  because: each loop must be named once"
    )
    program = parse(MATVEC)
    assert refused(reorder, program, loops(program, "in")) == (
        "reorder: cannot bring the loops into the order i, n\n"
        "  because: 'n' holds more than one loop\n"
        "  fix: fission 'n' first"
    )


def test_a_local_buffer_between_is_refused():
    program = parse(
        """\
program("local")

x: output(float32[4, 4])

with kernel:
    for n in serial(4):
        acc = local(float32[4])
        for i in serial(4):
            acc[i] = 1.0
"""
    )
    assert refused(reorder, program, loops(program, "in")) == (
        "reorder: cannot bring the loops into the order i, n\n"
        "  because: 'acc' is new in each iteration of 'n'\n"
        "  fix: expand_storage first, so that 'acc' outlives the iteration"
    )


def test_lanes_stay_inside():
    program = nest(STORE, kind="vectorized")
    assert refused(reorder, program, loops(program, "nji")) == (
        "reorder: cannot bring the loops into the order n, j, i\n"
        "  because: a vectorized loop holds no loop\n"
        "  fix: reorder first, then vectorize"
    )


def test_a_check_keeps_its_place():
    program, order = shift('check(j < 8, "no")')
    assert refused(reorder, program, order) == (
        "reorder: cannot bring the loops into the order j, i\n"
        "  because: 'check' may not change places with anything: what comes after may rely on it"
    )


def test_a_let_that_the_loops_change_is_refused():
    program = parse(
        """\
program("changing")

x: output(int64[4])

with kernel:
    x[0]: x.init = 0
    for n in serial(4):
        old = x[0]
        for i in serial(4):
            x[0] = old + 1
"""
    )
    assert refused(reorder, program, loops(program, "in")) == (
        "reorder: cannot bring the loops into the order i, n\n"
        "  because: x[0] would be evaluated at another time, and 'x' is written in between"
    )


def test_a_team_is_refused():
    program = parse(
        """\
program("team")

workers: call()
x: output(float32[workers, 4])

with kernel:
    for w in team(workers):
        for i in serial(4):
            x[w, i] = 1.0
"""
    )
    assert refused(reorder, program, loops(program, "iw")) == (
        "reorder: cannot bring the loops into the order i, w\n"
        "  because: the iterations of 'w' are the workers of a team"
    )
