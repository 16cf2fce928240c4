"""hoist: work that is the same for every batch, or every node, is done before."""

import numpy as np

from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.transform.code.hoist import hoist
from tests.ragged.transform.data_support import same, same_compiled, valid
from tests.ragged.transform.support import loop, refused

SUM = """\
program("sum")

count: structure()
first: structure(n < count) = facts(0 <= first(n) < 4)
odd: expression(n < 4, n * 2 % 4)
U: parameter(float32[4, 6])
V: parameter(float32[4, 6])
x: payload(float32[count, 6])
UV: {role}
y: output(float32[count, 4])

with kernel:
    {outer}
        for i in serial(4):
            for j in serial(6):
                {fill}
        for n in serial(count):
            for i in serial(4):
                y[n, i]: y.init = 0.0
                for j in serial(6):
                    y[n, i] += UV[i, j] * x[n, j]
"""


def summed(
    fill="UV[i, j] = U[i, j] + V[odd(i), j]", outer="for z in serial(1):", role="workspace(float32[4, 6])"
):
    return parse(SUM.format(fill=fill, outer=outer, role=role))


def cases():
    for count in (0, 1, 3):
        random = np.random.default_rng(count)
        arrays = {
            name: random.standard_normal(shape).astype(np.float32)
            for name, shape in {"U": (4, 6), "V": (4, 6), "x": (count, 6)}.items()
        }
        yield {"count": count}, {**arrays, "first": (np.arange(count) % 4).astype(np.int32)}


DATA = list(cases())


def message(because):
    return f"hoist: cannot move loop 'i' to the bind stage\n  because: {because}"


KNOWS = "that stage knows parameters, tables of them, and its own loops"


def test_text(golden):
    program = summed()
    new = valid(hoist, program, loop(program, "i"), StageKind.BIND).program
    golden("hoist.txt", f"{program}\nhoist(i, StageKind.BIND)\n\n{new}")
    same(program, new, DATA)
    same_compiled(program, new, DATA)


def test_a_local_buffer_becomes_a_table():
    outer = "for z in serial(2):\n        UV = local(float32[4, 6])"
    text = SUM.format(fill="UV[i, j] = U[i, j] + V[i, j]", outer=outer, role="")
    program = parse(text.replace("UV: \n", ""))
    new = valid(hoist, program, loop(program, "i"), StageKind.BIND).program
    assert "UV: bound(float32[4, 6])" in str(new)
    same(program, new, DATA)


def test_to_the_prelude():
    fill = "UV[i, j] = U[i, j] + (x[0, j] if 0 < count else 0.0)"
    program = summed(fill)
    new = valid(hoist, program, loop(program, "i"), StageKind.PRELUDE).program
    assert "UV: workspace(float32[4, 6])" in str(new) and "with prelude:" in str(new)
    same(program, new, DATA)
    same_compiled(program, new, DATA)
    assert refused(hoist, program, loop(program, "i"), StageKind.BIND) == message(
        f"it depends on 'count', which is known at the call; {KNOWS}"
    )
    program = summed("UV[i, j] = x[i, j]")
    assert refused(hoist, program, loop(program, "i"), StageKind.BIND) == message(
        f"it depends on 'x', whose role is 'payload'; {KNOWS}"
    )


def test_a_sum_that_starts_in_it():
    program = summed(
        "UV[i, j]: UV.init = 0.0\n                for k in serial(6):\n"
        "                    UV[i, j] += U[i, k] * V[i, k]",
        outer="for z in serial(count):",
    )
    new = valid(hoist, program, loop(program, "i"), StageKind.BIND).program
    same(program, new, DATA)
    same_compiled(program, new, DATA)


def test_a_sum_that_goes_on():
    text = str(summed("UV[i, j] += U[i, j]", outer="for z in serial(count):"))
    program = parse(text)
    assert refused(hoist, program, loop(program, "i"), StageKind.BIND) == message(
        "it goes on from what an earlier run of it left in 'UV'"
    )


def test_what_is_known_at_the_call():
    program = summed("UV[i, j] = U[first(i), j]")
    assert refused(hoist, program, loop(program, "i"), StageKind.BIND) == message(
        f"it depends on 'first', which is known at the call; {KNOWS}"
    )


def test_a_loop_around():
    program = summed("UV[i, j] = U[i, j] * float32(z)", outer="for z in serial(2):")
    assert refused(hoist, program, loop(program, "i"), StageKind.BIND) == message(
        f"it depends on 'z', which is bound outside it; {KNOWS}"
    )


def test_where_it_could_fail():
    program = summed("UV[i, j] = U[i + 1, j]", outer="for z in serial(count):")
    assert refused(hoist, program, loop(program, "i"), StageKind.BIND).startswith(
        message("it may reach outside 'U', and may not have run where it stands\n  example: i = 3")
    )


def test_what_is_the_callers():
    program = summed(role="output(float32[4, 6])")
    assert refused(hoist, program, loop(program, "i"), StageKind.BIND) == message(
        "it writes 'UV', which lives longer than the call or is the caller's"
    )


def test_what_others_write():
    program = summed("UV[i, j] = U[i, j]\n        UV[0, 0]: UV.more = 1.0")
    assert refused(hoist, program, loop(program, "i"), StageKind.BIND) == message(
        "'UV' is written elsewhere too"
    )


def test_a_shape_of_the_batch():
    program = summed(role="workspace(float32[count + 4, 6])")
    assert refused(hoist, program, loop(program, "i"), StageKind.BIND) == message(
        "the shape of 'UV' is not known when parameters are bound"
    )


def test_checks():
    program = summed('check(i < 4, "no")\n                UV[i, j] = U[i, j]')
    assert refused(hoist, program, loop(program, "i"), StageKind.BIND) == message(
        "there is a check in it, which speaks of the kernel"
    )


def test_a_stage_that_is_not_earlier():
    program = summed()
    assert refused(hoist, program, loop(program, "i"), StageKind.KERNEL) == (
        "hoist: cannot move loop 'i' to the kernel stage\n"
        "  because: it is in the kernel stage, which does not come after it\n"
        "  fix: name a loop of a later stage"
    )
