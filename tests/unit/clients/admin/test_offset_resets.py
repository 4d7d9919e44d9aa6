"""What a group can be reset to, and which offsets that means."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pyk.clients import OffsetSpec, TopicPartition
from pyk.clients.admin.offset_resets import checked_choice, checked_reset, offset_spec

ORDERS = TopicPartition("orders", 0)
NOW_MS = 10_000


@pytest.mark.parametrize(
    ("to", "error", "words"),
    [
        ({"orders": 5}, TypeError, "TopicPartition"),
        ({ORDERS: "5"}, TypeError, "an offset must be an int, not '5'"),
        ({ORDERS: True}, TypeError, "an offset must be an int, not True"),
        ({ORDERS: -1}, ValueError, "an offset must be 0 or more, not -1"),
        (timedelta(seconds=-1), ValueError, "it goes back from now"),
        (datetime(2026, 1, 1), ValueError, "with a time zone"),
        ("end", ValueError, "not 'end'"),
        (5, TypeError, "not 5"),
    ],
)
def test_anything_else_is_refused(to: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        checked_reset(to)


@pytest.mark.parametrize("to", [{ORDERS: 0}, timedelta(0), "earliest", "latest"])
def test_the_lowest_of_each_form_is_accepted(to: Any) -> None:
    assert checked_reset(to) == to


@pytest.mark.parametrize(
    ("to", "spec"),
    [
        ("earliest", OffsetSpec.EARLIEST),
        ("latest", OffsetSpec.LATEST),
        (timedelta(milliseconds=1), NOW_MS - 1),
        (timedelta(days=1), 0),
        (datetime(1970, 1, 1, 0, 0, 7, 5_000, tzinfo=UTC), 7_005),
        (datetime(1969, 1, 1, tzinfo=UTC), 0),
        ({ORDERS: 5}, OffsetSpec.LATEST),
    ],
)
def test_times_are_milliseconds_that_brokers_know(to: Any, spec: int) -> None:
    assert offset_spec(to, NOW_MS) == spec


def test_a_partition_without_an_offset_cannot_be_chosen() -> None:
    with pytest.raises(ValueError, match=r"to has no offset for .*bills"):
        checked_choice({ORDERS: 5}, [ORDERS, TopicPartition("bills", 0)])

    assert checked_choice({ORDERS: 5}, [ORDERS]) == [ORDERS]
