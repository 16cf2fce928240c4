"""The table of docs/reference/ragged_primitives.md: each primitive in each operator's program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tests.ragged.ops.primitives import PRIMITIVES

BEGIN, END = "<!-- what follows is written by tests/ragged/ops/test_primitives.py -->\n", "<!-- end -->\n"

REASONS = (
    (
        r"is (written|read) .*, and (a row )?holds|how far .* is written",
        "what it stores, or what it reads of another nest, does not reach so far: pad that too",
    ),
    (
        r"without padding",
        "callers have no padding there: others' extents depend on it, or arrays are NumPy's",
    ),
    (r"more of it would be another value", "more of a reduction would be another value"),
    (r"its last block would not be full", "callers would see the end of the last block"),
    (
        r"^'\w+' extends .*, which depends on",
        "a dimension is stored inside of those that its extent depends on",
    ),
    (
        r"depend on each other, and are stored as one",
        "more than these two depend on each other, and are one already",
    ),
    (
        r"nor what is left of tiles",
        "the inner extent is neither the same everywhere nor what is left of tiles",
    ),
    (r"are not rows of different lengths", "tiles of a row are no rows of different lengths"),
    (r"^dimension '\w+' extends .* and the loop", "what reads it has other loops than it has dimensions"),
    (r"holds more than one loop", "the outer loop holds more than the inner one: a sum stands in it too"),
    (r"is parallel and '\w+' serial", "one of the loops is parallel, the other serial"),
    (r"is known where .* alone", "how often the inner loop runs is known inside of the outer one alone"),
    (r"how often .* runs, .*, depends on", "a loop stays inside of what its bound depends on"),
    (r"may touch one element of", "the second nest reads what the first one stores"),
    (r"reduces over it, one iteration after another", "a sum's iterations come one after another"),
    (r"times, which is not constant", "how often it runs is not constant: split it first"),
    (r"^the loop '\w+' stands in it", "another loop stands in it"),
    (
        r"does not read one region",
        "what is read is no region of constant extents: name a loop further inside",
    ),
)
"""What refusals say, and the short form of it; one letter each."""


def letter(reason: str) -> str:
    """Return the letter of a refusal's reason."""
    found = [place for place, (pattern, _) in enumerate(REASONS) if re.search(pattern, reason)]
    assert found, f"no reason in the table is that of\n{reason}"
    return chr(ord("a") + found[0])


def reason(trial: str) -> str | None:
    """Return why the first place was refused, None if it was not, from the text of a trial."""
    head, *lines = map(str.strip, trial.splitlines())
    if head.endswith(": legal"):
        lines = lines[lines.index("refused first:") + 1 :] if "refused first:" in lines else []
    reasons = [line.removeprefix("because: ") for line in lines if line.startswith("because: ")]
    return (reasons or [line.partition(": ")[2] for line in lines] or [None])[0]


def cell(trial: str) -> str:
    """Return what the table says of one primitive in one program, from the text of the trial."""
    if trial.splitlines()[0].endswith(": no place"):
        return "."
    legal = ["✓"] if trial.splitlines()[0].endswith(": legal") else []
    why = reason(trial)
    return " ".join(legal + ([] if why is None else [letter(why)]))


def table(trials: Mapping[str, Sequence[str]]) -> str:
    """Return the table in Markdown, and what its letters mean; `trials` are the texts of each operator's."""
    lines = ["| primitive | of | " + " | ".join(trials) + " |", "|---|---" + "|:-:" * len(trials) + "|"]
    for own, *row in zip(PRIMITIVES, *trials.values(), strict=True):
        lines.append(f"| `{own.name}` | {own.of} | " + " | ".join(map(cell, row)) + " |")
    used = {letter(why) for own in trials.values() for why in map(reason, own) if why is not None}
    reasons = [(chr(ord("a") + place), text) for place, (_, text) in enumerate(REASONS)]
    unused = [text for name, text in reasons if name not in used]
    assert not unused, f"nothing is refused any more because {unused}"
    lines += ["", "| | refused because |", "|---|---|", *(f"| {name} | {text} |" for name, text in reasons)]
    return "\n".join(lines) + "\n"
