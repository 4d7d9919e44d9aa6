"""What a producer asks of brokers, old and new, with more and fewer acknowledgements."""

from __future__ import annotations

import asyncio

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.produce import ProduceRequest
from pyk.protocol.versions import VersionRange
from support.producing_cluster import make_producer, producing
from support.virtual_time import virtual_time


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
