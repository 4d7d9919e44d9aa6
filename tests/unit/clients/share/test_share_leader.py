"""One leader: when it is asked, with what, and what becomes of acknowledgements that fail."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from pyk.clients.consumer.group.modern.assignment import TopicIdPartition
from pyk.clients.errors import (
    InvalidRecordStateError,
    KafkaError,
    KafkaTimeoutError,
    ShareSessionNotFoundError,
    UnsupportedVersionError,
)
from pyk.clients.share.acknowledgements import Acknowledgements
from pyk.clients.share.acquired_records import AcquiredRecords
from pyk.clients.share.commit_ticket import CommitTicket, PendingAcknowledgements
from pyk.clients.share.share_leader import FetchWish, ShareLeader
from pyk.clients.share.share_session import FetchTerms, ShareSession
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import share_acknowledge
from pyk.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from pyk.protocol.records.cursor import FetchedRecords
from pyk.runtime.virtual_time import current_clock, virtual_time

ACCEPT, RENEW = 1, 4
P0, P1 = (TopicIdPartition(UUID(int=1), "orders", number) for number in range(2))
WAITING = FetchWish(500, 20)
NEVER = 3600.0


class Leader:
    """A leader that leads partition 0 and answers what a test says, after so many seconds."""

    def __init__(self, wish: FetchWish | None = None) -> None:
        self.wished = wish
        self.answers: list[Any] = []
        """What the next requests come to; afterwards they succeed and bring nothing."""
        self.seconds = 0.0
        self.has_records = False
        self.sent: list[tuple[float, Any, dict[str, Any]]] = []
        self.told: list[str] = []
        self.lost_by: list[KafkaError] = []
        self.looks = 0
        self.outcomes: list[KafkaError | None] = []
        client = SimpleNamespace(
            clock=SimpleNamespace(now=lambda: current_clock().now()),
            send=self._send,
            random=SimpleNamespace(random=lambda: 0.5),
            retry_backoff=SimpleNamespace(delay=lambda failures, _: 10.0 * failures),
            metadata_keeper=SimpleNamespace(request_update=lambda: None),
        )
        answers = SimpleNamespace(
            fetched=lambda *_: self.has_records,
            acknowledged=lambda _: self.told.append("lock timeout"),
        )
        self.leader = ShareLeader(
            cast(Any, client),
            cast(Any, self),
            cast(Any, answers),
            ShareSession("g", "me", FetchTerms()),
            node_id=7,
            timeout_ms=30_000,
        )
        self.leader.partitions = frozenset({P0})
        self.running = asyncio.create_task(self.leader.run())

    def wish(self, _: Any) -> FetchWish | None:
        return self.wished

    def lost(self, _: Any, error: KafkaError) -> None:
        self.lost_by.append(error)

    def look(self) -> None:
        self.looks += 1

    async def _send(self, node_id: int, request: Any, **options: Any) -> Any:
        self.sent.append((current_clock().now(), request, options))
        await asyncio.sleep(max(self.seconds, 0.001))
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, KafkaError):
            raise answer
        if isinstance(request, ShareFetchRequest):
            return answer or ShareFetchResponse()
        return answer or accepted(request)

    def pending(
        self, partition: TopicIdPartition = P0, kind: int = ACCEPT, deadline: float = NEVER
    ) -> PendingAcknowledgements:
        """Give the leader an acknowledgement."""

        def settled(_: Any, __: Any, outcome: Any) -> None:
            self.outcomes.append(outcome.error)
            self.told.append("outcome")

        records = FetchedRecords("orders", 0, b"", 0, max_decompressed_bytes=1000)
        acquired = AcquiredRecords(partition, 7, records, [(0, 4, 1)], 30.0)
        one = CommitTicket(settled).add(
            acquired, Acknowledgements([(0, 4, kind)]), current_clock().now() + deadline
        )
        self.leader.acknowledge([one])
        return one

    @property
    def kinds(self) -> list[str]:
        return [type(request).__name__.removesuffix("Request") for _, request, _ in self.sent]

    async def opened(self) -> Leader:
        """Open a session, and forget how."""
        self.wished = FetchWish(0, 0)
        while not self.sent:
            await asyncio.sleep(0.001)
            self.wished = None
        await asyncio.sleep(0.1)
        self.sent.clear()
        return self


def accepted(request: Any) -> Any:
    """Return that all acknowledgements of a request were taken."""
    return share_acknowledge.ShareAcknowledgeResponse(
        responses=[
            share_acknowledge.ShareAcknowledgeTopicResponse(
                topic_id=topic.topic_id,
                partitions=[
                    share_acknowledge.PartitionData(partition_index=one.partition_index)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def types(errors: list[Any]) -> list[Any]:
    return [type(error) for error in errors]


# -- how fast --------------------------------------------------------------------------------------


@virtual_time
async def test_a_leader_that_answers_at_once_without_records_is_asked_less_and_less():
    leader = Leader(WAITING)
    await asyncio.sleep(2.4)

    times = [at for at, _, _ in leader.sent]
    delays = [round(after - before, 2) for before, after in pairwise(times)]
    assert delays == [0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.5, 0.5]
    assert not leader.leader.has_new
    leader.running.cancel()


@virtual_time
async def test_a_leader_that_waits_as_long_as_it_may_is_asked_again_at_once():
    leader = Leader(WAITING)
    leader.seconds = 0.25
    await asyncio.sleep(1.1)

    assert len(leader.sent) == 5
    assert leader.leader.fetched_at == leader.sent[-1][0]
    leader.running.cancel()


@virtual_time
async def test_records_end_the_delay():
    leader = Leader(WAITING)
    await asyncio.sleep(0.3)
    leader.has_records, leader.seconds = True, 0.1
    await asyncio.sleep(1)
    assert leader.leader.has_new
    leader.has_records, leader.seconds = False, 0.0
    await asyncio.sleep(0.2)

    times = [at for at, _, _ in leader.sent][-4:]  # the first of them still took 0.1 s
    assert [round(after - before, 2) for before, after in pairwise(times)] == [0.12, 0.04, 0.08]
    leader.running.cancel()


@virtual_time
async def test_others_do_not_wait_for_a_leader_that_is_late():
    leader = Leader(WAITING)
    leader.seconds = 10.0
    await asyncio.sleep(1.4)
    now = current_clock().now
    assert leader.leader.holds_turn(now())
    assert leader.looks == 0

    await asyncio.sleep(0.2)

    assert not leader.leader.holds_turn(now())
    assert leader.looks == 1
    leader.running.cancel()


# -- what is sent ----------------------------------------------------------------------------------


@virtual_time
async def test_acknowledgements_ride_with_a_fetch_of_their_partition():
    leader = await Leader().opened()
    leader.wished = FetchWish(0, 20)
    one = leader.pending()
    await asyncio.sleep(0)
    leader.wished = None
    await asyncio.sleep(0.1)

    assert leader.kinds == ["ShareFetch"]
    assert leader.sent[0][1].topics[0].partitions[0].acknowledgement_batches
    assert one.sent_at == leader.sent[0][0]
    leader.running.cancel()


@pytest.mark.parametrize(("partition", "kind"), [(P1, ACCEPT), (P0, RENEW)])
@virtual_time
async def test_what_cannot_ride_with_a_fetch_goes_alone(partition: Any, kind: int):
    leader = await Leader().opened()
    leader.wished = WAITING
    leader.seconds = 0.3
    leader.pending(partition, kind)
    await asyncio.sleep(0.4)

    assert leader.kinds[0] == "ShareAcknowledge"
    assert leader.outcomes == [None]
    assert leader.told == ["lock timeout", "outcome"]
    assert leader.sent[0][2]["timeout_ms"] == 30_000
    leader.running.cancel()


@virtual_time
async def test_a_session_is_opened_before_anything_is_acknowledged():
    leader = Leader()
    leader.pending()
    await asyncio.sleep(0.1)

    assert leader.kinds == ["ShareFetch", "ShareAcknowledge"]
    assert leader.sent[0][1].max_records == 0
    assert leader.outcomes == [None]
    leader.running.cancel()


@virtual_time
async def test_the_last_request_takes_no_longer_than_the_consumer_has():
    leader = await Leader().opened()
    await leader.leader.close(current_clock().now() + 3)

    assert leader.kinds == ["ShareAcknowledge"]
    assert leader.sent[0][2]["timeout_ms"] == 3_000
    assert leader.sent[0][1].share_session_epoch == -1


# -- what fails ------------------------------------------------------------------------------------


@virtual_time
async def test_what_is_late_or_overtaken_is_settled_while_the_leader_fails():
    leader = await Leader().opened()
    leader.answers = [UnsupportedVersionError("too old")]
    leader.pending()
    await asyncio.sleep(0.1)
    assert types(leader.outcomes) == [UnsupportedVersionError]
    leader.pending(deadline=2.0)
    leader.pending().acquired.is_overtaken = True

    await asyncio.sleep(3)

    assert types(leader.outcomes[1:]) == [InvalidRecordStateError, KafkaTimeoutError]
    assert "in time: too old" in str(leader.outcomes[2])
    leader.running.cancel()


@virtual_time
async def test_a_leader_without_renewal_takes_everything_else():
    leader = await Leader().opened()
    leader.answers = [UnsupportedVersionError("too old")]
    leader.pending(kind=RENEW)
    leader.pending(P1)
    await asyncio.sleep(0.1)

    assert types(leader.outcomes) == [UnsupportedVersionError, type(None)]
    assert leader.lost_by == []
    leader.running.cancel()


@virtual_time
async def test_a_lost_session_is_opened_again_at_once_and_then_after_a_while():
    leader = await Leader().opened()
    gone = share_acknowledge.ShareAcknowledgeResponse(error_code=ErrorCode.SHARE_SESSION_NOT_FOUND)
    absent = ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_NOT_FOUND)
    leader.answers = [gone, absent]
    leader.pending()
    await asyncio.sleep(0.1)

    assert leader.kinds == ["ShareAcknowledge", "ShareFetch"]
    assert isinstance(leader.leader.error, ShareSessionNotFoundError)
    assert types(leader.lost_by) == [ShareSessionNotFoundError] * 2
    await asyncio.sleep(19)
    assert len(leader.sent) == 2
    await asyncio.sleep(1)
    assert leader.kinds[2:] == ["ShareFetch", "ShareAcknowledge"]
    assert leader.outcomes == [None]
    assert leader.leader.error is None
    leader.running.cancel()


@virtual_time
async def test_another_refusal_is_settled_once_and_waited_after():
    leader = await Leader().opened()
    leader.answers = [
        share_acknowledge.ShareAcknowledgeResponse(
            error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED, error_message="no"
        )
    ]
    leader.pending()
    await asyncio.sleep(0.1)
    leader.pending()
    await asyncio.sleep(9)

    assert len(leader.outcomes) == len(leader.sent) == len(leader.lost_by) == 1
    await asyncio.sleep(1)
    assert leader.outcomes[1:] == [None]
    leader.running.cancel()


@virtual_time
async def test_what_is_in_flight_when_the_consumer_ends_is_settled():
    leader = await Leader().opened()
    leader.seconds = 10.0
    leader.pending()
    await asyncio.sleep(1)

    leader.running.cancel()
    await asyncio.gather(leader.running, return_exceptions=True)

    assert leader.running.cancelled()
    assert types(leader.outcomes) == [KafkaTimeoutError]
    assert "closed meanwhile" in str(leader.outcomes[0])
