"""Hostile fetch and group responses raise typed errors in time, and other partitions are read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from crc32c import crc32c

from pyk.clients import TopicPartition
from pyk.clients.errors import (
    CorruptRecordError,
    InconsistentGroupProtocolError,
    KafkaError,
    MalformedResponseError,
    RecordTooLargeError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from pyk.protocol.messages.fetch import FetchRequest
from pyk.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pyk.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from pyk.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from pyk.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from pyk.protocol.records import Compression
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.batches import batch
from support.consuming import P0, FetchingCluster, fetching, make_consumer, read


def resealed(data: bytearray) -> bytearray:
    """Correct the checksum, so that only the other damage remains."""
    data[17:21] = crc32c(data[21:]).to_bytes(4, "big")
    return data


def with_int32(position: int, value: int) -> Callable[[bytearray], bytearray]:
    def change(data: bytearray) -> bytearray:
        data[position : position + 4] = value.to_bytes(4, "big", signed=True)
        return resealed(data)

    return change


def with_byte(position: int, value: int) -> Callable[[bytearray], bytearray]:
    def change(data: bytearray) -> bytearray:
        data[position] = value
        return resealed(data)

    return change


def flipped(data: bytearray) -> bytearray:
    data[-2] ^= 0xFF
    return data


def with_huge_header_count(data: bytearray) -> bytearray:
    data[-1] = 0x7E
    return resealed(data)


DAMAGES = {
    "wrong CRC": (flipped, CorruptRecordError),
    "count -5": (with_int32(57, -5), CorruptRecordError),
    "count 0 with bytes": (with_int32(57, 0), CorruptRecordError),
    "count 2^31-1": (with_int32(57, 2**31 - 1), CorruptRecordError),
    "last offset delta below the count": (with_int32(23, 0), CorruptRecordError),
    "header count beyond the record": (with_huge_header_count, CorruptRecordError),
    "record length beyond the batch": (with_byte(61, 0x7E), CorruptRecordError),
    "overlong varint": (with_byte(61, 0xFF), CorruptRecordError),
    "codec 7": (with_byte(22, 7), UnsupportedCompressionTypeError),
    "magic 7": (with_byte(16, 7), UnsupportedForMessageFormatError),
    "magic 1": (with_byte(16, 1), CorruptRecordError),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@virtual_time
async def test_a_corrupt_batch_raises_at_every_poll_until_the_application_seeks_past_it(damage):
    change, error = damage
    async with fetching(leaders=(1, 1)) as (cluster, consumer):
        cluster.append([b"a", b"b"])
        cluster.append_bytes(bytes(change(batch(2, [b"c", b"d"]))), 2, 4)
        cluster.append([b"e", b"f"])
        cluster.append([b"%d" % n for n in range(100)], partition=1)
        seen: list[bytes] = []
        errors: list[KafkaError] = []

        for _ in range(10):
            began = current_clock().now()
            try:
                seen += [record.value for record in await consumer.poll(0.5, max_records=20)]
            except error as caught:
                errors.append(caught)
            assert current_clock().now() - began < 0.75

        assert len(errors) >= 3
        assert {(caught.topic_partition, caught.offset) for caught in errors} == {(P0, 2)}
        assert len(str(errors[0])) < 600
        assert await consumer.position(P0) == 2
        assert [value for value in seen if not value.isdigit()] == [b"a", b"b"]
        assert [value for value in seen if value.isdigit()] == [b"%d" % n for n in range(100)]
        assert not consumer.health().is_healthy
        consumer.seek(P0, 4)
        assert await read(consumer, 2) == [b"e", b"f"]
        assert consumer.health().is_healthy


@pytest.mark.parametrize("codec", [c for c in Compression if c is not Compression.NONE])
@virtual_time
async def test_a_decompression_bomb_raises_and_the_records_after_it_are_read(codec):
    bomb = batch(0, [bytes(3 * 1024 * 1024)], compression=codec)
    assert len(bomb) < 300_000
    async with fetching(max_decompressed_bytes=1024 * 1024) as (cluster, consumer):
        cluster.append_bytes(bytes(bomb), 0, 1)
        cluster.append([b"after"])

        with pytest.raises(RecordTooLargeError, match="seek to offset 1"):
            await consumer.poll(5)
        consumer.seek(P0, 1)
        assert await read(consumer, 1) == [b"after"]


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 5, 2**31 - 1])
@virtual_time
async def test_an_invalid_batch_length_raises_without_fetching_endlessly(length):
    data = batch(0, [b"a"])
    data[8:12] = length.to_bytes(4, "big", signed=True)
    async with fetching() as (cluster, consumer):
        cluster.append_bytes(bytes(data), 0, 1)

        for _ in range(3):
            with pytest.raises(CorruptRecordError) as caught:
                await consumer.poll(5)
            assert caught.value.offset == 0
        assert len(cluster.requests(FetchRequest)) < 10


@virtual_time
async def test_offsets_that_jump_far_ahead_do_not_reset_the_position():
    # The checksum does not cover the base offset, so an offset to fetch from must not rely on it.
    async with fetching(auto_offset_reset="latest") as (cluster, consumer):
        cluster.append([b"a"])
        liar = batch(1, [b"b"])
        liar[0:8] = (2**60).to_bytes(8, "big")
        liar[61] = 0x7E
        cluster.append_bytes(bytes(liar), 1, 2)
        consumer.seek(P0, 0)

        assert await read(consumer, 1) == [b"a"]
        with pytest.raises(CorruptRecordError):
            await consumer.poll(5)
        assert await consumer.position(P0) == 1


@virtual_time
async def test_negative_offsets_are_refused():
    liar = batch(0, [b"a"])
    liar[0:8] = (-9).to_bytes(8, "big", signed=True)
    async with fetching() as (cluster, consumer):
        cluster.append_bytes(bytes(liar), 0, 1)

        with pytest.raises(CorruptRecordError):
            await consumer.poll(5)


@virtual_time
async def test_an_empty_batch_is_skipped():
    empty = bytearray(batch(0, [b"gone"])[:61])
    empty[57:61] = bytes(4)
    empty[8:12] = (61 - 12).to_bytes(4, "big")
    empty[23:27] = (9).to_bytes(4, "big")
    async with fetching() as (cluster, consumer):
        cluster.append_bytes(bytes(resealed(empty)), 0, 10)
        await consumer.poll(1)
        assert await consumer.position(P0) == 10

        cluster.append([b"a"])
        assert await read(consumer, 1) == [b"a"]


class GroupScript:
    """Responses of a coordinator to one member."""

    def __init__(self, cluster: FetchingCluster) -> None:
        self.join = JoinGroupResponse(
            generation_id=1, protocol_name="range", leader="other", member_id="me"
        )
        self.assignment = b""
        cluster.on(JoinGroupRequest, lambda request: self.join)
        cluster.on(SyncGroupRequest, lambda request: SyncGroupResponse(assignment=self.assignment))
        cluster.on(HeartbeatRequest, HeartbeatResponse())
        cluster.on(LeaveGroupRequest, LeaveGroupResponse())


@virtual_time
async def test_the_leader_assigns_partitions_although_members_send_malformed_metadata():
    async with fetching() as (cluster, _):
        script = GroupScript(cluster)
        script.join.leader = "me"
        script.join.members = [
            JoinGroupResponseMember(member_id="me", metadata=b""),
            JoinGroupResponseMember(member_id="me", metadata=b"\xff" * 20),
            JoinGroupResponseMember(member_id="", metadata=b"\x00\x01\x7f\xff\xff\xff"),
            JoinGroupResponseMember(member_id="\n\x00" * 500, metadata=b"\x00\x00\x00\x00\x00\x00"),
            *(JoinGroupResponseMember(member_id=f"m{n}", metadata=b"") for n in range(20_000)),
        ]
        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            await consumer.poll(5)

            assert consumer.health().group_state == "stable"


@pytest.mark.parametrize(
    "assignment",
    [b"\x00", b"\x00\x00\x7f\xff\xff\xff", b"\xff\xff", b"\x00\x01\x00\x00\x00\x01\x00\x05a"],
)
@virtual_time
async def test_a_malformed_assignment_is_raised_and_requested_again(assignment):
    async with fetching() as (cluster, _):
        script = GroupScript(cluster)
        script.assignment = assignment
        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            for _ in range(2):
                with pytest.raises(MalformedResponseError):
                    await read(consumer, 1)
            script.assignment = b""
            await consumer.poll(2)
            await consumer.poll(2)

            assert consumer.health().group_state == "stable"
            assert len(cluster.requests(JoinGroupRequest)) < 20


@virtual_time
async def test_unknown_and_foreign_partitions_of_an_assignment_are_reported():
    from pyk.clients.consumer.group.classic.consumer_protocol import encode_assignment

    async with fetching() as (cluster, _):
        script = GroupScript(cluster)
        wanted = [P0, TopicPartition("orders", 2**31 - 1), TopicPartition("foreign", 0)]
        script.assignment = encode_assignment(wanted)
        cluster.append([b"a"])
        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            consumer.assignment()
            with pytest.raises(KafkaError):
                await read(consumer, 2, timeout=60)
            assert consumer.assignment() == set(wanted[:2])


@virtual_time
async def test_an_assignor_that_was_not_offered_is_refused():
    async with fetching() as (cluster, _):
        script = GroupScript(cluster)
        script.join.protocol_name = "made-up\n\x1b[31m"
        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            with pytest.raises(InconsistentGroupProtocolError) as caught:
                await read(consumer, 1)

            assert "\n" not in str(caught.value)
            assert "\x1b" not in str(caught.value)
