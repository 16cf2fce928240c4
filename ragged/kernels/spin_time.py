"""How long a call waits for helpers who sleep: as long as it gains by having them."""

from __future__ import annotations

OPERATIONS_PER_NS = 50.0
"""What one core does of a kernel whose products are tiled in registers."""
_LEAST_NS = 5_000
"""A call that gains less than this does without helpers: calling them and meeting them costs about as much."""
_MEETING_NS = 1_500
"""What the barriers of a batch cost, with what is then read out of others' caches: a third of it where two processors
share a cache, somewhat more where they do not."""
_MOST_NS = 1_000_000
"""Who finds a processor free takes no longer to come."""
_SHARE = 16
"""Where others hold the processors a helper comes after a turn or two of theirs, some milliseconds: of a gain that is
larger still, so many-th part is waited."""


def patience_for(operations: float, together: float, meetings: int = 0) -> int:
    """Return the patience of a call, in nanoseconds, that does so many operations; 0 is to do without helpers.

    `together` is how many workers can share them, who have to meet `meetings` times on the way. A helper who sleeps
    takes 50 us and more to come. Waiting for him no longer than he would save is at worst twice as slow as the best
    choice, whatever he does.
    """
    gain = operations / OPERATIONS_PER_NS * (1 - 1 / together) - meetings * _MEETING_NS * (together > 1)
    most = max(_MOST_NS, gain / _SHARE)
    return int(min(gain, most)) * (gain >= _LEAST_NS)  # no branch: all calls do the same
