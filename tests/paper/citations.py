"""The parts of the papers that may be cited: sections, appendices, figures, tables, listings and algorithms."""

from __future__ import annotations

import re

_PARTS: dict[str, dict[str, str]] = {
    "CORTEX": {
        "section": "2 3 3.1 4 4.1 4.2 4.3 5 5.1 5.2 6 7 7.1 7.2 7.3 7.4 7.5 7.6 8",
        "appendix": "A A.1 A.2 A.3 A.4 A.5 B C D",
        "figure": " ".join(map(str, range(1, 15))),
        "table": "1 2 3 4 5 6",
        "listing": "1 2 3",
    },
    "CoRa": {
        "section": "2 3 4 4.1 5 5.1 5.2 5.3 6 7 7.1 7.2 7.3 7.4 7.5 8",
        "appendix": "B B.1 B.2 C D D.1 D.2 D.3 D.4 D.5 D.6 D.7 D.8",
        "figure": " ".join(map(str, range(1, 28))),
        "table": " ".join(map(str, range(1, 11))),
        "listing": "1",
        "algorithm": "1",
    },
}
_KIND = r"(sections?|appendix|appendices|figures?|tables?|listings?|algorithms?)"
_NUMBER = r"(?:[A-D](?:\.\d+)?|\d+(?:\.\d+)?)\b"
_CITATION = re.compile(rf"\b{_KIND}\s+({_NUMBER}(?:(?:,| and| to)\s+{_NUMBER})*)", re.IGNORECASE)
_OF_A_PAPER = re.compile(
    rf"\b(CORTEX|CoRa)\b(?:'s|`)?[,:]?\s+\(?({_CITATION.pattern}(?:(?:,| and)\s+{_CITATION.pattern})*)",
    re.IGNORECASE,
)


def cited_parts(text: str) -> list[tuple[str, str]]:
    """Return the kind and number of each part that a text cites, such as ("section", "3.1")."""
    found = []
    for match in _CITATION.finditer(text):
        kind = match.group(1).lower().replace("appendices", "appendix")
        kind = kind if kind == "appendix" else kind.removesuffix("s")
        found += [(kind, number) for number in re.findall(_NUMBER, match.group(2))]
    return found


def citations(text: str) -> list[tuple[str, str, str]]:
    """Return each paper, kind and number that a text cites together with the paper's name."""
    flat = re.sub(r"\s+(?:# )?", " ", text)
    names = {name.lower(): name for name in _PARTS}
    return [
        (names[match.group(1).lower()], *part)
        for match in _OF_A_PAPER.finditer(flat)
        for part in cited_parts(match.group(2))
    ]


def is_in_paper(paper: str, kind: str, number: str) -> bool:
    """Return whether a paper has a part of that kind and number."""
    return number in _PARTS[paper].get(kind, "").split()
