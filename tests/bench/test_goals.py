"""What the project sets itself, on rows by hand."""

import pytest

from bench.goals import geometric_mean, goals_of, lines_of
from bench.results import Row, Times, spread


def times(peer, end_to_end, arrays=None, share=None):
    per_batch = None if arrays is None else [arrays, arrays]
    known = None if arrays is None else spread([arrays])
    took = spread([end_to_end])
    return Times(peer, 0.0, took, took, known, known, share, [end_to_end] * 2, per_batch, per_batch)


def row(batch, *peers, workload="tree_fc"):
    return Row(workload, 256, batch, 2, 100.0, 1e6, 60.0, [60.0] * 2, list(peers))


ROWS = [
    row(1, times("cortex", 94.0, 80.0, 0.75), times("onednn", 200.0, 100.0), times("numpy", 141.0, 120.0)),
    row(10, times("cortex", 94.0, 80.0, 0.75), times("onednn", 200.0, 160.0)),
    row(10, times("onednn", 200.0, 160.0)),  # Cortex was refused there
    row(
        10,
        times("cortex", 80.0, 40.0, 0.9),
        times("cortex-bf16", 60.0, 25.0, 1.4),
        times("onednn-bf16", 90.0, 30.0),
    ),
]


def test_each_row_has_its_goals():
    first, second, third = goals_of(ROWS)
    # 60 us of roofline, 4 us for 100 nodes, 10 us for the call.
    assert (first.wanted_share, first.bound) == (0.75, 94.0)
    assert (second.wanted_share, second.bound) == (0.85, pytest.approx(60 / 0.85 + 14))
    assert (first.by_hand, first.best) == (1.25, 1.5)
    assert (second.by_hand, third.by_hand) == (2.0, None)
    assert third.best is None  # what rounds is no peer of what does not
    assert (second.by_hand_rounded, third.by_hand_rounded) == (None, 1.2)


def test_sequences_have_no_goals():
    (peer, *_) = ROWS[0].peers
    assert goals_of([row(1, peer, workload=name) for name in ("lstm", "gru", "gru_reset_after")]) == []


def test_how_many_rows_meet_them_is_said():
    share, bound, by_hand, best, rounded, by_hand_rounded = lines_of(goals_of(ROWS))
    assert share.endswith("met in 2 of 3 rows")
    assert bound.endswith("met in 2 of 3 rows")
    assert "geometric mean 1.58 (1.25 wanted), least 1.25 (0.95 wanted)" in by_hand
    assert "least 1.50 (2.5 wanted" in best
    assert rounded == "the kernel over that in bfloat16: geometric mean 1.60, least 1.60"
    assert by_hand_rounded.endswith("C++ by hand over Cortex: geometric mean 1.20, least 1.20")
    assert lines_of([]) == []


def test_the_geometric_mean():
    assert geometric_mean([1.0, 4.0]) == 2.0
