"""Records arrive in their order, each once, whatever brokers do."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients.errors import (
    KafkaError,
    KafkaTimeoutError,
    OutOfOrderSequenceNumberError,
    UnknownCodeError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.produce import ProduceRequest, ProduceResponse
from pyk.protocol.records import read_batches
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.producing_cluster import producing
from support.scripted_broker import CLOSE, SILENCE


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
async def test_first_sends_of_many_tasks_keep_the_order_of_their_calls():
    async with producing() as (cluster, producer):
        sends = [
            asyncio.ensure_future(producer.send_and_wait("orders", b"%d" % n)) for n in range(200)
        ]

        await asyncio.gather(*sends)

        assert cluster.values() == [b"%d" % n for n in range(200)]


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
async def test_an_answer_without_the_partition_is_asked_again():
    async with producing() as (cluster, producer):
        cluster.once(ProduceRequest, ProduceResponse())

        await producer.send_and_wait("orders", b"one")

        assert cluster.values() == [b"one"]


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
async def test_a_leader_of_an_old_epoch_does_not_cancel_the_backoff():
    async with producing(nodes=2) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm")
        cluster.names_leaders = True  # of the epoch that the producer knows
        cluster.on(ProduceRequest, cluster.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER))

        delivery = await producer.send("orders", b"one")
        await asyncio.sleep(1)

        assert 3 <= len(cluster.requests(ProduceRequest)) - 1 <= 5
        cluster.on(ProduceRequest, cluster.produce)
        await delivery


@virtual_time
async def test_a_restarted_node_gets_the_records_that_waited_for_it():
    async with producing(nodes=2) as (cluster, producer):
        await producer.send_and_wait("orders", b"before")
        await cluster.kill(1)
        delivery = await producer.send("orders", b"meanwhile")
        await asyncio.sleep(3)
        await cluster.start(1)

        await delivery

        assert cluster.values() == [b"before", b"meanwhile"]


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
async def test_a_waiter_that_leaves_does_not_disturb_the_order():
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
async def test_records_whose_answers_were_lost_in_a_restart_are_not_stored_twice():
    async with producing(batch_size=0, linger_ms=0, latency=0.01) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm")
        cluster.once(ProduceRequest, *[cluster.append_and_keep_silent] * 5)
        deliveries = [await producer.send("orders", b"%d" % n) for n in range(5)]
        await asyncio.sleep(0.5)
        await cluster.kill(1)
        cluster.log().restart()
        await cluster.start(1)

        results = await asyncio.gather(*deliveries, return_exceptions=True)
        await producer.send_and_wait("orders", b"after")

        assert cluster.values() == [b"warm", b"0", b"1", b"2", b"3", b"4", b"after"]
        unknown, known = results[:4], results[4]
        assert all(isinstance(e, OutOfOrderSequenceNumberError) for e in unknown)
        assert not any(error.definite for error in unknown)
        assert known.offset == 5


@virtual_time
async def test_a_batch_after_one_in_doubt_is_sent_again_with_the_same_bytes():
    async with producing(batch_size=0, linger_ms=0, latency=0.01) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm")
        appended = [cluster.append_and_keep_silent] * 3
        cluster.once(ProduceRequest, *appended, SILENCE, SILENCE)
        deliveries = [await producer.send("orders", b"%d" % n) for n in range(5)]
        await asyncio.sleep(0.5)
        await cluster.kill(1)
        cluster.log().restart()
        await cluster.start(1)

        results = await asyncio.gather(*deliveries, return_exceptions=True)

        assert cluster.values() == [b"warm", b"0", b"1", b"2", b"3", b"4"]
        assert [isinstance(result, KafkaError) for result in results] == [True, True, *[False] * 3]
        assert [result.offset for result in results[2:]] == [3, 4, 5]


@virtual_time
async def test_fencing_does_not_send_batches_in_doubt_again():
    async with producing(batch_size=0, linger_ms=0, latency=0.01) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm")
        fenced = cluster.refuse(ErrorCode.INVALID_PRODUCER_EPOCH)
        cluster.once(
            ProduceRequest,
            cluster.refuse(ErrorCode.NOT_ENOUGH_REPLICAS),
            cluster.append_and_answer(ErrorCode.REQUEST_TIMED_OUT),
            fenced,
        )
        cluster.log().producers[1001].next_sequence += 1  # as if it had the refused one
        deliveries = [await producer.send("orders", b"%d" % n) for n in range(3)]

        results = await asyncio.gather(*deliveries, return_exceptions=True)

        assert cluster.values().count(b"1") == 1
        assert isinstance(results[1], KafkaError)
        assert not results[1].definite


@virtual_time
async def test_a_record_overtaken_by_a_later_one_is_not_written_after_it():
    async with producing(batch_size=0, linger_ms=0, latency=0.01) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm")
        cluster.log().forget_producers()
        cluster.once(ProduceRequest, cluster.refuse(ErrorCode.NOT_ENOUGH_REPLICAS))
        deliveries = [await producer.send("orders", b"%d" % n) for n in range(3)]

        results = await asyncio.gather(*deliveries, return_exceptions=True)

        assert cluster.values() == [b"warm", b"1", b"2"]
        assert isinstance(results[0], OutOfOrderSequenceNumberError)


@virtual_time
async def test_an_unknown_error_code_does_not_give_the_sequence_to_the_next_record():
    async with producing(batch_size=0, linger_ms=0) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm")
        cluster.once(ProduceRequest, cluster.append_and_answer(ErrorCode(31_000)))
        with pytest.raises(UnknownCodeError) as caught:
            await producer.send_and_wait("orders", b"0")
        assert not caught.value.definite

        await producer.send_and_wait("orders", b"1")

        assert cluster.values() == [b"warm", b"0", b"1"]


@virtual_time
async def test_a_duplicate_that_was_sent_once_only_is_no_success():
    async with producing(batch_size=0, linger_ms=0) as (cluster, producer):
        await producer.send_and_wait("orders", b"warm")
        cluster.once(ProduceRequest, cluster.refuse(ErrorCode.DUPLICATE_SEQUENCE_NUMBER))

        await producer.send_and_wait("orders", b"0")

        assert cluster.values() == [b"warm", b"0"]
