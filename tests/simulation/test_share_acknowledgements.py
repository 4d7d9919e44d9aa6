"""Acknowledgements that fail take nothing else along, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import AcknowledgeType, TopicPartition
from pyk.clients.errors import (
    CoordinatorNotAvailableError,
    InvalidRecordStateError,
    KafkaError,
    KafkaTimeoutError,
    ShareSessionNotFoundError,
)
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from pyk.protocol.messages.share_fetch import ShareFetchRequest
from pyk.protocol.versions import VersionRange
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.scripted_broker import SILENCE
from support.share_cluster import ACCEPT
from support.share_consuming import share_cluster, share_consumer, values_of

P0 = TopicPartition("orders", 0)
EXPLICIT = {"share_acknowledgement_mode": "explicit"}


@virtual_time
async def test_acknowledgements_that_are_tried_again_do_not_hold_up_fetches():
    async with share_cluster(partitions=2) as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a", partition=1)
        await values_of(consumer, 1)
        cluster.assigned = [0]
        await eventually(lambda: list(consumer.health().partitions) == [P0])
        cluster.refusals[1] = ErrorCode.COORDINATOR_NOT_AVAILABLE
        await consumer.poll(0.1)
        cluster.produce(b"b")

        assert [record.value for record in await consumer.poll(2)] == [b"b"]
        assert cluster.outcomes(1) == [None]

        cluster.refusals.clear()
        await eventually(lambda: cluster.outcomes(1) == [ACCEPT])


@pytest.mark.parametrize("code", ["UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"])
@virtual_time
async def test_acknowledgements_of_a_partition_that_is_gone_fail_at_once(code: str):
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        await values_of(consumer, 1)
        cluster.refusals[0] = ErrorCode[code]
        began = current_clock().now()

        with pytest.raises(KafkaError) as failure:
            await consumer.commit()

        assert failure.value.code == ErrorCode[code]
        assert current_clock().now() - began < 1


@virtual_time
async def test_close_tells_why_the_last_acknowledgements_failed():
    told: list[Any] = []
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        consumer.set_acknowledgement_commit_callback(lambda _, error: told.append(error))
        cluster.produce(b"a")
        await values_of(consumer, 1)
        cluster.refusals[0] = ErrorCode.COORDINATOR_NOT_AVAILABLE
        consumer.commit_async()

    (error,) = told
    assert isinstance(error, CoordinatorNotAvailableError)


@virtual_time
async def test_a_commit_that_runs_out_of_time_tells_why():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        await values_of(consumer, 1)
        await cluster.kill(1)

        with pytest.raises(KafkaTimeoutError, match="could not acknowledge at node 1 in time: can"):
            await consumer.commit(timeout=3)


@virtual_time
async def test_what_close_cannot_send_fails_with_the_reason():
    told: list[Any] = []
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        consumer.set_acknowledgement_commit_callback(lambda _, error: told.append(error))
        cluster.produce(b"a")
        await values_of(consumer, 1)
        await cluster.kill(1)

    (error,) = told
    assert isinstance(error, ShareSessionNotFoundError)
    assert "ended its share session with node 1 before" in str(error)
    assert "delivered again: cannot connect to node 1" in str(error)


@virtual_time
async def test_a_renewal_fails_nothing_else_that_close_sends_to_a_broker_without_renewal():
    async def answer_late(request: ShareFetchRequest) -> Any:
        await asyncio.sleep(1)
        return await fetch(request)

    async with share_cluster() as cluster:
        cluster.versions[ApiKey.SHARE_ACKNOWLEDGE] = VersionRange(1, 1)
        fetch = cluster._handlers[ApiKey.SHARE_FETCH]
        async with share_consumer(cluster, **EXPLICIT) as consumer:
            cluster.produce(b"a", b"b", b"c")
            a, b, c = await consumer.poll(5)
            cluster.once(ShareFetchRequest, answer_late)
            consumer.acknowledge(a)
            consumer.commit_async()
            await asyncio.sleep(0.1)
            consumer.acknowledge(b)
            consumer.acknowledge(c, AcknowledgeType.RENEW)

        assert cluster.outcomes() == [ACCEPT, ACCEPT, None]
        assert cluster.held() == []


@virtual_time
async def test_acknowledgements_fail_at_once_if_no_session_will_take_them():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        await values_of(consumer, 1)
        cluster.assigned = []
        await eventually(lambda: not consumer.health().partitions)
        cluster.lose_sessions(keeps_locks=True)
        began = current_clock().now()

        with pytest.raises(ShareSessionNotFoundError, match="leads nothing any more"):
            await consumer.commit()
        assert current_clock().now() - began < 1


@virtual_time
async def test_all_is_settled_once_the_outcome_of_every_acknowledgement_is_known():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        fetcher = consumer._core.fetcher
        cluster.produce(b"a")
        await values_of(consumer, 1)
        cluster.refusals[0] = ErrorCode.COORDINATOR_NOT_AVAILABLE
        consumer.commit_async()
        await asyncio.sleep(1)

        began = current_clock().now()
        await fetcher.settled(began + 5)
        assert current_clock().now() - began == pytest.approx(5)
        cluster.refusals.clear()
        await fetcher.settled(began + 30)

        assert cluster.outcomes() == [ACCEPT]
        assert current_clock().now() - began < 10


@virtual_time
async def test_acknowledgements_of_one_partition_wait_for_those_before_them():
    async with share_cluster() as cluster, share_consumer(cluster, **EXPLICIT) as consumer:
        cluster.produce(b"a", b"b")
        a, b = await consumer.poll(5)
        cluster.refusals[0] = ErrorCode.COORDINATOR_NOT_AVAILABLE
        consumer.acknowledge(a)
        consumer.commit_async()
        await asyncio.sleep(1)
        consumer.acknowledge(b)
        consumer.commit_async()
        await asyncio.sleep(1)
        cluster.refusals.clear()

        await eventually(lambda: cluster.outcomes() == [ACCEPT] * 2)


@virtual_time
async def test_a_renewal_that_is_refused_fails_alone():
    async with share_cluster() as cluster, share_consumer(cluster, **EXPLICIT) as consumer:
        cluster.may_renew = False
        cluster.produce(b"a", b"b")
        a, b = await consumer.poll(5)
        consumer.acknowledge(a)
        consumer.acknowledge(b, AcknowledgeType.RENEW)

        with pytest.raises(InvalidRecordStateError):
            await consumer.commit()

        assert cluster.outcomes() == [ACCEPT, None]
        assert consumer.stats().acknowledged == 1


@virtual_time
async def test_a_lock_that_is_over_fails_no_other_record_of_process():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        begun: list[int] = []
        may_end = asyncio.Event()

        async def handle(record: Any) -> None:
            begun.append(record.offset)
            await may_end.wait()

        running = asyncio.create_task(consumer.process(handle))
        for number in range(3):
            cluster.produce(b"v")
            await eventually(lambda count=number + 1: len(begun) == count)
        cluster.states[0][1].owner = "another"
        may_end.set()

        await eventually(lambda: cluster.outcomes() == [ACCEPT, None, ACCEPT])
        assert begun == [0, 1, 2]
        consumer.wakeup()
        await running


@virtual_time
async def test_locks_are_renewed_again_after_a_renewal_without_a_response():
    async with (
        share_cluster(lock_seconds=6) as cluster,
        share_consumer(cluster, request_timeout_ms=1000) as consumer,
    ):
        calls: list[bytes] = []

        async def handle(record: Any) -> None:
            calls.append(record.value)
            await asyncio.sleep(30)

        cluster.produce(b"slow")
        cluster.once(ShareAcknowledgeRequest, SILENCE)
        running = asyncio.create_task(consumer.process(handle))

        await eventually(lambda: cluster.outcomes() == [ACCEPT], timeout=60)
        assert calls == [b"slow"]
        consumer.wakeup()
        await running


class Heard:
    """What a consumer returned and what its callback heard, in order."""

    def __init__(self, consumer: Any) -> None:
        self.events: list[tuple[str, int]] = []
        consumer.set_acknowledgement_commit_callback(self._outcome)

    def _outcome(self, offsets: Any, error: KafkaError | None) -> None:
        for ranges in offsets.values():
            self.events += [
                ("accepted" if error is None else type(error).__name__, offset)
                for each in ranges
                for offset in each
            ]

    async def poll(self, consumer: Any, seconds: float) -> list[Any]:
        records = list(await consumer.poll(seconds))
        self.events += [("got", record.offset) for record in records]
        return records


@pytest.mark.parametrize("mode", ["implicit", "explicit"])
@virtual_time
async def test_a_record_is_not_accepted_by_what_was_said_of_an_earlier_delivery(mode: str):
    async with (
        share_cluster(lock_seconds=3) as cluster,
        share_consumer(cluster, share_acknowledgement_mode=mode) as consumer,
    ):
        heard = Heard(consumer)
        cluster.produce(b"a")
        (record,) = await heard.poll(consumer, 5)
        cluster.refusals[0] = ErrorCode.COORDINATOR_NOT_AVAILABLE
        if mode == "explicit":
            consumer.acknowledge(record)
        # The leader cannot store it for now, until the lock is over; then it delivers it again.
        assert await heard.poll(consumer, 2) == []
        (record,) = await heard.poll(consumer, 5)
        cluster.refusals.clear()
        if mode == "explicit":
            consumer.acknowledge(record)
        await consumer.commit()

        assert heard.events == [
            ("got", 0),
            ("InvalidRecordStateError", 0),
            ("got", 0),
            ("accepted", 0),
        ]
        assert cluster.states[0][0].deliveries == 2
        assert len(consumer._core.fetcher.answers.acquisitions) == 0


@virtual_time
async def test_a_fenced_member_accepts_no_later_delivery_by_what_it_said_before():
    async with share_cluster(lock_seconds=3) as cluster, share_consumer(cluster) as consumer:
        heard = Heard(consumer)
        cluster.produce(b"a")
        await heard.poll(consumer, 5)
        cluster.refusals[0] = ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert await heard.poll(consumer, 0.5) == []
        cluster.members.clear()
        assert len(await heard.poll(consumer, 10)) == 1
        cluster.refusals.clear()
        await consumer.commit()

        assert heard.events == [
            ("got", 0),
            ("InvalidRecordStateError", 0),
            ("got", 0),
            ("accepted", 0),
        ]
        assert len(consumer._core.fetcher.answers.acquisitions) == 0


@virtual_time
async def test_nothing_is_kept_of_what_a_consumer_gives_back_as_it_leaves():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a", b"b", b"c")
        await consumer.poll(5, max_records=1)
        await consumer.commit()
        fetcher = consumer._core.fetcher
        assert len(fetcher.answers.acquisitions) == 1

        await consumer.unsubscribe()

        assert cluster.outcomes() == [ACCEPT, None, None]
        assert cluster.held() == []
        assert len(fetcher.answers.acquisitions) == 0
        assert consumer.stats().assigned_partitions == 0
        assert consumer.health().partitions == {}


@virtual_time
async def test_what_a_fenced_member_has_not_handed_out_is_released():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a", b"b")
        await consumer.poll(5, max_records=1)
        assert cluster.held() == [0, 1]

        cluster.members.clear()

        await eventually(lambda: cluster.held() == [0])


@virtual_time
async def test_what_is_not_handed_out_in_time_is_forgotten():
    async with share_cluster(lock_seconds=1) as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a", b"b")
        await consumer.poll(5, max_records=1)
        await asyncio.sleep(2)
        await consumer.poll(5)
        await consumer.commit()

        assert consumer.stats().expired == 1
        assert len(consumer._core.fetcher.answers.acquisitions) == 0
