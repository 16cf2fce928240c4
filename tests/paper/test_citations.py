"""The code and the documents cite what is in the papers, and name documents that are in the repository."""

from __future__ import annotations

import re
from pathlib import Path

from tests.paper.citations import citations, is_in_paper

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    path
    for folder in ("cortex", "ragged", "bench", "docs", "tests", "tools", "examples")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".md", ".h", ".cpp"} and "__pycache__" not in path.parts
] + [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def test_every_cited_part_of_a_paper_is_there():
    found = [
        (path, *each)
        for path in SOURCES
        if path.name != "test_citations.py"
        for each in citations(path.read_text(encoding="utf-8"))
    ]
    assert len(found) > 60
    assert [each for each in found if not is_in_paper(*each[1:])] == []


def test_a_part_that_is_not_there_is_noticed():
    text = "persistence (CORTEX, section 5.4), and CoRa's\n    figures 22 and 29; `CORTEX` Appendix A.4"
    assert citations(text) == [
        ("CORTEX", "section", "5.4"),
        ("CoRa", "figure", "22"),
        ("CoRa", "figure", "29"),
        ("CORTEX", "appendix", "A.4"),
    ]
    assert [is_in_paper(*each) for each in citations(text)] == [False, True, False, True]


def test_documents_that_are_named_are_in_the_repository():
    there = {path.name for path in ROOT.glob("*.md")} | {path.name for path in (ROOT / "docs").rglob("*.md")}
    named = {
        (path.relative_to(ROOT), name)
        for path in SOURCES
        if path.suffix == ".py" and path.parts[len(ROOT.parts)] in ("cortex", "ragged")
        for name in re.findall(r"\b([\w-]+\.md)\b", path.read_text(encoding="utf-8"))
    }
    assert named
    assert [each for each in sorted(named) if each[1] not in there] == []
