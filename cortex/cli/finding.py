"""What `cortex doctor` finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for: whether it is as it should be, what was found, and what to do if it is not.

    What is not `required` is for some uses only.
    """

    name: str
    ok: bool
    found: str
    todo: str = ""
    required: bool = True
