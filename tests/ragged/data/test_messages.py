"""Each message, whole: one illegal input for each."""

from __future__ import annotations

import pytest

from ragged.data import faults
from ragged.errors import DataError
from tests.ragged.data.illegal import CASES

HELPERS = {"OutOfRange"}


@pytest.mark.parametrize("name", CASES)
def test_message(name, golden):
    with pytest.raises(DataError) as refused:
        CASES[name]()
    golden(f"{name}.txt", f"{refused.value}\n")


def test_every_message_has_its_case():
    assert set(faults.__all__) - HELPERS == {name.partition(".")[0] for name in CASES}


def test_an_index_out_of_range_is_an_index_error_too():
    with pytest.raises(IndexError):
        CASES["out_of_range"]()
