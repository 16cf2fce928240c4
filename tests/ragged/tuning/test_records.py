"""Records of tuning: files that are appended to, cut off, merged, and read by key."""

import pytest

from ragged import ScheduleOptions
from ragged.auto.shapes import Shape
from ragged.errors import DataError
from ragged.tuning.calls import MOST_SHAPES, representatives
from ragged.tuning.records import (
    Record,
    RecordKey,
    append_record,
    merge_records,
    options_from,
    read_records,
    records_of,
)

KEY, OTHER = RecordKey("p", "m", 2, "T=5"), RecordKey("p", "m", 1, "T=5")
TILED = ScheduleOptions(tile=(6, 4), reroll=False)


def record(relative, options=TILED, key=KEY):
    return Record(key, options.changed(), relative)


def test_options_come_back_from_a_file(tmp_path):
    path = tmp_path / "folder" / "records.jsonl"
    append_record(path, record(0.9))
    append_record(path, Record(KEY, {}, None, None, "no registers"))
    first, second = read_records(path)
    assert options_from(first.options, ScheduleOptions) == TILED and first.cost == 0.9
    assert second.cost == float("inf") and second.because == "no registers"
    assert read_records(tmp_path / "none") == []


def test_a_line_that_was_cut_off_is_left_out_and_written_after(tmp_path):
    path = tmp_path / "records.jsonl"
    append_record(path, record(0.9))
    path.write_bytes(path.read_bytes() + b'{"key": {"pro')
    assert [each.relative for each in read_records(path)] == [0.9]
    append_record(path, record(0.8))
    assert [each.relative for each in read_records(path)] == [0.9, 0.8]
    for line in (b'{"key": "\xa2"}', b'{"options":' + b"[" * 9999):
        path.write_bytes(line + b"\n\n")
        with pytest.raises(DataError, match="line 1 is no tuning record"):
            read_records(path)


def test_a_time_of_nothing_is_no_record(tmp_path):
    path = tmp_path / "records.jsonl"
    append_record(path, record(0.0))
    append_record(path, record(0.9))
    with pytest.raises(DataError, match="line 1 is no tuning record"):
        read_records(path)


def test_a_file_that_ends_within_a_record_can_be_appended_to(tmp_path):
    path = tmp_path / "records.jsonl"
    append_record(path, record(0.9))
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    append_record(path, record(0.8))
    assert [each.relative for each in read_records(path)] == [0.9, 0.8]


def test_files_merge_by_concatenation_and_the_last_counts(tmp_path):
    one, other = tmp_path / "a", tmp_path / "b"
    append_record(one, record(0.9))
    append_record(one, record(0.95, key=OTHER))
    append_record(other, record(0.7))
    merged = tmp_path / "merged"
    merged.write_bytes(one.read_bytes() + other.read_bytes())
    assert [each.relative for each in merge_records(read_records(merged))] == [0.7, 0.95]
    assert [(options, each.relative) for options, each in records_of(merged, KEY, ScheduleOptions)] == [
        (TILED, 0.7)
    ]


def test_options_that_are_no_more_are_left_out(tmp_path):
    path = tmp_path / "records.jsonl"
    append_record(path, Record(KEY, {"gone": 3}, 0.5))
    append_record(path, Record(KEY, {"tile": [0, 4]}, 0.5))
    append_record(path, record(0.9))
    assert [options for options, _ in records_of(path, KEY, ScheduleOptions)] == [TILED]


def test_shapes_that_are_timed_stand_for_all():
    shapes = [Shape((("T", length),)) for length in range(1, 129)]
    chosen = representatives(shapes)
    assert len(chosen) == MOST_SHAPES and sum(each.weight for each in chosen) == 128
    assert [dict(each.sizes)["T"] for each in chosen] == [13, 39, 64, 90, 116]
    assert representatives(shapes[:3]) == tuple(shapes[:3])
    heavy = [Shape((("T", 1),), 1000.0), *shapes[1:10]]
    assert dict(representatives(heavy)[0].sizes)["T"] == 1
