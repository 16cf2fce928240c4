"""Where refusals are raised: the texts of their parts, read from the sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("cortex", "ragged/schedule", "ragged/transform", "ragged/analysis")
ERRORS = {"ModelError", "ScheduleError", "DataError"}
PARTS = ("because", "fix")


LONGEST = 2000
"""The most characters of a message around one of its literal pieces."""


@dataclass(frozen=True)
class Template:
    """What is known of a message's text: its literal pieces in order, None where a value stands."""

    pieces: tuple[str | None, ...]

    def is_in(self, texts: str) -> bool:
        """Return whether some text is the message. It is looked for around its longest literal piece."""
        pattern = "".join("[^\n]{0,400}?" if piece is None else re.escape(piece) for piece in self.pieces)
        longest = max((piece for piece in self.pieces if piece is not None), key=len)
        begin = texts.find(longest)
        while begin >= 0:
            around = texts[max(0, begin - LONGEST) : begin + len(longest) + LONGEST]
            if re.search(pattern, around):
                return True
            begin = texts.find(longest, begin + 1)
        return False


@dataclass(frozen=True)
class Site:
    """A call that makes an error: its place, and its parts; a part made elsewhere has no template."""

    place: str
    parts: dict[str, Template | None]

    def unseen(self, texts: str) -> list[str]:
        """Return the parts that no text has."""
        return [part for part, known in self.parts.items() if known is not None and not known.is_in(texts)]


def sites() -> Iterator[Site]:
    """Yield every refusal of the folders; the linearizer's reference raises those of the linearizer."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS:
                    parts = {"what": node.args[0]} if node.args else {}
                    parts |= {word.arg: word.value for word in node.keywords if word.arg in PARTS}
                    place = f"{path.relative_to(ROOT)}:{node.lineno}"
                    yield Site(place, {part: template(text) for part, text in parts.items()})


def template(expr: ast.expr) -> Template | None:
    """Return what is known of every text that an expression may be, or None if that is nothing."""
    pieces = _pieces(expr)
    return Template(tuple(pieces)) if any(piece.strip() for piece in pieces if piece) else None


def _pieces(expr: ast.expr) -> list[str | None]:
    """Return the parts of a text in order, None where a value stands."""
    match expr:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            return [piece for value in values for piece in _pieces(value)]
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return [*_pieces(left), *_pieces(right)]
        case _:
            return [None]


def texts() -> str:
    """Return all that tests and documents say: strings of tests, golden files, and pages."""
    found: list[str] = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant | ast.JoinedStr):
                found.append("".join(piece or "*" for piece in _pieces(node)))
    for path in (*sorted((ROOT / "tests").rglob("*.txt")), *sorted((ROOT / "docs").rglob("*.md"))):
        found.append(path.read_text(encoding="utf-8"))
    return "\n".join(each.replace("\\", "") for each in found)
