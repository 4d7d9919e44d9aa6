"""A producer beside brokers that fail, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients.errors import (
    BufferExhaustedError,
    ClosedError,
    KafkaTimeoutError,
    RecordTooLargeError,
    TopicAuthorizationFailedError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.produce import ProduceRequest, ProduceResponse
from pyk.protocol.records import read_batches
from support.producing_cluster import make_producer, producing
from support.scripted_broker import CLOSE, SILENCE
from support.virtual_time import current_clock, virtual_time


def batches_sent(cluster):
    """Return the bytes of every batch that reached a broker, oldest first."""
    return [
        bytes(partition.records)
        for received in cluster.requests(ProduceRequest)
        for topic in received.message.topic_data
        for partition in topic.partition_data
    ]


@virtual_time
async def test_records_arrive_in_order_and_deliveries_know_where():
    async with producing() as (cluster, producer):
        deliveries = [await producer.send("orders", b"%d" % n) for n in range(500)]

        results = [await delivery for delivery in deliveries]

        assert [result.offset for result in results] == list(range(500))
        assert cluster.values() == [b"%d" % n for n in range(500)]


@virtual_time
async def test_keys_headers_and_timestamps_arrive():
    async with producing(partitions=6) as (cluster, producer):
        result = await producer.send_and_wait(
            "orders",
            "value",
            "a-little-bit-long-string",
            headers={"a": b"1", "b": None},
            timestamp_ms=77,
        )

        log = cluster.log(partition=result.partition)
        assert result.partition == 2  # its murmur2, -985981536, made positive, modulo 6
        assert log.keys == [b"a-little-bit-long-string"]
        assert log.headers == [(("a", b"1"), ("b", None))]
        assert log.timestamps == [77]
        assert result.timestamp == 77


@virtual_time
async def test_a_lost_produce_response_does_not_duplicate():
    async with producing() as (cluster, producer):
        cluster.once(ProduceRequest, cluster.append_and_close)

        result = await producer.send_and_wait("orders", b"one")

        assert result.offset == 0
        assert cluster.values() == [b"one"]


@virtual_time
async def test_a_retried_batch_is_the_same_bytes():
    async with producing() as (cluster, producer):
        cluster.once(ProduceRequest, cluster.append_and_close, SILENCE, CLOSE)
        deliveries = [await producer.send("orders", b"%d" % n) for n in range(10)]
        await producer.flush()
        for _ in range(10):
            await producer.send("orders", b"more")
        await producer.flush()

        first, *retries, _ = batches_sent(cluster)
        assert len(retries) == 3
        assert set(retries) == {first}
        assert [(await delivery).offset for delivery in deliveries] == list(range(10))


@virtual_time
async def test_the_first_of_five_in_flight_is_lost_and_nothing_is_out_of_order_or_twice():
    async with producing(batch_size=0, latency=0.01) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm")
        cluster.once(ProduceRequest, cluster.append_and_close)

        deliveries = [await producer.send("orders", b"%d" % n) for n in range(5)]

        assert [(await delivery).offset for delivery in deliveries] == [1, 2, 3, 4, 5]
        assert cluster.values() == [b"warm", *[b"%d" % n for n in range(5)]]


@virtual_time
async def test_the_first_of_five_in_flight_is_refused_and_the_others_wait_for_it():
    async with producing(batch_size=0, latency=0.01) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm")
        cluster.once(ProduceRequest, cluster.refuse(ErrorCode.NOT_ENOUGH_REPLICAS))

        deliveries = [await producer.send("orders", b"%d" % n) for n in range(8)]
        await asyncio.gather(*deliveries)

        assert cluster.values() == [b"warm", *[b"%d" % n for n in range(8)]]


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_an_error_after_the_append_is_no_failure_and_no_duplicate(code):
    @virtual_time
    async def run():
        async with producing() as (cluster, producer):
            cluster.once(ProduceRequest, cluster.append_and_answer(code))

            result = await producer.send_and_wait("orders", b"one")

            assert result.offset == 0
            assert cluster.values() == [b"one"]

    run()


@virtual_time
async def test_records_follow_their_leader_in_order():
    async with producing(nodes=3, batch_size=0) as (cluster, producer):
        deliveries = []
        for n in range(60):
            deliveries.append(await producer.send("orders", b"%d" % n))
            if n % 7 == 0:
                await asyncio.sleep(0.002)
                cluster.move(0, node_id=1 + n % 3)
        await asyncio.gather(*deliveries)

        assert cluster.values() == [b"%d" % n for n in range(60)]


@virtual_time
async def test_a_leader_named_by_the_old_one_is_used_at_once():
    async with producing(nodes=2) as (cluster, producer):
        cluster.names_leaders = True
        await producer.send_and_wait("orders", b"warm")
        cluster.on(MetadataRequest, SILENCE)
        cluster.move(0, node_id=2)
        before = current_clock().now()

        await producer.send_and_wait("orders", b"moved")

        assert current_clock().now() - before < 0.05
        assert cluster.values() == [b"warm", b"moved"]


@virtual_time
async def test_a_topic_that_vanishes_for_a_moment_does_not_reset_sequences():
    async with producing() as (cluster, producer):
        await producer.send_and_wait("orders", b"before")
        cluster.topics["orders"].error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        delivery = await producer.send("orders", b"meanwhile")
        await asyncio.sleep(0.5)
        assert not delivery.done()

        cluster.topics["orders"].error_code = 0
        await delivery
        await producer.send_and_wait("orders", b"after")

        assert cluster.values() == [b"before", b"meanwhile", b"after"]
        headers = [batch for data in batches_sent(cluster) for batch in read_batches(data)]
        assert {header.producer_epoch for header in headers} == {0}


@virtual_time
async def test_after_a_delivery_that_may_have_been_written_expired_all_goes_on_exactly_once():
    async with producing(delivery_timeout_ms=1_000, request_timeout_ms=300, linger_ms=0) as (
        cluster,
        producer,
    ):
        cluster.on(ProduceRequest, cluster.append_and_keep_silent)
        delivery = await producer.send("orders", b"doubtful")
        with pytest.raises(KafkaTimeoutError, match="not acknowledged") as caught:
            await delivery
        assert not caught.value.definite
        cluster.on(ProduceRequest, cluster.produce)

        for n in range(5):
            await producer.send_and_wait("orders", b"%d" % n)

        assert cluster.values() == [b"doubtful", b"0", b"1", b"2", b"3", b"4"]


@virtual_time
async def test_after_a_delivery_that_never_arrived_expired_all_goes_on_exactly_once():
    async with producing(
        delivery_timeout_ms=1_000, request_timeout_ms=300, linger_ms=0, batch_size=0
    ) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm")
        cluster.on(ProduceRequest, SILENCE)
        lost = [await producer.send("orders", b"lost %d" % n) for n in range(3)]
        await asyncio.sleep(0.9)
        late = [await producer.send("orders", b"late %d" % n) for n in range(3)]
        results = await asyncio.gather(*lost, return_exceptions=True)
        cluster.on(ProduceRequest, cluster.produce)
        await asyncio.gather(*late)

        assert all(isinstance(result, KafkaTimeoutError) for result in results)
        assert cluster.values() == [b"warm", b"late 0", b"late 1", b"late 2"]


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
async def test_who_stops_waiting_does_not_disturb_the_order():
    async with producing(linger_ms=0) as (cluster, producer):
        cluster.once(ProduceRequest, cluster.append_and_keep_silent)
        waiting = asyncio.ensure_future(producer.send_and_wait("orders", b"cancelled"))
        await asyncio.sleep(0.01)
        waiting.cancel()

        for n in range(5):
            await producer.send("orders", b"%d" % n)
        await producer.flush()

        assert cluster.values() == [b"cancelled", b"0", b"1", b"2", b"3", b"4"]


@virtual_time
async def test_a_broker_that_lost_its_memory_of_the_producer_gets_a_new_order():
    async with producing(batch_size=0) as (cluster, producer):
        for n in range(3):
            await producer.send_and_wait("orders", b"%d" % n)
        cluster.once(ProduceRequest, cluster.refuse(ErrorCode.UNKNOWN_PRODUCER_ID))

        await producer.send_and_wait("orders", b"3")

        assert cluster.values() == [b"0", b"1", b"2", b"3"]
        (header,) = read_batches(batches_sent(cluster)[-1])
        assert (header.producer_epoch, header.base_sequence) == (1, 0)


@virtual_time
async def test_a_fenced_producer_goes_on_with_a_new_id():
    async with producing() as (cluster, producer):
        cluster.once(ProduceRequest, cluster.refuse(ErrorCode.INVALID_PRODUCER_EPOCH))

        await producer.send_and_wait("orders", b"one")

        ids = [next(iter(read_batches(data))).producer_id for data in batches_sent(cluster)]
        assert ids == [1001, 1002]


@virtual_time
async def test_a_batch_that_is_too_large_is_split_until_it_fits():
    async with producing() as (cluster, producer):
        cluster.log().max_batch_bytes = 400
        deliveries = [
            await producer.send("orders", b"%02d" % n + b"x" * 40, b"key", headers={"h": b"v"})
            for n in range(40)
        ]

        results = await asyncio.gather(*deliveries)

        assert [result.offset for result in results] == list(range(40))
        assert [value[:2] for value in cluster.values()] == [b"%02d" % n for n in range(40)]
        assert set(cluster.log().keys) == {b"key"}
        assert cluster.log().batches > 5
        assert producer.stats().buffer_available_bytes == producer.stats().buffer_total_bytes


@virtual_time
async def test_a_single_record_that_is_too_large_fails_and_others_go_on():
    async with producing(batch_size=0) as (cluster, producer):
        cluster.log().max_batch_bytes = 400
        before = await producer.send("orders", b"small")
        large = await producer.send("orders", b"x" * 1_000)
        after = await producer.send("orders", b"after")

        with pytest.raises(RecordTooLargeError) as caught:
            await large
        assert caught.value.definite
        await asyncio.gather(before, after)

        assert cluster.values() == [b"small", b"after"]


@virtual_time
async def test_a_record_larger_than_a_request_is_refused_at_once():
    async with producing(max_request_size=1_000) as (_, producer):
        with pytest.raises(RecordTooLargeError, match="max_request_size=1000"):
            await producer.send("orders", b"x" * 1_000)


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
async def test_without_a_producer_id_records_wait_until_there_is_one():
    unavailable = InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    async with producing() as (cluster, _):
        cluster.once(InitProducerIdRequest, *[unavailable] * 3, SILENCE, CLOSE)
        async with make_producer(cluster, request_timeout_ms=500) as producer:
            await producer.send_and_wait("orders", b"one")

        assert cluster.values() == [b"one"]


@virtual_time
async def test_who_may_not_have_a_producer_id_hears_it():
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
async def test_a_full_buffer_makes_send_wait_and_never_fail_while_brokers_answer():
    async with producing(buffer_memory=10_000, batch_size=2_000) as (cluster, producer):
        for n in range(1_000):
            await producer.send("orders", b"%05d" % n + b"x" * 100)
            assert producer.stats().buffer_available_bytes >= 0
        await producer.flush()

        assert [int(value[:5]) for value in cluster.values()] == list(range(1_000))


@virtual_time
async def test_many_tasks_that_wait_for_room_all_get_it():
    async with producing(buffer_memory=2_000, batch_size=1_000) as (cluster, producer):
        await asyncio.gather(
            *[producer.send_and_wait("orders", b"%03d" % n + b"x" * 500) for n in range(200)]
        )

        assert sorted(int(value[:3]) for value in cluster.values()) == list(range(200))
        assert producer.stats().buffer_available_bytes == 2_000


@virtual_time
async def test_a_buffer_that_stays_full_ends_the_wait_with_max_block_ms():
    async with producing(buffer_memory=1_000, max_block_ms=500) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm")
        cluster.on(ProduceRequest, SILENCE)
        await producer.send("orders", b"x" * 900)
        before = current_clock().now()

        with pytest.raises(BufferExhaustedError, match="max_block_ms=500"):
            await producer.send("orders", b"y" * 900)

        assert current_clock().now() - before == pytest.approx(0.5, abs=0.01)
        await producer.close(timeout=1)


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
async def test_a_partition_that_does_not_exist_is_waited_for_and_its_absence_named():
    async with producing(max_block_ms=2_000) as (cluster, producer):
        with pytest.raises(KafkaTimeoutError, match="no partition 3"):
            await producer.send("orders", b"one", partition=3)

        waiting = asyncio.ensure_future(producer.send_and_wait("orders", b"two", partition=1))
        await asyncio.sleep(1)
        cluster.topics["orders"].leaders += [1]
        cluster.topics["orders"].epochs += [0]

        assert (await waiting).partition == 1


@virtual_time
async def test_without_acknowledgements_records_are_sent_and_their_offsets_unknown():
    async with producing(acks=0, partitions=2) as (cluster, producer):
        results = [await producer.send_and_wait("orders", b"%d" % n) for n in range(5)]
        await asyncio.sleep(0.1)

        assert {result.offset for result in results} == {-1}
        assert sorted(cluster.values()) == [b"%d" % n for n in range(5)]


@virtual_time
async def test_with_one_acknowledgement_there_is_no_producer_id():
    async with producing(acks=1) as (cluster, producer):
        assert (await producer.send_and_wait("orders", b"one")).offset == 0

        assert cluster.requests(InitProducerIdRequest) == []
        assert cluster.requests(ProduceRequest)[0].message.acks == 1


@virtual_time
async def test_a_node_that_is_restarted_gets_what_waited_for_it():
    async with producing(nodes=2) as (cluster, producer):
        await producer.send_and_wait("orders", b"before")
        await cluster.kill(1)
        delivery = await producer.send("orders", b"meanwhile")
        await asyncio.sleep(3)
        await cluster.start(1)

        await delivery

        assert cluster.values() == [b"before", b"meanwhile"]


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
async def test_requests_hold_several_partitions_and_stay_within_their_size():
    async with producing(partitions=20, max_request_size=5_000, linger_ms=1_000) as (
        cluster,
        producer,
    ):
        for n in range(200):
            await producer.send("orders", b"x" * 100, partition=n % 20)
        await producer.flush()

        sizes = [
            sum(
                len(part.records)
                for topic in one.message.topic_data
                for part in topic.partition_data
            )
            for one in cluster.requests(ProduceRequest)
        ]
        assert len(cluster.values()) == 200
        assert max(sizes) <= 5_000
        assert len(sizes) < 10


@virtual_time
async def test_flush_ends_a_long_linger_and_with_its_timeout():
    async with producing(linger_ms=60_000) as (cluster, producer):
        delivery = await producer.send("orders", b"one")
        await producer.flush()
        assert delivery.done()

        cluster.on(ProduceRequest, SILENCE)
        await producer.send("orders", b"two")
        before = current_clock().now()
        with pytest.raises(KafkaTimeoutError, match="1 batches"):
            await producer.flush(timeout=2)
        assert current_clock().now() - before == pytest.approx(2, abs=0.01)
        await producer.close(timeout=0)


@virtual_time
async def test_close_delivers_what_was_sent_and_accepts_nothing_more():
    async with producing(linger_ms=60_000) as (cluster, producer):
        deliveries = [await producer.send("orders", b"%d" % n) for n in range(10)]

        await producer.close()
        await producer.close()

        assert all(delivery.done() for delivery in deliveries)
        assert len(cluster.values()) == 10
        with pytest.raises(ClosedError):
            await producer.send("orders", b"late")


@virtual_time
async def test_close_gives_up_what_is_not_settled_in_time():
    async with producing() as (cluster, producer):
        cluster.on(ProduceRequest, cluster.append_and_keep_silent)
        delivery = await producer.send("orders", b"one")
        before = current_clock().now()

        await producer.close(timeout=3)

        assert current_clock().now() - before <= 8.5
        with pytest.raises(ClosedError) as caught:
            await delivery
        assert not caught.value.definite


@virtual_time
async def test_a_topic_that_is_not_used_any_more_is_forgotten_and_found_again():
    async with producing(metadata_max_idle_ms=5_000, metadata_max_age_ms=1_000) as (
        cluster,
        producer,
    ):
        await producer.send_and_wait("orders", b"one")
        await asyncio.sleep(10)
        asked = cluster.requests(MetadataRequest)[-1].message
        assert asked.topics == []

        await producer.send_and_wait("orders", b"two")

        assert cluster.values() == [b"one", b"two"]


@virtual_time
async def test_an_old_broker_gets_topics_by_name():
    from pyk.protocol.api_keys import ApiKey
    from pyk.protocol.versions import VersionRange

    async with producing() as (cluster, _):
        cluster.versions[ApiKey.PRODUCE] = VersionRange(3, 7)
        cluster.versions[ApiKey.METADATA] = VersionRange(0, 5)
        async with make_producer(cluster) as producer:
            await producer.send_and_wait("orders", b"one")

        assert cluster.requests(ProduceRequest)[-1].version == 7
        assert cluster.values() == [b"one"]


@virtual_time
async def test_without_topic_ids_a_new_broker_gets_topics_by_name():
    from pyk.protocol.api_keys import ApiKey
    from pyk.protocol.versions import VersionRange

    async with producing() as (cluster, _):
        cluster.versions[ApiKey.METADATA] = VersionRange(0, 9)
        async with make_producer(cluster) as producer:
            await producer.send_and_wait("orders", b"one")

        assert cluster.requests(ProduceRequest)[-1].version == 12


@virtual_time
async def test_an_answer_without_the_partition_is_asked_again():
    async with producing() as (cluster, producer):
        cluster.once(ProduceRequest, ProduceResponse())

        await producer.send_and_wait("orders", b"one")

        assert cluster.values() == [b"one"]
