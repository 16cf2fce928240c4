"""Every example in the documents runs, and prints what the document says."""

import re
from pathlib import Path

import pytest

from tests.support.documents import run_document

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_document(path, request, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run_document(path, renew=request.config.getoption("--renew-golden"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_within_the_repository_lead_to_a_file(path):
    text = path.read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in target]
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_the_map_names_every_page():
    pages = {str(path.relative_to(ROOT / "docs")) for path in DOCUMENTS[1:]} - {"README.md"}
    named = set(re.findall(r"\]\(([^)]+)\)", (ROOT / "docs" / "README.md").read_text(encoding="utf-8")))
    assert pages == named


def test_the_places_in_the_glossary_exist():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    places = re.findall(r"`((?:ragged|cortex)/[\w/.]*)`", text)
    assert len(places) > 30
    assert [place for place in places if not (ROOT / place).exists()] == []
