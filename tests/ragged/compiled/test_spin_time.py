"""How long calls wait for helpers."""

from __future__ import annotations

from ragged.compiled.spin_time import spin_time_ns


def test_patience_is_what_a_call_gains():
    assert spin_time_ns(10**9, 1) == 0, "no other worker"
    assert spin_time_ns(1000, 2) == 0, "too little to share"
    two, ten = spin_time_ns(10**6, 2), spin_time_ns(10**6, 10)
    assert 0 < two < ten <= 20_000
    assert spin_time_ns(10**6, 2, 2) == two - 2 * 1500, "they have to meet"
    assert spin_time_ns(10**6, 2, 4) == 0 == spin_time_ns(10**6, 1, 4), "and do nothing else"
    assert spin_time_ns(10**8, 2) == 1_000_000, "on an idle machine they have come by then"
    assert spin_time_ns(10**12, 2) == 10**10 // 16, "on a busy one they may have to wait for a turn"
