"""stack: parameters of one shape as one table."""

from ragged.ir.parser import parse
from ragged.schedule.pack import pack
from ragged.schedule.stack import stack
from tests.ragged.schedule.data_programs import GATES, PRODUCT, data
from tests.ragged.schedule.data_support import declared, same, same_compiled, valid
from tests.ragged.schedule.support import body, refused


def gates(program):
    return declared(program, "W"), declared(program, "U")


def test_text(golden):
    program = parse(GATES)
    new = valid(stack, program, gates(program), "WU").program
    golden("stack.txt", f"{program}\nstack((W, U), 'WU')\n\n{new}")
    same(program, new, data(GATES))
    same_compiled(program, new, data(GATES))


def test_gates_side_by_side():
    program = parse(GATES)
    stacked = valid(stack, program, gates(program), "WU").program
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
        assert refused(stack, program, given, "WU") == (
            f"stack: {text} cannot be stacked\n  because: it takes two parameters or more, each once"
        )


def test_shapes_that_differ():
    program = parse(PRODUCT)
    assert refused(stack, program, (declared(program, "U"), declared(program, "b")), "Ub") == (
        "stack: 'U' and 'b' are not of one shape and dtype\n"
        "  because: the one is float32[20, 6], the other float32[20]\n"
        "  fix: stack those that are alike"
    )


def test_what_is_no_parameter():
    program = parse(GATES)
    message = refused(stack, program, (declared(program, "W"), declared(program, "y")), "Wy")
    assert message == (
        "stack: 'y' is no parameter\n"
        "  because: its role is 'output': what it holds is not known when parameters are bound\n"
        "  fix: name a parameter, or a table made of parameters"
    )


def test_a_name_that_is_taken():
    program = parse(GATES)
    assert refused(stack, program, gates(program), "v") == (
        "stack: 'v' is the name of something else here\n  fix: choose another name"
    )
