"""Acknowledgements on their way: which may be sent together, and what a ticket tells."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from pyk.clients import TopicPartition
from pyk.clients.consumer.group.modern.assignment import TopicIdPartition
from pyk.clients.errors import InvalidRecordStateError, NotLeaderOrFollowerError
from pyk.clients.share.acknowledgements import Acknowledgements
from pyk.clients.share.acquired_records import AcquiredRecords
from pyk.clients.share.commit_ticket import CommitTicket, PendingAcknowledgements, due_at
from pyk.protocol.records.cursor import FetchedRecords


def acquired(number: int = 0) -> AcquiredRecords:
    partition = TopicIdPartition(UUID(int=1), "orders", number)
    records = FetchedRecords("orders", number, b"", 0, max_decompressed_bytes=1000)
    return AcquiredRecords(partition, 1, records, [(0, 99, 1)], 30.0)


def pending(number: int = 0, **fields: Any) -> PendingAcknowledgements:
    """Return acknowledgements of a partition."""
    ticket = CommitTicket(lambda *_: None)
    one = ticket.add(acquired(number), Acknowledgements([(0, 4, 1)]), 60.0)
    for name, value in fields.items():
        setattr(one, name, value)
    return one


@pytest.mark.parametrize(
    ("given", "due"),
    [
        ([pending(), pending()], [0, 1]),
        ([pending(0), pending(1)], [0, 1]),
        ([pending(not_before=10.0)], [0]),
        ([pending(not_before=10.1)], []),
        ([pending(not_before=10.1), pending()], []),
        ([pending(0, not_before=10.1), pending(1)], [1]),
        ([pending(is_apart=True)], [0]),
        ([pending(is_apart=True), pending()], [0]),
        ([pending(), pending(is_apart=True)], [0]),
        ([pending(), pending(is_apart=True), pending()], [0]),
        ([pending(is_apart=True), pending(is_apart=True)], [0]),
        ([pending(0, is_apart=True), pending(1, is_apart=True), pending(1)], [0, 1]),
    ],
)
def test_what_may_be_sent_now(given: list[PendingAcknowledgements], due: list[int]):
    now, later = due_at(given, 10.0)

    assert [given.index(one) for one in now] == due
    assert later == [one for one in given if one not in now]


def test_a_ticket_is_settled_once_all_of_its_acknowledgements_are():
    heard: list[Any] = []
    settled: list[bool] = []
    ticket = CommitTicket(
        lambda _, one, outcome: heard.append((one, outcome.count, outcome.error)),
        on_settled=lambda: settled.append(True),
    )
    first = ticket.add(acquired(0), Acknowledgements([(0, 4, 1), (7, 7, 2)]), 60.0)
    second = ticket.add(acquired(1), Acknowledgements([(3, 3, 1)]), 60.0)
    assert not ticket.is_settled

    second.settle(None)
    assert (ticket.is_settled, settled) == (False, [])
    first.settle(None)

    assert (ticket.is_settled, settled) == (True, [True])
    assert heard == [(second, 1, None), (first, 6, None)]


def test_a_ticket_returns_the_offsets_of_each_partition():
    ticket = CommitTicket(lambda *_: None)
    for number, first, last in ((0, 0, 4), (0, 5, 9), (0, 20, 20), (1, 3, 3)):
        ticket.add(acquired(number), Acknowledgements([(first, last, 1)]), 60.0).settle(None)

    assert ticket.result() == {
        TopicPartition("orders", 0): (range(10), range(20, 21)),
        TopicPartition("orders", 1): (range(3, 4),),
    }


def test_a_ticket_raises_its_first_error_and_notes_the_others():
    ticket = CommitTicket(lambda *_: None)
    error = InvalidRecordStateError("the lock is over")
    ticket.add(acquired(0), Acknowledgements([(0, 4, 1)]), 60.0).settle(None)
    ticket.add(acquired(1), Acknowledgements([(0, 4, 1)]), 60.0).settle(error)
    other = NotLeaderOrFollowerError("it has moved")
    ticket.add(acquired(2), Acknowledgements([(0, 4, 1)]), 60.0).settle(other)

    with pytest.raises(InvalidRecordStateError) as failure:
        ticket.result()

    assert failure.value is not error
    assert failure.value.__notes__ == ["and orders-2: it has moved"]
