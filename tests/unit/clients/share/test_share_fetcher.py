"""When a share consumer fetches from which leader, and what it releases, without leaders."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from pyk.clients.config import ShareConsumerConfig
from pyk.clients.consumer.group.modern.assignment import TopicIdPartition
from pyk.clients.errors import (
    KafkaError,
    NotLeaderOrFollowerError,
    ShareSessionNotFoundError,
    TopicAuthorizationFailedError,
)
from pyk.clients.share.acknowledgements import EXPIRED, Acknowledgements
from pyk.clients.share.acquired_records import AcquiredRecords
from pyk.clients.share.commit_ticket import CommitTicket, PendingAcknowledgements
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.clients.share.share_fetcher import ShareFetcher
from pyk.clients.share.share_leader import FetchWish
from pyk.protocol.records.cursor import FetchedRecords

ACCEPT, RELEASE, RENEW = 1, 2, 4
P0, P1 = (TopicIdPartition(UUID(int=1), "orders", number) for number in range(2))
WAITING = FetchWish(500, 20)
AHEAD = FetchWish(0, 20)


class Leader:
    """What a fetcher sees of a leader."""

    def __init__(self, node_id: int, *, holds_turn: bool = True, fetched_at: float = 0.0) -> None:
        self.node_id = node_id
        self.partitions: frozenset[TopicIdPartition] = frozenset()
        self.has_new = True
        self.prefetched_visit = 0
        self.is_fetching = False
        self.fetched_at = fetched_at
        self.pending: list[PendingAcknowledgements] = []
        self.looks = 0
        self.acknowledge = self.pending.extend
        self.has_turn = holds_turn

    def holds_turn(self, now: float) -> bool:
        return self.has_turn

    def look(self) -> None:
        self.looks += 1

    async def run(self) -> None:
        """Do nothing."""


class Fetcher(ShareFetcher):
    """A fetcher whose time, leaders and metadata are the test's."""

    def __init__(self, **options: Any) -> None:
        self.now = 10.0
        self.leader_of: dict[int, int | None] = {0: 1, 1: 2}
        self.updates = 0
        self.outcomes: list[KafkaError | None] = []
        self.buffer = ShareBuffer(lambda: None, lambda: None)
        client = SimpleNamespace(
            clock=SimpleNamespace(now=lambda: self.now),
            metadata=SimpleNamespace(leader=lambda one: self.leader_of[one.partition]),
            metadata_keeper=SimpleNamespace(request_update=self.request_update),
        )
        config = ShareConsumerConfig.from_kwargs(
            "broker:9092", group_id="g", max_poll_records=20, **options
        )
        super().__init__(cast(Any, client), config, self.buffer, "me")
        self.on_outcome = lambda _, __, outcome: self.outcomes.append(outcome.error)
        self.one, self.two = (self.add(Leader(node_id)) for node_id in (1, 2))

    def request_update(self) -> None:
        self.updates += 1

    def add(self, leader: Leader) -> Leader:
        self.leaders[leader.node_id] = cast(Any, leader)
        return leader

    def wish_of(self, leader: Leader) -> FetchWish | None:
        return self.wish(cast(Any, leader))

    def ask(self, *, is_waiting: bool = True, wanted: int = 20) -> None:
        """Let the application ask in vain, and wait or not."""
        self.buffer.wanted, self.buffer.is_waiting = wanted, is_waiting
        self.visit()

    def come_back(self, after: float) -> None:
        """Let the application take records, after so many seconds."""
        self.now += after
        self.buffer.wanted, self.buffer.is_waiting = 0, False
        self.visit()

    def buffered(self, partition: TopicIdPartition = P0, node_id: int = 1) -> AcquiredRecords:
        acquired = acquired_of(partition, node_id)
        self.answers.acquisitions.add(acquired, [(0, 9)])
        self.buffer.append(acquired)
        return acquired


def acquired_of(partition: TopicIdPartition = P0, node_id: int = 1) -> AcquiredRecords:
    records = FetchedRecords("orders", partition.number, b"", 0, max_decompressed_bytes=1000)
    return AcquiredRecords(partition, node_id, records, [(0, 3, 1), (5, 9, 1)], 30.0)


def said(leader: Leader) -> list[list[tuple[int, int, int]]]:
    return [list(pending.acknowledgements) for pending in leader.pending]


@pytest.fixture
def fetcher() -> Fetcher:
    return Fetcher()


