"""Timings and their spread."""

from __future__ import annotations

from ragged.compiled.profile import percentiles, spread


def test_percentiles_are_in_microseconds():
    found = percentiles([1000 * k for k in range(101)])
    assert (found.low, found.median, found.high) == (10, 50, 90)
    assert str(found) == "50.0 us (10.0 to 90.0)"


def test_the_first_run_is_not_counted():
    runs = []
    found = spread(lambda: runs.append(None), 3)
    assert len(runs) == 4 and 0 < found.low <= found.median <= found.high
