"""remap_iterations and declare_order: a parallel loop in an order that the caller gives."""

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.codegen.entry import CompiledCheckFailed
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller
from ragged.runtime.orders import dealt, longest_first
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.declare_order import declare_order
from ragged.transform.loops.remap_iterations import remap_iterations
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from tests.ragged.transform.data_support import same, same_compiled, valid
from tests.ragged.transform.ragged_programs import ROWS, ROWS_DATA, rows_data
from tests.ragged.transform.support import body, loop, refused

ORDERED = ROWS.replace(
    "a: payload", "order: payload(i < {domain}) = facts({facts})\ntwin: payload(i < 2, j < 2)\na: payload"
)
ORDERS = {
    "longest": longest_first,
    "two": lambda lengths: dealt(lengths, 2),
    "back": lambda lengths: np.arange(len(lengths), dtype=np.int32)[::-1].copy(),
}


def ordered(facts="injective(), 0 <= order(i) < rows", domain="rows"):
    program = parse(ORDERED.format(facts=facts, domain=domain))
    return program, loop(program, "b"), next(f for f in program.functions if f.name == "order")


def scheduled():
    program = parse(ROWS)
    s = LoopSchedule(program)
    s.apply(declare_order, "order", s.loop("b"))
    s.apply(remap_iterations, s.loop("b"), s.function("order"))
    return program, s


def with_order(order):
    return [(sizes, {**arrays, "order": order(arrays["n"]).astype(np.int32)}) for sizes, arrays in ROWS_DATA]


def test_text(golden):
    program = parse(ROWS)
    declared = valid(declare_order, program, "order", loop(program, "b")).program
    function = declared.functions[-1]
    result = valid(remap_iterations, declared, loop(program, "b"), function)
    assert [var.name for var in result.forwarding.loops[loop(program, "b")]] == ["b_r"]
    golden("remap_iterations.txt", f"{program}\nremap_iterations(b, order)\n\n{result.program}")


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_computes_the_same(order):
    program, s = scheduled()
    declared = LoopSchedule(program)
    declared.apply(declare_order, "order", declared.loop("b"))
    same(declared.program, s.program, with_order(ORDERS[order]))
    team = valid(distribute_over_team, s.program).program
    for sizes, arrays in with_order(ORDERS[order]):
        want = interpret(declared.program, sizes, arrays)
        for workers in (1, 3):
            got = interpret(team, sizes, arrays, workers=workers)
            np.testing.assert_array_equal(got["y"], want["y"])
            np.testing.assert_array_equal(got["s"], want["s"])


def test_machine_code():
    program, s = scheduled()
    declared = LoopSchedule(program)
    declared.apply(declare_order, "order", declared.loop("b"))
    same_compiled(declared.program, s.program, with_order(longest_first))


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([0, 1, 1], "order(1) = order(2) = 1, which should differ"),
        ([0, 1, 3], "order(2) = 3 is not in [0, 3)"),
        ([-1, 1, 0], "order(0) = -1 is not in [0, 3)"),
    ],
)
def test_what_is_no_permutation_ends_the_call(order, message):
    _, s = scheduled()
    compiled = compile_program(s.program)
    caller = Caller([compiled.entries[kind] for kind in (StageKind.PRELUDE, StageKind.KERNEL)], {})
    sizes, arrays = rows_data([3, 0, 5])
    with pytest.raises(CompiledCheckFailed) as caught:
        caller({**sizes, **arrays, "order": np.array(order, np.int32)})
    assert message in str(caught.value)


def test_the_log_taken_again_gives_the_same_program():
    program, s = scheduled()
    again = LoopSchedule(program)
    exec(s.log(), {"s": again, "declare_order": declare_order, "remap_iterations": remap_iterations})
    assert str(again.program) == str(s.program)


def test_it_is_done_twice():
    program, b, order = ordered()
    once = valid(remap_iterations, program, b, order)
    twice = valid(remap_iterations, once.program, once.forwarding.loops[b][0], order).program
    assert str(twice).count("order_seen[order(i)] = i") == 1
    data = [
        (sizes, {**arrays, "twin": np.zeros((2, 2), np.int32)}) for sizes, arrays in with_order(longest_first)
    ]
    same(program, twice, data)


