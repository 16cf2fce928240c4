"""Every refusal of the Recursive API, of the linearizer and of the primitives has a test that its text stands in."""

from __future__ import annotations

import pytest

from tests.refusals.sites import Site, Template, sites, texts


@pytest.fixture(scope="module")
def said() -> str:
    return texts()


@pytest.fixture(scope="module")
def raised() -> tuple[Site, ...]:
    return tuple(sites())


def test_every_message_is_in_a_test_or_a_golden_file(said, raised):
    assert len(raised) > 250
    unseen = {site.place: parts for site in raised if (parts := site.unseen(said))}
    assert not unseen, (
        "a program that is refused so is missing: add one, for example to tests/refusals/cases.py"
    )


def test_every_message_says_why_or_what_to_do(raised):
    silent = [site.place for site in raised if not {"because", "fix"} & set(site.parts)]
    assert not silent, "a refusal says why, and what to do about it"


def test_a_message_that_no_test_has_is_noticed(said):
    never = Template(("refactor: a message that ", None, "no test " + "expects"))
    assert Site("here", {"what": never, "fix": None}).unseen(said) == ["what"]
