"""The table of docs/reference/recursion_primitives.md: each primitive for each model over each kind of structure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragged.errors import ModelError, ProjectError
from tests.ra.primitives import PRIMITIVES, Subject, Trial, trials

BEGIN, END = "<!-- what follows is written by tests/ra/test_primitives.py -->\n", "<!-- end -->\n"

REASONS = (
    (
        r"has 1 child at most",
        "no such model: it reads a second child, and a step of a sequence has one before it",
    ),
    (r"several parents share", "a node that several parents share would be computed again for each"),
    (
        r"every reduction of the model depends on",
        "nothing is left to hoist: every reduction takes in children",
    ),
    (
        r"it was made by (compute|if_then_else)",
        "it is for tensors made by `if_then_else`, or by `compute`, and this is the other kind",
    ),
    (
        r"at every node the condition is known already",
        "the condition is known at every node, or nothing that is computed depends on it",
    ),
    (
        r"what is computed at a node depends on the node",
        "no leaf has anything that is the same for all of them",
    ),
    (r"it takes in what a child returned", "it takes in what a child returned"),
    (r"it looks up what a parameter holds", "it only looks up what a parameter holds"),
    (r"which is not one integer", "it takes in a vector that the node carries"),
    (r"which the child returns already", "it is what a child returns already"),
    (r"it lies on no way from a node to its parent", "it takes in nothing that a child returned"),
    (r"it is of the node itself", "it takes in the node itself, which its children do not know"),
    (r"together with", "it takes in more than one child at once"),
    (r"it takes in the sum over all children", "it takes in the sum over the children, not one of them"),
)
"""What refusals say, and the short form of it; one letter each."""


def letter(refusal: ProjectError) -> str:
    """Return the letter of a refusal's reason."""
    text = refusal.because or refusal.what
    found = [place for place, (pattern, _) in enumerate(REASONS) if re.search(pattern, text)]
    assert found, f"no reason in the table is that of\n{refusal}"
    return chr(ord("a") + found[0])


def cells(subject: Subject) -> tuple[str, ...]:
    """Return what the table says of each primitive for a model."""
    if isinstance(subject.model, ModelError):
        return (letter(subject.model),) * len(PRIMITIVES)
    done = trials(subject.model)
    return tuple(_cell([trial for trial in done if trial.primitive == name]) for name in PRIMITIVES)


def _cell(done: Sequence[Trial]) -> str:
    legal = [trial for trial in done if trial.refusal is None]
    named = " ".join(f"`{trial.at}`" for trial in legal if trial.at is not None)
    letters = sorted({letter(trial.refusal) for trial in done if trial.refusal is not None})
    return " ".join(filter(None, ("✓" if legal else "", named, *letters)))


def table(subjects: Sequence[Subject]) -> str:
    """Return the table in Markdown, and what its letters mean. Inputs that make no difference share a row."""
    lines = ["| model | over | " + " | ".join(f"`{name}`" for name in PRIMITIVES) + " |"]
    lines.append("|---|---" + "|---" * len(PRIMITIVES) + "|")
    rows = [(subject, cells(subject)) for subject in subjects]
    rows.sort(key=lambda row: [each.name for each in subjects].index(row[0].name))
    merged: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for subject, own in rows:
        merged.setdefault((subject.name, subject.kind, own), []).append(subject.input)
    for (name, kind, own), inputs in merged.items():
        given = f" ({', '.join(inputs)})" if any(inputs) and len(inputs) < 3 else ""
        lines.append(f"| `{name}`{given} | {kind} | " + " | ".join(own) + " |")
    used = {
        each for _, own in rows for cell in own for each in cell.split() if len(each) == 1 and each != "✓"
    }
    reasons = [(chr(ord("a") + place), text) for place, (_, text) in enumerate(REASONS)]
    unused = [text for name, text in reasons if name not in used]
    assert not unused, f"nothing is refused any more because {unused}"
    lines += ["", "| | refused because |", "|---|---|", *(f"| {name} | {text} |" for name, text in reasons)]
    return "\n".join(lines) + "\n"
