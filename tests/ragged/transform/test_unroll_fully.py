"""unroll_fully: the iterations of a loop written out."""

from ragged.ir.parser import parse
from ragged.transform.loops.split import split
from ragged.transform.loops.unroll_fully import unroll_fully
from tests.ragged.transform.programs import MATVEC, TREE
from tests.ragged.transform.support import (
    MATVEC_DATA,
    TREE_DATA,
    accepted,
    body,
    check_same,
    check_same_compiled,
    loop,
    refused,
)


def test_text(golden):
    program = parse(MATVEC)
    cut = accepted(split, program, loop(program, "j"), 3).program
    j_o = loop(cut, "j_o")
    result = accepted(unroll_fully, cut, j_o)
    assert result.forwarding.loops[j_o] == ()
    assert [var.name for var in result.forwarding.loops[loop(cut, "j_i")]] == ["j_i_at0", "j_i_at1"]
    golden("unroll_fully.txt", body(cut) + "\nunroll_fully(j_o)\n\n" + body(result.program))


def test_every_constant_loop_computes_the_same():
    for text, data in ((MATVEC, MATVEC_DATA), (TREE, TREE_DATA)):
        program = new = parse(text)
        for name in ("j", "i") if text is MATVEC else ("i",):
            new = accepted(unroll_fully, new, loop(new, name)).program
        check_same(program, new, data)


def test_machine_code():
    program = parse(MATVEC)
    check_same_compiled(
        program, accepted(unroll_fully, program, loop(program, "j")).program, MATVEC_DATA, "y"
    )


def test_a_loop_that_runs_once_leaves_what_is_in_it_as_it_is():
    program = parse(MATVEC)
    cut = accepted(split, program, loop(program, "j"), 6).program
    result = accepted(unroll_fully, cut, loop(cut, "j_o"))
    assert result.forwarding.loops[loop(cut, "j_i")] == (loop(cut, "j_i"),)
    assert all(new == (old,) for old, new in result.forwarding.labels.items())
    assert "j_o" not in body(result.program)
    check_same(program, result.program, MATVEC_DATA)


def test_a_loop_that_runs_never_leaves_nothing():
    program = parse(MATVEC.replace("serial(6)", "serial(0)"))
    new = accepted(unroll_fully, program, loop(program, "j")).program
    assert "+=" not in body(new)
    check_same(program, new, MATVEC_DATA)


def test_an_extent_that_is_not_constant_is_refused():
    program = parse(MATVEC)
    assert refused(unroll_fully, program, loop(program, "n")) == (
        "unroll_fully: cannot write out loop 'n'\n"
        "  because: it runs count times, which is not constant\n"
        "  fix: specialize it for the lengths that occur"
    )


def test_a_team_is_refused():
    program = parse(MATVEC.replace("serial(count, N)", "team(count, N)"))
    assert refused(unroll_fully, program, loop(program, "n")) == (
        "unroll_fully: cannot write out loop 'n'\n  because: the iterations of 'n' are the workers of a team"
    )
