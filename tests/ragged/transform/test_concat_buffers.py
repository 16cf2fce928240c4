"""concat_buffers: parameters of one shape as one table, and workspaces of one shape as one."""

from ragged.ir.parser import parse
from ragged.transform.storage.concat_buffers import concat_buffers
from ragged.transform.storage.pack import pack
from tests.ragged.transform.data_programs import GATES, PRODUCT, data
from tests.ragged.transform.data_support import declared, same, same_compiled, valid
from tests.ragged.transform.support import body, refused

TEMPORARIES = (
    GATES.replace("        s = local(float32[20])\n        t = local(float32[20])\n", "")
    .replace("s[i]", "s[n, i]")
    .replace("t[i]", "t[n, i]")
    .replace("y: output", "s: workspace(float32[count, 20])\nt: workspace(float32[count, 20])\ny: output")
)
"""The gates with a row of temporaries for each iteration."""


def gates(program):
    return declared(program, "W"), declared(program, "U")


def test_text(golden):
    program = parse(GATES)
    new = valid(concat_buffers, program, gates(program), "WU").program
    golden("concat_buffers.txt", f"{program}\nstack((W, U), 'WU')\n\n{new}")
    same(program, new, data(GATES))
    same_compiled(program, new, data(GATES))


def test_gates_side_by_side():
    program = parse(GATES)
    stacked = valid(concat_buffers, program, gates(program), "WU").program
    new = valid(pack, stacked, declared(stacked, "WU"), "WU_packed", ((1, 4),), (1, 3, 0, 2)).program
    assert "WU_packed: bound(float32[5, 6, 2, 4])" in str(new)
    assert "WU_packed[i // 4, j, 0, i % 4] * v[n, j]" in body(new)
    assert "WU_packed[i // 4, j, 1, i % 4] * v[n, j]" in body(new)
    same(program, new, data(GATES))
    same_compiled(program, new, data(GATES))


def test_one_alone_and_one_twice():
    program = parse(GATES)
    w, _ = gates(program)
    for given, text in (((), "nothing"), ((w,), "'W'"), ((w, w), "'W', 'W'")):
        assert refused(concat_buffers, program, given, "WU") == (
            f"concat_buffers: {text} cannot be stacked\n  because: it takes two parameters or more, each once"
        )


def test_shapes_that_differ():
    program = parse(PRODUCT)
    assert refused(concat_buffers, program, (declared(program, "U"), declared(program, "b")), "Ub") == (
        "concat_buffers: 'U' and 'b' are not of one shape and dtype\n"
        "  because: the one is float32[20, 6], the other float32[20]\n"
        "  fix: stack those that are alike"
    )


def test_a_parameter_of_unknown_size():
    program = parse(GATES.replace("parameter(float32[20, 6])", "parameter(float32[count + 20, 6])"))
    assert refused(concat_buffers, program, gates(program), "WU") == (
        "concat_buffers: the shape of 'W' is not known when parameters are bound\n"
        "  because: a table needs extents that are numbers"
    )


def test_what_is_no_parameter():
    program = parse(GATES)
    message = refused(concat_buffers, program, (declared(program, "W"), declared(program, "y")), "Wy")
    assert message == (
        "concat_buffers: 'y' is no parameter\n"
        "  because: its role is 'output': what it holds is not known when parameters are bound\n"
        "  fix: name a parameter, or a table made of parameters"
    )


def test_a_name_that_is_taken():
    program = parse(GATES)
    assert refused(concat_buffers, program, gates(program), "v") == (
        "concat_buffers: 'v' is the name of something else here\n  fix: choose another name"
    )


def temporaries(program):
    return declared(program, "s"), declared(program, "t")


def test_text_of_workspaces(golden):
    program = parse(TEMPORARIES)
    new = valid(concat_buffers, program, temporaries(program), "st").program
    golden("concat_workspaces.txt", f"{program}\nstack((s, t), 'st')\n\n{new}")
    same(program, new, data(TEMPORARIES))
    same_compiled(program, new, data(TEMPORARIES))


def test_a_reduction_that_starts_from_what_a_workspace_holds():
    program = parse(
        TEMPORARIES.replace("t[n, i] += U[i, j] * v[n, j]", "t[n, i] = reduce(sum, v[n, j], init=s[n, i])")
    )
    new = valid(concat_buffers, program, temporaries(program), "st").program
    assert "st[1, n, i]: t = reduce(sum, v[n, j], init=st[0, n, i])" in body(new)
    same(program, new, data(TEMPORARIES))


def test_workspaces_that_differ():
    program = parse(
        TEMPORARIES.replace("t: workspace(float32[count, 20])", "t: workspace(float32[20, count])")
    )
    assert refused(concat_buffers, program, temporaries(program), "st") == (
        "concat_buffers: 's' and 't' are not of one shape and dtype\n"
        "  because: the one is workspace float32[count, 20], the other workspace float32[20, count]\n"
        "  fix: stack those that are alike"
    )


def test_a_workspace_and_a_parameter():
    program = parse(TEMPORARIES.replace("float32[count, 20]", "float32[20, 6]"))
    assert refused(concat_buffers, program, (declared(program, "s"), declared(program, "W")), "sW") == (
        "concat_buffers: 's' and 'W' are not of one shape and dtype\n"
        "  because: the one is workspace float32[20, 6], the other float32[20, 6]\n"
        "  fix: stack those that are alike"
    )


def test_a_workspace_and_an_output():
    program = parse(TEMPORARIES)
    assert refused(concat_buffers, program, (declared(program, "s"), declared(program, "y")), "sy") == (
        "concat_buffers: 'y' is no parameter\n"
        "  because: its role is 'output': what it holds is not known when parameters are bound\n"
        "  fix: name a parameter, or a table made of parameters"
    )


def test_a_workspace_of_two_names():
    text = TEMPORARIES.replace("y: output", "u: workspace(float32[20, count], aliases=t)\ny: output")
    program = parse(text)
    assert refused(concat_buffers, program, temporaries(program), "st") == (
        "concat_buffers: 't' shares its memory with 'u'\n"
        "  because: a read or write of one accesses the other\n"
        "  fix: give each its own memory"
    )
