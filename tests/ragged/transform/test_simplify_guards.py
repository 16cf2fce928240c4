"""simplify_guards: what is known where it stands is taken out."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from ragged.ir.interpret import CheckFailed, interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import StageKind
from ragged.schedule.names import read_index
from ragged.transform.code.simplify_guards import simplify_guards
from ragged.transform.loops.partition_loop import partition_loop
from ragged.transform.loops.split import Tail, split
from tests.ragged.ir.strategies import cases
from tests.ragged.transform.data_support import same, same_compiled, valid
from tests.ragged.transform.ragged_programs import ROWS, ROWS_DATA
from tests.ragged.transform.support import body, label, loop, refused
from tests.ragged.transform.test_random_programs import check

GUARDS = """\
program("guards")

rows: input()
n: input(b < rows) = facts(0 <= n(b) < 9)
a: payload(float32[16])
x: output(float32[16])

with kernel:
    for k in serial(16):
        x[k]: x.init = 0.0
    for b in serial(rows):
        for i in serial(n(b)):
            {}
"""


def guards(*lines):
    return parse(GUARDS.format("\n            ".join(lines)))


def simplified(*lines):
    """Return the text of the loop over `i`, simplified; it computes what it did."""
    program = guards(*lines)
    new = valid(simplify_guards, program).program
    random = np.random.default_rng(0)
    arrays = {"a": random.standard_normal(16).astype(np.float32), "n": np.array([0, 8, 3], np.int32)}
    same(program, new, [({"rows": 3}, arrays)])
    text = body(new)
    return [line.strip() for line in text[text.index("for i in") :].splitlines()[1:]]


def test_a_vectorized_loop_keeps_the_number_of_its_lanes():
    text = """\
program("lanes")

m: input() = facts(0 <= m < 4)
a: payload(float32[4])
x: output(float32[4])

with kernel:
    for k in serial(4):
        x[k]: x.init = 0.0
    for i in vectorized(min(m, 4)):
        x[i] = a[i] if i < 4 else 0.0