# -- when to fetch ---------------------------------------------------------------------------------


def test_an_application_that_waits_gets_records_from_every_leader(fetcher: Fetcher):
    fetcher.ask()

    fetcher.now += 100
    assert fetcher.wish_of(fetcher.one) == fetcher.wish_of(fetcher.two) == WAITING


def test_an_application_that_asked_is_expected_for_a_second(fetcher: Fetcher):
    fetcher.ask(is_waiting=False)
    assert fetcher.wish_of(fetcher.one) == WAITING

    fetcher.now += 0.9
    assert fetcher.wish_of(fetcher.one) == WAITING
    fetcher.now += 0.1
    assert fetcher.wish_of(fetcher.one) is None


def test_nothing_is_fetched_unasked(fetcher: Fetcher):
    assert fetcher.wish_of(fetcher.one) is None


def test_nothing_is_fetched_while_something_is_buffered_or_the_consumer_pauses(fetcher: Fetcher):
    fetcher.ask()

    fetcher.is_paused = True
    assert fetcher.wish_of(fetcher.one) is None
    fetcher.is_paused = False
    fetcher.buffered()
    assert fetcher.wish_of(fetcher.one) is None


def test_an_application_that_comes_back_soon_gets_the_next_records_once_ahead(fetcher: Fetcher):
    fetcher.come_back(after=0.0)
    assert fetcher.wish_of(fetcher.one) is None
    for _ in range(2):
        fetcher.come_back(after=0.9)
        assert fetcher.wish_of(fetcher.one) == AHEAD
        assert fetcher.wish_of(fetcher.one) is None


def test_an_application_that_takes_its_time_gets_nothing_ahead(fetcher: Fetcher):
    fetcher.come_back(after=0.0)
    fetcher.come_back(after=1.0)

    assert fetcher.wish_of(fetcher.one) is None


def test_nothing_is_fetched_ahead_from_a_leader_without_new_records(fetcher: Fetcher):
    fetcher.come_back(after=0.0)
    fetcher.come_back(after=0.1)
    fetcher.one.has_new = False

    assert fetcher.wish_of(fetcher.one) is None
    assert fetcher.wish_of(fetcher.two) == AHEAD


def test_nothing_is_fetched_ahead_of_an_application_that_asked_in_vain(fetcher: Fetcher):
    fetcher.come_back(after=0.0)
    fetcher.come_back(after=0.1)
    fetcher.ask(is_waiting=False)
    fetcher.now += 1.0

    assert fetcher.wish_of(fetcher.one) is None


def test_to_ask_is_not_to_come_back(fetcher: Fetcher):
    fetcher.ask(is_waiting=False)
    fetcher.come_back(after=0.1)

    assert fetcher.wish_of(fetcher.one) is None


# -- one leader at a time --------------------------------------------------------------------------


@pytest.fixture
def limited() -> Fetcher:
    return Fetcher(share_acquire_mode="record_limit")


def test_with_a_limit_one_leader_is_asked_at_a_time_for_its_part_of_the_wait(limited: Fetcher):
    limited.ask(wanted=7)
    limited.two.fetched_at = 5.0
    assert limited.wish_of(limited.one) == FetchWish(250, 7)
    assert limited.wish_of(limited.two) is None

    limited.one.fetched_at, limited.one.is_fetching = 6.0, True
    assert limited.wish_of(limited.two) is None
    limited.one.is_fetching = False
    assert limited.wish_of(limited.two) == FetchWish(250, 7)


def test_with_a_limit_nobody_waits_for_a_leader_without_a_turn(limited: Fetcher):
    limited.ask(wanted=100)
    limited.one.has_turn, limited.one.is_fetching = False, True
    limited.two.fetched_at = 5.0

    assert limited.wish_of(limited.two) == WAITING
    limited.two.has_turn = False
    assert limited.wish_of(limited.one) == WAITING


def test_with_a_limit_nothing_is_fetched_ahead(limited: Fetcher):
    limited.come_back(after=0.0)
    limited.come_back(after=0.1)

    assert limited.wish_of(limited.one) is None


# -- what is given back ----------------------------------------------------------------------------


