"""Every example in the documents runs, and prints what the document says."""

from pathlib import Path

import pytest

from cortex.data import sample_treebank
from tests.support.documents import run_document

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_document(path, request, monkeypatch, tmp_path):
    (tmp_path / "trees.txt").write_text(sample_treebank().read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    run_document(path, renew=request.config.getoption("--renew-golden"))