def test_a_larger_domain_and_less_range_will_do():
    program, b, order = ordered("injective(), 0 <= order(i) < 1", domain="rows + 1")
    program = parse(str(program).replace("parallel(rows)", "parallel(1 if 0 < rows else 0)"))
    b, order = loop(program, "b"), next(f for f in program.functions if f.name == "order")
    assert "b = order(b_r)" in body(valid(remap_iterations, program, b, order).program)


def test_what_is_bound_around_the_loop_is_known():
    program, *_ = ordered()
    program = parse(
        str(program).replace("    for b in parallel(rows)", "    many = rows\n    for b in parallel(many)")
    )
    order = next(f for f in program.functions if f.name == "order")
    new = valid(remap_iterations, program, loop(program, "b"), order).program
    assert "for b_r in parallel(many):\n        b = order(b_r)\n" in body(new)


def test_what_is_not_known_to_permute_is_refused():
    what = "remap_iterations: cannot run loop 'b' in the order of 'order'\n"
    assert refused(remap_iterations, *ordered("0 <= order(i) < rows")) == (
        f"{what}  because: two iterations may be one: 'order' is not known to be injective\n"
        "  fix: state the fact injective() of it"
    )
    assert refused(remap_iterations, *ordered("injective(), 0 <= order(i) < rows + 1")) == (
        f"{what}  because: it is not proven that b < rows and (0 <= order(b) and order(b) < rows)\n"
        "  example: b = 0, rows = 1, order(0) = 1"
    )
    assert refused(remap_iterations, *ordered(domain="rows - 1")) == (
        f"{what}  because: it is not proven that b < rows - 1 and (0 <= order(b) and order(b) < rows)\n"
        "  example: b = 0, rows = 1, order(0) = 0"
    )


def test_other_functions_are_refused():
    program, b, order = ordered()
    twin = next(f for f in program.functions if f.name == "twin")
    assert refused(remap_iterations, program, b, twin) == (
        "remap_iterations: cannot run loop 'b' in the order of 'twin'\n"
        "  because: 'twin' has 2 parameters, not one"
    )
    other = parse(ROWS)
    assert refused(remap_iterations, other, loop(other, "b"), order) == (
        "remap_iterations: cannot run loop 'b' in the order of 'order'\n"
        "  because: the program has no function 'order'\n"
        "  fix: declare_order first, and name what it declared: `s.function(name)`"
    )


def test_a_loop_with_an_order_is_refused():
    program, _, order = ordered()
    assert refused(remap_iterations, program, loop(program, "k"), order) == (
        "remap_iterations: cannot run loop 'k' in the order of 'order'\n"
        "  because: it is serial, and its own order counts\n"
        "  fix: parallel(k) first, if its iterations are independent"
    )


def test_what_is_bound_has_no_order():
    text = ORDERED.format(facts="injective(), 0 <= order(i) < rows", domain="rows")
    text = text.replace("s: output", "table: bound(float32[2])\ns: output")
    binding = "with bind:\n    for i in parallel(2):\n        table[i] = 1.0\n\nwith kernel:"
    program = parse(text.replace("with kernel:", binding))
    order = next(f for f in program.functions if f.name == "order")
    assert refused(remap_iterations, program, loop(program, "i"), order) == (
        "remap_iterations: cannot run loop 'i' in the order of 'order'\n"
        "  because: it runs when parameters are bound, and each call has its own order"
    )


def test_an_order_of_what_is_not_known_at_the_call_is_refused():
    program = parse(ROWS)
    assert refused(declare_order, program, "order", loop(program, "k")) == (
        "declare_order: cannot declare 'order', an order of loop 'k'\n"
        "  because: it runs n(b) times, which is known in the program alone\n"
        "  fix: order a loop with an extent of numbers and sizes"
    )
    for extent in ("16 // n(0)", "k + 1"):
        text = ROWS.replace(
            "for t in serial(32):", f"for k in serial(2):\n          for t in serial({extent}):"
        )
        other = parse(
            text.replace("            if", "              if").replace(
                "            else", "              else"
            )
        )
        assert "known in the program alone" in refused(declare_order, other, "order", loop(other, "t"))
    assert refused(declare_order, program, "n", loop(program, "b")) == (
        "declare_order: 'n' is the name of something else here\n  fix: choose another name"
    )
