"""Documents of examples that run: a ```python block is executed, and a ```text block after it is what it prints."""

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Fence:
    """One fenced block: its language, the line of the document that its text begins at, and its text."""

    language: str
    line: int
    text: str


def fences(text: str) -> list[Fence]:
    """Return the fenced blocks of a document."""
    found: list[Fence] = []
    opened: tuple[str, int] | None = None
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if opened is None:
            opened = (line[3:].strip(), number + 1)
        else:
            language, first = opened
            found.append(Fence(language, first, "".join(lines[first:number])))
            opened = None
    assert opened is None, f"line {opened}: a block that is not closed"
    return found


def run_document(path: Path, *, renew: bool, namespace: dict[str, Any] | None = None) -> None:
    """Run the blocks of the document in order, in one namespace, and compare what each prints, or renew it.

    Errors name the document's own lines.
    """
    text = path.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "document", **(namespace or {})}
    printed: str | None = None
    lines = text.splitlines(keepends=True)
    grown = 0
    for fence in fences(text):
        if fence.language == "python":
            printed = _run(path, fence, names)
        elif fence.language == "text" and printed is not None:
            expected, printed = printed, None
            if renew:
                first = fence.line + grown
                lines[first : first + fence.text.count("\n")] = expected.splitlines(keepends=True)
                grown += expected.count("\n") - fence.text.count("\n")
            else:
                advice = "if the new text is right, run pytest with --renew-golden and review the difference"
                assert fence.text == expected, f"{path.name}:{fence.line} is not what is printed; {advice}"
    if renew:
        path.write_text("".join(lines), encoding="utf-8")


def _run(path: Path, fence: Fence, names: dict[str, Any]) -> str:
    """Run a block as if it stood in a file at the document's lines, and return what it printed."""
    code = compile("\n" * fence.line + fence.text, str(path), "exec")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, names)
    printed = out.getvalue()
    return printed if not printed or printed.endswith("\n") else printed + "\n"
