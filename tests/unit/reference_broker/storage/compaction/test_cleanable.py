"""Which part of a log is compacted, and when that is worth it."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.reference_broker.config import LogConfig
from pyk.reference_broker.storage.compaction.cleanable import (
    MAX_OFFSET_SPAN,
    Cleanable,
    SegmentFacts,
    find_cleanable,
    group_segments,
)
from pyk.reference_broker.storage.compaction.latest_offsets import LatestOffsets
from pyk.reference_broker.storage.rolling import must_roll
from pyk.reference_broker.storage.segment import BatchExtent
from support.counted_calls import counted_calls
from support.logs import append, open_log

NOW_MS = 1_000_000


def facts(
    base_offset: int,
    end_offset: int,
    *,
    size: int = 100,
    index_bytes: int = 8,
    first_timestamp_ms: int = 500,
    largest_timestamp_ms: int = 1000,
) -> SegmentFacts:
    return SegmentFacts(
        base_offset, end_offset, size, index_bytes, first_timestamp_ms, largest_timestamp_ms
    )


FOUR = [facts(0, 10), facts(10, 20), facts(20, 30), facts(30, 40)]
"""The last one is active."""


def find(segments: list[SegmentFacts], **more: Any) -> Cleanable:
    config = LogConfig(**{name: more.pop(name) for name in list(more) if name.endswith("lag_ms")})
    values: dict[str, Any] = {
        "compacted_to": 0,
        "log_start_offset": 0,
        "stable_offset": 40,
        "now_ms": NOW_MS,
    }
    return find_cleanable(segments, config, **{**values, **more})


@pytest.mark.parametrize(
    ("more", "first_dirty", "end", "clean", "dirty"),
    [
        ({}, 0, 30, 0, 300),
        ({"compacted_to": 10}, 10, 30, 100, 200),
        ({"compacted_to": 30}, 30, 30, 300, 0),
        # A pass ended in the middle of a segment: all of that segment is dirty.
        ({"compacted_to": 15}, 15, 30, 100, 200),
        # The log begins later than it was compacted to: retention deleted the rest.
        ({"compacted_to": 5, "log_start_offset": 10}, 10, 30, 100, 200),
        ({"compacted_to": 40}, 40, 40, 300, 0),
        # It was compacted further than it reaches: it is another log now.
        ({"compacted_to": 41}, 0, 30, 0, 300),
        ({"stable_offset": 30}, 0, 30, 0, 300),
        ({"stable_offset": 29}, 0, 20, 0, 200),
        ({"stable_offset": 9}, 0, 0, 0, 0),
    ],
)
def test_finished_stable_segments_are_cleanable(more, first_dirty, end, clean, dirty):
    found = find(FOUR, **more)

    assert (found.first_dirty_offset, found.end_offset) == (first_dirty, end)
    assert (found.clean_bytes, found.dirty_bytes) == (clean, dirty)


@pytest.mark.parametrize(
    ("lag_ms", "age_ms", "end"), [(100, 99, 10), (100, 100, 20), (1, 0, 10), (1, 1, 20)]
)
def test_records_younger_than_the_lag_stay(lag_ms, age_ms, end):
    young = facts(10, 20, largest_timestamp_ms=NOW_MS - age_ms)

    found = find([FOUR[0], young, FOUR[3]], min_compaction_lag_ms=lag_ms)

    assert found.end_offset == end


def test_records_of_the_future_are_cleanable_where_there_is_no_lag():
    future = facts(0, 10, largest_timestamp_ms=NOW_MS + 1)

    assert find([future, FOUR[3]], min_compaction_lag_ms=0).end_offset == 10


@pytest.mark.parametrize(("age_ms", "is_overdue"), [(100, False), (101, True)])
def test_dirty_records_older_than_the_longest_lag_are_overdue(age_ms, is_overdue):
    old = facts(0, 10, first_timestamp_ms=NOW_MS - age_ms)
    dirty = facts(10, 20, first_timestamp_ms=NOW_MS)

    assert find([old, dirty, FOUR[3]], max_compaction_lag_ms=100).is_overdue is is_overdue
    clean = find([old, dirty, FOUR[3]], max_compaction_lag_ms=100, compacted_to=10)
    assert not clean.is_overdue
    for first_timestamp_ms in (-1, 0):
        unstamped = facts(0, 10, first_timestamp_ms=first_timestamp_ms)
        assert not find([unstamped, FOUR[3]], max_compaction_lag_ms=100).is_overdue


@pytest.mark.parametrize(
    ("clean", "dirty", "is_overdue", "is_worth"),
    [
        (50, 50, False, False),
        (49, 51, False, True),
        (0, 0, True, False),
        (99, 1, True, True),
        (100, 0, False, False),
    ],
)
def test_pass_is_worth_it_above_the_dirty_ratio_or_when_overdue(clean, dirty, is_overdue, is_worth):
    assert Cleanable(0, 1, clean, dirty, is_overdue).is_worth_a_pass(0.5) is is_worth


def test_nothing_has_no_dirty_part():
    assert Cleanable(0, 0, 0, 0, is_overdue=False).dirty_ratio == 0


@pytest.mark.parametrize(
    ("segments", "sizes"),
    [
        ([facts(0, 1, size=40), facts(1, 2, size=60), facts(2, 3, size=1)], [2, 1]),
        ([facts(0, 1, size=200), facts(1, 2, size=1)], [1, 1]),
        ([facts(0, 1, size=1, index_bytes=8), facts(1, 2, size=1, index_bytes=8)], [2]),
        ([facts(0, 1, size=1, index_bytes=8), facts(1, 2, size=1, index_bytes=9)], [1, 1]),
        ([facts(0, 1, size=1), facts(1, MAX_OFFSET_SPAN + 1, size=1)], [2]),
        ([facts(0, 1, size=1), facts(1, MAX_OFFSET_SPAN + 2, size=1)], [1, 1]),
        ([facts(9, 10, size=1), facts(10, MAX_OFFSET_SPAN + 10, size=1)], [2]),
        ([], []),
    ],
)
def test_groups_stay_within_the_limits_of_a_segment(segments, sizes):
    config = LogConfig(internal_segment_bytes=100, segment_index_bytes=16)

    assert [len(group) for group in group_segments(segments, config)] == sizes


def test_the_work_to_group_segments_grows_as_their_number():
    def work(count: int) -> int:
        segments = [facts(number, number + 1, size=1) for number in range(count)]
        with counted_calls() as calls:
            group_segments(segments, LogConfig())
        return calls.count

    assert work(1000) < 20 * work(100)


def test_long_keys_take_no_more_memory_than_digests_and_stay_apart():
    latest = LatestOffsets(10, end_offset=5)
    latest.note(b"x" * 1000, 1)
    latest.note(b"x" * 1001, 2)
    latest.note(b"short", 3)
    latest.note(b"short", 4)

    assert [latest.offset_of(key) for key in (b"x" * 1000, b"x" * 1001, b"short", b"y")] == [
        1,
        2,
        4,
        -1,
    ]
    assert len(latest) == 3
    assert max(map(len, latest._offsets)) < 50


def test_memory_for_keys_is_bounded_but_takes_any_first_batch():
    latest = LatestOffsets(2, end_offset=5)
    assert latest.has_room_for(100)
    latest.note(b"a", 1)
    assert latest.has_room_for(1)
    assert not latest.has_room_for(2)


@pytest.mark.parametrize(
    ("policy", "rolls"), [(("compact",), True), (("delete",), False), (("compact", "delete"), True)]
)
def test_active_segment_of_a_compacted_log_ends_with_the_longest_lag(policy, rolls):
    log = open_log()
    append(log, b"1")
    config = LogConfig(cleanup_policy=policy, max_compaction_lag_ms=10)
    active = log.segments.active
    last = BatchExtent(10, 1, (active.first_timestamp or 0) + 11)

    assert must_roll(active, 10, last, config, now_ms=0, jitter_ms=0) is rolls
