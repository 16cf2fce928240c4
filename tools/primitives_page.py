"""The reference page of the primitives, from their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

from ragged.transform import GROUPS

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "primitives.md"
TITLES = {
    "loops": "Loops: their order, extents and number",
    "storage": "Storage: buffers, their layout, and copies",
    "code": "Code: statements and expressions",
    "mapping": "Mapping: loops onto lanes, workers and threads of a GPU",
}
INTRODUCTION = """\
# Schedule primitives

A primitive takes a program and returns another one that computes the same, or raises a `ScheduleError` that says why it
cannot. `s.apply(primitive, ...)` applies one to a schedule; `from ragged.transform import split` imports one. This page
is made from their docstrings by `python -m tools.reference_pages`.
"""


def entry(primitive: Callable[..., Any]) -> str:
    """Return the section of a primitive: its purpose, and a program before and after."""
    doc = inspect.getdoc(primitive) or ""
    purpose, _, rest = doc.partition("\n\n")
    example = [each for each in rest.partition("\nRaises:")[0].split("\n\n") if _is_example(each)]
    parts = [f"### `{primitive.__name__}`", " ".join(purpose.split())]
    for each in example:
        if each.startswith(" "):
            parts.append(f"```\n{dedent(each)}\n```")
        else:
            parts.append(each.rstrip().removesuffix("::") + ":")
    return "\n\n".join(parts)


def _is_example(paragraph: str) -> bool:
    return paragraph.startswith("    ") or paragraph.rstrip().endswith("::")


def page() -> str:
    """Return the text of the page."""
    sections = [INTRODUCTION]
    for group, primitives in GROUPS.items():
        sections.append(f"## {TITLES[group]}\n")
        sections += [f"{entry(each)}\n" for each in primitives]
    return "\n".join(sections)
