"""compute_at: a temporary is filled where it is read."""

from ragged.ir.parser import parse
from ragged.transform.loops.split import split
from ragged.transform.storage.compute_at import compute_at
from tests.ragged.transform.data_programs import data
from tests.ragged.transform.data_support import same, same_compiled, valid
from tests.ragged.transform.support import body, label, loop, refused

PAIR = """\
program("pair")

count: structure()
x: payload(float32[count, 8])
z: workspace(float32[count, 8])
t: {role}
y: output(float32[count, 8])

with kernel:
    for n in serial(count):
        for i in serial(8):
            z[n, i] = x[n, i]
        for p in serial(8):
            {one}
        {two}
"""
ONE = "t[n, p] = z[n, p] * 2.0"
TWO = "for k in {kind}(2):\n            for l in serial(4):\n                {body}"
READ = "y[n, k * 4 + l] = t[n, k * 4 + l]"


def pair(one=ONE, two=READ, kind="serial", role="workspace(float32[count, 8])"):
    return parse(PAIR.format(one=one, two=TWO.format(kind=kind, body=two), role=role))


DATA = data(PAIR.format(one=ONE, two="pass", role="workspace(float32[count, 8])"))


def moved(program):
    result = valid(compute_at, program, loop(program, "p"), loop(program, "k"))
    same(program, result.program, DATA)
    return result


def refusal(program):
    return refused(compute_at, program, loop(program, "p"), loop(program, "k"))


def message(because):
    return f"compute_at: cannot move loop 'p' into loop 'k'\n  because: {because}"


def test_text(golden):
    program = pair()
    result = moved(program)
    golden("compute_at.txt", body(program) + "\ncompute_at(p, k)\n\n" + body(result.program))
    same_compiled(program, result.program, DATA)
    assert result.forwarding.loops[loop(program, "p")] == (loop(program, "p"),)
    assert result.forwarding.labels[label(program, "t")] == (label(program, "t"),)


def test_one_element():
    program = pair()
    result = valid(compute_at, program, loop(program, "p"), loop(program, "k"))
    new = valid(compute_at, result.program, loop(result.program, "p"), loop(result.program, "l"))
    assert new.forwarding.loops[loop(program, "p")] == ()
    assert "t[n, k * 4 + l] = z[n, k * 4 + l] * 2.0" in body(new.program)
    same(program, new.program, DATA)


def test_neighbours_overlap():
    program = pair(two="y[n, k * 4 + l] = t[n, k * 3 + l] + t[n, k * 3 + l + 1]")
    assert "for p in serial(5):" in body(moved(program).program)


def test_iterations_at_once():
    moved(pair(kind="parallel"))
    program = pair(kind="parallel", two="y[n, k * 4 + l] = t[n, k * 3 + l] + t[n, k * 3 + l + 1]")
    assert refusal(program).startswith(
        message(
            "its iterations run at once, and 't' may in both iterations touch one element of 't'\n  example: "
        )
    )


def test_lets():
    program = pair(
        one="u = z[n, p]\n            t[n, p] = u * u",
        two="m = k * 4 + l\n                y[n, m] = t[n, m]",
    )
    moved(program)


def test_two_loops():
    text = PAIR.format(
        one="for q in serial(8):\n                t[p, q] = x[n, p] + x[n, q]",
        two=TWO.format(kind="serial", body="y[n, k * 4 + l] = t[l, 2 * k] + t[l, 2 * k + 1]"),
        role="workspace(float32[8, 8])",
    )
    program = parse(text)
    new = moved(program).program
    assert "t[p, k * 2 + q] = x[n, p] + x[n, k * 2 + q]" in body(new)


def test_a_split_nest():
    program = pair()
    program = valid(split, program, loop(program, "p"), 2).program
    assert refused(compute_at, program, loop(program, "p_o"), loop(program, "k")) == (
        "compute_at: cannot move loop 'p_o' into loop 'k'\n"
        "  because: more than one of its loops make an index of 't'\n"
        "  fix: move it before it is split"
    )


def test_places():
    program = pair()
    for producer, consumer in (("k", "p"), ("p", "l"), ("p", "p")):
        assert refused(compute_at, program, loop(program, producer), loop(program, consumer)) == (
            f"compute_at: cannot move loop '{producer}' into loop '{consumer}'\n"
            "  because: they do not stand in one place, the one that moves before the other\n"
            "  fix: name loops that stand one after the other in the same loops, lets and conditions"
        )


def test_other_nests():
    program = pair(one="if p < 8:\n                t[n, p] = 1.0")
    assert refusal(program) == message(
        "it holds more than loops directly inside each other around one store\n"
        "  fix: fission it, and move what is elementwise"
    )
    program = pair(one="for q in serial(2):\n                t[n, p] = z[n, q]")
    assert refusal(program) == message("no index depends on its loop 'q'")


def test_other_uses():
    assert refusal(pair(role="output(float32[count, 8])")) == message(
        "'t' is no temporary: all of it has to be filled"
    )
    program = pair(two=READ + "\n        for m in serial(8):\n            y[n, m]: y.more = t[n, m]")
    assert refusal(program) == message("t[n, m] is read outside of that loop too")
    program = pair(two=READ + "\n                t[n, k * 4 + l] = 0.0")
    assert refusal(program) == message("t[n, k * 4 + l] is stored in it, and may not be what the nest stored")
    program = pair(two="y[n, k * 4 + l] = 1.0")
    assert refusal(program) == message("that loop does not read 't'")


def test_what_it_is_made_of_changes():
    program = pair(two="z[n, k * 4 + l] = t[n, k * 4 + l] + 1.0")
    moved(program)
    program = pair(two="z[n, 7 - (k * 4 + l)] = t[n, k * 4 + l] + 1.0")
    assert refusal(program).startswith(message("'z' may have changed since the store\n  example: "))


def test_the_edge():
    program = pair(two="y[n, k * 4 + l] = t[n, k * 5 + l] if k * 5 + l < 8 else 0.0")
    assert refusal(program) == message(
        "an iteration may read one region that is not all in what the nest fills\n"
        "  example: k = 1\n"
        "  fix: peel the iterations at the edge"
    )
