"""Every refusal of the Recursive API, of the linearizer and of the primitives has a test that its text stands in."""

from __future__ import annotations

import pytest

from tests.refusals.sites import Site, sites, texts

SITES = tuple(sites())


@pytest.fixture(scope="module")
def said() -> str:
    return texts()


def test_every_message_is_in_a_test_or_a_golden_file(said):
    assert len(SITES) > 250
    unseen = {site.place: parts for site in SITES if (parts := site.unseen(said))}
    assert not unseen, (
        "a program that is refused so is missing: add one, for example to tests/refusals/cases.py"
    )


def test_every_message_says_why_or_what_to_do():
    silent = [site.place for site in SITES if not {"because", "fix"} & set(site.patterns)]
    assert not silent, "a refusal says why, and what to do about it"


def test_a_message_that_no_test_has_is_noticed(said):
    nonsense = "refactor: nobody " + "has ever been told this"
    assert Site("here", {"what": nonsense, "fix": None}).unseen(said) == ["what"]
