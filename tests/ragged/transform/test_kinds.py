"""vectorize, unroll, parallel, serial: how the iterations of a loop run."""

import pytest

from ragged.ir.parser import parse
from ragged.transform.loops.split import split
from ragged.transform.loops.unroll import unroll
from ragged.transform.mapping.parallel import parallel
from ragged.transform.mapping.serial import serial
from ragged.transform.mapping.vectorize import vectorize
from tests.ragged.transform.programs import MATVEC, TREE, matvec, matvec_data
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

LOOP = """\
program("kinds")

count: input()
workers: call()
a: parameter(float32[16])
x: output(float32[16])

with kernel:
    for k in serial(16):
        x[k]: x.init = 0.0
    for n in {head}:
        {lines}
"""


def of(*lines, head="serial(8)"):
    program = parse(LOOP.format(head=head, lines="\n        ".join(lines)))
    return program, loop(program, "n")


def test_text(golden):
    program = parse(MATVEC)
    texts = [body(program)]
    for primitive, name, nth in (
        (vectorize, "i", 1),
        (unroll, "i", 0),
        (unroll, "j", 0),
        (parallel, "n", 0),
        (serial, "n", 0),
    ):
        var = loop(program, name, nth)
        result = accepted(primitive, program, var)
        assert result.forwarding.loops[var] == (var,)
        program = result.program
        texts += [f"{primitive.__name__}({name})\n", body(program)]
    golden("kinds.txt", "\n".join(texts))
    check_same(parse(MATVEC), program, [])


def test_all_of_them_compute_the_same():
    program = new = parse(matvec(hidden=8, out=16))
    new = accepted(vectorize, new, loop(new, "i", 1)).program
    new = accepted(unroll, new, loop(new, "j")).program
    new = accepted(parallel, new, loop(new, "i")).program
    new = accepted(parallel, new, loop(new, "n")).program
    data = [matvec_data(count, seed=count, hidden=8, out=16) for count in (0, 3)]
    check_same(program, new, data)
    check_same_compiled(program, new, data, "y")


def test_a_batch_of_nodes_is_parallel_by_its_facts():
    program = parse(TREE.replace("parallel", "serial"))
    new = accepted(parallel, program, loop(program, "n", 1)).program
    check_same(program, new, TREE_DATA)
    unknown = parse(TREE.replace("parallel", "serial").replace(", follows(batch_begin, batch_length)", ""))
    assert "'lh' and 'h' may touch one element of 'h'" in refused(parallel, unknown, loop(unknown, "n", 1))


def test_only_a_parallel_loop_becomes_serial():
    program, n = of("x[n] = a[n]")
    assert refused(serial, program, n) == (
        "serial: cannot run the iterations of loop 'n' one after another\n"
        "  because: it is serial, not parallel\n"
        "  fix: name a parallel loop"
    )
    unrolled = accepted(unroll, program, n).program
    assert "because: it is unrolled, not parallel" in refused(serial, unrolled, n)
    assert accepted(serial, accepted(parallel, program, n).program, n).program == program


def test_batches_are_not_parallel():
    program = parse(TREE)
    message = refused(parallel, program, loop(program, "b"))
    assert message.startswith(
        "parallel: cannot run the iterations of loop 'b' at once\n  because: 'h' and 'lh' may "
    )


@pytest.mark.parametrize("first", [vectorize, unroll, parallel])
@pytest.mark.parametrize("then", [vectorize, unroll, parallel])
def test_a_kind_may_be_changed(first, then):
    program, n = of("x[n] = a[n]")
    new = accepted(then, accepted(first, program, n).program, n).program
    check_same(program, new, [({"count": 1, "workers": 1}, {"a": MATVEC_DATA[2][1]["U"].reshape(-1)[:16]})])


def test_an_extent_that_is_not_constant_is_refused():
    program, n = of("x[n] = a[n]", head="serial(count)")
    assert refused(vectorize, program, n) == (
        "vectorize: cannot vectorize loop 'n'\n"
        "  because: it runs count times, which is not constant\n"
        "  fix: split(program, n, 16) first, then vectorize the inner loop"
    )
    assert refused(unroll, program, n) == (
        "unroll: cannot unroll loop 'n'\n"
        "  because: it runs count times, which is not constant\n"
        "  fix: split(program, n, 4) first, or specialize it for the lengths that occur"
    )
    inner = accepted(split, program, n, 4)
    accepted(unroll, inner.program, inner.forwarding.loops[n][1])


def test_what_vectors_cannot_hold_is_refused():
    program, n = of("for j in serial(2):", "    x[n] = a[j]")
    assert refused(vectorize, program, n) == (
        "vectorize: cannot vectorize loop 'n'\n"
        "  because: the loop 'j' stands in it\n"
        "  fix: reorder first, so that 'n' is innermost, or unroll_fully 'j'"
    )
    program, n = of("acc = local(float32[1])", "acc[0] = a[n]", "x[n] = acc[0]")
    assert refused(vectorize, program, n) == (
        "vectorize: cannot vectorize loop 'n'\n"
        "  because: the local buffer 'acc' is allocated in it\n"
        "  fix: expand_storage first, so that every lane has a place of its own"
    )
    accepted(parallel, program, n)


def test_a_dependence_is_refused():
    program, n = of("x[n + 1] = x[n]")
    because = "  because: 'x' may in both iterations touch one element of 'x'\n  example: n = 0, n' = 1"
    assert refused(vectorize, program, n) == f"vectorize: cannot vectorize loop 'n'\n{because}"
    assert (
        refused(parallel, program, n) == f"parallel: cannot run the iterations of loop 'n' at once\n{because}"
    )
    check_same(program, accepted(unroll, program, n).program, [])


def test_a_reduction_over_it_is_refused():
    program, n = of("x[0] += a[n]")
    assert refused(vectorize, program, n) == (
        "vectorize: cannot vectorize loop 'n'\n"
        "  because: 'x' may in both iterations touch one element of 'x'\n"
        "  example: n = 0, n' = 1"
    )
    assert refused(parallel, program, n) == (
        "parallel: cannot run the iterations of loop 'n' at once\n"
        "  because: 'x' reduces over it, one iteration after another\n"
        "  fix: reorder, and run a loop around the reduction at once"
    )


def test_a_check_is_refused():
    program, n = of('check(n < 8, "no")', "x[n] = a[n]")
    because = "  because: 'check' may not change places with anything: what comes after may rely on it"
    assert refused(vectorize, program, n) == f"vectorize: cannot vectorize loop 'n'\n{because}"
    assert (
        refused(parallel, program, n) == f"parallel: cannot run the iterations of loop 'n' at once\n{because}"
    )


def test_teams_are_refused():
    program, n = of("x[n] = a[n]", head="team(workers)")
    because = "  because: the iterations of 'n' are the workers of a team"
    assert refused(vectorize, program, n) == f"vectorize: cannot vectorize loop 'n'\n{because}"
    assert refused(unroll, program, n) == f"unroll: cannot unroll loop 'n'\n{because}"
    assert (
        refused(parallel, program, n) == f"parallel: cannot run the iterations of loop 'n' at once\n{because}"
    )
    program, n = of("for w in team(workers):", "    x[w] = a[w]")
    assert refused(parallel, program, n) == (
        "parallel: cannot run the iterations of loop 'n' at once\n  because: the team of 'w' stands in it"
    )
    program = parse(LOOP.format(head="team(workers)", lines="for m in serial(2):\n            barrier(team)"))
    assert refused(parallel, program, loop(program, "m")) == (
        "parallel: cannot run the iterations of loop 'm' at once\n  because: a team meets in it, at 'barrier'"
    )
