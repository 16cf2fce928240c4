"""Pages of the documents of which a test writes a part, between two lines of its own."""

from __future__ import annotations

from pathlib import Path


def check_part(page: Path, begin: str, end: str, wanted: str, *, renew: bool) -> None:
    """Compare what stands between the lines `begin` and `end` with what is wanted, or renew it."""
    text = page.read_text(encoding="utf-8")
    before, found_begin, rest = text.partition(begin)
    now, found_end, after = rest.partition(end)
    assert found_begin and found_end, f"{page.name} has no place for what is to stand there"
    if renew:
        page.write_text(before + begin + wanted + end + after, encoding="utf-8")
    else:
        advice = "if the new text is right, run pytest with --renew-golden and review the difference"
        assert now == wanted, f"what {page.name} has between its two lines is another text; {advice}"
