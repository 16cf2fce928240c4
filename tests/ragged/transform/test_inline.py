"""inline: temporaries are computed where they are read."""

from ragged.ir.parser import parse
from ragged.passes.contract_storage import contract_storage
from ragged.transform.code.inline import inline
from ragged.transform.loops.split import split
from tests.ragged.transform.data_programs import GATES, data
from tests.ragged.transform.data_support import declared, local, same, valid
from tests.ragged.transform.programs import TREE
from tests.ragged.transform.support import TREE_DATA, body, check_same_compiled, label, loop, refused

PAIR = """\
program("pair")

count: input()
x: payload(float32[count, 8])
z: workspace(float32[count, 8])
t: {role}
y: output(float32[count, 8])

with kernel:
    for n in serial(count):
        for i in serial(8):
            z[n, i] = x[n, i]
        {one}
        {two}
"""


def over(line, extent=8):
    """A loop over i around `line`, or lines."""
    return f"for i in serial({extent}):\n            " + line.replace("\n", "\n            ")


ROWS = "workspace(float32[count, 8])"
STORED, READ = over("t[n, i] = x[n, i] * 2.0"), over("y[n, i] = t[n, i]")


def pair(one=STORED, two=READ, role=ROWS):
    return parse(PAIR.format(one=one, two=two, role=role))


DATA = data(PAIR.format(one="pass", two="pass", role="workspace(float32[count, 8])"))


def refusal(because):
    return f"inline: cannot put the value of 't' where it is read\n  because: {because}"


def test_text(golden):
    program = parse(TREE)
    new = valid(inline, program, declared(program, "lh")).program
    new = valid(inline, new, declared(new, "rh")).program
    golden("inline.txt", f"{program}\ninline(lh)\ninline(rh)\n\n{new}")
    same(program, new, TREE_DATA)
    check_same_compiled(program, new, TREE_DATA, "h")


def test_a_local_buffer():
    program = contract_storage(parse(TREE)).program
    new = valid(inline, program, local(program, "lh")).program
    assert "lh" not in body(new)
    same(program, new, TREE_DATA)


def test_loops_go_with_it():
    program = pair()
    result = valid(inline, program, declared(program, "t"))
    assert result.forwarding.labels[label(program, "t")] == ()
    assert [new for old, new in result.forwarding.loops.items() if old is loop(program, "i", 1)] == [()]
    same(program, result.program, DATA)


def test_tiles():
    program = pair()
    program = valid(split, program, loop(program, "i", 1), 4).program
    program = valid(split, program, loop(program, "i", 1), 4).program
    new = valid(inline, program, declared(program, "t")).program
    assert "x[n, i_o * 4 + i_i] * 2.0" in body(new)
    same(program, new, DATA)


def test_another_place():
    program = pair(two=over("y[n, i] = t[n, 7 - i] + t[n, i + 1]", 7))
    new = valid(inline, program, declared(program, "t")).program
    assert "y[n, i] = x[n, 7 - i] * 2.0 + x[n, i + 1] * 2.0" in body(new)
    same(program, new, DATA)


def test_lets_and_extents():
    program = pair(two="k = n + 0\n        " + over("u = t[k, i] if t[n, 0] > 0.0 else 1.0\ny[n, i] = u"))
    new = valid(inline, program, declared(program, "t")).program
    same(program, new, DATA)


def test_a_value_of_lets():
    program = pair(one=over("u = x[n, i]\nw = u * u\nt[n, i] = w + u"))
    new = valid(inline, program, declared(program, "t")).program
    same(program, new, DATA)


def test_in_place():
    program = pair(
        one=over("t[n, i] = z[n, i] * 2.0"),
        two=f"{over('z[n, i]: z.new = t[n, i]')}\n        {over('y[n, i] = z[n, i]')}",
    )
    new = valid(inline, program, declared(program, "t")).program
    same(program, new, DATA)


def test_what_it_is_made_of_changes():
    program = pair(
        one=over("t[n, i] = z[n, i] * 2.0"),
        two=f"{over('z[n, i]: z.new = t[n, 7 - i]')}\n        {over('y[n, i] = z[n, i]')}",
    )
    assert refused(inline, program, declared(program, "t")) == refusal(
        "t[n, 7 - i]: 'z' may have changed since the store\n  example: i = 4, i' = 3, n = 0, count = 1"
    )
    program = pair(
        one=over("t[n, i] = z[n, i] * 2.0"),
        two="z[n, 3]: z.new = 1.0\n        for i in serial(8):\n            y[n, i] = t[n, i]",
    )
    assert "'z' may have changed since the store" in refused(inline, program, declared(program, "t"))


def test_a_sum():
    program = parse(GATES)
    assert refused(inline, program, local(program, "s")) == (
        "inline: cannot put the value of 's' where it is read\n"
        "  because: 2 statements write it (s.init, s), and one store alone has to\n"
        "  fix: inline what is stored elementwise, once"
    )


def test_what_may_not_have_been_stored():
    program = pair(one=over("if i < 4:\n    t[n, i] = x[n, i]"))
    assert refused(inline, program, declared(program, "t")) == refusal(
        "t[n, i]: it is not sure that the store came before, in the same loops"
    )
    program = pair(two=over("y[n, i] = t[0, i]"))
    assert "t[0, i]: it is not sure" in refused(inline, program, declared(program, "t"))
    program = pair(one=over("t[n, i] = x[n, i]", 7))
    assert "t[n, i]: it is not sure" in refused(inline, program, declared(program, "t"))


def test_a_condition_around_a_read():
    program = pair(
        one=over("t[n, i] = x[n, i]", 7), two=over("y[n, i] = t[n, i] if i < 7 and t[n, 0] > 0.0 else 0.0")
    )
    new = valid(inline, program, declared(program, "t")).program
    same(program, new, DATA)


def test_another_stage():
    text = PAIR.format(one="pass", two=READ, role=ROWS)
    text = text.replace(
        "with kernel:", f"with prelude:\n    for n in serial(count):\n        {STORED}\n\nwith kernel:"
    )
    program = parse(text)
    assert refused(inline, program, declared(program, "t")) == refusal(
        "t[n, i]: it is not sure that the store came before, in the same loops"
    )


def test_what_lives_in_the_loops_of_the_store():
    program = pair(one=over("a = local(float32[1])\na[0] = x[n, i]\nt[n, i] = a[0]"))
    assert refused(inline, program, declared(program, "t")) == refusal(
        "t[n, i]: the value is made of 'a', which lives in the store's loops"
    )


def test_the_last_iteration():
    program = pair(one=over("for k in serial(2):\n    t[n, i] = x[n, k]"))
    assert refused(inline, program, declared(program, "t")) == refusal(
        "t[n, i]: the value is that of the last iteration of 'k'"
    )


def test_what_lives_on():
    program = pair()
    assert refused(inline, program, declared(program, "y")) == (
        "inline: cannot put the value of 'y' where it is read\n"
        "  because: its role is 'output': it lives on, and others may read it\n"
        "  fix: name a workspace or a local buffer"
    )


def test_barriers():
    program = parse(
        PAIR.format(
            one=over("t[n, i] = x[n, i]"),
            two="barrier(team)\n        for i in serial(8):\n            y[n, i] = t[n, i]",
            role="workspace(float32[count, 8])",
        ).replace("for n in serial(count)", "for n in team(count)")
    )
    assert refused(inline, program, declared(program, "t")) == refusal(
        "t[n, i]: workers meet at a barrier between the store and the read"
    )
