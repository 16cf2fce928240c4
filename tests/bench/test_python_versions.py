"""The page of Python versions, from invented runs."""

from __future__ import annotations

from bench import python_versions


def run(version: str, scale: float) -> dict[str, object]:
    timings = [
        {"kind": kind, "trees": trees, "nodes": 10 * trees, "fastest": scale * trees * number, "median": 0.0}
        for number, kind in enumerate(python_versions._KINDS, 1)
        for trees in (1, 300)
    ]
    machine = {"processor": "Some CPU", "system": "Linux", "cores": 2, "load": 0.1}
    return {"at": 1_790_000_000, "machine": machine, "versions": {"python": version}, "timings": timings}


def test_the_fastest_of_the_rounds_in_the_largest_batch(tmp_path, monkeypatch):
    runs = iter([run("3.11.1", 300), run("3.13.2", 500), run("3.11.1", 200), run("3.13.2", 900)])
    monkeypatch.setattr(python_versions, "measure", lambda python, repeats: next(runs))
    python_versions.main(["one", "other", "--rounds", "2", "--out", str(tmp_path / "page.md")])
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "`python -m bench.python_versions one other --rounds 2`" in text and "3,000 nodes" in text
    assert "| structures | 3.11.1 | 3.13.2 |" in text and "| object | 40.0 | 100.0 |" in text
