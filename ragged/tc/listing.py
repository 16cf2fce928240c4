"""Listings of what is known of a function: its ranges, and how each access is kept in bounds."""

from __future__ import annotations

from ragged.tc.analyse import AnalysedFunction
from ragged.tc.prove import Outcome
from ragged.tc.size_text import COMPARED, size_text
from ragged.tc.text import statement_text


def ranges_text(analysed: AnalysedFunction) -> str:
    """Return each statement with the ranges of its indices."""
    lines = []
    for statement in analysed.function.statements:
        lines.append(statement_text(statement.source))
        for var in statement.all_indices:
            own = statement.ranges[var]
            lines.append(f"  {var.name} in {size_text(own.lower)}:{size_text(own.upper)}")
    return "\n".join(lines)


def checks_text(analysed: AnalysedFunction) -> str:
    """Return each access with how it is kept in bounds: proven, checked once a call, or checked for each element."""
    counts = {each: sum(check.outcome is each for check in analysed.checks) for each in Outcome}
    total = ", ".join(f"{count} {each.value}" for each, count in counts.items())
    lines = [f"{len(analysed.checks)} accesses: {total}"]
    for check in analysed.checks:
        domain = check.access.domain
        assert domain is not None, "all domains are known"
        bounds = f"{size_text(domain.lower)} <= {size_text(check.access.index)} < {size_text(domain.upper)}"
        condition = check.access.condition
        where = "" if condition is None else f" where {size_text(condition)}"
        lines.append(
            f"{check.outcome.value}: {bounds}{where}  [{check.access.text}, dimension {check.access.position}]"
        )
    for each in analysed.size_checks:
        lines.append(f"checked once a call: {each.text} is {COMPARED[each.op]}{size_text(each.other)}")
    return "\n".join(lines)
