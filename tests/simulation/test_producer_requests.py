"""What a producer asks of brokers, old and new, with more and fewer acknowledgements."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients.errors import KafkaTimeoutError
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.produce import ProduceRequest
from pyk.protocol.versions import VersionRange
from pyk.runtime.virtual_time import virtual_time
from support.producing_cluster import make_producer, producing


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
async def test_without_acknowledgements_records_are_sent_and_their_offsets_unknown():
    async with producing(acks=0, partitions=2) as (cluster, producer):
        results = [await producer.send_and_wait("orders", b"%d" % n) for n in range(5)]
        await asyncio.sleep(0.1)

        assert {result.offset for result in results} == {-1}
        assert sorted(cluster.values()) == [b"%d" % n for n in range(5)]


@virtual_time
async def test_without_acknowledgements_records_wait_for_a_broker_that_is_down():
    async with producing(acks=0, delivery_timeout_ms=60_000) as (cluster, producer):
        await producer.send_and_wait("orders", b"before")
        await asyncio.sleep(0.1)
        await cluster.kill(1)
        sends = [asyncio.ensure_future(producer.send_and_wait("orders", b"x")) for _ in range(20)]
        await asyncio.sleep(45)  # longer than a request waits
        await cluster.start(1)

        await asyncio.gather(*sends)
        await producer.send_and_wait("orders", b"after")
        await asyncio.sleep(0.1)

        assert cluster.values() == [b"before", *[b"x"] * 20, b"after"]


@virtual_time
async def test_without_acknowledgements_records_of_a_broker_that_stays_down_expire():
    async with producing(acks=0, delivery_timeout_ms=40_000) as (cluster, producer):
        await producer.send_and_wait("orders", b"before")
        await cluster.kill(1)

        with pytest.raises(KafkaTimeoutError):
            await producer.send_and_wait("orders", b"lost")

        await cluster.start(1)
        await producer.send_and_wait("orders", b"after")


@virtual_time
async def test_with_one_acknowledgement_there_is_no_producer_id():
    async with producing(acks=1) as (cluster, producer):
        assert (await producer.send_and_wait("orders", b"one")).offset == 0

        assert cluster.requests(InitProducerIdRequest) == []
        assert cluster.requests(ProduceRequest)[0].message.acks == 1


@virtual_time
async def test_an_old_broker_gets_topics_by_name():
    async with producing() as (cluster, _):
        cluster.versions[ApiKey.PRODUCE] = VersionRange(3, 7)
        cluster.versions[ApiKey.METADATA] = VersionRange(0, 5)
        async with make_producer(cluster) as producer:
            await producer.send_and_wait("orders", b"one")

        assert cluster.requests(ProduceRequest)[-1].version == 7
        assert cluster.values() == [b"one"]


@pytest.mark.parametrize("highest", [1, 3])
def test_a_broker_that_always_creates_topics_can_be_asked(highest):
    @virtual_time
    async def run():
        async with producing() as (cluster, _):
            cluster.versions[ApiKey.METADATA] = VersionRange(0, highest)
            async with make_producer(cluster) as producer:
                assert await producer.partitions_for("orders") == {0}

    run()


@virtual_time
async def test_without_topic_ids_a_new_broker_gets_topics_by_name():
    async with producing() as (cluster, _):
        cluster.versions[ApiKey.METADATA] = VersionRange(0, 9)
        async with make_producer(cluster) as producer:
            await producer.send_and_wait("orders", b"one")

        assert cluster.requests(ProduceRequest)[-1].version == 12


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


def topics_asked_for(cluster):
    return [topic.name for topic in cluster.requests(MetadataRequest)[-1].message.topics]


@virtual_time
async def test_a_topic_that_was_only_looked_at_is_not_asked_for_again():
    async with producing(metadata_max_age_ms=1_000) as (cluster, producer):
        assert await producer.partitions_for("orders") == {0}

        await asyncio.sleep(3)

        assert topics_asked_for(cluster) == []


@virtual_time
async def test_a_topic_that_never_came_is_not_asked_for_again():
    async with producing(metadata_max_age_ms=1_000, max_block_ms=500) as (cluster, producer):
        with pytest.raises(KafkaTimeoutError):
            await producer.send("misspelt", b"one")

        await asyncio.sleep(3)

        assert topics_asked_for(cluster) == []


def create_topics(cluster):
    """Let the brokers create topics as the requests for metadata allow."""

    def metadata(request):
        for topic in request.topics or ():
            if request.allow_auto_topic_creation and topic.name not in cluster.topics:
                cluster.add_topic(topic.name, [1])
        return cluster.metadata(request)

    cluster.on(MetadataRequest, metadata)


@virtual_time
async def test_a_topic_that_is_sent_to_is_created():
    async with producing() as (cluster, producer):
        create_topics(cluster)

        await producer.send_and_wait("new", b"one")

        assert cluster.values("new") == [b"one"]


@virtual_time
async def test_a_deleted_topic_does_not_come_back():
    async with producing(metadata_max_age_ms=1_000) as (cluster, producer):
        create_topics(cluster)
        await producer.send_and_wait("orders", b"one")
        await producer.send_and_wait("payments", b"one")
        del cluster.topics["orders"]

        await asyncio.sleep(5)
        await producer.send_and_wait("invoices", b"one")
        await asyncio.sleep(5)

        assert sorted(cluster.topics) == ["invoices", "payments"]


@virtual_time
async def test_a_deleted_topic_comes_back_if_it_is_sent_to():
    async with producing(metadata_max_age_ms=1_000) as (cluster, producer):
        create_topics(cluster)
        await producer.send_and_wait("orders", b"one")
        del cluster.topics["orders"]
        await asyncio.sleep(5)

        await producer.send_and_wait("orders", b"two")

        assert "orders" in cluster.topics


@virtual_time
async def test_a_record_that_comes_alone_leaves_before_the_next_turn_of_the_loop():
    async with producing(linger_ms=0) as (_, producer):
        await producer.send_and_wait("orders", b"first")

        await producer.send("orders", b"alone")

        assert producer.stats().in_flight_requests == 1


@virtual_time
async def test_records_that_come_while_one_is_under_way_share_a_request():
    async with producing(linger_ms=0) as (cluster, producer):
        await producer.send_and_wait("orders", b"first")

        sending = [producer.send_and_wait("orders", b"%d" % n) for n in range(20)]
        await asyncio.gather(*sending)

        assert len(cluster.requests(ProduceRequest)) == 3
        assert cluster.values() == [b"first", *(b"%d" % n for n in range(20))]


@virtual_time
async def test_records_sent_by_a_delivery_callback_follow_earlier_ones():
    async with producing(linger_ms=0) as (cluster, producer):
        await producer.send_and_wait("orders", b"first")

        def send_more(_: object) -> None:
            producer.send("orders", b"of the callback")

        first = await producer.send("orders", b"0", on_delivery=send_more)
        for number in range(1, 4):
            await producer.send("orders", b"%d" % number)
        await first
        await producer.flush()

        assert cluster.values() == [b"first", b"0", b"1", b"2", b"3", b"of the callback"]
