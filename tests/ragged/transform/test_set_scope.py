"""set_scope: where a local buffer lives."""

from ragged.ir.expr import Scope
from ragged.ir.parser import parse
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.split import Tail, split
from ragged.transform.storage.set_scope import set_scope
from tests.ragged.transform.data_programs import GATES, data
from tests.ragged.transform.data_support import declared, local, same, same_compiled, valid
from tests.ragged.transform.support import body, refused

ALIAS = """\
program("alias")

count: structure()
y: output(float32[count, 4])

with kernel:
    for n in serial(count):
        a = local(float32[4])
        b = local(float32[4], aliases=a)
        for i in serial(4):
            a[i] = 1.0
        for i in serial(4):
            y[n, i] = b[i]
"""


def test_text(golden):
    program = parse(GATES)
    new = valid(set_scope, program, local(program, "s"), Scope.REGISTER).program
    golden("set_scope.txt", body(program) + "\nset_scope(s, Scope.REGISTER)\n\n" + body(new))
    same(program, new, data(GATES))
    same_compiled(program, new, data(GATES))


def test_the_log_says_which():
    s = LoopSchedule(parse(GATES))
    s.apply(split, s.loop("n"), 2, Tail.PEEL)
    s.apply(set_scope, s.buffer("s", 1), Scope.REGISTER)
    assert s.log().endswith("s.apply(set_scope, s.buffer('s', 1), Scope.REGISTER)")
    assert [local(s.program, "s", nth).scope for nth in (0, 1)] == [Scope.GLOBAL, Scope.REGISTER]


def test_who_shares_the_memory_moves_along():
    program = parse(ALIAS)
    new = valid(set_scope, program, local(program, "a"), Scope.SHARED).program
    assert local(new, "b").aliases is local(new, "a")
    assert local(new, "b").scope is local(new, "a").scope is Scope.SHARED
    same(program, new, data(ALIAS))


def test_declared_buffers_stay_where_they_are():
    program = parse(GATES)
    assert refused(set_scope, program, declared(program, "y"), Scope.REGISTER) == (
        "set_scope: 'y' is no local buffer\n"
        "  because: it is declared, with the role 'output', and lives longer than a statement\n"
        "  fix: name a buffer that the kernel allocates"
    )


def test_a_buffer_of_another_program():
    program = parse(GATES)
    assert refused(set_scope, program, local(parse(GATES), "s"), Scope.REGISTER) == (
        "set_scope: the program has no buffer 's'\n"
        "  because: it was never there, or an earlier step put another in its place\n"
        "  fix: name a buffer of this program: `s.buffer(name)`"
    )


def test_registers_are_counted():
    program = parse(GATES.replace("s = local(float32[20])", "s = local(float32[count + 20])"))
    assert refused(set_scope, program, local(program, "s"), Scope.REGISTER) == (
        "set_scope: 's' cannot be in registers\n"
        "  because: how many it takes has to be known, and its extents are not all numbers\n"
        "  fix: split the loops that it is indexed by, so that they have constant extents"
    )
