"""Pages that are made from docstrings: they are as the docstrings are, and lose nothing of them."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from cortex import RecursionOptions
from ragged import ScheduleOptions
from tools.reference_pages import PACKAGES, entry, markdown, pages, signature

PAGES = pages()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_is_made_of_the_docstrings(path):
    assert path.read_text(encoding="utf-8") == PAGES[path], "python -m tools.reference_pages"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_examples_name_options_as_they_are_called(path):
    text = PAGES[path]
    named = {
        name
        for grid in re.findall(r"(?:grid|space)={(.*?)}", text)
        for name in re.findall(r'"(\w+)": ', grid)
    } | {
        name for call in re.findall(r"\w+Options\((\w+=.*?)\)", text) for name in re.findall(r"(\w+)=", call)
    }
    assert named <= {each.name for each in (*fields(RecursionOptions), *fields(ScheduleOptions))}


@pytest.mark.parametrize(
    "module", [module for module, _ in PACKAGES.values()], ids=lambda each: each.__name__
)
def test_every_public_name_has_a_docstring(module):
    assert [name for name in module.__all__ if not getattr(module, name).__doc__] == []


class Sample:
    """An object with a method.

    It is for this test::

        Sample(3)

    Args:
        count: how many there are,
            at least one.
        names, rest: what they are called: words.

    Raises:
        ValueError: there are none.

    >>> Sample(1).count
    1
    """

    def __init__(self, count: int = 1, /, *names: str, rest: tuple[str, ...] = ("a", "b")) -> None:
        self.count = count

    @classmethod
    def made(cls) -> Sample:
        """Return one."""
        return cls()

    @property
    def first(self) -> int:
        """The first one."""
        return self.count

    def _hidden(self) -> None:
        """Nothing to see."""


def _function(first: int, second: dict[str, tuple[int, int]] | None = None, *, third: str) -> None:
    """Do nothing."""


def test_a_docstring_becomes_markdown():
    assert markdown(Sample.__doc__ or "") == (
        "An object with a method.\n\nIt is for this test:\n\n```\nSample(3)\n```\n\n"
        "Args:\n\n- `count`: how many there are, at least one.\n- `names, rest`: what they are called: words.\n\n"
        "Raises:\n\n- `ValueError`: there are none.\n\n```\n>>> Sample(1).count\n1\n```"
    )


def test_a_block_of_code_keeps_its_empty_lines():
    assert markdown("Return it::\n\n    first\n\n    second\n\nOnce.") == (
        "Return it:\n\n```\nfirst\n\nsecond\n```\n\nOnce."
    )


def test_a_signature_is_as_it_is_written_without_self():
    assert signature("Sample", Sample) == (
        "Sample(count: int = 1, /, *names: str, rest: tuple[str, ...] = ('a', 'b'))"
    )
    assert signature("Sample.made", Sample.made) == "Sample.made() -> Sample"


def test_a_long_signature_has_a_line_for_each_parameter():
    assert signature("f" * 60, _function).splitlines()[1:3] == [
        "    first: int,",
        "    second: dict[str, tuple[int, int]] | None = None,",
    ]


def test_members_of_other_projects_and_private_ones_are_left_out(monkeypatch):
    monkeypatch.setattr("tools.reference_pages.PRODUCTS", ("tests",))
    text = entry("Sample", Sample)
    assert "### `Sample.made`" in text
    assert "### `Sample.first`\n\nThe first one." in text
    assert "_hidden" not in text
    monkeypatch.setattr("tools.reference_pages.PRODUCTS", ("ragged",))
    assert "###" not in entry("Sample", Sample)
