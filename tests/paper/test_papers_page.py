"""docs/evidence/papers.md: the code, test and benchmark that each row names exist, and the paper has the part."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.paper.citations import cited_parts, is_in_paper

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "evidence" / "papers.md"


@dataclass(frozen=True)
class Row:
    """A row of a paper's table."""

    paper: str
    feature: str
    part: str
    code: str
    test: str
    benchmark: str


def rows() -> list[Row]:
    """Return the rows of all papers' tables."""
    found = []
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        paper, *lines = section.splitlines()
        cells = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")
        ]
        assert cells[0] == ["Feature", "Paper", "Code", "Test", "Benchmark"]
        found += [Row(paper, *row) for row in cells[2:]]
    return found


def missing(place: str) -> str | None:
    """Return what is not there of a place: `file`, `file::name`, or `file` "text"; None if all of it is."""
    match = re.fullmatch(r'`([\w/.]+?)(?:::(\w+))?`(?: "([^"]+)")?', place)
    if match is None:
        return f"{place} is no place"
    file, name, text = match.groups()
    path = ROOT / file
    if not path.is_file():
        return f"no file {file}"
    source = path.read_text(encoding="utf-8")
    if name and not re.search(rf"^\s*(?:def|class) {name}\b|^{name}\b", source, re.MULTILINE):
        return f"{file} defines no {name}"
    return None if text is None or f'"{text}"' in source or f"## {text}" in source else f"{file}: no {text}"


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.paper}-{row.feature[:40]}")
def test_a_row_names_what_there_is(row):
    parts = cited_parts(row.part)
    assert parts and all(is_in_paper(row.paper, *part) for part in parts)
    assert missing(row.code) is None
    assert "::test_" in row.test and row.test.startswith("`tests/") and missing(row.test) is None
    assert row.benchmark == "-" or (row.benchmark.startswith("`bench/") and missing(row.benchmark) is None)


def test_what_is_not_there_is_noticed():
    assert missing("`ragged/no.py`") == "no file ragged/no.py"
    assert missing("`ragged/ir/stmt.py::Fro`") == "ragged/ir/stmt.py defines no Fro"
    assert missing('`bench/page.py` "no such row"') == "bench/page.py: no no such row"
    assert missing("ragged/ir") == "ragged/ir is no place"


def test_each_feature_has_one_row():
    features = [(row.paper, row.feature) for row in rows()]
    assert len(features) > 20 and len(features) == len(set(features))
