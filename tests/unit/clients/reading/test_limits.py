"""Limits of a bounded read: which are valid, and which offsets they mean."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pyk.clients.errors import OffsetOutOfRangeError, UnknownTopicOrPartitionError
from pyk.clients.offsets import OffsetSpec
from pyk.clients.reading.limits import AtOffset, AtTime, ReadLimits, resolve
from pyk.clients.topic_partition import OffsetAndTimestamp, TopicPartition

NOW = 1_000_000
P0 = TopicPartition("orders", 0)
EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)


def parse(start: Any = "earliest", end: Any = "latest") -> ReadLimits:
    return ReadLimits.of(start, end, NOW)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("earliest", OffsetSpec.EARLIEST),
        ("latest", OffsetSpec.LATEST),
        (EARLY, AtTime(1_767_225_600_000)),
        (timedelta(seconds=90), AtTime(NOW - 90_000)),
        ({0: 7}, AtOffset(7)),
        ({0: "latest"}, OffsetSpec.LATEST),
        ({0: timedelta(0)}, AtTime(NOW)),
    ],
)
def test_a_limit_is_parsed(start, expected):
    assert parse(start).start(0) == expected


@pytest.mark.parametrize(
    ("limits", "error", "said"),
    [
        ({"start": "first"}, ValueError, "'earliest', 'latest', a datetime"),
        ({"start": 100}, TypeError, "{0: 100}"),
        ({"start": 1.5}, TypeError, "a timedelta before now"),
        ({"start": None}, TypeError, "not None"),
        ({"start": datetime(2026, 1, 1)}, ValueError, "time zone"),
        ({"start": timedelta(-1)}, ValueError, "before now"),
        ({"start": timedelta(days=1)}, ValueError, r"timedelta\(days=1\) is -\d+, before 1970"),
        ({"start": {}}, ValueError, "no partition"),
        ({"start": {"0": 1}}, TypeError, "by int"),
        ({"start": {True: 1}}, TypeError, "by int"),
        ({"start": {0: -1}}, ValueError, r"start\[0\]"),
        ({"start": {0: True}}, TypeError, r"start\[0\]"),
        ({"start": {0: 1}, "end": {1: 1}}, ValueError, "the same partitions"),
        ({"start": {0: 5}, "end": {0: 4}}, ValueError, "after"),
        ({"start": LATE, "end": EARLY}, ValueError, "after"),
        ({"start": "latest", "end": "earliest"}, ValueError, "after"),
    ],
)
def test_what_is_no_limit_is_refused(limits, error, said):
    with pytest.raises(error, match=said):
        parse(**limits)


def test_a_mapping_chooses_the_partitions():
    assert parse().choose("orders", {1, 0}) == [P0, TopicPartition("orders", 1)]
    assert parse({0: 1}).choose("orders", {1, 0}) == [P0]
    with pytest.raises(UnknownTopicOrPartitionError, match="no partition 2: it has 2 partitions"):
        parse({2: 0}).choose("orders", {0, 1})


@pytest.mark.parametrize(
    ("limit", "found", "offset"),
    [
        (OffsetSpec.EARLIEST, None, 10),
        (OffsetSpec.LATEST, None, 20),
        (AtOffset(10), None, 10),
        (AtOffset(20), None, 20),
        (AtTime(1), OffsetAndTimestamp(15, 1), 15),
        (AtTime(1), None, 20),
    ],
)
def test_a_limit_means_an_offset_of_the_log(limit, found, offset):
    assert resolve(limit, P0, (10, 20), found) == offset


@pytest.mark.parametrize("offset", [9, 21])
def test_an_offset_that_the_log_does_not_have_raises(offset):
    with pytest.raises(OffsetOutOfRangeError, match=f"orders-0 has no offset {offset}"):
        resolve(AtOffset(offset), P0, (10, 20), None)
