from __future__ import annotations

import pytest

from pyk.clients import AcknowledgeType
from pyk.clients.share.acquired_records import AcquiredRecords
from pyk.clients.share.acquisitions import Acquisitions
from support.acquired import acquired_records

ACCEPT, RELEASE, RENEW = 1, 2, int(AcknowledgeType.RENEW)


def added(acquisitions: Acquisitions, *ranges: tuple[int, int]) -> AcquiredRecords:
    acquired = acquired_records(b"", [(first, last, 1) for first, last in ranges])
    acquisitions.add(acquired, ranges)
    return acquired


@pytest.mark.parametrize(
    ("again", "is_overtaken"),
    [
        ([(0, 9)], True),
        ([(9, 20)], True),
        ([(10, 19)], False),
        ([(30, 40)], True),
        ([(40, 50)], True),
        ([(41, 50)], False),
        ([(10, 29), (41, 41)], False),
        ([(10, 29), (35, 35)], True),
    ],
)
def test_a_delivery_overtakes_what_it_has_in_common_with(
    again: list[tuple[int, int]], is_overtaken: bool
) -> None:
    acquisitions = Acquisitions()
    first = added(acquisitions, (0, 9), (30, 40))

    second = added(acquisitions, *again)

    assert (first.is_overtaken, second.is_overtaken) == (is_overtaken, False)
    assert len(acquisitions) == 2 - is_overtaken


def test_what_came_to_an_end_may_be_delivered_again() -> None:
    acquisitions = Acquisitions()
    first = added(acquisitions, (0, 9))
    acquisitions.end(first, [(3, 3, RELEASE), (5, 6, ACCEPT)])

    added(acquisitions, (3, 3))
    assert not first.is_overtaken
    added(acquisitions, (4, 4))
    assert first.is_overtaken


def test_a_renewal_ends_nothing() -> None:
    acquisitions = Acquisitions()
    first = added(acquisitions, (0, 9))
    acquisitions.end(first, [(0, 9, RENEW)])

    added(acquisitions, (0, 9))

    assert first.is_overtaken


def test_what_has_ended_completely_is_forgotten() -> None:
    acquisitions = Acquisitions()
    first, second = added(acquisitions, (0, 9)), added(acquisitions, (10, 19))

    acquisitions.end(first, [(0, 4, ACCEPT)])
    acquisitions.end(first, [(5, 9, RELEASE)])
    acquisitions.end(first, [(5, 9, RELEASE)])
    assert len(acquisitions) == 1
    acquisitions.end(second, [(10, 19, ACCEPT)])
    assert len(acquisitions) == 0


def test_what_was_overtaken_ends_without_a_trace() -> None:
    acquisitions = Acquisitions()
    first = added(acquisitions, (0, 9))
    second = added(acquisitions, (0, 0))

    acquisitions.end(first, [(0, 9, ACCEPT)])
    acquisitions.end(second, [(0, 0, ACCEPT)])

    assert len(acquisitions) == 0