"""
    program = parse(text)
    new = valid(simplify_guards, program).program
    assert "for i in vectorized(min(m, 4)):\n        x[i] = a[i]\n" in str(new)
    same(program, new, [({"m": m}, {"a": np.arange(4, dtype=np.float32)}) for m in (0, 3)])


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        (["if i < 8:", "    x[i] = 1.0"], ["x[i] = 1.0"]),
        (["if i < 7:", "    x[i] = 1.0"], ["if i < 7:", "x[i] = 1.0"]),
        (["if i >= n(b):", "    x[i] = 1.0", "x[i]: y = 2.0"], ["x[i]: y = 2.0"]),
        (["if i >= n(b):", "    x[i] = 1.0", "else:", "    x[i]: y = 2.0"], ["x[i]: y = 2.0"]),
        (["if not i < 8:", "    x[i] = 1.0", "else:", "    x[i]: y = 2.0"], ["x[i]: y = 2.0"]),
        (["if 0 <= i and i < 3:", "    x[i] = 1.0"], ["if i < 3:", "x[i] = 1.0"]),
        (["if i < 3 and i < 9:", "    x[i] = 1.0"], ["if i < 3:", "x[i] = 1.0"]),
        (["if i < 3 and i < 4:", "    x[i] = 1.0"], ["if i < 3:", "x[i] = 1.0"]),
        (["if i < 3 and 5 < i:", "    x[i] = 1.0", "x[i]: y = 2.0"], ["x[i]: y = 2.0"]),
        (["if i < 3 or 2 < i:", "    x[i] = 1.0"], ["x[i] = 1.0"]),
        (["if i < 0 or i < 3:", "    x[i] = 1.0"], ["if i < 3:", "x[i] = 1.0"]),
        (["if not (i < 3 or 20 < i):", "    x[i] = 1.0"], ["if not i < 3:", "x[i] = 1.0"]),
        (["if a[i] < 0.0 and i < 8:", "    x[i] = 1.0"], ["if a[i] < 0.0:", "x[i] = 1.0"]),
        (["if i < 5:", "    if i < 6:", "        x[i] = 1.0"], ["if i < 5:", "x[i] = 1.0"]),
        (
            ["if i < 5:", "    x[i] = 1.0", "else:", "    if i < 3:", "        x[i]: y = 2.0"],
            ["if i < 5:", "x[i] = 1.0"],
        ),
        (
            ["if i < 5:", "    if i > 5:", "        x[i] = 1.0", "x[i]: y = 2.0"],
            ["x[i]: y = 2.0"],
        ),
        (
            ["if i < 5:", "    if i > 5:", "        x[i] = 1.0", "else:", "    x[i]: y = 2.0"],
            ["if i < 5:", "pass", "else:", "x[i]: y = 2.0"],
        ),
        (["x[i] = a[i] if i < 8 else 0.0"], ["x[i] = a[i]"]),
        (["x[i] = a[i] if i >= 8 else 0.0"], ["x[i] = 0.0"]),
        (["x[i] = (a[i] if i < 5 else 1.0) if i < 3 else 0.0"], ["x[i] = a[i] if i < 3 else 0.0"]),
        (["x[min(i, 15)] = 1.0"], ["x[i] = 1.0"]),
        (["x[max(i - 9, 0)] = 1.0"], ["x[0] = 1.0"]),
        (["x[max(i, 0)] = 1.0"], ["x[i] = 1.0"]),
        (
            ["if a[i] < 0.0 and (i < 3 and i < 9):", "    x[i] = 1.0"],
            ["if a[i] < 0.0 and i < 3:", "x[i] = 1.0"],
        ),
        (["x[min(i, 5)] = 1.0"], ["x[min(i, 5)] = 1.0"]),
        (["j = i * 2", "if j < 16:", "    x[j] = 1.0"], ["j = i * 2", "x[j] = 1.0"]),
        (["for j in serial(min(4, i + 4)):", "    x[j] = 1.0"], ["for j in serial(4):", "x[j] = 1.0"]),
        (["for j in serial(i - 8):", "    x[j] = 1.0", "x[i]: y = 2.0"], ["x[i]: y = 2.0"]),
        (["for j in serial(3):", "    if i > 8:", "        x[j] = 1.0", "x[i]: y = 2.0"], ["x[i]: y = 2.0"]),
    ],
)
def test_what_is_known_goes(lines, left):
    assert simplified(*lines) == left


def test_what_a_buffer_holds_may_have_changed():
    lines = ["if x[i] == 0.0:", "    x[i] = 1.0", "    if x[i] == 0.0:", "        x[i]: y = 2.0"]
    assert simplified(*lines) == [line.strip() for line in lines]


def test_text(golden):
    program = parse(ROWS.replace("serial(32)", "serial((n(b) + 15) // 16 * 16)"))
    t = loop(program, "t")
    new = valid(partition_loop, program, t, read_index(program, t, "n(b) // 16 * 16")).program
    result = valid(simplify_guards, new, loop(new, "t"))
    golden(
        "simplify_guards.txt",
        f"{body(new)}\nsimplify_guards(t)\n\n{body(result.program)}\n{chr(10).join(result.notes)}\n",
    )
    assert result.forwarding.labels[label(new, "y.pad")] == ()
    assert result.forwarding.loops[loop(new, "t_rest")] == (loop(new, "t_rest"),)
    everywhere = valid(simplify_guards, new).program
    assert body(everywhere) == body(result.program)


@pytest.mark.parametrize("tail", Tail, ids=lambda tail: tail.value)
def test_blocks_of_a_guarded_loop(tail):
    program = parse(ROWS)
    new = valid(split, program, loop(program, "t"), 8, tail).program
    var = loop(new, "t_o")
    new = valid(partition_loop, new, var, read_index(new, var, "n(b) // 8")).program
    new = valid(simplify_guards, new).program
    main, _, rest = body(new).partition("for t_o_rest")
    assert "if" not in main.partition("for t_o in")[2] and "if" in rest
    same(program, new, ROWS_DATA)
    same_compiled(program, new, ROWS_DATA)


def test_a_loop_padded_to_blocks_has_no_rest():
    program = parse(ROWS.replace("serial(32)", "serial((n(b) + 7) // 8 * 8)"))
    t = loop(program, "t")
    new = valid(partition_loop, program, t, read_index(program, t, "(n(b) + 7) // 8 * 8 // 8 * 8")).program
    new = valid(simplify_guards, new)
    assert new.forwarding.loops[loop(program, "t")] == (t,)
    assert "t_rest" not in body(new.program)


def test_facts_that_are_relied_on_are_checked():
    new = valid(simplify_guards, guards("if i < 8:", "    x[i] = 1.0"))
    assert new.notes == ("known: i < 8  (by Range of n)",)
    arrays = {"a": np.zeros(16, np.float32), "n": np.array([9], np.int32)}
    with pytest.raises(CheckFailed, match="is not in"):
        interpret(new.program, {"rows": 1}, arrays)


def test_where_nothing_is_known_nothing_changes():
    program = guards("if i < 7:", "    x[i] = 1.0")
    assert valid(simplify_guards, program).program is program


def test_other_loops_stay():
    program = parse(
        GUARDS.format("if i < 8:\n                x[i] = 1.0") + "    if 1 < 2:\n        x[0]: z = 2.0\n"
    )
    text = body(valid(simplify_guards, program, loop(program, "i")).program)
    assert "if i" not in text and "if 1 < 2" in text
    text = body(valid(simplify_guards, program, loop(program, "k")).program)
    assert "if i" in text and "if 1 < 2" in text


def test_a_loop_of_another_program_is_refused():
    other = parse(ROWS)
    assert refused(simplify_guards, guards("x[i] = 1.0"), loop(other, "t")) == (
        "simplify_guards: the program has no loop 't'\n"
        "  because: it was never there, or an earlier step put others in its place\n"
        "  fix: name a loop of this program: `s.loop(name)`"
    )


@settings(phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck))
@given(cases())
def test_random_programs_compute_the_same(case):
    before = to_text(case.program)
    new = simplify_guards(case.program).program
    assert to_text(case.program) == before
    bind = (StageKind.BIND,)
    assert [s.body for s in new.stages if s.kind in bind] == [
        s.body for s in case.program.stages if s.kind in bind
    ]
    check(case, new, to_text(new), interpret(case.program, case.sizes, case.arrays, seed=0))
