"""Golden files: text that the program printed, reviewed like code."""

from pathlib import Path


def check_golden(path: Path, text: str, *, renew: bool) -> None:
    """Compare `text` with the file at `path`, or write it there if `renew`."""
    if renew:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    advice = "if the new text is right, run pytest with --renew-golden and review the difference"
    assert path.exists(), f"no golden file {path}; {advice}"
    assert text == path.read_text(encoding="utf-8"), f"{path} differs; {advice}"
