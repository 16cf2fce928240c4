"""Names of a program as names in generated code."""

from __future__ import annotations

import keyword
import re
from itertools import count


def identifier(name: str) -> str:
    """Return `name` as an identifier: what may not stand in one becomes an underscore, and a keyword gets one.

    >>> identifier("h.init"), identifier("in"), identifier("1st")
    ('h_init', 'in_', '_1st')
    """
    text = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not text or text[0].isdigit():
        return f"_{text}"
    return f"{text}_" if keyword.iskeyword(text) else text


def unique(name: str, taken: set[str]) -> str:
    """Return `name`, with a number where it is taken, and take it."""
    numbered = (f"{name}_{k}" for k in count(1))
    new = name if name not in taken else next(each for each in numbered if each not in taken)
    taken.add(new)
    return new
