"""Printing, parsing and comparing programs."""

from hypothesis import given

from ragged.ir.equal import difference
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from tests.ragged.ir.strategies import Case, cases


@given(cases())
def test_drawn_programs_are_valid_and_print_and_parse_back(case: Case):
    verify(case.program)
    text = to_text(case.program)
    again = parse(text)
    assert difference(case.program, again) is None
    assert to_text(again) == text
    verify(again)


@given(cases())
def test_drawn_programs_run_and_parsed_ones_do_the_same(case: Case):
    expected = interpret(case.program, case.sizes, case.arrays, seed=1)
    again = interpret(parse(to_text(case.program)), case.sizes, case.arrays, seed=2)
    assert expected.keys() == again.keys()
    for name, array in expected.items():
        assert array.tobytes() == again[name].tobytes(), name
