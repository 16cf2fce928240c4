"""Which structures are whose, of those who share a batch out."""

from __future__ import annotations

from collections.abc import Sequence


def parts_of(nodes: Sequence[int], sharing: int) -> tuple[int, list[int]]:
    """Return how many parts there are, and that of each structure, of so many nodes: `sharing` parts, or one.

    The largest come first, each to the part that has the fewest nodes; no part may have more than a tenth more than
    their mean.
    """
    one = (1, [0] * len(nodes))
    if min(len(nodes), sum(nodes)) < sharing:
        return one
    has = [0] * sharing
    part = [0] * len(nodes)
    for structure in sorted(range(len(nodes)), key=lambda s: -nodes[s]):
        part[structure] = has.index(min(has))
        has[part[structure]] += nodes[structure]
    return (sharing, part) if 10 * max(has) * sharing <= 11 * sum(nodes) else one
