"""expand_storage: a local buffer with room for every iteration."""

from ragged.ir.parser import parse
from ragged.transform.loops.fission import fission
from ragged.transform.loops.split import Tail, split
from ragged.transform.storage.expand_storage import expand_storage
from tests.ragged.transform.data_programs import GATES, data
from tests.ragged.transform.data_support import declared, local, same, same_compiled, valid
from tests.ragged.transform.support import body, label, loop, refused


def blocked():
    """The gates, four rows at a time, and what is left over."""
    program = parse(GATES)
    return valid(split, program, loop(program, "n"), 4, Tail.PEEL).program


def test_text(golden):
    program = blocked()
    new = valid(expand_storage, program, local(program, "s"), loop(program, "n_i")).program
    golden("expand_storage.txt", body(program) + "\nexpand_storage(s, n_i)\n\n" + body(new))
    same(program, new, data(GATES))


def test_then_the_loop_can_be_fissioned():
    program = new = blocked()
    assert "s" in refused(fission, program, loop(program, "n_i"), loop(program, "i", 0))
    for name in ("s", "t"):
        new = valid(expand_storage, new, local(new, name), loop(new, "n_i")).program
    new = valid(fission, new, loop(new, "n_i"), loop(new, "i", 0)).program
    same(program, new, data(GATES))
    same_compiled(program, new, data(GATES))


def test_of_two_loops():
    line = "    for n in serial(count):"
    program = parse(GATES.replace(line, f"{line}\n     for m in serial(2):"))
    program = valid(split, program, loop(program, "n"), 2).program
    new = valid(expand_storage, program, local(program, "s"), loop(program, "n_i")).program
    new = valid(expand_storage, program, local(program, "s"), loop(program, "m")).program
    new = valid(expand_storage, new, local(new, "s"), loop(new, "n_i")).program
    assert "s = local(float32[2, 2, 20])" in body(new)
    same(program, new, data(GATES))


def test_the_order_in_memory_stays():
    text = GATES.replace("s = local(float32[20])", "s = local(float32[20, 3], order=(1, 0))")
    program = parse(text.replace("s[i]", "s[i, 0]"))
    program = valid(split, program, loop(program, "n"), 2).program
    new = valid(expand_storage, program, local(program, "s"), loop(program, "n_i")).program
    assert "s = local(float32[2, 20, 3], order=(0, 2, 1))" in body(new)
    same(program, new, data(GATES))


def test_a_loop_without_a_number():
    program = parse(GATES)
    assert refused(expand_storage, program, local(program, "s"), loop(program, "n")) == (
        "expand_storage: cannot expand 's' by loop 'n'\n"
        "  because: the loop's extent is no number, and a local buffer's size has to be known\n"
        "  fix: split the loop by a number, and name the inner loop"
    )


def test_a_loop_inside():
    program = parse(GATES)
    assert refused(expand_storage, program, local(program, "s"), loop(program, "i")) == (
        "expand_storage: cannot expand 's' by loop 'i'\n"
        "  because: it is not allocated in that loop: its iterations share the buffer already\n"
        "  fix: name a loop around the allocation"
    )


def test_iterations_that_run_at_once():
    text = GATES.replace("serial(count)", "serial(8)").replace("[count", "[8")
    text = text.replace("    for n in serial(8):", "    for m in serial(4):\n     for n in parallel(8):")
    text = text.replace("y[n, i] = s[i]", "y[n, i] = s[i]")
    program = parse(text)
    assert refused(expand_storage, program, local(program, "s"), loop(program, "m")) == (
        "expand_storage: cannot expand 's' by loop 'm'\n"
        "  because: iterations of the parallel loop 'n' between them run at once, and would share the buffer\n"
        "  fix: expand it by 'n' first"
    )
    new = valid(expand_storage, program, local(program, "s"), loop(program, "n")).program
    same(program, valid(expand_storage, new, local(new, "s"), loop(new, "m")).program, data(text))


def test_a_shape_that_differs():
    text = GATES.replace("for n in serial(count)", "for n in serial(4)").replace("[count", "[4")
    program = parse(text.replace("s = local(float32[20])", "s = local(float32[20 + n])"))
    assert refused(expand_storage, program, local(program, "s"), loop(program, "n")) == (
        "expand_storage: cannot expand 's' by loop 'n'\n  because: its shape is not the same in each iteration"
    )


def test_declared_buffers_are_not_expanded():
    program = parse(GATES)
    assert refused(expand_storage, program, declared(program, "y"), loop(program, "n")) == (
        "expand_storage: 'y' is no local buffer\n"
        "  because: it is declared, with the role 'output', and lives longer than a statement\n"
        "  fix: name a buffer that the kernel allocates"
    )


def test_a_buffer_of_another_program():
    program = parse(GATES)
    assert refused(expand_storage, program, local(parse(GATES), "s"), loop(program, "n")) == (
        "expand_storage: the program has no buffer 's'\n"
        "  because: it was never there, or an earlier step put another in its place\n"
        "  fix: name a buffer of this program: `s.buffer(name)`"
    )


def test_labels_and_loops_stay():
    program = blocked()
    result = valid(expand_storage, program, local(program, "s"), loop(program, "n_i"))
    assert all(new == (old,) for old, new in result.forwarding.loops.items())
    assert result.forwarding.labels[label(program, "s")] == (label(program, "s"),)


def test_the_place_of_a_reduction_stays_one():
    text = """\
program("p")

at: parameter(int64[1])
y: output(float32[1])

with kernel:
    y[0]: y.init = 0.0
    for i in serial(4):
        here = local(int64[1])
        here[0] = at[0] % 1
        there = here[0]
        y[there + {more}] += 1.0
"""
    for more in ("0", "at[0] % 1"):
        program = parse(text.format(more=more))
        said = refused(expand_storage, program, local(program, "here"), loop(program, "i"))
        assert said == (
            "expand_storage: cannot expand 'here' by loop 'i'\n"
            "  because: it says where 'y' adds up, which would depend on what is summed over"
        )


def test_unrolled_loops_between_share_the_storage():
    text = GATES.replace("serial(count)", "serial(8)").replace("[count", "[8")
    text = text.replace("    for n in serial(8):", "    for m in serial(4):\n     for n in unrolled(8):")
    program = parse(text)
    new = valid(expand_storage, program, local(program, "s"), loop(program, "m")).program
    assert "s = local(float32[4, 20])" in body(new)
    same(program, new, data(text))
