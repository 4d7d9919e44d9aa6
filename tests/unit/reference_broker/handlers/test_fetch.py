"""Fetch: its responses, and when it waits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from pyk.protocol.records import read_batches
from pyk.reference_broker.broker import Broker
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.handlers.fetch import fetch
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.logs import batch
from support.nodes import running
from support.running_brokers import TOPIC, LaggingReplica, context, running_broker

E = ErrorCode
WAIT_MS = 60_000
READ_COMMITTED = 1


def ask(broker: Broker, offset: int = 0, **more: Any) -> Any:
    """Fetch partition 0 and return the reply; fields of its partition have a ``partition_``."""
    asked = FetchPartition(
        partition=0,
        fetch_offset=offset,
        partition_max_bytes=1 << 20,
        **{name[10:]: more.pop(name) for name in list(more) if name.startswith("partition_")},
    )
    fields = {"max_wait_ms": WAIT_MS, "min_bytes": 1, "session_epoch": -1, **more}
    fields.setdefault("topics", [FetchTopic(topic=TOPIC, partitions=[asked])])
    return fetch(broker.services, FetchRequest(**fields), context())


def answered(reply: Any) -> Any:
    """Return the partition of a response that is there at once."""
    assert isinstance(reply, FetchResponse), "the request waits"
    return reply.responses[0].partitions[0]


def offsets(partition: Any) -> list[int]:
    records = partition.records
    data = records if isinstance(records, bytes) else records.read()
    return [record.offset for each in read_batches(data) for record in each]


def fill(broker: Broker, *sizes: int) -> None:
    for size in sizes:
        broker.services.replicas.get(TOPIC, 0).append(batch(bytes(size)))


@virtual_time
async def test_fetch_max_bytes_of_the_broker_limits_a_fetch() -> None:
    async with running_broker(fetch_max_bytes=1024) as broker:
        fill(broker, 600, 600, 600)

        assert offsets(answered(ask(broker))) == [0]


@virtual_time
async def test_a_consumer_reads_up_to_the_high_watermark() -> None:
    async with running_broker() as broker:
        fill(broker, 10)
        replica = LaggingReplica(broker.services.replicas.get(TOPIC, 0))
        fill(broker, 10)

        assert offsets(answered(ask(broker))) == [0]
        waiting = ask(broker, 1)
        await asyncio.sleep(1)
        assert not waiting.is_done
        replica.catch_up()
        await asyncio.sleep(0)

        assert waiting.is_done


@virtual_time
async def test_a_waiting_fetch_that_meets_a_bug_is_answered_and_the_others_are_too(caplog) -> None:
    async with running_broker() as broker:
        waiting = [ask(broker), ask(broker)]
        partition = broker.services.replicas.get(TOPIC, 0)
        read = partition.reader.read

        def read_later(*_: object, **__: object) -> None:
            partition.reader.read = read
            raise ValueError("a bug")

        partition.reader.read = read_later
        fill(broker, 10)
        await asyncio.sleep(0)

        found: list[FetchResponse] = []
        for reply in waiting:
            reply.when_done(found.append)
        assert [each.error_code for each in found] == [ErrorCode.UNKNOWN_SERVER_ERROR, 0]
        assert offsets(answered(found[1])) == [0]
        assert "a bug" in caplog.text


@pytest.mark.parametrize("max_wait_ms", [0, -1])
@virtual_time
async def test_a_fetch_without_max_wait_does_not_wait(max_wait_ms: int) -> None:
    async with running_broker() as broker:
        assert offsets(answered(ask(broker, max_wait_ms=max_wait_ms))) == []


@virtual_time
async def test_a_fetch_does_not_wait_for_more_than_it_may_be_answered_with() -> None:
    async with running_broker() as broker:
        fill(broker, 600)

        assert offsets(answered(ask(broker, max_bytes=100, min_bytes=10_000))) == [0]


@virtual_time
async def test_a_fetch_of_nothing_does_not_wait() -> None:
    async with running_broker() as broker:
        assert ask(broker, topics=[]) == FetchResponse()


@virtual_time
async def test_a_waiting_fetch_is_answered_as_soon_as_the_append_is_handled() -> None:
    async with running_broker() as broker:
        reply = ask(broker)
        assert isinstance(reply, Deferred)

        broker.services.waiting.moved.hold()
        fill(broker, 10)
        assert not reply.is_done
        broker.services.waiting.moved.release()

        assert reply.is_done


@pytest.mark.parametrize("reads_before", [0, 1])
@virtual_time
async def test_a_disk_that_fails_a_waiting_fetch_does_not_fail_the_request_that_ends_the_wait(
    reads_before: int,
) -> None:
    filesystem = FaultyFileSystem(MemoryFileSystem(current_clock().time_ms))
    async with running(filesystem) as node:
        await node.create(TOPIC)
        waiting = ask(node.broker)
        filesystem.on("read", "*.log").after(reads_before).once().fail()

        node.broker.services.waiting.moved.hold()
        fill(node.broker, 1)
        node.broker.services.waiting.moved.release()

        replies: list[Any] = []
        waiting.when_done(replies.append)
        assert [answered(reply).error_code for reply in replies] == [E.KAFKA_STORAGE_ERROR]


@virtual_time
async def test_a_fetch_without_a_waiter_is_forgotten() -> None:
    async with running_broker() as broker:
        reply = ask(broker)
        assert len(broker.services.waiting.fetches) == 1

        reply.abandon()

        assert len(broker.services.waiting.fetches) == 0


@virtual_time
async def test_a_fetch_whose_wait_is_over_returns_the_available_records() -> None:
    async with running_broker() as broker:
        fill(broker, 10)
        reply = ask(broker, min_bytes=1000)
        assert isinstance(reply, Deferred)
        found: list[Any] = []
        reply.when_done(found.append)

        await asyncio.sleep(WAIT_MS / 1000 + 1)

    assert offsets(answered(found[0])) == [0]


@pytest.mark.parametrize("replica_id", [0, 1, 9])
@virtual_time
async def test_no_other_replica_may_fetch(replica_id: int) -> None:
    async with running_broker() as broker:
        fill(broker, 10)

        refused = answered(ask(broker, replica_id=replica_id))

    assert refused.error_code == E.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("epoch", "offset", "diverges_at"),
    [
        (3, 1, (0, 1)),  # an epoch that never was: the log has epoch 0, which ends at offset 1
        (0, 2, (0, 1)),  # an epoch that ends before
        (0, 1, None),
        (5, 1, None),
    ],
)
@virtual_time
async def test_a_fetch_of_a_diverged_log_gets_the_diverging_epoch(
    epoch: int, offset: int, diverges_at: tuple[int, int] | None
) -> None:
    async with running_broker() as broker:
        fill(broker, 10)
        broker.services.replicas.get(TOPIC, 0).become_leader(5, (0,), (0,))
        fill(broker, 10)

        told = answered(ask(broker, offset, partition_last_fetched_epoch=epoch, min_bytes=1))

    if diverges_at is None:
        assert (told.diverging_epoch.epoch, offsets(told)) == (-1, [1])
    else:
        assert (told.diverging_epoch.epoch, told.diverging_epoch.end_offset) == diverges_at
        assert offsets(told) == []


@virtual_time
async def test_only_a_leader_in_the_clients_epoch_reports_divergence() -> None:
    async with running_broker() as broker:
        fill(broker, 10)

        refused = answered(
            ask(broker, 9, partition_last_fetched_epoch=0, partition_current_leader_epoch=99)
        )

    assert refused.error_code == E.UNKNOWN_LEADER_EPOCH


@virtual_time
async def test_a_response_holds_the_offsets_of_the_partition() -> None:
    async with running_broker() as broker:
        fill(broker, 10, 10, 10)
        broker.services.replicas.get(TOPIC, 0).delete_records(1)

        uncommitted = answered(ask(broker, 1))
        committed = answered(ask(broker, 1, isolation_level=READ_COMMITTED))

    for each in (uncommitted, committed):
        assert (each.high_watermark, each.last_stable_offset, each.log_start_offset) == (3, 3, 1)
    assert uncommitted.aborted_transactions is None
    assert committed.aborted_transactions == []


@virtual_time
async def test_a_refusal_names_the_new_leader() -> None:
    async with running_broker() as broker:
        broker.services.replicas.get(TOPIC, 0).resign(7, 3)

        refused = answered(ask(broker))

    assert (refused.error_code, refused.high_watermark) == (E.NOT_LEADER_OR_FOLLOWER, -1)
    assert (refused.current_leader.leader_id, refused.current_leader.leader_epoch) == (7, 3)


@virtual_time
async def test_a_full_fetch_opens_a_session_that_the_next_fetch_uses() -> None:
    async with running_broker() as broker:
        fill(broker, 10)
        first = ask(broker, session_epoch=0)
        assert first.session_id > 0

        second = ask(broker, 1, session_id=first.session_id, session_epoch=1, max_wait_ms=0)

    assert second.session_id == first.session_id
    assert second.responses == []


@virtual_time
async def test_a_session_does_not_read_a_topic_that_was_created_again() -> None:
    async with running(MemoryFileSystem(current_clock().time_ms)) as node:
        await node.create(TOPIC)
        topic_id = node.image.topics[TOPIC].topic_id
        asked = [FetchTopic(topic_id=topic_id, partitions=[FetchPartition(partition=0)])]
        request = FetchRequest(topics=asked, max_wait_ms=0, session_epoch=0)
        opened: Any = fetch(node.broker.services, request, context(13))
        node.delete(TOPIC)
        await node.create(TOPIC)

        request = FetchRequest(session_id=opened.session_id, session_epoch=1, max_wait_ms=0)
        refused = answered(fetch(node.broker.services, request, context(13)))

    assert refused.error_code == E.UNKNOWN_TOPIC_ID


@virtual_time
async def test_a_session_by_name_reads_a_topic_that_was_created_again() -> None:
    async with running(MemoryFileSystem(current_clock().time_ms)) as node:
        await node.create(TOPIC)
        opened = ask(node.broker, session_epoch=0, max_wait_ms=0)
        node.delete(TOPIC)
        await node.create(TOPIC)
        fill(node.broker, 10)

        found = answered(ask(node.broker, session_id=opened.session_id, session_epoch=1))

    assert offsets(found) == [0]


@virtual_time
async def test_a_wait_for_nothing_ends_without_another_read() -> None:
    async with running_broker() as broker:
        replies: list[Any] = []
        ask(broker).when_done(replies.append)
        await asyncio.sleep(1)
        partition = broker.services.replicas.get(TOPIC, 0)
        partition.reader.read = unexpected_read  # type: ignore[method-assign]

        await asyncio.sleep(WAIT_MS / 1000 + 1)

    assert offsets(answered(replies[0])) == []


@virtual_time
async def test_a_wait_ends_with_the_offsets_that_a_partition_has_moved_to() -> None:
    async with running_broker() as broker:
        fill(broker, 10, 10)
        replies: list[Any] = []
        ask(broker, 2).when_done(replies.append)
        broker.services.replicas.get(TOPIC, 0).delete_records(1)

        await asyncio.sleep(WAIT_MS / 1000 + 1)

    assert answered(replies[0]).log_start_offset == 1


@virtual_time
async def test_records_that_retention_has_deleted_during_a_wait_are_not_returned() -> None:
    async with running_broker(topic_configs={"retention.ms": 1000}) as broker:
        partition = broker.services.replicas.get(TOPIC, 0)
        fill(broker, 10)
        replies: list[Any] = []
        ask(broker, min_bytes=1000).when_done(replies.append)
        partition.log.delete_old_segments(current_clock().time_ms() + 10_000)

        await asyncio.sleep(WAIT_MS / 1000 + 1)

    assert answered(replies[0]).error_code == E.OFFSET_OUT_OF_RANGE


def unexpected_read(*_: object, **__: object) -> None:
    raise AssertionError("the partition is read again")
