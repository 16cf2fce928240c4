"""The table of elementwise functions: one row is all that a function needs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ragged
from cortex import ra
from ragged.codegen.cuda.exprs import CudaExpressions
from ragged.ir import elementwise as table
from ragged.ir.dtype import DType
from ragged.ir.elementwise import COMPOSED, FUNCTIONS, Elementwise
from ragged.ir.expr import Const, Unary
from ragged.ir.interpret.arithmetic import unary
from ragged.ir.text.names import reserved_words, unary_call
from tests.ragged.codegen.hand import call, elementwise, run
from tools.elementwise_stubs import FRONT_ENDS, stub

POINTS = np.array([0.3, 0.7, 1.9, 3.2])


@pytest.fixture
def toy(monkeypatch):
    row = Elementwise(
        name="twice_plus_one",
        doc="2 x + 1",
        numpy=lambda x: 2.0 * x + 1.0,
        cost=1,
        error=1e-7,
        cuda="fma{f}(2, {x}, 1)",
        derivative=lambda f, x, y: 2.0,
        recipe=lambda w, x: w.fma(w.number(2.0), x, w.number(1.0)),
    )
    monkeypatch.setitem(FUNCTIONS, row.name, row)
    return row


def apply(function, x):
    y = ragged.compute("y", x.dims, lambda i: function(x[i]))
    return ragged.compile(y)


def vector():
    return ragged.input_tensor("x", [(ragged.dim("place"), ragged.size("n"))])


def consumers_have(row):
    x = np.float64(0.7)
    assert unary_call(row.name) is row and row.name in reserved_words()
    assert unary(row, DType.FLOAT64)(x) == row.numpy(x)
    number = Unary(row, Const(0.5, DType.FLOAT32))
    assert CudaExpressions().emit(number) == row.cuda.format(x="0.5f", f="f")
    assert callable(getattr(ragged, row.name)) and callable(getattr(ra, row.name))
    program = elementwise(lambda a, b: call(row.name, a))
    values = np.array([0.25, 0.5, 1.5], np.float32)
    got = run(program, n=3, x=values, y=values)["out"]
    np.testing.assert_allclose(got, row.numpy(values.astype(np.float64)), rtol=row.error + 1e-7)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_consumer_has_every_row(name):
    consumers_have(FUNCTIONS[name])


def test_a_row_is_all_that_a_new_function_needs(toy):
    consumers_have(toy)
    x = np.array([1.0, 2.0], np.float32)
    f = apply(ragged.twice_plus_one, vector())
    np.testing.assert_array_equal(f(x=x), [3.0, 5.0])


def test_names_that_are_no_rows_are_refused():
    for module in (ragged, ra):
        with pytest.raises(AttributeError, match="no attribute 'erfinv'"):
            module.erfinv  # noqa: B018


def test_the_functions_are_public():
    assert set(table.names()) <= set(ragged.__all__) and set(table.names()) <= set(ra.__all__)
    assert set(table.names()) == {*FUNCTIONS, *COMPOSED}


class Numbers:
    """A front end of NumPy's arrays."""

    maximum, abs_ = staticmethod(np.maximum), staticmethod(np.abs)

    def __getattr__(self, name):
        return FUNCTIONS[name].numpy


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_the_function(name):
    row, h = FUNCTIONS[name], 1e-6
    slope = (row.numpy(POINTS + h) - row.numpy(POINTS - h)) / (2 * h)
    np.testing.assert_allclose(
        row.derivative(Numbers(), POINTS, row.numpy(POINTS)), slope, rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("name", sorted(set(COMPOSED) - {"pow"}))
def test_composed_functions_are_those_of_numpy(name):
    row = COMPOSED[name]
    x = np.array([0.0, 0.3, -0.7, 5.0, -5.0, 30.0, -30.0, 100.0, -100.0, np.nan], np.float32)
    got = apply(getattr(ragged, name), vector())(x=x)
    with np.errstate(all="ignore"):
        expected = row.numpy(x.astype(np.float64))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=3e-7)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, -2, 0.5, 2.5, -1.5, 64, 65, 66, -67, 10**9])
def test_powers_are_those_of_numpy(exponent):
    more = [-2.0, -0.9] if exponent == int(exponent) else []
    more += [np.nan, np.inf] if exponent == 0 else []
    x = np.array([0.3, 1.0, 2.5, 40.0, *more], np.float32)
    got = apply(lambda value: ragged.pow(value, exponent), vector())(x=x)
    with np.errstate(over="ignore"):
        exact = np.power(x.astype(np.float64), exponent)
        expected = exact.astype(np.float32)
    if abs(exponent) <= 7:
        np.testing.assert_allclose(got, exact, rtol=2e-6)
    else:  # as the documents say; what is too large for float32 is infinite
        bound = 1e-6 * (1 + abs(exponent * np.log(abs(x)))) * abs(expected) + 1e-37
        other = got != expected
        np.testing.assert_array_less(abs(got[other] - expected[other]), bound[other])
    if exponent == int(exponent):
        ends = np.array([-0.0, 0.0, np.inf, -np.inf], np.float32)
        with np.errstate(divide="ignore"):
            wanted = np.power(ends, np.float32(exponent))
        found = apply(lambda value: ragged.pow(value, exponent), vector())(x=ends)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
    np.testing.assert_array_equal(apply(lambda value: value**exponent, vector())(x=x), got)


@pytest.mark.parametrize("path", FRONT_ENDS, ids=lambda path: path.parts[-3])
def test_the_stubs_are_those_of_the_table(path):
    assert path.read_text(encoding="utf-8") == stub(*FRONT_ENDS[path]), "python -m tools.elementwise_stubs"


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda each: each.name)
def test_another_process_gets_the_same_function(function):
    assert pickle.loads(pickle.dumps(function)) is function
