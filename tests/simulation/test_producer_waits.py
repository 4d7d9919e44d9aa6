"""What a producer waits for, how long, and the errors that its waiters get."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.errors import (
    BufferExhaustedError,
    ClosedError,
    ClusterAuthorizationFailedError,
    KafkaError,
    KafkaTimeoutError,
    NetworkError,
    StateError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.produce import ProduceRequest
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.producing_cluster import make_producer, producing
from support.scripted_broker import CLOSE, SILENCE


@virtual_time
async def test_an_unknown_topic_is_waited_for_and_its_absence_named():
    async with producing(max_block_ms=2_000) as (cluster, producer):
        with pytest.raises(KafkaTimeoutError, match="payments"):
            await producer.send("payments", b"one")

        waiting = asyncio.ensure_future(producer.send_and_wait("later", b"two"))
        await asyncio.sleep(1)
        cluster.add_topic("later", [1])

        assert (await waiting).topic == "later"


@virtual_time
async def test_a_batch_for_an_unknown_topic_waits_as_long_as_a_record_and_for_a_later_one():
    async with producing(max_block_ms=2_000) as (cluster, producer):
        with pytest.raises(KafkaTimeoutError, match="payments"):
            await producer.send_batch("payments", [b"one", b"two"])
        assert current_clock().now() == pytest.approx(2, abs=0.1)

        waiting = asyncio.ensure_future(producer.send_batch("later", [b"three"]))
        await asyncio.sleep(1)
        cluster.add_topic("later", [1])

        assert [one.topic for one in await (await waiting)] == ["later"]
        assert cluster.values("later") == [b"three"]


@virtual_time
async def test_a_send_waits_no_longer_than_a_delivery_may_take_and_says_for_what():
    options = {"delivery_timeout_ms": 6_000, "request_timeout_ms": 1_000}
    async with producing(**options) as (cluster, producer):
        await cluster.kill(1)
        before = current_clock().now()

        with pytest.raises(KafkaTimeoutError) as caught:
            await producer.send("orders", b"one")

        assert current_clock().now() - before == pytest.approx(6, abs=0.1)
        text = str(caught.value)
        assert "no metadata of topic 'orders' within delivery_timeout_ms=6000" in text
        assert "broker1:9092" in text
        assert caught.value.definite
        assert caught.value.topic == "orders"


@virtual_time
async def test_the_first_send_waits_no_longer_either_for_a_broker_that_is_silent():
    async with producing() as (cluster, _):
        cluster.on(ApiVersionsRequest, SILENCE)
        producer = make_producer(cluster, max_block_ms=2_000)
        before = current_clock().now()

        with pytest.raises(KafkaError):
            await producer.send("orders", b"one")

        assert current_clock().now() - before == pytest.approx(2, abs=0.1)
        await producer.close()


@virtual_time
async def test_a_send_that_waits_for_room_says_which_limit_ended_it():
    async with producing(max_block_ms=100, buffer_memory=1_000) as (cluster, producer):
        cluster.on(ProduceRequest, SILENCE)
        await producer.send("orders", b"x" * 900)

        with pytest.raises(BufferExhaustedError, match="max_block_ms=100"):
            await producer.send("orders", b"x" * 900)

        await producer.close(timeout=0)


class UserError(Exception):
    """A mistake in the body of a ``with``."""


@virtual_time
async def test_an_error_of_the_application_is_not_held_back_by_an_outage():
    deliveries = []

    async def use(cluster):
        async with make_producer(cluster, bootstrap_servers="broker1:9092") as producer:
            await producer.send_and_wait("orders", b"one")
            await cluster.kill(1)
            deliveries.append(await producer.send("orders", b"two"))
            raise UserError

    async with producing() as (cluster, _):
        before = current_clock().now()
        with pytest.raises(UserError):
            await use(cluster)

        assert current_clock().now() - before <= 6
        assert isinstance(await _outcome(deliveries[0]), ClosedError)


@virtual_time
async def test_an_error_of_the_application_does_not_cost_records():
    async def use(cluster):
        async with make_producer(cluster, linger_ms=60_000) as producer:
            await producer.send("orders", b"one")
            raise UserError

    async with producing() as (cluster, _):
        with pytest.raises(UserError):
            await use(cluster)

        assert cluster.values() == [b"one"]


@virtual_time
async def test_on_delivery_is_called_for_a_record_that_had_to_wait_for_its_topic():
    told = []
    async with producing() as (cluster, producer):
        sending = asyncio.ensure_future(
            producer.send("later", b"two", on_delivery=lambda done: told.append(done.result()))
        )
        await asyncio.sleep(1)
        cluster.add_topic("later", [1])

        await (await sending)

        assert [metadata.offset for metadata in told] == [0]


@virtual_time
async def test_a_partition_that_does_not_exist_is_waited_for_and_its_absence_named():
    async with producing(max_block_ms=2_000) as (cluster, producer):
        with pytest.raises(KafkaTimeoutError, match="no partition 3"):
            await producer.send("orders", b"one", partition=3)

        waiting = asyncio.ensure_future(producer.send_and_wait("orders", b"two", partition=1))
        await asyncio.sleep(1)
        cluster.topics["orders"].leaders += [1]
        cluster.topics["orders"].epochs += [0]

        assert (await waiting).partition == 1


@pytest.mark.parametrize(
    ("answer", "cause"),
    [(None, UnknownTopicOrPartitionError), (CLOSE, NetworkError)],
    ids=["brokers answer", "brokers are away"],
)
@virtual_time
async def test_the_error_for_a_missing_partition_has_the_reason_as_its_cause(answer, cause):
    async with producing(max_block_ms=2_000) as (cluster, producer):
        await producer.partitions_for("orders")
        if answer is not None:
            cluster.on(MetadataRequest, answer)

        with pytest.raises(KafkaTimeoutError, match="no partition 3") as raised:
            await producer.send("orders", b"one", partition=3)

        assert isinstance(raised.value.__cause__, cause)


@virtual_time
async def test_without_a_producer_id_records_wait_until_there_is_one():
    unavailable = InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    async with producing() as (cluster, _):
        cluster.once(InitProducerIdRequest, *[unavailable] * 3, SILENCE, CLOSE)
        async with make_producer(cluster, request_timeout_ms=500) as producer:
            await producer.send_and_wait("orders", b"one")

        assert cluster.values() == [b"one"]


@virtual_time
async def test_a_producer_that_may_not_have_a_producer_id_gets_the_error():
    refused = InitProducerIdResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    async with producing() as (cluster, _):
        cluster.on(InitProducerIdRequest, refused)
        async with make_producer(cluster) as producer:
            delivery = await producer.send("orders", b"one")
            error = await asyncio.wait_for(asyncio.shield(_outcome(delivery)), 10)

        assert error.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


async def _outcome(delivery):
    try:
        return await delivery
    except Exception as error:
        return error


@virtual_time
async def test_a_record_that_may_not_be_written_fails_for_certain():
    async with producing() as (cluster, producer):
        cluster.once(ProduceRequest, cluster.refuse(ErrorCode.TOPIC_AUTHORIZATION_FAILED))

        with pytest.raises(TopicAuthorizationFailedError) as caught:
            await producer.send_and_wait("orders", b"secret")

        assert caught.value.definite
        assert caught.value.topic == "orders"
        await producer.send_and_wait("orders", b"next")
        assert cluster.values() == [b"next"]


@virtual_time
async def test_a_client_that_may_not_use_a_topic_gets_an_error_until_a_grant():
    async with producing() as (cluster, producer):
        cluster.deny("orders")
        with pytest.raises(TopicAuthorizationFailedError):
            await producer.send("orders", b"one")
        with pytest.raises(TopicAuthorizationFailedError):
            await producer.partitions_for("orders")
        cluster.deny()

        await asyncio.wait_for(producer.send_and_wait("orders", b"two"), 2)

        assert cluster.values() == [b"two"]


@virtual_time
async def test_a_topic_that_is_denied_is_asked_for_with_backoff():
    async with producing() as (cluster, producer):
        cluster.deny("orders")
        before = len(cluster.requests(MetadataRequest))
        end = current_clock().now() + 30
        while current_clock().now() < end:
            with pytest.raises(TopicAuthorizationFailedError):
                await producer.send("orders", b"one")

        assert len(cluster.requests(MetadataRequest)) - before <= 45


@virtual_time
async def test_a_producer_id_that_is_refused_is_asked_for_with_backoff():
    refused = InitProducerIdResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    async with producing(linger_ms=0) as (cluster, _):
        cluster.on(InitProducerIdRequest, refused)
        async with make_producer(cluster, linger_ms=0) as producer:
            end = current_clock().now() + 30
            while current_clock().now() < end:
                with pytest.raises(ClusterAuthorizationFailedError):
                    await producer.send_and_wait("orders", b"one")
            assert len(cluster.requests(InitProducerIdRequest)) <= 45
            cluster.on(InitProducerIdRequest, InitProducerIdResponse(producer_id=7))

            await asyncio.wait_for(producer.send_and_wait("orders", b"two"), 2)

        assert cluster.values() == [b"two"]


@virtual_time
async def test_a_record_that_was_never_sent_expires_for_certain():
    async with producing(nodes=2, delivery_timeout_ms=1_000, request_timeout_ms=300) as (
        cluster,
        producer,
    ):
        await producer.send_and_wait("orders", b"warm")
        await cluster.kill(1)

        delivery = await producer.send("orders", b"lost")
        with pytest.raises(KafkaTimeoutError) as caught:
            await delivery

        assert caught.value.definite
        assert "Unavailable" in str(caught.value) or "connect" in str(caught.value)


@virtual_time
async def test_a_send_that_finds_an_expired_record_does_not_run_its_callback():
    options = {"linger_ms": 0, "delivery_timeout_ms": 1_000, "request_timeout_ms": 300}
    async with producing(partitions=2, **options) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm", partition=1)
        cluster.move(0, 99)  # nobody: nothing is under way that would have it wait its turn
        producer._core.client.metadata_keeper.request_update()
        await asyncio.sleep(1)
        told = []
        await producer.send("orders", b"expires", partition=0, on_delivery=told.append)
        await asyncio.sleep(0.95)
        current_clock().advance(0.1)  # before the timer of the record has rung

        found = producer.send("orders", b"finds it", partition=1)
        assert told == []

        await asyncio.sleep(0)
        assert len(told) == 1
        assert (await (await found)).partition == 1

        given_up = await producer.send("orders", b"given up", partition=0, on_delivery=told.append)
        producer._core._sender.stop(StateError("the end"))
        assert len(told) == 2, "outside of a send it is told at once"
        assert isinstance(given_up.exception(0), StateError)


@virtual_time
async def test_an_answer_that_comes_after_the_end_of_the_sender_changes_nothing():
    async with producing(linger_ms=0) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm")
        refused = cluster.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        cluster.once(ProduceRequest, cluster.later(0.5, refused))
        delivery = await producer.send("orders", b"one")
        await asyncio.sleep(0.1)
        asked = len(cluster.requests(MetadataRequest))

        producer._core._sender.stop(ClosedError("the end"))
        await asyncio.sleep(1)

        with pytest.raises(ClosedError, match="the end"):
            await delivery
        assert producer.stats().failed_records == 1
        assert len(cluster.requests(MetadataRequest)) == asked


@virtual_time
async def test_after_a_bug_in_pyk_no_record_is_accepted_and_no_call_waits(monkeypatch, caplog):
    def fail(*arguments):
        raise ValueError("a bug")

    async with producing(partitions=2) as (_, producer):
        await producer.send_and_wait("orders", b"warm", partition=0)

        monkeypatch.setattr(MetadataImage, "leader", fail)
        with pytest.raises(StateError, match="a bug in pyk"):
            await producer.send_and_wait("orders", b"fails", partition=1)
        monkeypatch.undo()

        with pytest.raises(StateError, match="a bug in pyk"):
            await producer.send("orders", b"is refused", partition=0)
    caplog.clear()


@virtual_time
async def test_one_slow_node_does_not_hold_up_the_others():
    async with producing(nodes=2, partitions=2, linger_ms=0) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm", partition=0)
        cluster.once(ProduceRequest, cluster.append_and_keep_silent)
        slow = await producer.send("orders", b"slow", partition=0)
        await asyncio.sleep(0.01)

        for n in range(10):
            await asyncio.wait_for(
                producer.send_and_wait("orders", b"%d" % n, partition=1), timeout=1
            )

        assert not slow.done()
        await slow


@virtual_time
async def test_flush_ends_a_long_linger_and_with_its_timeout():
    async with producing(linger_ms=60_000) as (cluster, producer):
        delivery = await producer.send("orders", b"one")
        await producer.flush()
        assert delivery.done()

        cluster.on(ProduceRequest, SILENCE)
        await producer.send("orders", b"two")
        before = current_clock().now()
        with pytest.raises(KafkaTimeoutError, match="1 batch "):
            await producer.flush(timeout=2)
        assert current_clock().now() - before == pytest.approx(2, abs=0.01)
        await producer.close(timeout=0)


@virtual_time
async def test_close_delivers_sent_records_and_accepts_no_more():
    async with producing(linger_ms=60_000) as (cluster, producer):
        deliveries = [await producer.send("orders", b"%d" % n) for n in range(10)]

        await producer.close()
        await producer.close()

        assert all(delivery.done() for delivery in deliveries)
        assert len(cluster.values()) == 10
        with pytest.raises(ClosedError):
            await producer.send("orders", b"late")


@virtual_time
async def test_close_fails_records_that_are_not_settled_in_time():
    async with producing() as (cluster, producer):
        cluster.on(ProduceRequest, cluster.append_and_keep_silent)
        delivery = await producer.send("orders", b"one")
        before = current_clock().now()

        await producer.close(timeout=3)

        assert current_clock().now() - before <= 8.5
        with pytest.raises(ClosedError) as caught:
            await delivery
        assert not caught.value.definite