def test_what_is_not_assigned_any_more_is_released(fetcher: Fetcher):
    fetcher.assign(frozenset({P0, P1}))
    gone, kept = fetcher.buffered(P0, 1), fetcher.buffered(P1, 2)

    fetcher.assign(frozenset({P1}))

    assert list(fetcher.buffer.queue) == [kept]
    assert list(fetcher.buffer.partitions.values()) == [P1]
    assert [pending.acquired for pending in fetcher.one.pending] == [gone]
    assert said(fetcher.one) == [[(0, 3, RELEASE), (5, 9, RELEASE)]]
    assert fetcher.one.pending[0].ticket.is_silent
    assert fetcher.one.pending[0].deadline == fetcher.now + 60
    assert (fetcher.one.partitions, fetcher.two.partitions) == (frozenset(), {P1})


def test_a_leader_that_is_lost_takes_only_its_own_records_along(fetcher: Fetcher):
    fetcher.buffered(P0, 1)
    kept = fetcher.buffered(P1, 2)

    fetcher.lost(cast(Any, fetcher.one), NotLeaderOrFollowerError("moved"))

    assert list(fetcher.buffer.queue) == [kept]
    assert len(fetcher.one.pending) == 1
    assert fetcher.two.pending == []
    assert not fetcher.answers.errors


def test_an_error_that_does_not_pass_is_told(fetcher: Fetcher):
    error = TopicAuthorizationFailedError("no")

    fetcher.lost(cast(Any, fetcher.one), error)

    assert list(fetcher.answers.errors) == [error]


def test_what_has_nothing_left_is_not_released(fetcher: Fetcher):
    acquired = fetcher.buffered()
    acquired.give_up()

    fetcher.give_back([acquired])

    assert fetcher.one.pending == []


def test_the_leader_of_a_partition_is_looked_for(fetcher: Fetcher):
    fetcher.leader_of[0] = None

    fetcher.assign(frozenset({P0, P1}))

    assert fetcher.updates == 1
    assert (fetcher.one.partitions, fetcher.two.partitions) == (frozenset(), {P1})
    assert (fetcher.one.looks, fetcher.two.looks) == (0, 1)


# -- acknowledgements ------------------------------------------------------------------------------


def test_renewals_of_the_outbox_are_sent_by_themselves(fetcher: Fetcher):
    acquired = acquired_of()
    fetcher.buffer.outbox += [
        (acquired, 0, 1, ACCEPT),
        (acquired, 2, 3, RENEW),
        (acquired, 5, 9, 1),
    ]
    ticket = CommitTicket(fetcher.on_outcome)

    fetcher.send_outbox(ticket, 42.0)

    assert said(fetcher.one) == [[(0, 1, ACCEPT), (5, 9, ACCEPT)], [(2, 3, RENEW)]]
    assert {(pending.deadline, pending.ticket) for pending in fetcher.one.pending} == {
        (42.0, ticket)
    }


def test_what_was_not_handed_out_in_time_is_told_to_no_leader(fetcher: Fetcher, caplog: Any):
    acquired = fetcher.buffered()
    fetcher.buffer.outbox += [(acquired, 0, 3, EXPIRED), (acquired, 4, 9, EXPIRED)]

    fetcher.send_outbox(CommitTicket(fetcher.on_outcome), 42.0)

    assert fetcher.one.pending == []
    assert len(fetcher.answers.acquisitions) == 0
    assert "The locks of 10 records of orders-0 were over" in caplog.text


def test_acknowledgements_for_a_node_without_a_session_fail(fetcher: Fetcher):
    fetcher.send(CommitTicket(fetcher.on_outcome), acquired_of(node_id=9), Acknowledgements())

    [error] = fetcher.outcomes
    assert isinstance(error, ShareSessionNotFoundError)
    assert "the share session with node 9 was ended" in str(error)


@pytest.mark.parametrize(("mode", "count"), [("explicit", 1), ("implicit", 0)])
def test_renewed_records_are_returned_again_until_their_new_lock_is_over(mode: str, count: int):
    fetcher = Fetcher(share_acknowledgement_mode=mode)
    fetcher.answers.lock_timeout_ms = 6_000
    acquired = acquired_of()
    pending = CommitTicket(fetcher.on_outcome).add(
        acquired, Acknowledgements([(0, 1, ACCEPT), (2, 3, RENEW)]), 60.0
    )
    pending.sent_at = 8.0

    fetcher.renewed(pending)

    assert acquired.renewed == [(2, 3, 14.0)] * count
    assert list(fetcher.buffer.queue) == [acquired] * count
