"""Names of a program as names in generated code."""

from __future__ import annotations

import keyword
import re


def identifier(name: str) -> str:
    """Return `name` as an identifier: what may not stand in one becomes an underscore, and a keyword gets one.

    >>> identifier("h.init"), identifier("in"), identifier("1st")
    ('h_init', 'in_', '_1st')
    """
    text = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not text or text[0].isdigit():
        return f"_{text}"
    return f"{text}_" if keyword.iskeyword(text) else text
