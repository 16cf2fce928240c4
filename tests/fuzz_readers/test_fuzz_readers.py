"""The fuzzer of readers finds planted faults, and its readers read what they are given."""

from __future__ import annotations

import pytest

from tests.fuzz_readers import __main__ as fuzzer
from tests.fuzz_readers import planted, reader
from tests.fuzz_readers.readers import readers


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("foreign", "UnicodeDecodeError"),
        ("crash", "the process ended: SIGABRT"),
        ("endless", "the process ended: SIGPROF"),
        ("large", "MemoryError"),
    ],
)
def test_planted_faults_are_found_and_repeated(name, found):
    search = fuzzer.Search(name, 0, planted.__name__, 0.5, 0.3)
    search.run()
    assert any(found in text for _, text in search.failures.values())


def test_a_refusal_is_fine():
    assert reader.run_case(planted.readers()["refusing"], b"((", 1.0) is None


def test_seeds_are_read():
    for each in readers().values():
        for data in each.seeds:
            each.read(data)
